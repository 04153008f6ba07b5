<?php

declare(strict_types=1);

namespace Millpond;

/**
 * The shape of a shuffle queue, for `ClientInterface::shuffleQueue()`; set by named arguments.
 */
final class ShuffleOptions
{
    /**
     * @param int|null   $streams         how many streams the queue has, from 1 to 65,536. The first
     *                                    write to a queue sets it; a write to one that has another
     *                                    number is refused, and `ShuffleQueue::resize()` changes it.
     *                                    With null writers use the number that the queue has, and a
     *                                    new queue gets 16. Readers need not set it
     * @param int|null   $streamsPerShard how many of the streams a tenant may write to; null is 2, or
     *                                    1 if the queue has one stream
     * @param float|null $ttl             seconds that a stream lives after it was last written to, from
     *                                    1 to 100 years. **When that time is over the stream is deleted
     *                                    with all that is in it, unprocessed messages too.** With null
     *                                    nothing that is written expires. All writers of a queue should
     *                                    have the same
     * @param float|null $deadTtl         seconds that a dead letter is kept, from 1 to 100 years: each
     *                                    `ShuffleConsumer::reclaim()` deletes those that are older. With
     *                                    null they stay until `ShuffleQueue::deleteDeadLetters()`
     * @param TrackKeys  $trackKeys       where the records of tracked messages are
     */
    public function __construct(
        public readonly ?int $streams = null,
        public readonly ?int $streamsPerShard = null,
        public readonly ?float $ttl = null,
        public readonly ?float $deadTtl = null,
        public readonly TrackKeys $trackKeys = TrackKeys::Global,
    ) {
    }
}
