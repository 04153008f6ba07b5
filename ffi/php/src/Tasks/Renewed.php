<?php

declare(strict_types=1);

namespace Millpond\Tasks;

/**
 * What was renewed, in the order of the arguments.
 */
final class Renewed
{
    /**
     * @param list<TaskId> $tasks the tasks at their new versions
     * @param list<DocId>  $docs  the documents at their new versions
     * @param int          $atMs  until when all are held, in milliseconds since the Unix epoch
     */
    public function __construct(
        public readonly array $tasks,
        public readonly array $docs,
        public readonly int $atMs,
    ) {
    }
}
