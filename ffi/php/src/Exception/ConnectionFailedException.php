<?php

declare(strict_types=1);

namespace Millpond\Exception;

use Millpond\Internal\ErrorDetails;
use Millpond\Retry;

/**
 * No connection could be made. Nothing was sent.
 */
final class ConnectionFailedException extends \RuntimeException implements MillpondException
{
    use ErrorDetails;

    public const CODE = 6;
    public const NAME = 'CONNECTION_FAILED';
    public const RETRY = Retry::Later;
}
