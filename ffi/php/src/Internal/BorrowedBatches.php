<?php

declare(strict_types=1);

namespace Millpond\Internal;

use Millpond\BatchesInterface;
use Millpond\BorrowedIck;
use Millpond\Entry;
use Millpond\Exception\MillpondException;
use Millpond\Retry;

/**
 * A loop over a connection that the program owns.
 *
 * @internal
 */
final class BorrowedBatches implements BatchesInterface
{
    use YieldsBatches;

    /** @var list<string> the members of the last batch, to be committed while the batch is at work */
    private array $members = [];

    /** Whether the same call would fail forever. */
    private bool $over = false;

    public function __construct(
        private readonly BorrowedIck $ick,
        private readonly int $max,
    ) {
    }

    private function fetch(): void
    {
        if ($this->over) {
            return;
        }
        $sent = $this->sent();
        try {
            $batch = $this->ick->exchange($this->max, $sent);
        } catch (MillpondException $failure) {
            // A commit that may have been done is not sent again: a member that was flagged again
            // since then may have been reserved again, without having been processed.
            $this->atWork = $failure->retry !== Retry::Unknown && $sent !== [];
            $this->over = $failure->retry === Retry::Never;
            throw $failure;
        }
        $this->members = \array_map(static fn (Entry $entry): string => $entry->member, $batch);
        if ($batch !== []) {
            $this->keep($batch);
        }
    }

    public function commit(): int
    {
        $done = $this->sent();

        return $done === [] ? 0 : $this->ick->commit($done);
    }

    /**
     * The members to commit with the next exchange; they are not sent twice.
     *
     * @return list<string>
     */
    private function sent(): array
    {
        [$sent, $this->atWork] = [$this->atWork ? $this->members : [], false];

        return $sent;
    }
}
