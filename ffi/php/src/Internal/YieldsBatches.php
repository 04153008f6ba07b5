<?php

declare(strict_types=1);

namespace Millpond\Internal;

/**
 * A loop over batches. A signal handler may throw wherever PHP jumps or makes a call, so a batch is
 * kept when it arrives, and taken in one step that does neither.
 *
 * @internal
 */
trait YieldsBatches
{
    /**
     * A batch that has arrived and that the program has not received. Asking for another batch must
     * not commit it.
     *
     * @var list<mixed>|null
     */
    private ?array $unseen = null;

    /** The process in which the batch arrived. */
    private int $process = 0;

    /** Whether the last batch was returned and no other batch was requested since. */
    private bool $atWork = false;

    /**
     * The batches, one after another.
     */
    public function getIterator(): \Generator
    {
        // Leaving a loop at a batch does not mean that the batch is done.
        if ($this->atWork) {
            $this->forget();
        }
        while ($this->fill()) {
            [$batch, $this->unseen, $this->atWork] = [$this->unseen, null, true];
            yield $batch;
        }
    }

    public function next(): ?array
    {
        if (!$this->fill()) {
            return null;
        }
        [$batch, $this->unseen, $this->atWork] = [$this->unseen, null, true];

        return $batch;
    }

    /**
     * Keeps a batch that has arrived, for next().
     *
     * @param list<mixed> $batch
     */
    private function keep(array $batch): void
    {
        $process = \getmypid();
        [$this->process, $this->unseen] = [$process, $batch];
    }

    /**
     * Keeps the next batch, unless one is kept already; false if there is none.
     */
    private function fill(): bool
    {
        // What a fork has copied belongs to its parent.
        if ($this->unseen !== null && $this->process !== \getmypid()) {
            $this->forget();
            $this->unseen = null;
        }
        if ($this->unseen === null) {
            $this->fetch();
        }

        return $this->unseen !== null;
    }

    /**
     * Asks for a batch, and keeps it if there is one.
     */
    abstract private function fetch(): void;

    /**
     * Marks the last batch as not done. If nothing is redelivered by itself, nothing else has to be
     * done.
     */
    private function forget(): void
    {
        $this->atWork = false;
    }
}
