<?php

declare(strict_types=1);

namespace Millpond\Exception;

use Millpond\Internal\ErrorDetails;
use Millpond\Retry;

/**
 * The caller cancelled.
 */
final class CancelledException extends \RuntimeException implements MillpondException
{
    use ErrorDetails;

    public const CODE = 20;
    public const NAME = 'CANCELLED';
    public const RETRY = Retry::Unknown;
}
