<?php

declare(strict_types=1);

namespace Millpond\Internal;

use FFI\CData;
use Millpond\EventPage;

/**
 * Reads what the library returns about events.
 *
 * @internal
 */
final class EventResults
{
    use ReadsRecords;

    /** The prefix of the names of its functions. */
    private const RESULT = 'millpond_events_result';

    /**
     * What became of each item.
     *
     * @template Outcome
     *
     * @param list<Outcome> $cases
     * @param CData         $numbers the numbers of the cases, from 1 on
     *
     * @return list<Outcome>
     */
    public static function outcomes(array $cases, CData $numbers, int $count): array
    {
        $found = [];
        for ($index = 0; $index < $count; ++$index) {
            $found[] = $cases[$numbers[$index] - 1];
        }

        return $found;
    }

    /**
     * Reads the result of a call.
     */
    private function read(string $what): mixed
    {
        $data = $this->data[0];

        return match ($what) {
            'events' => $this->all('readEvent', $data->event_count, $data, 'events', 'event_size'),
            'publisheds' => $this->all('readPublished', $data->published_count, $data, 'published', 'published_size'),
            'published' => $this->read('publisheds')[0],
            'eventPage' => new EventPage($this->read('events'), $this->one('readEventPosition', $data->next)),
            'eventStats' => $this->one('readEventStats', $data->stats),
            'scheduleInfos' => $this->all('readScheduleInfo', $data->schedule_count, $data, 'schedules', 'schedule_size'),
            'scheduleInfo' => $this->read('scheduleInfos')[0],
            'syncedSchedules' => $this->one('readSyncedSchedules', $data->synced),
            'eventConfig' => $this->one('readEventConfig', $data->config),
        };
    }
}
