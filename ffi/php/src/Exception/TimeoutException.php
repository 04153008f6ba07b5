<?php

declare(strict_types=1);

namespace Millpond\Exception;

use Millpond\Internal\ErrorDetails;
use Millpond\Retry;

/**
 * No reply came in time: the call may or may not have been done.
 */
final class TimeoutException extends \RuntimeException implements MillpondException
{
    use ErrorDetails;

    public const CODE = 8;
    public const NAME = 'TIMEOUT';
    public const RETRY = Retry::Unknown;
}
