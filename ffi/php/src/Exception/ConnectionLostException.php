<?php

declare(strict_types=1);

namespace Millpond\Exception;

use Millpond\Internal\ErrorDetails;
use Millpond\Retry;

/**
 * The connection broke after the call was sent: it may or may not have been done.
 */
final class ConnectionLostException extends \RuntimeException implements MillpondException
{
    use ErrorDetails;

    public const CODE = 7;
    public const NAME = 'CONNECTION_LOST';
    public const RETRY = Retry::Unknown;
}
