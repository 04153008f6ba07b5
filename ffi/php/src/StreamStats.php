<?php

declare(strict_types=1);

namespace Millpond;

/**
 * What a stream of a queue holds for a group.
 */
final class StreamStats
{
    /**
     * @param int        $len        entries, finished ones included
     * @param int        $pending    messages delivered to the group and not acknowledged
     * @param int        $lag        messages not yet delivered to the group; after messages were
     *                               deleted in between, and on Redis before 7, it may be as many as
     *                               `$len` where it should be less
     * @param float|null $oldestIdle seconds since the oldest pending message was last delivered;
     *                               null if there is none
     */
    public function __construct(
        public readonly int $len,
        public readonly int $pending,
        public readonly int $lag,
        public readonly ?float $oldestIdle,
    ) {
    }
}
