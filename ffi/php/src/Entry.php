<?php

declare(strict_types=1);

namespace Millpond;

/**
 * A member of a batch, and its score.
 */
final class Entry
{
    /**
     * @param string $member the bytes that were added
     * @param float  $score  its score; lower ones come first
     */
    public function __construct(
        public readonly string $member,
        public readonly float $score,
    ) {
    }
}
