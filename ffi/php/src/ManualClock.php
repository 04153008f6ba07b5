<?php

declare(strict_types=1);

namespace Millpond;

use FFI;
use FFI\CData;
use Millpond\Internal\Arguments;
use Millpond\Internal\Handles;
use Millpond\Internal\Library;
use Millpond\Internal\Owns;

/**
 * A clock for tests that stands still until it is advanced. What is due in an hour becomes due when the clock has
 * been advanced by an hour. An embedded engine is opened with it, as the `clock` of `Millpond::connect()`.
 *
 * The engine uses it for times, delays and leases. Everything else follows the system's time: how long a call waits,
 * a worker's timeout, and when a lease is renewed. So an advance by more than a lease ends the lease, as if its
 * holder had been stopped for that long.
 *
 *     $clock = new ManualClock(1_700_000_000_000);
 *     $store = Millpond::connect('memory:', clock: $clock)->tasks('shop');
 *     $clock->advance(60);
 *     echo $store->time() - 1_700_000_000_000, "\n"; // 60000
 */
final class ManualClock
{
    use Owns;

    private readonly Library $library;

    private readonly CData $handle;

    /**
     * Creates a clock set to this time, or to the present. A time after the year 9999 becomes the end of that year.
     *
     * @param int|null $nowMs in milliseconds since the Unix epoch
     *
     * @throws Exception\InvalidArgumentException for a time before the year 1970
     * @throws Exception\LibraryException         if libmillpond cannot be used here
     */
    public function __construct(?int $nowMs = null)
    {
        $this->library = Library::get();
        $keep = function (CData $handle): CData {
            Handles::keep($this, $this->library->ffi, 'millpond_clock_free', $handle);

            return $handle;
        };
        $now = [Arguments::optionalSize('nowMs', $nowMs)];
        $this->handle = $this->library->handle('millpond_clock_new', $now, 'clock', $keep);
    }

    /**
     * The clock's current time, in milliseconds since the Unix epoch.
     */
    public function nowMs(): int
    {
        return $this->library->value('millpond_clock_now', [$this->handle], 'number');
    }

    /**
     * Moves the clock forward, at most to the end of the year 9999.
     *
     * @param float $time by how much, in seconds
     *
     * @throws Exception\InvalidArgumentException for a negative time
     */
    public function advance(float $time): void
    {
        $this->library->made('millpond_clock_advance', [$this->handle, Arguments::milliseconds('time', $time)]);
    }

    /**
     * @internal the handle, as a field of millpond_options
     */
    public function address(): int
    {
        return FFI::cast('uintptr_t', $this->handle)->cdata;
    }
}
