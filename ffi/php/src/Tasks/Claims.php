<?php

declare(strict_types=1);

namespace Millpond\Tasks;

use FFI\CData;
use Millpond\Internal\Handles;
use Millpond\Internal\Library;
use Millpond\Internal\Owns;
use Millpond\Internal\Signals;
use Millpond\Internal\TaskResults;
use Millpond\Internal\YieldsBatches;

/**
 * The loop of a claimant: batches of leased tasks, by default of one task. Made by `TaskStore::claims()`.
 *
 * Asking for the next batch does not affect the one before: its tasks are leased until they are deleted or
 * changed, or until the lease expires. Without `wait` the loop ends when nothing is available. A
 * non-retryable error always ends the loop.
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

    /** @internal made by `TaskStore::claims()` */
    public function __construct(
        private readonly Library $library,
        private readonly CData $handle,
        private readonly ?float $wait,
        private readonly TaskStore $store,
    ) {
        Handles::keep($this, $library->ffi, 'millpond_tasks_claims_free', $handle);
    }

    private function fetch(): void
    {
        Signals::keeping($this->library->ffi, $this->wait, function (): void {
            $call = $this->library->made('millpond_tasks_claims_next', [$this->handle], 'result');
            if ($call->result[0] !== null) {
                $batch = TaskResults::of($this->library->ffi, $call->result[0], 'tasks');
                $this->keep($batch);
            }
        });
    }
}
