<?php

declare(strict_types=1);

namespace Millpond;

/**
 * A message that was delivered to a consumer.
 */
final class Message
{
    /**
     * @param int|null                    $stream     the number of its stream; null for the default
     *                                                stream, at the queue's own name
     * @param string                      $id         its id in that stream, such as
     *                                                `1700000000000-3`
     * @param list<array{string, string}> $fields     `[field, value]`, as they were written
     * @param int                         $deliveries how often it was delivered, this time included:
     *                                                1 after a read, more after a reclaim
     */
    public function __construct(
        public readonly ?int $stream,
        public readonly string $id,
        public readonly array $fields,
        public readonly int $deliveries = 1,
    ) {
    }

    /**
     * The value of the first field of this name; null if it has none.
     */
    public function field(string $name): ?string
    {
        foreach ($this->fields as [$field, $value]) {
            if ($field === $name) {
                return $value;
            }
        }

        return null;
    }
}
