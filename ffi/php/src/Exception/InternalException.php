<?php

declare(strict_types=1);

namespace Millpond\Exception;

use Millpond\Internal\ErrorDetails;
use Millpond\Retry;

/**
 * A bug in Millpond.
 */
final class InternalException extends \RuntimeException implements MillpondException
{
    use ErrorDetails;

    public const CODE = 21;
    public const NAME = 'INTERNAL';
    public const RETRY = Retry::Unknown;
}
