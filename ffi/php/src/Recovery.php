<?php

declare(strict_types=1);

namespace Millpond;

/**
 * What opening a `file:` found; from `Client::recovery()`.
 */
final class Recovery
{
    /**
     * @param int          $records       records that were read, of the snapshot and of the log
     * @param int          $tornBytes     bytes at the end of the log that were no whole record and were
     *                                    cut off
     * @param int          $snapshotBytes size of the snapshot; 0 without one
     * @param int          $logBytes      size of the log after the snapshot
     * @param bool         $closed        whether the last process closed the engine, or there was none.
     *                                    After a crash or a kill it is false, which alone does not mean
     *                                    that anything was lost
     * @param string|null  $suspicion     what looks as if acknowledged steps were lost, in a sentence;
     *                                    null where nothing does
     * @param list<string> $warnings      everything that an operator should know: the suspicion, and a
     *                                    directory that other users can enter
     */
    public function __construct(
        public readonly int $records,
        public readonly int $tornBytes,
        public readonly int $snapshotBytes,
        public readonly int $logBytes,
        public readonly bool $closed,
        public readonly ?string $suspicion,
        public readonly array $warnings,
    ) {
    }
}
