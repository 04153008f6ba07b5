<?php

declare(strict_types=1);

namespace Millpond;

/**
 * Thrown by a handler of a worker: give the job back for another worker without counting an attempt.
 */
final class ReleaseJob extends \Exception
{
    /**
     * @param float|null $delay in how many seconds it is available again; null is a short random time, as
     *                          `Job::release()` of a task says
     */
    public function __construct(public readonly ?float $delay = null)
    {
        parent::__construct();
    }
}
