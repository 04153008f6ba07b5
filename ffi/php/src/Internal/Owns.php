<?php

declare(strict_types=1);

namespace Millpond\Internal;

/**
 * Frees what the library has made for an object. A copy of the object would free what the original
 * holds.
 *
 * @internal
 */
trait Owns
{
    public function __destruct()
    {
        Handles::free($this->handle);
    }

    private function __clone(): void
    {
    }
}
