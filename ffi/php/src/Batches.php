<?php

declare(strict_types=1);

namespace Millpond;

use FFI\CData;
use Millpond\Internal\Arguments;
use Millpond\Internal\Handles;
use Millpond\Internal\Library;
use Millpond\Internal\Owns;
use Millpond\Internal\Signals;
use Millpond\Internal\YieldsBatches;

/**
 * The loop of a consumer.
 *
 * Asking for the next batch commits the one before, in one round trip. If the loop is left early, its last
 * batch stays reserved and the next reserve returns it again. To leave the loop with the last batch done,
 * commit() it. Without `wait` the loop ends when nothing is left. A non-retryable error always ends the
 * loop. A batch has at most 250,000 members.
 *
 * A second `foreach` over the same object begins with the batch at which the first one was left, unless that
 * batch was committed.
 *
 *     $files = Millpond::connect('memory:')->ick('files');
 *     $files->add([[1, 'a.txt'], [2, 'b.txt'], [3, 'c.txt']]);
 *     foreach ($files->batches(2) as $batch) {
 *         echo count($batch), "\n"; // 2, then 1
 *     }
 *     echo $files->stats()->totalSize, "\n"; // 0
 *     $files->add([[1, 'a.txt'], [2, 'b.txt']]);
 *     $batches = $files->batches(1);
 *     foreach ($batches as $batch) {
 *         break;
 *     }
 *     $batches->commit();
 *     echo $files->reserve(10)[0]->member, "\n"; // b.txt
 *
 * @implements \IteratorAggregate<int, list<Entry>>
 */
final class Batches implements BatchesInterface
{
    use Owns, YieldsBatches;

    private function __construct(
        private readonly Library $library,
        private readonly \Closure $make,
        private CData $handle,
        private readonly ?float $wait,
        private readonly object|array $owner,
    ) {
        Handles::keep($this, $library->ffi, 'millpond_ick_batches_free', $handle);
    }

    /**
     * @internal creates the loop
     *
     * @param string            $function  the function that makes a loop
     * @param list<mixed>       $arguments the arguments before the size of a batch
     * @param object|list<mixed> $owner    what the loop needs: its client, its lease or its channel
     */
    public static function open(
        Library $library,
        string $function,
        array $arguments,
        int $max,
        ?float $wait,
        object|array $owner,
    ): self {
        $arguments = [...$arguments, Arguments::size('max', $max), Arguments::wait('wait', $wait)];
        $make = static fn (): CData => $library->value($function, $arguments, 'batches');

        return Signals::held(static fn (): self => new self($library, $make, $make(), $wait, $owner));
    }

    private function fetch(): void
    {
        Signals::keeping($this->library->ffi, $this->wait, function (): void {
            $call = $this->library->made('millpond_ick_batches_next', [$this->handle], 'entries');
            $this->atWork = false;
            if ($call->entries[0] !== null) {
                $batch = $this->library->entries($call);
                $this->keep($batch);
            }
        });
    }

    public function commit(): int
    {
        if ($this->unseen !== null) {
            return 0;
        }
        $call = $this->library->made('millpond_ick_batches_commit', [$this->handle], 'number');
        $this->atWork = false;

        return $call->number[0];
    }

    private function forget(): void
    {
        Signals::held(function (): void {
            $made = ($this->make)();
            Handles::keep($this, $this->library->ffi, 'millpond_ick_batches_free', $made);
            Handles::free($this->handle);
            [$this->handle, $this->atWork] = [$made, false];
        });
    }
}
