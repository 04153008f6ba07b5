<?php

declare(strict_types=1);

namespace Millpond\Tasks;

/**
 * What becomes of a document; made by `Doc::change()`.
 */
final class DocChange
{
    /**
     * @internal made by `Doc::change()`
     *
     * @param list<string|int|null> $cells a millpond_doc_change
     */
    public function __construct(private readonly array $cells)
    {
    }

    /**
     * @internal
     *
     * @return list<string|int|null>
     */
    public function cells(): array
    {
        return $this->cells;
    }
}
