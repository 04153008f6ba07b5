<?php

declare(strict_types=1);

namespace Millpond\Tasks;

use FFI\CData;
use Millpond\Exception;
use Millpond\Internal\Arguments;
use Millpond\Internal\Handles;
use Millpond\Internal\Library;
use Millpond\Internal\Packed;
use Millpond\Internal\Signals;
use Millpond\Internal\TaskResults;
use Millpond\Internal\TaskArguments;
use Millpond\Internal\YieldsBatches;

/**
 * A claimant's loop over batches of leased tasks, made by `TaskStore::claims()`. Asking for the next
 * batch changes nothing about the one before: its tasks are leased until they are deleted or changed, or
 * until the lease is over.
 *
 *     $store = Millpond::connect('memory:')->tasks('shop');
 *     $store->modify((new Modification())->insert(new NewTask('print', 'a.pdf'))->insert(new NewTask('print', 'b.pdf')));
 *     foreach ($store->claims('print', max: 10) as $tasks) {
 *         echo count($tasks), " to print\n"; // 2 to print
 *         $done = new Modification();
 *         array_map($done->delete(...), $tasks);
 *         $store->modify($done);
 *     }
 *
 * A loop that is left by an exception or by `break` leaves its tasks leased. A second `foreach` over the
 * same object continues with the next batch.
 *
 * @implements \IteratorAggregate<int, list<Task>>
 */
final class Claims implements ClaimsInterface
{
    use YieldsBatches;

    private function __construct(
        private readonly Library $library,
        private readonly CData $handle,
        private readonly bool $waits,
        private readonly TaskStore $store,
    ) {
        Handles::keep($this, $library->ffi, 'millpond_tasks_claims_free', $handle);
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
     * @internal what `TaskStore::claims()` does
     *
     * @param string|iterable<mixed> $queues
     */
    public static function open(
        Library $library,
        CData $storeHandle,
        string|iterable $queues,
        int $max,
        ?float $wait,
        float $lease,
        TaskStore $store,
    ): self {
        $names = Packed::members($library->ffi, TaskArguments::names('queues', $queues));
        $size = Arguments::size('max', $max);
        $waitMs = Arguments::wait('wait', $wait);
        $leaseMs = Arguments::milliseconds('lease', $lease);
        $open = static fn (CData $call): int => $library->ffi->millpond_tasks_claims_new(
            $storeHandle,
            $names->array,
            $names->count,
            $leaseMs,
            $size,
            $waitMs,
            $call->claims,
            $call->error,
        );

        return Signals::held(static function () use ($library, $open, $wait, $store): self {
            $call = $library->call();
            $status = $open($call);
            $library->check($status, $call);

            return new self($library, $call->claims[0], $wait !== null, $store);
        });
    }

    /**
     * Leases the next batch; null when the loop is over. What `foreach` does.
     *
     * After an exception that says Retry::Later or Retry::Unknown the loop can be continued. While it
     * waits, signal handlers run (in the CLI, with the extension pcntl): one that throws ends the
     * wait, and after one that returns the wait continues. A batch that came meanwhile is returned by
     * the next call.
     *
     * @return list<Task>|null
     *
     * @throws Exception\MillpondException what `TaskStore::claimMany()` throws
     */
    public function next(): ?array
    {
        if (!$this->fill()) {
            return null;
        }

        return $this->take();
    }

    private function fill(): bool
    {
        if ($this->isKept()) {
            return true;
        }
        Signals::keeping($this->library->ffi, $this->waits, function (): void {
            $call = $this->library->made('millpond_tasks_claims_next', [$this->handle], 'result');
            if ($call->result[0] !== null) {
                $batch = TaskResults::of($this->library->ffi, $call->result[0], 'tasks');
                $this->keep($batch);
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
