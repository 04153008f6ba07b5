<?php

declare(strict_types=1);

namespace Millpond;

/**
 * What an add changed. A member that is passed twice can count in both.
 */
final class Added
{
    /**
     * @param int $new     members that were not in the producer set
     * @param int $lowered members that were, and whose score went down
     */
    public function __construct(
        public readonly int $new,
        public readonly int $lowered,
    ) {
    }
}
