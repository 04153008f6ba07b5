<?php

declare(strict_types=1);

namespace Millpond\Tasks;

/**
 * A document at a version.
 */
final class DocId
{
    /**
     * @param string $namespace the document's namespace
     * @param string $id        the document's id
     * @param int    $version   the version that it has to have
     */
    public function __construct(
        public readonly string $namespace,
        public readonly string $id,
        public readonly int $version,
    ) {
    }
}
