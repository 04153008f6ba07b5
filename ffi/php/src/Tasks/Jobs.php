<?php

declare(strict_types=1);

namespace Millpond\Tasks;

use FFI\CData;
use Millpond\Internal\Handles;
use Millpond\Internal\Library;
use Millpond\Internal\Owns;
use Millpond\Internal\Signals;
use Millpond\Internal\YieldsBatches;

/**
 * The jobs of a `Worker`. The loop ends as `Claims` do, but first processes again the tasks that it gave
 * back because their documents were held by others.
 *
 *     $store = Millpond::connect('memory:')->tasks('shop');
 *     $store->insert(new NewTask('inbox', ['order' => 7]));
 *     foreach ($store->worker('inbox')->jobs() as $job) {
 *         echo 'order ', $job->task->value()['order'], "\n"; // order 7
 *         $job->done();
 *     }
 *
 * @implements \IteratorAggregate<int, Job>
 */
final class Jobs implements JobsInterface
{
    use Owns, YieldsBatches {
        next as private nextBatch;
    }

    private readonly CData $handle;

    /**
     * @internal made by `Worker::jobs()`
     *
     * @param CData                $worker the library's worker, which is freed
     * @param \Closure(CData): Job $job    makes a job from the library's job
     * @param float                $wait   how long to wait for the next job
     */
    public function __construct(
        private readonly Library $library,
        CData $worker,
        private readonly \Closure $job,
        private readonly float $wait,
    ) {
        Handles::keep($this, $library->ffi, 'millpond_tasks_worker_free', $worker);
        $this->handle = $library->value('millpond_tasks_worker_jobs', [$worker], 'jobs');
        Handles::keep($this, $library->ffi, 'millpond_tasks_jobs_free', $this->handle);
        Handles::free($worker);
    }

    /** The jobs, one after another. */
    public function getIterator(): \Generator
    {
        while ($this->fill()) {
            [[$job], $this->unseen] = [$this->unseen, null];
            yield $job;
            // The job may be unreferenced, and must not be renewed during the wait for the next one.
            unset($job);
        }
    }

    public function next(): ?Job
    {
        return $this->nextBatch()[0] ?? null;
    }

    private function fetch(): void
    {
        Signals::keeping($this->library->ffi, $this->wait, function (): void {
            Handles::sweep();
            $call = $this->library->made('millpond_tasks_jobs_next', [$this->handle], 'tasks_job');
            if ($call->tasks_job[0] !== null) {
                $this->keep([($this->job)($call->tasks_job[0])]);
            }
        });
    }
}
