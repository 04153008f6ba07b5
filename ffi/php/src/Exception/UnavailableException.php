<?php

declare(strict_types=1);

namespace Millpond\Exception;

use Millpond\Internal\ErrorDetails;
use Millpond\Retry;

/**
 * The server is there but cannot do it now: loading, failing over, busy or read-only.
 */
final class UnavailableException extends \RuntimeException implements MillpondException
{
    use ErrorDetails;

    public const CODE = 11;
    public const NAME = 'UNAVAILABLE';
    public const RETRY = Retry::Later;
}
