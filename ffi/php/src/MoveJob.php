<?php

declare(strict_types=1);

namespace Millpond;

/**
 * Thrown by a handler of a worker of tasks: move the task to another queue.
 */
final class MoveJob extends \Exception
{
    /**
     * @param string $queue where to
     * @param string $err   why
     */
    public function __construct(public readonly string $queue, string $err = '', ?\Throwable $previous = null)
    {
        parent::__construct($err, 0, $previous);
    }
}
