<?php

declare(strict_types=1);

namespace Millpond\Tasks;

use FFI;
use FFI\CData;
use Millpond\Internal\Handles;
use Millpond\Internal\Library;
use Millpond\Internal\Owns;
use Millpond\Internal\Packed;
use Millpond\Internal\Signals;
use Millpond\Internal\YieldsBatches;

/**
 * The jobs of a `Worker`. It ends as `Claims` do, but not before it has seen again the tasks that it gave
 * back because their documents were taken.
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

    private function __construct(
        private readonly Library $library,
        private readonly CData $handle,
        private readonly bool $waits,
        private readonly TaskStore $store,
    ) {
        Handles::keep($this, $library->ffi, 'millpond_tasks_jobs_free', $handle);
    }

    /**
     * @internal what `Worker::jobs()` does
     *
     * @param list<string> $queues
     * @param CData        $options a millpond_tasks_worker_options with these settings
     */
    public static function open(
        Library $library,
        CData $storeHandle,
        array $queues,
        WorkerOptions $settings,
        CData $options,
        TaskStore $store,
    ): self {
        $packed = Packed::members($library->ffi, $queues);
        $names = Packed::members($library->ffi, $settings->errorQueue === null ? [] : [$settings->errorQueue]);
        if ($names->array !== null) {
            $options->error_queue = $names->array[0];
        }
        $pointer = FFI::addr($options);
        $arguments = [$storeHandle, $packed->array, $packed->count, $pointer];
        $made = static fn (CData $handle): self => new self($library, $handle, $settings->wait !== null, $store);

        return $library->handle('millpond_tasks_jobs_new', $arguments, 'jobs', $made);
    }

    /** The jobs, one after the other. */
    public function getIterator(): \Generator
    {
        while ($this->fill()) {
            [[$job], $this->unseen] = [$this->unseen, null];
            yield $job;
            // It may be unreferenced, and must not be renewed while the next one is awaited.
            unset($job);
        }
    }

    public function next(): ?Job
    {
        return $this->nextBatch()[0] ?? null;
    }

    private function fetch(): void
    {
        Signals::keeping($this->library->ffi, $this->waits, function (): void {
            Handles::sweep();
            $call = $this->library->made('millpond_tasks_jobs_next', [$this->handle], 'job');
            if ($call->job[0] !== null) {
                $job = new Job($this->library, $call->job[0], $this->store);
                $this->keep([$job]);
            }
        });
    }
}
