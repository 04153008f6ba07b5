<?php

declare(strict_types=1);

namespace Millpond;

/**
 * What a consumer took over from others.
 */
final class Reclaimed
{
    /**
     * @param list<Message> $messages those that are this consumer's now
     * @param int           $dead     how many became dead letters instead
     */
    public function __construct(
        public readonly array $messages,
        public readonly int $dead,
    ) {
    }
}
