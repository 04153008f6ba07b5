<?php

declare(strict_types=1);

namespace Millpond;

/**
 * The sizes and score ranges of an Ick. Scores are exact; the range of an empty set is null.
 */
final class Stats
{
    /**
     * @param string     $ver       the version flag, `ick.v1`
     * @param string     $key       the name, which is the key of the flag
     * @param string     $psetKey   the key of the producer set
     * @param string     $csetKey   the key of the consumer set
     * @param int        $psetSize  members that are flagged and not reserved
     * @param int        $csetSize  members that are reserved and not committed
     * @param int        $totalSize members in both sets; one that is in both counts twice
     * @param float|null $psetMin   the lowest score in the producer set
     * @param float|null $psetMax   the highest score in the producer set
     * @param float|null $csetMin   the lowest score in the consumer set
     * @param float|null $csetMax   the highest score in the consumer set
     * @param float|null $totalMin  the lowest score in both sets
     * @param float|null $totalMax  the highest score in both sets
     */
    public function __construct(
        public readonly string $ver,
        public readonly string $key,
        public readonly string $psetKey,
        public readonly string $csetKey,
        public readonly int $psetSize,
        public readonly int $csetSize,
        public readonly int $totalSize,
        public readonly ?float $psetMin,
        public readonly ?float $psetMax,
        public readonly ?float $csetMin,
        public readonly ?float $csetMax,
        public readonly ?float $totalMin,
        public readonly ?float $totalMax,
    ) {
    }
}
