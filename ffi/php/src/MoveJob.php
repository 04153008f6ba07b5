<?php

declare(strict_types=1);

namespace Millpond;

/**
 * Thrown by a handler of a task worker to move the task to another queue.
 */
final class MoveJob extends \Exception
{
    /**
     * @param string $queue the queue to move the task to
     * @param string $err   the reason
     */
    public function __construct(public readonly string $queue, string $err = '', ?\Throwable $previous = null)
    {
        parent::__construct($err, 0, $previous);
    }
}
