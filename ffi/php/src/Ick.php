<?php

declare(strict_types=1);

namespace Millpond;

use FFI;
use FFI\CData;
use Millpond\Internal\Arguments;
use Millpond\Internal\IckCalls;
use Millpond\Internal\Library;

/**
 * A named dirty list with write-folding and two-phase commit; made by `Client::ick()`.
 *
 * It is for synchronization pipelines, such as from a database to a search index: producers flag documents
 * as dirty, and one consumer takes batches, processes them and commits them. A document that is flagged
 * again while it is processed is processed again. A document that is flagged often does not move back in the
 * order, since a member keeps the lowest of its scores.
 */
final class Ick implements IckInterface
{
    use IckCalls;

    private readonly Library $library;

    /** @internal made by `Client::ick()` */
    public function __construct(
        private readonly Client $client,
        private readonly string $name,
    ) {
        $this->library = $client->library;
    }

    public function stats(): ?Stats
    {
        $call = $this->library->call();
        $call->stats[0]->size = FFI::sizeof($call->stats[0]);
        $arguments = [...$this->named(), $call->stats, $call->error];
        $status = $this->library->ffi->millpond_ick_stats_read(...$arguments);
        $this->library->check($status, $call);
        $stats = $call->stats[0];
        if (!$stats->exists) {
            return null;
        }
        [$hasPset, $hasCset, $hasAny] = [$stats->pset_size > 0, $stats->cset_size > 0, $stats->total_size > 0];
        [$key, $psetKey, $csetKey] = $this->library->ickKeys($this->name);

        return new Stats(
            ver: $this->library->ffi->millpond_ick_version(),
            key: $key,
            psetKey: $psetKey,
            csetKey: $csetKey,
            psetSize: $stats->pset_size,
            csetSize: $stats->cset_size,
            totalSize: $stats->total_size,
            psetMin: $hasPset ? $stats->pset_min : null,
            psetMax: $hasPset ? $stats->pset_max : null,
            csetMin: $hasCset ? $stats->cset_min : null,
            csetMax: $hasCset ? $stats->cset_max : null,
            totalMin: $hasAny ? $stats->total_min : null,
            totalMax: $hasAny ? $stats->total_max : null,
        );
    }

    public function peek(int $max, IckSet $set = IckSet::Producer): array
    {
        $ffi = $this->library->ffi;
        $number = $set === IckSet::Producer ? $ffi->MILLPOND_ICK_PRODUCER : $ffi->MILLPOND_ICK_CONSUMER;
        $size = Arguments::size('max', $max);
        $call = $this->library->made('millpond_ick_peek', [...$this->named(), $number, $size], 'entries');

        return $this->library->entries($call);
    }

    public function delete(): int
    {
        return $this->library->value('millpond_ick_delete', [...$this->named(), false], 'number');
    }

    public function unlink(): int
    {
        return $this->library->value('millpond_ick_delete', [...$this->named(), true], 'number');
    }

    public function lease(float $ttl): ?ConsumerLease
    {
        $arguments = [...$this->named(), Arguments::milliseconds('ttl', $ttl)];
        $made = fn (CData $handle): ConsumerLease => new ConsumerLease($this->library, $handle);

        return $this->library->handle('millpond_ick_lease_acquire', $arguments, 'lease', $made);
    }

    public function batches(int $max, ?float $wait = null): Batches
    {
        return Batches::open($this->library, 'millpond_ick_batches_new', $this->named(), $max, $wait, $this->client);
    }

    /**
     * @return array{CData, string, int} the arguments that name an Ick in the library's functions
     */
    private function named(): array
    {
        return [$this->client->handle, $this->name, \strlen($this->name)];
    }
}
