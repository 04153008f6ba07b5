<?php

declare(strict_types=1);

namespace Millpond\Exception;

use Millpond\Internal\ErrorDetails;
use Millpond\Retry;

/**
 * The server's access rules forbid this user the call.
 */
final class PermissionDeniedException extends \RuntimeException implements MillpondException
{
    use ErrorDetails;

    public const CODE = 10;
    public const NAME = 'PERMISSION_DENIED';
    public const RETRY = Retry::Never;
}
