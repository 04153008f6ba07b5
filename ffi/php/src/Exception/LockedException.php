<?php

declare(strict_types=1);

namespace Millpond\Exception;

use Millpond\Internal\ErrorDetails;
use Millpond\Retry;

/**
 * Another process holds this directory; processes share queues over `redis:`.
 */
final class LockedException extends \RuntimeException implements MillpondException
{
    use ErrorDetails;

    public const CODE = 15;
    public const NAME = 'LOCKED';
    public const RETRY = Retry::Later;
}
