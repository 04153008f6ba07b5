<?php

declare(strict_types=1);

namespace Millpond;

use Millpond\Exception\MillpondException;
use Millpond\Tasks\Task;

/**
 * What became of a job, or of the server; passed to the `onEvent` of a worker.
 */
final class Report
{
    /**
     * @param ReportKind              $kind      what happened
     * @param bool                    $isTrouble whether it needs attention: it is logged by default
     * @param string                  $message   a summary in one line, for a log
     * @param Task|Message|Event|null $of        the task, the message of a shuffle queue or the event that it
     *                                           concerns, as it was taken; null if it concerns the whole worker
     * @param MillpondException|null  $error     the reason, if the library or the store gave one
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
