<?php

declare(strict_types=1);

namespace Millpond;

use FFI\CData;
use Millpond\Internal\EventJobCalls;
use Millpond\Internal\EventResults;
use Millpond\Internal\Handles;
use Millpond\Internal\Library;
use Millpond\Internal\Owns;

/**
 * An event that is being processed; the handler of an `EventWorker` receives it.
 *
 * A native thread renews its lease three times per lease, so a busy handler does not lose it.
 */
final class EventJob implements EventJobInterface
{
    use EventJobCalls, Owns;

    /** The event, as it was received. */
    public readonly Event $event;

    private readonly CData $handle;

    /** @internal made by a worker; a job without a handle is over, and every call on it is refused */
    public function __construct(private readonly Library $library, ?CData $handle, ?Event $event = null)
    {
        $this->handle = $handle ?? $library->ffi->new('millpond_events_job *');
        if ($handle !== null) {
            Handles::keep($this, $library->ffi, 'millpond_events_job_free', $handle);
        }
        $this->event = $event ?? EventResults::in($library->ffi, $library->ffi->millpond_events_job_data($handle), 'events')[0];
    }
}
