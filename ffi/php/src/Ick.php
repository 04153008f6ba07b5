<?php

declare(strict_types=1);

namespace Millpond;

use FFI;
use FFI\CData;
use Millpond\Internal\Arguments;
use Millpond\Internal\Handles;
use Millpond\Internal\Library;
use Millpond\Internal\Limits;
use Millpond\Internal\Packed;
use Millpond\Internal\Signals;

/**
 * An Ick by its name, made by `Client::ick()`.
 */
final class Ick implements IckInterface
{
    private readonly Library $library;

    private readonly FFI $ffi;

    /** @internal made by `Client::ick()` */
    public function __construct(
        private readonly Client $client,
        private readonly string $name,
    ) {
        $this->library = $client->library;
        $this->ffi = $client->library->ffi;
    }

    public function add(iterable $pairs): Added
    {
        $packed = Packed::pairs($this->ffi, ...Arguments::pairs($pairs));
        $call = $this->library->call();
        $status = $this->ffi->millpond_ick_add(
            $this->client->handle,
            $this->name,
            \strlen($this->name),
            $packed->array,
            $packed->count,
            $call->added,
            $call->error,
        );
        $this->library->check($status, $call);

        return new Added($call->added[0]->new_members, $call->added[0]->lowered_members);
    }

    public function reserve(int $max, bool $backwash = false): array
    {
        $size = Arguments::size('max', $max);
        $call = $this->library->call();
        $status = $this->ffi->millpond_ick_reserve(
            $this->client->handle,
            $this->name,
            \strlen($this->name),
            $size,
            $backwash,
            $call->entries,
            $call->error,
        );
        $this->library->check($status, $call);

        return $this->library->entries($call);
    }

    public function commit(iterable $members): int
    {
        $packed = Packed::members($this->ffi, Arguments::members($members, Limits::get()->items));
        $call = $this->library->call();
        $status = $this->ffi->millpond_ick_commit(
            $this->client->handle,
            $this->name,
            \strlen($this->name),
            $packed->array,
            $packed->count,
            $call->number,
            $call->error,
        );
        $this->library->check($status, $call);

        return $call->number[0];
    }

    public function exchange(int $max, iterable $members = [], bool $backwash = false): array
    {
        $size = Arguments::size('max', $max);
        $packed = Packed::members($this->ffi, Arguments::members($members));
        $call = $this->library->call();
        $status = $this->ffi->millpond_ick_exchange(
            $this->client->handle,
            $this->name,
            \strlen($this->name),
            $size,
            $packed->array,
            $packed->count,
            $backwash,
            $call->entries,
            $call->error,
        );
        $this->library->check($status, $call);

        return $this->library->entries($call);
    }

    public function stats(): ?Stats
    {
        $call = $this->library->call();
        $call->stats[0]->size = FFI::sizeof($call->stats[0]);
        $status = $this->ffi->millpond_ick_stats_read(
            $this->client->handle,
            $this->name,
            \strlen($this->name),
            $call->stats,
            $call->error,
        );
        $this->library->check($status, $call);
        $stats = $call->stats[0];
        if (!$stats->exists) {
            return null;
        }
        [$hasPset, $hasCset, $hasAny] = [$stats->pset_size > 0, $stats->cset_size > 0, $stats->total_size > 0];
        [$key, $psetKey, $csetKey] = $this->keys();

        return new Stats(
            ver: $this->ffi->millpond_ick_version(),
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
        $size = Arguments::size('max', $max);
        $number = $set === IckSet::Producer ? $this->ffi->MILLPOND_ICK_PRODUCER : $this->ffi->MILLPOND_ICK_CONSUMER;
        $call = $this->library->call();
        $status = $this->ffi->millpond_ick_peek(
            $this->client->handle,
            $this->name,
            \strlen($this->name),
            $number,
            $size,
            $call->entries,
            $call->error,
        );
        $this->library->check($status, $call);

        return $this->library->entries($call);
    }

    public function delete(): int
    {
        return $this->remove(false);
    }

    public function unlink(): int
    {
        return $this->remove(true);
    }

    public function lease(float $ttl): ?ConsumerLease
    {
        $milliseconds = Arguments::milliseconds('ttl', $ttl);

        return Signals::held(function () use ($milliseconds): ?ConsumerLease {
            Handles::sweep();
            $call = $this->library->call();
            $status = $this->ffi->millpond_ick_lease_acquire(
                $this->client->handle,
                $this->name,
                \strlen($this->name),
                $milliseconds,
                $call->lease,
                $call->error,
            );
            $this->library->check($status, $call);
            $lease = $call->lease[0];

            return $lease === null ? null : new ConsumerLease($this->library, $lease);
        });
    }

    public function batches(int $max, ?float $wait = null): Batches
    {
        $size = Arguments::size('max', $max);
        $milliseconds = Arguments::wait('wait', $wait);
        $open = fn (CData $call): int => $this->ffi->millpond_ick_batches_new(
            $this->client->handle,
            $this->name,
            \strlen($this->name),
            $size,
            $milliseconds,
            $call->batches,
            $call->error,
        );

        return Batches::open($this->library, $open, $wait !== null, $this->client);
    }

    private function remove(bool $unlink): int
    {
        $call = $this->library->call();
        $status = $this->ffi->millpond_ick_delete(
            $this->client->handle,
            $this->name,
            \strlen($this->name),
            $unlink,
            $call->number,
            $call->error,
        );
        $this->library->check($status, $call);

        return $call->number[0];
    }

    /**
     * @return list<string>
     */
    private function keys(): array
    {
        $call = $this->library->call();
        $status = $this->ffi->millpond_ick_keys(
            $this->name,
            \strlen($this->name),
            $call->keys,
            $call->error,
        );
        $this->library->check($status, $call);

        return $this->library->keys($call);
    }
}
