<?php

declare(strict_types=1);

namespace Millpond\Tasks;

/**
 * Thrown by a handler of `Worker::run()`: release the task for another worker without counting
 * an attempt.
 */
final class ReleaseTask extends \Exception
{
    /**
     * @param float|null $delay in how many seconds it is available again; null is a short random time, as
     *                          `Job::release()` says
     */
    public function __construct(public readonly ?float $delay = null)
    {
        parent::__construct();
    }
}
