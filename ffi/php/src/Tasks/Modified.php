<?php

declare(strict_types=1);

namespace Millpond\Tasks;

/**
 * What a modification did, each list in its order.
 */
final class Modified
{
    /**
     * @param list<Task> $inserted     the tasks that were inserted; without those that were skipped
     * @param list<Task> $changed      the tasks that were changed, as they are now
     * @param list<Doc>  $insertedDocs the documents that were inserted; without those that were skipped
     * @param list<Doc>  $changedDocs  the documents that were changed, as they are now
     */
    public function __construct(
        public readonly array $inserted,
        public readonly array $changed,
        public readonly array $insertedDocs,
        public readonly array $changedDocs,
    ) {
    }
}
