<?php

declare(strict_types=1);

namespace Millpond;

/**
 * Thrown by a handler of a worker to give the job back for another worker, without counting an attempt.
 */
final class ReleaseJob extends \Exception
{
    /**
     * @param float|null $delay how many seconds until it is available again; null for a short random time, as
     *                          in `Job::release()` of a task
     */
    public function __construct(public readonly ?float $delay = null)
    {
        parent::__construct();
    }
}
