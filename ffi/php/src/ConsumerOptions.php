<?php

declare(strict_types=1);

namespace Millpond;

/**
 * How a consumer of a shuffle queue reads, for `ShuffleQueue::consumer()`; set by named arguments.
 */
final class ConsumerOptions
{
    /**
     * @param int|null $preferStream  the number of a stream to read from first, as long as it has messages
     * @param bool     $defaultStream whether to read also from the stream at the queue's own name: a plain
     *                                stream becomes a shuffle queue while its writers move. The group there
     *                                has the queue's name
     * @param int      $maxDeliveries the number of deliveries after which a reclaimed message becomes a
     *                                dead letter; with 0 it never does
     */
    public function __construct(
        public readonly ?int $preferStream = null,
        public readonly bool $defaultStream = false,
        public readonly int $maxDeliveries = 0,
    ) {
    }
}
