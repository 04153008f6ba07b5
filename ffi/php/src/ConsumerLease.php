<?php

declare(strict_types=1);

namespace Millpond;

use FFI\CData;
use Millpond\Internal\Arguments;
use Millpond\Internal\Handles;
use Millpond\Internal\Library;
use Millpond\Internal\Packed;

/**
 * The right to consume an Ick, for as long as it is held; made by `Ick::lease()`.
 *
 * A native thread renews it, so a busy consumer keeps it. Calls through it carry its token: once it
 * is lost they throw a LeaseLostException and do nothing, so a consumer that was paused for too
 * long cannot commit what another one works on.
 *
 *     $files = Millpond::connect('memory:')->ick('files');
 *     $files->add([[1, 'a.txt']]);
 *     $lease = $files->lease(30) ?? exit('another consumer is at work');
 *     try {
 *         foreach ($lease->batches(100) as $batch) {
 *             echo $batch[0]->member, "\n"; // a.txt
 *         }
 *     } finally {
 *         $lease->release();
 *     }
 *
 * A lease that is not referenced any more is released in the background; if the process ends
 * before that is done, it expires.
 */
final class ConsumerLease implements ConsumerLeaseInterface
{
    /** @internal made by `Ick::lease()` */
    public function __construct(
        private readonly Library $library,
        private readonly CData $handle,
    ) {
        Handles::keep($this, $library->ffi, 'millpond_ick_lease_free', $handle);
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
     * Whether the lease was lost or released: stop working on the batch. Makes no call.
     */
    public function isLost(): bool
    {
        $call = $this->library->call();
        $status = $this->library->ffi->millpond_ick_lease_is_lost(
            $this->handle,
            $call->flag,
            $call->error,
        );
        $this->library->check($status, $call);

        return $call->flag[0];
    }

    /**
     * `Ick::reserve()` for the holder alone.
     *
     * @return list<Entry>
     *
     * @throws Exception\LeaseLostException and what `Ick::reserve()` throws
     */
    public function reserve(int $max): array
    {
        $size = Arguments::size('max', $max);
        $call = $this->library->call();
        $status = $this->library->ffi->millpond_ick_lease_reserve(
            $this->handle,
            $size,
            $call->entries,
            $call->error,
        );
        $this->library->check($status, $call);

        return $this->library->entries($call);
    }

    /**
     * `Ick::commit()` for the holder alone; at most 250,000 members.
     *
     * @param iterable<string> $members
     *
     * @throws Exception\LeaseLostException and what `Ick::commit()` throws
     */
    public function commit(iterable $members): int
    {
        $packed = Packed::members($this->library->ffi, Arguments::members($members));
        $call = $this->library->call();
        $status = $this->library->ffi->millpond_ick_lease_commit(
            $this->handle,
            $packed->array,
            $packed->count,
            $call->number,
            $call->error,
        );
        $this->library->check($status, $call);

        return $call->number[0];
    }

    /**
     * `Ick::exchange()` for the holder alone.
     *
     * @param iterable<string> $members
     *
     * @return list<Entry>
     *
     * @throws Exception\LeaseLostException and what `Ick::exchange()` throws
     */
    public function exchange(int $max, iterable $members = []): array
    {
        $size = Arguments::size('max', $max);
        $packed = Packed::members($this->library->ffi, Arguments::members($members));
        $call = $this->library->call();
        $status = $this->library->ffi->millpond_ick_lease_exchange(
            $this->handle,
            $size,
            $packed->array,
            $packed->count,
            $call->entries,
            $call->error,
        );
        $this->library->check($status, $call);

        return $this->library->entries($call);
    }

    /**
     * `Ick::batches()` for the holder alone.
     *
     * @throws Exception\LeaseLostException if it was released
     */
    public function batches(int $max, ?float $wait = null): Batches
    {
        $size = Arguments::size('max', $max);
        $milliseconds = Arguments::wait('wait', $wait);
        $open = fn (CData $call): int => $this->library->ffi->millpond_ick_lease_batches(
            $this->handle,
            $size,
            $milliseconds,
            $call->batches,
            $call->error,
        );

        return Batches::open($this->library, $open, $wait !== null, $this);
    }

    /**
     * Releases the lease, so that another consumer can take it at once.
     *
     * @return bool false if it was not held any more
     *
     * @throws Exception\MillpondException what the connection throws; the lease then expires
     */
    public function release(): bool
    {
        $call = $this->library->call();
        $status = $this->library->ffi->millpond_ick_lease_release(
            $this->handle,
            $call->flag,
            $call->error,
        );
        try {
            $this->library->check($status, $call);
        } catch (Exception\LeaseLostException) {
            return false;
        }

        return $call->flag[0];
    }
}
