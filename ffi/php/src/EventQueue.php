<?php

declare(strict_types=1);

namespace Millpond;

use FFI;
use FFI\CData;
use Millpond\Internal\Arguments;
use Millpond\Internal\EventArguments;
use Millpond\Internal\EventQueueCalls;
use Millpond\Internal\EventResults;
use Millpond\Internal\Handles;
use Millpond\Internal\Library;
use Millpond\Internal\Owns;
use Millpond\Internal\Packed;
use Millpond\Internal\Signals;

/**
 * A queue of events, each of which fires at its time; made by `Client::events()`.
 *
 * Payloads, keys and headers are bytes. For a delivery that is stored elsewhere, its id and token identify
 * the event: see `EventReceipt`. If a signal handler throws during a call, the call may have taken effect,
 * but its result is lost.
 *
 *     $queue = Millpond::connect('memory:')->events('orders');
 *     $queue->publish(new NewEvent('paid', key: 'customer-12'));
 *     $reminder = $queue->publish(new NewEvent('remind', delay: 3600))->id;
 *     foreach ($queue->receive(10) as $event) {
 *         echo $event->payload, "\n"; // paid
 *         $queue->ack($event);
 *     }
 *     echo $queue->cancel($reminder)[0]->value, "\n"; // removed
 */
final class EventQueue implements EventQueueInterface
{
    use EventQueueCalls, Owns;

    private readonly Library $library;

    /** @internal made by `Client::events()` */
    public function __construct(
        private readonly Client $client,
        private readonly CData $handle,
    ) {
        $this->library = $client->library;
        Handles::keep($this, $this->library->ffi, 'millpond_events_queue_free', $handle);
    }

    public function deliveries(
        int $max = 1,
        ?float $wait = null,
        ?float $lease = null,
        ?string $keyRange = null,
    ): Deliveries {
        $lease = Arguments::optional('lease', $lease);
        $times = [$lease, Arguments::size('max', $max), Arguments::wait('wait', $wait)];
        $arguments = [$this->handle, ...$times, $keyRange, \strlen($keyRange ?? '')];
        $made = fn (CData $handle): Deliveries => new Deliveries($this->library, $handle, $wait, $this);

        return $this->library->handle('millpond_events_deliveries_new', $arguments, 'deliveries', $made);
    }

    public function worker(EventWorkerOptions $options = new EventWorkerOptions()): EventWorker
    {
        Arguments::concurrency($options->concurrency);
        $settings = $this->library->options('millpond_events_worker_options');
        $options->write($settings);
        $range = Packed::members($this->library->ffi, $options->keyRange === null ? [] : [$options->keyRange]);
        $open = function (\Closure $made) use ($range, $settings): mixed {
            if ($range->array !== null) {
                $settings->key_range = $range->array[0];
            }

            return $this->library->handle('millpond_events_worker_new', [$this->handle, FFI::addr($settings)], 'events_worker', $made);
        };
        $job = fn (?CData $handle, ?Event $event = null): EventJob => new EventJob($this->library, $handle, $event);

        return new EventWorker($this->library, 'events', $open, $job, $this->client->logger);
    }

    public function fetch(Event|Published|string|iterable $ids): array
    {
        $ids = EventArguments::ids($ids);
        $packed = Packed::members($this->library->ffi, $ids);

        return Signals::held(function () use ($ids, $packed): array {
            $arguments = [$this->handle, $packed->array, $packed->count];
            $call = $this->library->made('millpond_events_fetch', $arguments, 'events_result');
            // The events that exist, by id.
            $found = \array_column(EventResults::of($this->library->ffi, $call->events_result[0], 'events'), null, 'id');

            return \array_map(static fn (string $id): ?Event => $found[$id] ?? null, $ids);
        });
    }

    public function configure(EventConfigChange $change): void
    {
        $settings = $this->library->options('millpond_event_config_change');
        $change->write($settings);
        $this->library->made('millpond_events_configure', [$this->handle, FFI::addr($settings)]);
    }
}
