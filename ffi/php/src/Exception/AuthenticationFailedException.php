<?php

declare(strict_types=1);

namespace Millpond\Exception;

use Millpond\Internal\ErrorDetails;
use Millpond\Retry;

/**
 * The server refused the user or the password.
 */
final class AuthenticationFailedException extends \RuntimeException implements MillpondException
{
    use ErrorDetails;

    public const CODE = 9;
    public const NAME = 'AUTHENTICATION_FAILED';
    public const RETRY = Retry::Never;
}
