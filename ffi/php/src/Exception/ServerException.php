<?php

declare(strict_types=1);

namespace Millpond\Exception;

use Millpond\Internal\ErrorDetails;
use Millpond\Retry;

/**
 * The server returned an error that Millpond has no kind for.
 */
final class ServerException extends \RuntimeException implements MillpondException
{
    use ErrorDetails;

    public const CODE = 13;
    public const NAME = 'SERVER';
    public const RETRY = Retry::Never;
}
