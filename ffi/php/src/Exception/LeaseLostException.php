<?php

declare(strict_types=1);

namespace Millpond\Exception;

use Millpond\Internal\ErrorDetails;
use Millpond\Retry;

/**
 * The lease has expired or another client holds it: nothing was done.
 */
final class LeaseLostException extends \RuntimeException implements MillpondException
{
    use ErrorDetails;

    public const CODE = 14;
    public const NAME = 'LEASE_LOST';
    public const RETRY = Retry::Never;
}
