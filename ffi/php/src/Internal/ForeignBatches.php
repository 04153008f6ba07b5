<?php

declare(strict_types=1);

namespace Millpond\Internal;

use Millpond\Batches;
use Millpond\Entry;
use Millpond\Exception\MillpondException;
use Millpond\Retry;

/**
 * A loop over a connection that belongs to somebody else.
 *
 * @internal
 */
final class ForeignBatches implements Batches
{
    use YieldsBatches;

    /** @var list<string> the members of the last batch, which no exchange has tried to commit yet */
    private array $done = [];

    /** Whether the same call would fail for ever. */
    private bool $over = false;

    public function __construct(
        private readonly ForeignIck $ick,
        private readonly int $max,
    ) {
    }

    public function next(): ?array
    {
        if ($this->over) {
            return null;
        }
        [$sent, $this->done] = [$this->done, []];
        try {
            $batch = $this->ick->exchange($this->max, $sent);
        } catch (MillpondException $failure) {
            // A commit that may have been done is not sent again: a member that was dirtied since
            // may have been reserved once more, and nobody has worked on it.
            $this->done = $failure->retry === Retry::Unknown ? [] : $sent;
            $this->over = $failure->retry === Retry::Never;
            throw $failure;
        }
        $this->done = \array_map(static fn (Entry $entry): string => $entry->member, $batch);

        return $batch === [] ? null : $batch;
    }

    public function commit(): int
    {
        [$done, $this->done] = [$this->done, []];

        return $done === [] ? 0 : $this->ick->commit($done);
    }

    private function forget(): void
    {
        $this->done = [];
    }
}
