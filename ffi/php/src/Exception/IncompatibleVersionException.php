<?php

declare(strict_types=1);

namespace Millpond\Exception;

use Millpond\Internal\ErrorDetails;
use Millpond\Retry;

/**
 * The data was written by a version of the format that this version does not know.
 */
final class IncompatibleVersionException extends \RuntimeException implements MillpondException
{
    use ErrorDetails;

    public const CODE = 5;
    public const NAME = 'INCOMPATIBLE_VERSION';
    public const RETRY = Retry::Never;
}
