<?php

declare(strict_types=1);

namespace Millpond\Tasks;

/**
 * One page of a queue.
 */
final class TaskPage
{
    /**
     * @param list<Task>    $tasks by time and id
     * @param Position|null $next  what the next page comes after; null for the last page
     */
    public function __construct(
        public readonly array $tasks,
        public readonly ?Position $next,
    ) {
    }
}
