<?php

declare(strict_types=1);

namespace Millpond;

use Millpond\Exception\MillpondException;
use Millpond\Tasks\Task;

/**
 * What became of a job, or of the server, for the `onEvent` of a worker.
 */
final class Report
{
    /**
     * @param ReportKind              $kind      what happened
     * @param bool                    $isTrouble whether somebody should know of it even if nobody asked
     * @param string                  $message   all of it in one line, to log
     * @param Task|Message|Event|null $of        what it happened to, as it was taken: a task, a message of a
     *                                           shuffle queue, or an event; null for what concerns the whole worker
     * @param MillpondException|null  $error     why, where the library or the store said so
     */
    public function __construct(
        public readonly ReportKind $kind,
        public readonly bool $isTrouble,
        public readonly string $message,
        public readonly Task|Message|Event|null $of = null,
        public readonly ?MillpondException $error = null,
    ) {
    }
}
