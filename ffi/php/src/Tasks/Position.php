<?php

declare(strict_types=1);

namespace Millpond\Tasks;

/**
 * Where a task stands in the order of its queue: by time, and by id where that is the same.
 */
final class Position
{
    /**
     * @param int    $atMs the task's `atMs`
     * @param string $id   the task's id
     */
    public function __construct(
        public readonly int $atMs,
        public readonly string $id,
    ) {
    }
}
