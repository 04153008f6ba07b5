<?php

declare(strict_types=1);

namespace Millpond\Exception;

use Millpond\Internal\ErrorDetails;
use Millpond\Retry;

/**
 * The embedded engine was opened before a fork; a child process has to open its own.
 */
final class ForkedException extends \RuntimeException implements MillpondException
{
    use ErrorDetails;

    public const CODE = 18;
    public const NAME = 'FORKED';
    public const RETRY = Retry::Never;
}
