<?php

declare(strict_types=1);

namespace Millpond;

use FFI\CData;
use Millpond\Internal\ConsumerLeaseCalls;
use Millpond\Internal\Handles;
use Millpond\Internal\Library;
use Millpond\Internal\Owns;

/**
 * The exclusive right to consume an Ick, for as long as it is held; made by `Ick::lease()`.
 *
 * A native thread renews it three times per lease, so a busy consumer keeps it. Steps through the lease
 * carry its token: once the lease is lost they fail with LeaseLostException and do nothing, so a consumer
 * that was stopped for too long cannot commit what another one is working on.
 *
 * A lease that is no longer referenced is released in the background; if the process ends before that, the
 * lease expires.
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
 */
final class ConsumerLease implements ConsumerLeaseInterface
{
    use ConsumerLeaseCalls, Owns;

    /** @internal made by `Ick::lease()` */
    public function __construct(
        private readonly Library $library,
        private readonly CData $handle,
    ) {
        Handles::keep($this, $library->ffi, 'millpond_ick_lease_free', $handle);
    }

    public function batches(int $max, ?float $wait = null): Batches
    {
        return Batches::open($this->library, 'millpond_ick_lease_batches_new', [$this->handle], $max, $wait, $this);
    }

    public function release(): bool
    {
        try {
            return $this->library->made('millpond_ick_lease_release', [$this->handle], 'flag')->flag[0];
        } catch (Exception\LeaseLostException) {
            return false;
        }
    }
}
