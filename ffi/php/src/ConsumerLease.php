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

    public function isLost(): bool
    {
        $call = $this->library->made('millpond_ick_lease_is_lost', [$this->handle], 'flag');

        return $call->flag[0];
    }

    public function reserve(int $max): array
    {
        $size = Arguments::size('max', $max);
        $call = $this->library->made('millpond_ick_lease_reserve', [$this->handle, $size], 'entries');

        return $this->library->entries($call);
    }

    public function commit(iterable $members): int
    {
        $packed = Packed::members($this->library->ffi, Arguments::members($members));
        $call = $this->library->made(
            'millpond_ick_lease_commit',
            [$this->handle, $packed->array, $packed->count],
            'number',
        );

        return $call->number[0];
    }

    public function exchange(int $max, iterable $members = []): array
    {
        $size = Arguments::size('max', $max);
        $packed = Packed::members($this->library->ffi, Arguments::members($members));
        $call = $this->library->made(
            'millpond_ick_lease_exchange',
            [$this->handle, $size, $packed->array, $packed->count],
            'entries',
        );

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
