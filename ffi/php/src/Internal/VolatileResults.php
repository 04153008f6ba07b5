<?php

declare(strict_types=1);

namespace Millpond\Internal;

use FFI\CData;
use Millpond\FieldPage;

/**
 * Reads what the library returns about volatile hashes.
 *
 * @internal
 */
final class VolatileResults
{
    use ReadsRecords;

    /** The prefix of the names of its functions. */
    private const RESULT = 'millpond_volatile_result';

    /**
     * Reads the result of a call.
     */
    private function read(string $what): mixed
    {
        $data = $this->data[0];

        return match ($what) {
            'values' => $this->values($this->ffi->cast('int64_t *', $data->values), $data->value_count),
            'value' => $this->read('values')[0],
            'fieldPage' => new FieldPage(
                $this->all('readHashField', $data->field_count, $data, 'fields', 'field_size'),
                $this->one('readFieldPosition', $data->next),
            ),
            'hashStats' => $this->one('readHashStats', $data->stats),
            'reaped' => $this->one('readReaped', $data->reaped),
            'acquired' => $this->one('readAcquired', $data->acquired),
            'valueOrLock' => $this->one('readValueOrLock', $data->value_or_lock),
            'lockHolder' => $this->one('readLockHolder', $data->holder),
        };
    }

    /**
     * Reads an array of millpond_bytes; the address of one that is not there is 0.
     *
     * @return list<string|null>
     */
    private function values(CData $words, int $count): array
    {
        $found = [];
        for ($word = 0, $end = 2 * $count; $word < $end; $word += 2) {
            $address = $words[$word];
            $found[] = $address === 0 ? null : \substr($this->texts, $address - $this->base, $words[$word + 1]);
        }

        return $found;
    }
}
