<?php

declare(strict_types=1);

namespace Millpond\Exception;

use Millpond\Internal\ErrorDetails;
use Millpond\Retry;

/**
 * The client was closed.
 */
final class ClosedException extends \RuntimeException implements MillpondException
{
    use ErrorDetails;

    public const CODE = 19;
    public const NAME = 'CLOSED';
    public const RETRY = Retry::Never;
}
