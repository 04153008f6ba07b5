<?php

declare(strict_types=1);

namespace Millpond\Internal;

use FFI;
use FFI\CData;
use Millpond\DeadLetter;
use Millpond\Message;
use Millpond\Receipt;
use Millpond\ShuffleStats;
use Millpond\StreamStats;

/**
 * Converts what the library returns about shuffle queues to PHP values. Handles are freed.
 *
 * @internal
 */
final class ShuffleResults
{
    /** The maximum number of streams of a queue, and so of a shard. */
    private const STREAMS_MAX = 65_536;

    /** The number of words from one message to the next. */
    private static ?int $messageWords = null;

    /**
     * A batch of messages. Their bytes are copied in one step, and the two arrays are read word by word,
     * since PHP takes several times longer to read a field of a structure, and also with unpack().
     *
     * @return list<Message>
     */
    public static function messages(FFI $ffi, CData $batch): array
    {
        $count = $ffi->millpond_shuffle_batch_length($batch);
        if ($count === 0) {
            $ffi->millpond_shuffle_batch_free($batch);

            return [];
        }
        Handles::keep($ffi, $ffi, 'millpond_shuffle_batch_free', $batch);
        // A message begins with six words: stream, time, sequence, deliveries, pointer to its fields, number
        // of fields. A field has four words: pointer, length, pointer, length.
        $array = $ffi->millpond_shuffle_batch_messages($batch);
        $words = $ffi->cast('int64_t *', $array);
        $array = $ffi->millpond_shuffle_batch_fields($batch);
        $lengths = $ffi->cast('int64_t *', $array);
        $start = $ffi->millpond_shuffle_batch_bytes($batch);
        $size = $ffi->millpond_shuffle_batch_bytes_length($batch);
        $bytes = FFI::string($start, $size);
        $found = [];
        $stride = self::$messageWords ??= $ffi->millpond_shuffle_batch_stride() >> 3;
        for ($word = 0, $end = $stride * $count, $field = $offset = 0; $word < $end; $word += $stride) {
            $fields = [];
            for ($last = $field + 4 * $words[$word + 5]; $field < $last; $field += 4) {
                [$name, $value] = [$lengths[$field + 1], $lengths[$field + 3]];
                $fields[] = [\substr($bytes, $offset, $name), \substr($bytes, $offset + $name, $value)];
                $offset += $name + $value;
            }
            $stream = $words[$word];
            $id = self::id($words[$word + 1], $words[$word + 2]);
            $found[] = new Message($stream < 0 ? null : $stream, $id, $fields, $words[$word + 3]);
        }
        Handles::free($batch);

        return $found;
    }

    /**
     * @param CData $message a millpond_shuffle_message
     */
    public static function message(CData $message): Message
    {
        $fields = [];
        for ($index = 0; $index < $message->field_count; ++$index) {
            $of = $message->fields[$index];
            $fields[] = [FFI::string($of->field, $of->field_length), FFI::string($of->value, $of->value_length)];
        }
        $receipt = self::receipt($message->receipt);

        return new Message($receipt->stream, $receipt->id, $fields, $message->deliveries);
    }

    /**
     * @param CData $receipt a millpond_shuffle_receipt
     */
    public static function receipt(CData $receipt): Receipt
    {
        $stream = $receipt->stream;
        $id = self::id($receipt->id_time_ms, $receipt->id_sequence);

        return new Receipt($stream < 0 ? null : $stream, $id);
    }

    /**
     * @return list<bool>
     */
    public static function flags(FFI $ffi, CData $array, int $count): array
    {
        $found = [];
        for ($index = 0; $index < $count; ++$index) {
            $found[] = $array[$index];
        }

        return $found;
    }

