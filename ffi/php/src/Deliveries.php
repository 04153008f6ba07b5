<?php

declare(strict_types=1);

namespace Millpond;

use FFI\CData;
use Millpond\Internal\EventResults;
use Millpond\Internal\Handles;
use Millpond\Internal\Library;
use Millpond\Internal\Owns;
use Millpond\Internal\Signals;
use Millpond\Internal\YieldsBatches;

/**
 * The loop of a consumer: batches of leased events, by default of one event. Made by
 * `EventQueue::deliveries()`.
 *
 * Asking for the next batch does not affect the one before: its events are leased until they are ended, or
 * until the lease expires. Without `wait` the loop ends when nothing is ready. A non-retryable error always
 * ends the loop.
 *
 * A second `foreach` over the same object continues with the next batch.
 *
 *     $queue = Millpond::connect('memory:')->events('orders');
 *     $queue->publishMany(['a', 'b', 'c']);
 *     foreach ($queue->deliveries(max: 2) as $events) {
 *         echo count($queue->ackMany($events)), "\n"; // 2, then 1
 *     }
 *
 * @implements \IteratorAggregate<int, list<Event>>
 */
final class Deliveries implements DeliveriesInterface
{
    use Owns, YieldsBatches;

    /** @internal made by `EventQueue::deliveries()` */
    public function __construct(
        private readonly Library $library,
        private readonly CData $handle,
        private readonly ?float $wait,
        private readonly EventQueue $queue,
    ) {
        Handles::keep($this, $library->ffi, 'millpond_events_deliveries_free', $handle);
    }

    private function fetch(): void
    {
        Signals::keeping($this->library->ffi, $this->wait, function (): void {
            $call = $this->library->made('millpond_events_deliveries_next', [$this->handle], 'events_result');
            $batch = EventResults::of($this->library->ffi, $call->events_result[0], 'events');
            if ($batch !== null) {
                $this->keep($batch);
            }
        });
    }
}
