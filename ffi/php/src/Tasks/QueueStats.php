<?php

declare(strict_types=1);

namespace Millpond\Tasks;

/**
 * What is in a queue: `size` is the sum of `available`, `claimed` and `future`.
 */
final class QueueStats
{
    /**
     * @param string $queue     the queue's name
     * @param int    $size      all tasks
     * @param int    $available tasks that can be claimed now
     * @param int    $claimed   tasks that cannot be claimed now and were claimed before
     * @param int    $future    tasks that cannot be claimed now and never were
     * @param int    $maxClaims how often the task was claimed that was claimed most
     */
    public function __construct(
        public readonly string $queue,
        public readonly int $size,
        public readonly int $available,
        public readonly int $claimed,
        public readonly int $future,
        public readonly int $maxClaims,
    ) {
    }
}
