<?php

declare(strict_types=1);

namespace Millpond\Exception;

use Millpond\Internal\ErrorDetails;
use Millpond\Retry;

/**
 * The URL or an option of the client is wrong. Nothing was sent.
 */
final class InvalidUrlException extends \InvalidArgumentException implements MillpondException
{
    use ErrorDetails;

    public const CODE = 2;
    public const NAME = 'INVALID_URL';
    public const RETRY = Retry::Never;
}
