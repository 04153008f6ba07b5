<?php

declare(strict_types=1);

namespace Millpond\Tasks;

/**
 * Where a document stands in the order of its namespace.
 */
final class DocPosition
{
    /**
     * @param string $key          the document's primary key
     * @param string $secondaryKey the document's secondary key
     * @param string $id           the document's id
     */
    public function __construct(
        public readonly string $key,
        public readonly string $secondaryKey,
        public readonly string $id,
    ) {
    }
}
