<?php

declare(strict_types=1);

namespace Millpond\Exception;

use Millpond\Internal\ErrorDetails;
use Millpond\Retry;

/**
 * The server has no memory left for writes.
 */
final class OutOfMemoryException extends \RuntimeException implements MillpondException
{
    use ErrorDetails;

    public const CODE = 12;
    public const NAME = 'OUT_OF_MEMORY';
    public const RETRY = Retry::Later;
}
