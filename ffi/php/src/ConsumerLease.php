<?php

declare(strict_types=1);

namespace Millpond;

use Millpond\Internal\ConsumerLeaseCalls;
use Millpond\Internal\HoldsLease;

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
    use ConsumerLeaseCalls, HoldsLease;

    private const HANDLE = 'millpond_ick_lease';

    public function batches(int $max, ?float $wait = null): Batches
    {
        return Batches::open($this->library, self::HANDLE . '_batches_new', [$this->handle], $max, $wait, $this);
    }
}
