<?php

declare(strict_types=1);

namespace Millpond\Tasks;

/**
 * A task at a version.
 */
final class TaskId
{
    /**
     * @param string $id      the task's id
     * @param int    $version the version that it has to have
     */
    public function __construct(
        public readonly string $id,
        public readonly int $version,
    ) {
    }
}
