<?php

declare(strict_types=1);

namespace Millpond\Internal;

use FFI\CData;
use Millpond\Exception\LeaseLostException;

/**
 * The lease of an Ick or the lock of a field, which a native thread renews; `HANDLE` is the library's name of it.
 *
 * @internal
 */
trait HoldsLease
{
    use Owns;

    /** @internal made by what it is a lease of */
    public function __construct(
        private readonly Library $library,
        private readonly CData $handle,
    ) {
        Handles::keep($this, $library->ffi, self::HANDLE . '_free', $handle);
    }

    public function release(): bool
    {
        try {
            return $this->library->value(self::HANDLE . '_release', [$this->handle], 'flag');
        } catch (LeaseLostException) {
            // It was released before.
            return false;
        }
    }
}
