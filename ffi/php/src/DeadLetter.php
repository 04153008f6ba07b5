<?php

declare(strict_types=1);

namespace Millpond;

/**
 * A message that was delivered too often without being acknowledged, and its history.
 */
final class DeadLetter
{
    /**
     * @param string  $id         its id among the dead letters, in the stream `<queue>:dead`
     * @param Message $message    the message as it was, with the stream and the id that it had
     * @param string  $group      the group that it was delivered to
     * @param string  $consumer   the last consumer that it was delivered to
     * @param int     $deliveries how often it was delivered
     */
    public function __construct(
        public readonly string $id,
        public readonly Message $message,
        public readonly string $group,
        public readonly string $consumer,
        public readonly int $deliveries,
    ) {
    }
}