    /**
     * Receipts of three words each: stream, time, sequence.
     *
     * @return list<Receipt>
     */
    public static function receipts(FFI $ffi, CData $array, int $count): array
    {
        $words = $ffi->cast('int64_t *', $array);
        $found = [];
        for ($word = 0, $end = 3 * $count; $word < $end; $word += 3) {
            $stream = $words[$word];
            $id = self::id($words[$word + 1], $words[$word + 2]);
            $found[] = new Receipt($stream < 0 ? null : $stream, $id);
        }

        return $found;
    }

    /**
     * The same; all words are 0 if there is no receipt.
     *
     * @return list<Receipt|null>
     */
    public static function maybeReceipts(FFI $ffi, CData $array, int $count): array
    {
        $maybe = static fn (Receipt $receipt): ?Receipt => $receipt->id === '0-0' ? null : $receipt;

        return \array_map($maybe, self::receipts($ffi, $array, $count));
    }

    /**
     * @return list<int>
     */
    public static function shard(Library $library, int $streams, int $streamsPerShard, string $key): array
    {
        // Nothing is written for a shard that is larger than its queue.
        $size = \max(1, \min($streams, $streamsPerShard, self::STREAMS_MAX));
        $numbers = $library->ffi->new("uint32_t[$size]");
        $call = $library->call();
        $pointer = FFI::addr($numbers[0]);
        $status = $library->ffi->millpond_shuffle_shard(
            $streams,
            $streamsPerShard,
            $key,
            \strlen($key),
            $pointer,
            $call->error,
        );
        $library->check($status, $call);
        $found = [];
        foreach ($numbers as $number) {
            $found[] = $number;
        }

        return $found;
    }

    public static function stats(FFI $ffi, CData $stats): ShuffleStats
    {
        Handles::keep($ffi, $ffi, 'millpond_shuffle_stats_free', $stats);
        $count = $ffi->millpond_shuffle_stats_length($stats);
        $streams = [];
        for ($number = 0; $number < $count; ++$number) {
            $stream = $ffi->millpond_shuffle_stats_at($stats, $number)[0];
            $idle = $stream->oldest_idle_ms;
            $streams[] = new StreamStats($stream->len, $stream->pending, $stream->lag, $idle < 0 ? null : $idle / 1000);
        }
        $total = $ffi->millpond_shuffle_stats_total($stats);
        [$len, $pending, $lag] = [$total[0]->len, $total[0]->pending, $total[0]->lag];
        Handles::free($stats);

        return new ShuffleStats($streams, $len, $pending, $lag);
    }

    /**
     * @return list<DeadLetter>
     */
    public static function letters(FFI $ffi, CData $letters): array
    {
        Handles::keep($ffi, $ffi, 'millpond_shuffle_dead_letters_free', $letters);
        $count = $ffi->millpond_shuffle_dead_letters_length($letters);
        $found = [];
        for ($index = 0; $index < $count; ++$index) {
            $letter = $ffi->millpond_shuffle_dead_letters_at($letters, $index)[0];
            $message = $letter->message[0];
            $fields = [];
            for ($number = 0, $end = $message->field_count; $number < $end; ++$number) {
                $field = $message->fields[$number];
                $name = FFI::string($field->field, $field->field_length);
                $fields[] = [$name, FFI::string($field->value, $field->value_length)];
            }
            $receipt = self::receipt($message->receipt);
            $found[] = new DeadLetter(
                self::id($letter->id_time_ms, $letter->id_sequence),
                new Message($receipt->stream, $receipt->id, $fields, $message->deliveries),
                FFI::string($letter->group, $letter->group_length),
                FFI::string($letter->consumer, $letter->consumer_length),
                deliveries: $message->deliveries,
                reason: FFI::string($letter->reason, $letter->reason_length),
            );
        }
        Handles::free($letters);

        return $found;
    }

    /**
     * An id of two 64-bit numbers, which are negative ints in PHP from 2^63 on.
     */
    private static function id(int $time, int $sequence): string
    {
        return $time < 0 || $sequence < 0 ? \sprintf('%u-%u', $time, $sequence) : "$time-$sequence";
    }
}
