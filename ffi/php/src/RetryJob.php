<?php

declare(strict_types=1);

namespace Millpond;

/**
 * Thrown by a handler of a worker: try the job again.
 */
final class RetryJob extends \Exception
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
