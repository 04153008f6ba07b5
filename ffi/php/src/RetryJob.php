<?php

declare(strict_types=1);

namespace Millpond;

/**
 * Thrown by a handler of a worker to try the job again.
 */
final class RetryJob extends \Exception
{
    /**
     * @param string     $err   why it failed
     * @param float|null $delay how many seconds until it is tried again; null for the default
     */
    public function __construct(string $err = '', public readonly ?float $delay = null, ?\Throwable $previous = null)
    {
        parent::__construct($err, 0, $previous);
    }
}
