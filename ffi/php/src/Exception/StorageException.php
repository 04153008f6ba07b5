<?php

declare(strict_types=1);

namespace Millpond\Exception;

use Millpond\Internal\ErrorDetails;
use Millpond\Retry;

/**
 * The disk refused a write; what was not acknowledged may be lost.
 */
final class StorageException extends \RuntimeException implements MillpondException
{
    use ErrorDetails;

    public const CODE = 17;
    public const NAME = 'STORAGE';
    public const RETRY = Retry::Never;
}
