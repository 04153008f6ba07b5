<?php

declare(strict_types=1);

namespace Millpond\Internal;

/**
 * What a message can do.
 *
 * @internal
 */
trait MessageMethods
{
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
