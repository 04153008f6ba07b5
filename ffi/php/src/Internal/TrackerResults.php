<?php

declare(strict_types=1);

namespace Millpond\Internal;

use FFI\CData;
use Millpond\Sample;

/**
 * Reads what the library returns about queue trackers.
 *
 * @internal
 */
final class TrackerResults
{
    use ReadsRecords;

    /** The prefix of the names of its functions. */
    private const RESULT = 'millpond_tracker_result';

    /**
     * Reads the result of a call.
     */
    private function read(string $what): mixed
    {
        $data = $this->data[0];

        return match ($what) {
            'trackeds' => $this->all('readTracked', $data->entry_count, $data, 'entries', 'entry_size'),
            'sample' => new Sample($this->ids($this->ffi->cast('int64_t *', $data->ids), $data->id_count), $data->stamp),
            'trackerStats' => $this->one('readTrackerStats', $data->stats),
            'scanned' => $this->one('readScanned', $data->scanned),
            'pruned' => $this->one('readPruned', $data->pruned),
        };
    }

    /**
     * Reads an array of millpond_bytes.
     *
     * @return list<string>
     */
    private function ids(CData $words, int $count): array
    {
        $found = [];
        for ($word = 0, $end = 2 * $count; $word < $end; $word += 2) {
            $found[] = \substr($this->texts, $words[$word] - $this->base, $words[$word + 1]);
        }

        return $found;
    }
}
