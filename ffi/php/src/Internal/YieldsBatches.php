<?php

declare(strict_types=1);

namespace Millpond\Internal;

/**
 * A loop over batches. A signal handler may throw wherever PHP jumps or makes a call: so a batch is
 * kept when it comes, and taken in one step that has neither.
 *
 * @internal
 */
trait YieldsBatches
{
    /**
     * A batch that came and that nobody has seen. Asking for another one may not finish it.
     *
     * @var list<mixed>|null
     */
    private ?array $unseen = null;

    /** The process that the batch came to. */
    private int $process = 0;

    /** Whether the last batch was given out and no other one was asked for since. */
    private bool $atWork = false;

    /**
     * The batches, one after the other.
     */
    public function getIterator(): \Generator
    {
        // Whoever left a loop at a batch has not said that it is done.
        if ($this->atWork) {
            $this->forget();
        }
        while ($this->fill()) {
            [$batch, $this->unseen, $this->atWork] = [$this->unseen, null, true];
            yield $batch;
        }
    }

    /**
     * Takes the batch that fill() has kept. Whoever calls this returns it at once.
     *
     * @return list<mixed>
     */
    private function take(): array
    {
        [$batch, $this->unseen, $this->atWork] = [$this->unseen, null, true];

        return $batch;
    }

    /**
     * Keeps a batch that came, for take().
     *
     * @param list<mixed> $batch
     */
    private function keep(array $batch): void
    {
        $process = \getmypid();
        [$this->process, $this->unseen] = [$process, $batch];
    }

    /**
     * Whether a batch is kept. What a fork has copied is its parent's.
     */
    private function isKept(): bool
    {
        if ($this->unseen !== null && $this->process !== \getmypid()) {
            $this->forget();
            $this->unseen = null;
        }

        return $this->unseen !== null;
    }

    /**
     * Keeps the next batch, unless one is kept already; false if there is none.
     */
    abstract private function fill(): bool;

    /**
     * Takes the last batch for not done, and `$atWork` back: it comes again.
     */
    abstract private function forget(): void;
}
