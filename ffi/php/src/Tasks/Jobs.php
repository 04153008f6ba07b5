<?php

declare(strict_types=1);

namespace Millpond\Tasks;

use FFI;
use FFI\CData;
use Millpond\Exception;
use Millpond\Internal\Handles;
use Millpond\Internal\Library;
use Millpond\Internal\Packed;
use Millpond\Internal\Signals;
use Millpond\Internal\YieldsBatches;

/**
 * The jobs of a worker, one after the other; made by `Worker::jobs()`. It ends as `Claims` do.
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
    use YieldsBatches;

    private function __construct(
        private readonly Library $library,
        private readonly CData $handle,
        private readonly bool $waits,
        private readonly TaskStore $store,
    ) {
        Handles::keep($this, $library->ffi, 'millpond_tasks_jobs_free', $handle);
    }

    public function __destruct()
    {
        Handles::free($this->handle);
    }

    /** A copy would free what the original holds. */
    private function __clone(): void
    {
    }

    /**
     * @internal what `Worker::jobs()` does
     *
     * @param list<string> $queues
     * @param CData        $options a millpond_tasks_worker_options
     * @param Packed       $names   what is in the options
     */
    public static function open(
        Library $library,
        CData $storeHandle,
        array $queues,
        CData $options,
        bool $waits,
        TaskStore $store,
        Packed $names,
    ): self {
        $packed = Packed::members($library->ffi, $queues);
        $pointer = FFI::addr($options);

        return Signals::held(static function () use ($library, $storeHandle, $packed, $pointer, $waits, $store): self {
            $call = $library->made(
                'millpond_tasks_jobs_new',
                [$storeHandle, $packed->array, $packed->count, $pointer],
                'jobs',
            );

            return new self($library, $call->jobs[0], $waits, $store);
        });
    }

    /**
     * The jobs, one after the other.
     */
    public function getIterator(): \Generator
    {
        while ($this->fill()) {
            [[$job], $this->unseen] = [$this->unseen, null];
            yield $job;
            // It may be unreferenced, and must not be renewed while the next one is awaited.
            unset($job);
        }
    }

    /**
     * Takes the next job; null when the loop is over. What `foreach` does.
     *
     * After an exception that says Retry::Later or Retry::Unknown the loop can be continued. While it
     * waits, signal handlers run (in the CLI, with the extension pcntl): one that throws ends the
     * wait, and after one that returns the wait continues. A job that came meanwhile is returned by
     * the next call.
     *
     * @throws Exception\MillpondException what `TaskStore::claim()` throws
     */
    public function next(): ?Job
    {
        if (!$this->fill()) {
            return null;
        }

        return $this->take()[0];
    }

    private function fill(): bool
    {
        if ($this->isKept()) {
            return true;
        }
        Signals::keeping($this->library->ffi, $this->waits, function (): void {
            Handles::sweep();
            $call = $this->library->made('millpond_tasks_jobs_next', [$this->handle], 'job');
            if ($call->job[0] !== null) {
                $job = new Job($this->library, $call->job[0], $this->store);
                $this->keep([$job]);
            }
        });

        return $this->unseen !== null;
    }

    /** Nothing is delivered again by itself: what is not done is leased. */
    private function forget(): void
    {
        $this->atWork = false;
    }
}
