<?php

declare(strict_types=1);

namespace Millpond\Internal;

use FFI\CData;
use Millpond\Slice;

/**
 * The loop over slices of a recruiter that works until it is stopped.
 *
 * @internal
 */
final class Slices
{
    use Owns;

    /** Kept here when it arrives, so that nothing is lost if a signal handler throws. */
    private ?Slice $slice = null;

    public function __construct(
        private readonly Library $library,
        private readonly CData $handle,
    ) {
        Handles::keep($this, $library->ffi, 'millpond_recruiter_slices_free', $handle);
    }

    /**
     * Waits for the next slice; null if the recruiter is stopped.
     */
    public function next(): ?Slice
    {
        Signals::keeping($this->library->ffi, \INF, function (): void {
            Handles::sweep();
            $slice = $this->library->value('millpond_recruiter_slices_next', [$this->handle], 'slice');
            $this->slice = $slice === null ? null : new Slice($this->library, $slice);
        });
        [$slice, $this->slice] = [$this->slice, null];

        return $slice;
    }
}
