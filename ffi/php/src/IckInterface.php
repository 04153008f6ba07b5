<?php

declare(strict_types=1);

namespace Millpond;

/**
 * An Ick with what needs a connection of Millpond's own: a lease, and a loop that waits.
 */
interface IckInterface extends DirtyListInterface
{
    /**
     * Takes the consumer lease, which keeps two consumers from working on one batch by mistake;
     * null if another consumer holds it.
     *
     * @param float $ttl seconds after which a consumer that crashed loses it, from 0.001 to a day
     *
     * @throws Exception\InvalidArgumentException for another time
     */
    public function lease(float $ttl): ?ConsumerLeaseInterface;

    /**
     * The consumer's loop: batches of up to `$max` members, each committed when the next is
     * requested.
     *
     * @param int        $max  how many, from 0; never more than 250,000 come
     * @param float|null $wait seconds to wait for work, again for each batch; INF waits without
     *                         limit, null ends the loop when there is nothing left
     *
     * @throws Exception\InvalidArgumentException for wrong arguments
     */
    public function batches(int $max, ?float $wait = null): BatchesInterface;
}
