<?php

declare(strict_types=1);

namespace Millpond\Internal;

/**
 * The methods of a message.
 *
 * @internal
 */
trait MessageMethods
{
    /**
     * The value of the first field with this name; null if there is none.
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
