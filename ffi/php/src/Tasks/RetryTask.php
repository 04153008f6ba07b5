<?php

declare(strict_types=1);

namespace Millpond\Tasks;

/**
 * Thrown by a handler of `Worker::run()`: retry the task.
 */
final class RetryTask extends \Exception
{
    /**
     * @param string     $err   why it failed
     * @param float|null $delay in how many seconds to try again; null is as the worker says
     */
    public function __construct(string $err = '', public readonly ?float $delay = null, ?\Throwable $previous = null)
    {
        parent::__construct($err, 0, $previous);
    }
}
