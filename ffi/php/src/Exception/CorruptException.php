<?php

declare(strict_types=1);

namespace Millpond\Exception;

use Millpond\Internal\ErrorDetails;
use Millpond\Retry;

/**
 * Stored data is damaged, or lacks what was on disk, in a way that no crash explains; `?repair`
 * opens what lies before the damage.
 */
final class CorruptException extends \RuntimeException implements MillpondException
{
    use ErrorDetails;

    public const CODE = 16;
    public const NAME = 'CORRUPT';
    public const RETRY = Retry::Never;
}
