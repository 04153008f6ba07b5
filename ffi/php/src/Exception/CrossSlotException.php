<?php

declare(strict_types=1);

namespace Millpond\Exception;

use Millpond\Internal\ErrorDetails;
use Millpond\Retry;

/**
 * This name cannot be used on a cluster: its keys would lie in different slots.
 */
final class CrossSlotException extends \RuntimeException implements MillpondException
{
    use ErrorDetails;

    public const CODE = 3;
    public const NAME = 'CROSS_SLOT';
    public const RETRY = Retry::Never;
}
