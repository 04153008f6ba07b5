<?php

declare(strict_types=1);

namespace Millpond\Tasks;

/**
 * One page of a namespace.
 */
final class DocPage
{
    /**
     * @param list<Doc>        $docs by primary key, secondary key and id
     * @param DocPosition|null $next what the next page comes after; null for the last page
     */
    public function __construct(
        public readonly array $docs,
        public readonly ?DocPosition $next,
    ) {
    }
}
