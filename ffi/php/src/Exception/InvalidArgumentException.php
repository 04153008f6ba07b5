<?php

declare(strict_types=1);

namespace Millpond\Exception;

use Millpond\Internal\ErrorDetails;
use Millpond\Retry;

/**
 * An argument is wrong: its type, its value or its size. Nothing was sent.
 */
final class InvalidArgumentException extends \InvalidArgumentException implements MillpondException
{
    use ErrorDetails;

    public const CODE = 1;
    public const NAME = 'INVALID_ARGUMENT';
    public const RETRY = Retry::Never;
}
