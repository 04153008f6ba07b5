<?php

declare(strict_types=1);

namespace Millpond\Tasks;

/**
 * Thrown by a handler of `Worker::run()`: move the task to another queue.
 */
final class MoveTask extends \Exception
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
