<?php

declare(strict_types=1);

namespace Millpond\Tests;

/**
 * A loop of a row of the table of queues, in the texts of its items.
 */
final class Loop
{
    /**
     * @param object $queue of the row
     * @param object $of    the loop itself
     */
    public function __construct(
        public readonly Queue $row,
        public readonly object $queue,
        public readonly object $of,
    ) {
    }

    public function put(string ...$texts): void
    {
        ($this->row->put)($this->queue, $texts);
    }

    /**
     * @return list<string>
     */
    public function next(): array
    {
        return $this->row->texts($this->of->next());
    }

    /**
     * What the first turn of a `foreach` gets.
     *
     * @return list<string>
     */
    public function first(): array
    {
        foreach ($this->of as $taken) {
            return $this->row->texts($taken);
        }

        return [];
    }

    /**
     * What a `foreach` to the end gets.
     *
     * @return list<string>
     */
    public function all(): array
    {
        return \array_merge(...\array_map($this->row->texts(...), \iterator_to_array($this->of, false)));
    }
}
