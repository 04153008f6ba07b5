<?php

declare(strict_types=1);

namespace Millpond;

/**
 * Where a message is: what writing returns, and what acknowledging takes.
 */
final class Receipt
{
    /**
     * @param int|null $stream the number of its stream; null for the default stream, at the queue's
     *                         own name
     * @param string   $id     its id in that stream, such as `1700000000000-3`
     */
    public function __construct(
        public readonly ?int $stream,
        public readonly string $id,
    ) {
    }
}
