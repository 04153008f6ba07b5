<?php

declare(strict_types=1);

namespace Millpond\Internal;

use FFI\CData;
use Millpond\Batches;
use Millpond\Entry;
use Millpond\Exception\CancelledException;

/**
 * A loop of the library's.
 *
 * @internal
 */
final class NativeBatches implements Batches
{
    use YieldsBatches;

    /**
     * A batch that came and that no next() has answered, because a signal handler threw. Nobody has
     * seen it, so it must not be committed by asking for another one.
     *
     * @var list<Entry>|null
     */
    private ?array $unseen = null;

    /** Whether the last batch was given out and is not committed yet. */
    private bool $atWork = false;

    private function __construct(
        private readonly Library $library,
        private readonly \Closure $make,
        private CData $handle,
        private readonly bool $waits,
        private readonly object $owner,
    ) {
        Handles::keep($this, $library->ffi, 'millpond_batches_free', $handle);
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
     * @param \Closure(CData): int $open  makes a loop with the places for its answers
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
        while ($this->unseen === null) {
            $failure = null;
            $over = false;
            $next = function () use (&$failure, &$over): void {
                $call = $this->library->call();
                $status = $this->library->ffi->millpond_batches_next($this->handle, $call->entries, $call->error);
                if ($status !== 0) {
                    $failure = $this->library->exception($call->error[0]);

                    return;
                }
                $over = $call->entries[0] === null;
                if (!$over) {
                    $this->unseen = $this->library->entries($call);
                }
                $this->atWork = false;
            };
            $hadSignals = Signals::keeping($this->library->ffi, $this->waits, $next);
            if ($failure !== null && !($failure instanceof CancelledException && $hadSignals)) {
                throw $failure;
            }
            if ($over) {
                return null;
            }
        }
        [$batch, $this->unseen, $this->atWork] = [$this->unseen, null, true];

        return $batch;
    }

    public function commit(): int
    {
        if ($this->unseen !== null) {
            return 0;
        }
        $call = $this->library->call();
        $status = $this->library->ffi->millpond_batches_commit(
            $this->handle,
            $call->number,
            $call->error,
        );
        $this->library->check($status, $call);
        $this->atWork = false;

        return $call->number[0];
    }

    private function forget(): void
    {
        if ($this->atWork) {
            Signals::held(function (): void {
                $made = ($this->make)();
                Handles::keep($this, $this->library->ffi, 'millpond_batches_free', $made);
                Handles::free($this->handle);
                [$this->handle, $this->atWork] = [$made, false];
            });
        }
    }
}
