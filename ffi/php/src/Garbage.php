<?php

declare(strict_types=1);

namespace Millpond;

use FFI\CData;
use Millpond\Internal\Handles;
use Millpond\Internal\Library;
use Millpond\Internal\Owns;
use Millpond\Internal\Signals;
use Millpond\Internal\YieldsBatches;

/**
 * Values of tracked messages whose deadline has passed, in batches. Made by `ShuffleQueue::gc()`.
 *
 * Asking for the next batch deletes the records of the last one. If the caller stops, the last batch is left
 * for the next collection. The messages themselves stay in their streams.
 *
 * If the first `foreach` was left early, a second one over the same object starts a new collection, which
 * returns again the batch at which the first one was left.
 *
 *     $queue = Millpond::connect('memory:')->shuffleQueue('jobs');
 *     $queue->writeTracked('tenant-7', ['job' => 'j-1'], 'job', deadline: 1_000_000_000);
 *     $garbage = $queue->gc();
 *     foreach ($garbage as $values) {
 *         echo implode(' ', $values), "\n"; // j-1
 *     }
 *     echo $garbage->deleted(), "\n"; // 1
 *
 * @implements \IteratorAggregate<int, list<string>>
 */
final class Garbage implements GarbageInterface
{
    use Owns, YieldsBatches;

    /** @var array{int, int} what abandoned collections had scanned and deleted */
    private array $before = [0, 0];

    /**
     * @internal made by `ShuffleQueue::gc()`
     *
     * @param \Closure(): CData $make starts a collection
     */
    public function __construct(
        private readonly Library $library,
        private readonly \Closure $make,
        private CData $handle,
        private readonly ShuffleQueue $queue,
    ) {
        Handles::keep($this, $library->ffi, 'millpond_shuffle_garbage_free', $handle);
    }

    private function fetch(): void
    {
        Signals::keeping($this->library->ffi, null, function (): void {
            $call = $this->library->made('millpond_shuffle_garbage_next', [$this->handle], 'keys');
            $this->atWork = false;
            if ($call->keys[0] !== null) {
                $values = $this->library->keys($call);
                $this->keep($values);
            }
        });
    }

    private function forget(): void
    {
        Signals::held(function (): void {
            $made = ($this->make)();
            Handles::keep($this, $this->library->ffi, 'millpond_shuffle_garbage_free', $made);
            $before = [$this->scanned(), $this->deleted()];
            Handles::free($this->handle);
            [$this->handle, $this->before, $this->atWork] = [$made, $before, false];
        });
    }

    public function scanned(): int
    {
        return $this->counts()[0] + $this->before[0];
    }

    public function deleted(): int
    {
        return $this->counts()[1] + $this->before[1];
    }

    /**
     * @return array{int, int}
     */
    private function counts(): array
    {
        $call = $this->library->made('millpond_shuffle_garbage_counts', [$this->handle], 'number', 'second');

        return [$call->number[0], $call->second[0]];
    }
}
