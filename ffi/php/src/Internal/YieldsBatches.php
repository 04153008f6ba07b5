<?php

declare(strict_types=1);

namespace Millpond\Internal;

/**
 * A loop over batches as a generator.
 *
 * @internal
 */
trait YieldsBatches
{
    public function getIterator(): \Generator
    {
        // Whoever left a loop at a batch has not said that it is done.
        $this->forget();
        while (($batch = $this->next()) !== null) {
            yield $batch;
        }
    }

    /**
     * Takes a batch that is not committed for not done: it stays reserved and comes again.
     */
    abstract private function forget(): void;
}
