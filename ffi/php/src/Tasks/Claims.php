<?php

declare(strict_types=1);

namespace Millpond\Tasks;

use FFI\CData;
use Millpond\Internal\Arguments;
use Millpond\Internal\Handles;
use Millpond\Internal\Library;
use Millpond\Internal\Owns;
use Millpond\Internal\Packed;
use Millpond\Internal\Signals;
use Millpond\Internal\TaskArguments;
use Millpond\Internal\TaskResults;
use Millpond\Internal\YieldsBatches;

/**
 * The loop of a claimant: batches of leased tasks, of one task if nothing is said. Made by
 * `TaskStore::claims()`.
 *
 * Asking for the next batch does nothing to the one before: its tasks are leased until they are deleted or
 * changed, or until the lease is over. Without `wait` the loop ends when nothing is available, and in any
 * case after an error that trying again cannot mend.
 *
 * A second `foreach` over the same object continues with the next batch.
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
 * @implements \IteratorAggregate<int, list<Task>>
 */
final class Claims implements ClaimsInterface
{
    use Owns, YieldsBatches;

    private function __construct(
        private readonly Library $library,
        private readonly CData $handle,
        private readonly bool $waits,
        private readonly TaskStore $store,
    ) {
        Handles::keep($this, $library->ffi, 'millpond_tasks_claims_free', $handle);
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
        $arguments = [$storeHandle, $names->array, $names->count, $leaseMs, $size, $waitMs];
        $made = static fn (CData $handle): self => new self($library, $handle, $wait !== null, $store);

        return $library->handle('millpond_tasks_claims_new', $arguments, 'claims', $made);
    }

    private function fetch(): void
    {
        Signals::keeping($this->library->ffi, $this->waits, function (): void {
            $call = $this->library->made('millpond_tasks_claims_next', [$this->handle], 'result');
            if ($call->result[0] !== null) {
                $batch = TaskResults::of($this->library->ffi, $call->result[0], 'tasks');
                $this->keep($batch);
            }
        });
    }
}
