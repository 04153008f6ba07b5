<?php

declare(strict_types=1);

namespace Millpond;

/**
 * What a queue holds for a group: each stream, and their sums.
 */
final class ShuffleStats
{
    /**
     * @param list<StreamStats> $streams the streams, by their numbers
     * @param int               $len     entries in all of them, finished ones included
     * @param int               $pending messages delivered to the group and not acknowledged
     * @param int               $lag     messages not yet delivered to the group
     */
    public function __construct(
        public readonly array $streams,
        public readonly int $len,
        public readonly int $pending,
        public readonly int $lag,
    ) {
    }
}
