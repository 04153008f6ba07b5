<?php

declare(strict_types=1);

namespace Millpond\Tasks;

/**
 * What is in a namespace.
 */
final class NamespaceStats
{
    /**
     * @param string $namespace the namespace's name
     * @param int    $size      all documents
     * @param int    $claimed   documents that are claimed now
     */
    public function __construct(
        public readonly string $namespace,
        public readonly int $size,
        public readonly int $claimed,
    ) {
    }
}
