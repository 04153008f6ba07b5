<?php

declare(strict_types=1);

namespace Millpond\Exception;

use Millpond\Internal\ErrorDetails;
use Millpond\Retry;

/**
 * A key of the queue holds data of another kind.
 */
final class WrongTypeException extends \RuntimeException implements MillpondException
{
    use ErrorDetails;

    public const CODE = 4;
    public const NAME = 'WRONG_TYPE';
    public const RETRY = Retry::Never;
}
