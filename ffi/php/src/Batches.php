<?php

declare(strict_types=1);

namespace Millpond;

use FFI\CData;
use Millpond\Internal\Handles;
use Millpond\Internal\Library;
use Millpond\Internal\Signals;
use Millpond\Internal\YieldsBatches;

/**
 * A consumer's loop, made by `Ick::batches()`, `ConsumerLease::batches()` and `IckChannel::batches()`.
 */
final class Batches implements BatchesInterface
{
    use YieldsBatches;

    private function __construct(
        private readonly Library $library,
        private readonly \Closure $make,
        private CData $handle,
        private readonly bool $waits,
        private readonly object $owner,
    ) {
        Handles::keep($this, $library->ffi, 'millpond_ick_batches_free', $handle);
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
     * @internal what makes it
     *
     * @param \Closure(CData): int $open  makes a loop with its out-parameters
     * @param bool                 $waits whether next() can take long
     * @param object               $owner what the loop needs: its client, its lease or its channel
     */
    public static function open(Library $library, \Closure $open, bool $waits, object $owner): self
    {
        $make = static function () use ($library, $open): CData {
            $call = $library->call();
            $status = $open($call);
            $library->check($status, $call);

            return $call->batches[0];
        };

        return Signals::held(static fn (): self => new self($library, $make, $make(), $waits, $owner));
    }

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
            $call = $this->library->made('millpond_ick_batches_next', [$this->handle], 'entries');
            $this->atWork = false;
            if ($call->entries[0] !== null) {
                $batch = $this->library->entries($call);
                $this->keep($batch);
            }
        });

        return $this->unseen !== null;
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
