<?php

declare(strict_types=1);

namespace Millpond\Exception;

use Millpond\Internal\ErrorDetails;
use Millpond\Retry;

/**
 * Stored data is damaged in a place that is not the torn end of an unfinished write.
 */
final class CorruptException extends \RuntimeException implements MillpondException
{
    use ErrorDetails;

    public const CODE = 16;
    public const NAME = 'CORRUPT';
    public const RETRY = Retry::Never;
}
