<?php

declare(strict_types=1);

namespace Millpond;

use FFI\CData;
use Millpond\Internal\Handles;
use Millpond\Internal\Library;
use Millpond\Internal\Owns;
use Millpond\Internal\ShuffleJobCalls;
use Millpond\Internal\ShuffleResults;

/**
 * A message that is being processed; the handler of a `ShuffleWorker` receives it.
 *
 * A native thread renews it three times per lease, so a busy handler does not lose it.
 */
final class ShuffleJob implements ShuffleJobInterface
{
    use Owns, ShuffleJobCalls;

    /** The message, as it was taken. */
    public readonly Message $message;

    private readonly CData $handle;

    /** @internal made by a worker; a job without a handle is over, and every call on it is refused */
    public function __construct(private readonly Library $library, ?CData $handle, ?Message $message = null)
    {
        $this->handle = $handle ?? $library->ffi->new('millpond_shuffle_job *');
        if ($handle !== null) {
            Handles::keep($this, $library->ffi, 'millpond_shuffle_job_free', $handle);
        }
        $this->message = $message ?? ShuffleResults::message($library->ffi->millpond_shuffle_job_data($handle)[0]);
    }
}
