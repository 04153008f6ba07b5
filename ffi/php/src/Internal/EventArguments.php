<?php

declare(strict_types=1);

namespace Millpond\Internal;

use FFI;
use Millpond\Event;
use Millpond\EventPosition;
use Millpond\EventReceipt;
use Millpond\NewEvent;
use Millpond\Published;
use Millpond\Schedule;

/**
 * Converts PHP values for event queues to what the library takes; see `Arguments`.
 *
 * @internal
 */
final class EventArguments
{
    /**
     * The number of a case; NOT_SET for null.
     */
    public static function number(?\UnitEnum $case): int
    {
        return $case === null ? Arguments::NOT_SET : 1 + \array_search($case, $case::cases(), true);
    }

    /**
     * One event or many; a string is the payload of one event.
     *
     * @param NewEvent|string|iterable<mixed> $events
     */
    public static function events(FFI $ffi, string $argument, NewEvent|string|iterable $events): Packed
    {
        $bytes = 0;
        $event = static function (mixed $event, string $path) use (&$bytes): array {
            $cells = match (true) {
                \is_string($event) => (new NewEvent($event))->cells(),
                $event instanceof NewEvent => $event->cells(),
                default => throw Arguments::wrong($path, 'be NewEvent or string', $event),
            };
            Limits::checkBytes($bytes += \strlen($cells[1]));

            return $cells;
        };

        return Packed::records($ffi, 'millpond_new_event *', Arguments::each($argument, $events, Limits::get()->items, $event));
    }

    /**
     * @param iterable<mixed> $schedules
     */
    public static function schedules(FFI $ffi, string $argument, iterable $schedules): Packed
    {
        $schedule = static fn (mixed $of, string $path): array => $of instanceof Schedule
            ? $of->cells() : throw Arguments::wrong($path, 'be Schedule', $of);

        $records = Arguments::each($argument, $schedules, Limits::get()->schedules, $schedule);

        return Packed::records($ffi, 'millpond_schedule *', $records);
    }

    /**
     * One delivery or many.
     *
     * @param Event|EventReceipt|iterable<mixed> $deliveries
     */
    public static function receipts(FFI $ffi, string $argument, Event|EventReceipt|iterable $deliveries): Packed
    {
        $receipt = static fn (mixed $of, string $path): array => $of instanceof Event || $of instanceof EventReceipt
            ? [$of->id, $of->token] : throw Arguments::wrong($path, 'be Event or EventReceipt', $of);
        $records = Arguments::each($argument, $deliveries, Limits::get()->items, $receipt);

        return Packed::records($ffi, 'millpond_event_receipt *', $records);
    }

    /**
     * One id or many, or the events that have them.
     *
     * @param Event|Published|string|iterable<mixed> $ids
     *
     * @return list<string>
     */
    public static function ids(Event|Published|string|iterable $ids): array
    {
        return Arguments::each('ids', $ids, Limits::get()->items, static fn (mixed $id, string $path): string => match (true) {
            \is_string($id) => $id,
            $id instanceof Event, $id instanceof Published => $id->id,
            default => throw Arguments::wrong($path, 'be Event, Published or string', $id),
        });
    }

    public static function position(FFI $ffi, EventPosition|Event|null $after): Packed
    {
        return Packed::records($ffi, 'millpond_event_position *', $after === null ? [] : [
            [Arguments::size('after.stateAtUs', $after->stateAtUs), $after->id],
        ]);
    }
}
