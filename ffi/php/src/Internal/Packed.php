<?php

declare(strict_types=1);

namespace Millpond\Internal;

use FFI;
use FFI\CData;

/**
 * A list in the layout of C: an array of structures, followed by the bytes that they point to. It is written word by
 * word, since PHP takes longer to fill a structure field by field than a round trip takes.
 *
 * @internal
 */
final class Packed
{
    /** The size of one element of each kind of list. */
    private const PAIR_BYTES = 32, FIELD_BYTES = 32, MESSAGE_BYTES = 40, NUMBER_BYTES = 4, WORD_BYTES = 8;

    /** The memory of this many lists is kept for reuse, unless it is larger than this. */
    private const SPARES_MAX = 3, SPARE_BYTES_MAX = 1_048_576;

    /** @var list<Block> */
    private static array $spares = [];

    /** The address of the elements; 0 if there are none. */
    public readonly int $address;

    /** @param CData|null $array the elements; null if there are none */
    private function __construct(
        public readonly ?CData $array,
        public readonly int $count,
        private readonly ?Block $block,
    ) {
        $this->address = $block === null ? 0 : $block->address;
    }

    public function __destruct()
    {
        if ($this->block !== null && $this->block->bytes <= self::SPARE_BYTES_MAX && \count(self::$spares) < self::SPARES_MAX) {
            self::$spares[] = $this->block;
        }
    }

    /**
     * An array of millpond_ick_pair: pointer, length, score, and whether the score is the current time.
     *
     * @param list<float|int|null> $scores
     * @param list<string>         $members
     */
    public static function pairs(FFI $ffi, array $scores, array $members): self
    {
        $count = \count($members);
        if ($count === 0) {
            return new self(null, 0, null);
        }
        $block = self::block($ffi, $count * self::PAIR_BYTES, self::joined($members));
        [$words, $doubles, $now] = [$block->words, $block->doubles, $block->true];
        $address = $block->address + $count * self::PAIR_BYTES;
        $word = 0;
        foreach ($members as $index => $member) {
            $score = $scores[$index];
            $length = \strlen($member);
            $words[$word] = $address;
            $words[$word + 1] = $length;
            $doubles[$word + 2] = $score ?? 0.0;
            $words[$word + 3] = $score === null ? $now : 0;
            $word += 4;
            $address += $length;
        }

        $array = $block->views['millpond_ick_pair *'] ??= $ffi->cast('millpond_ick_pair *', $block->memory);

        return new self($array, $count, $block);
    }

    /**
     * An array of millpond_bytes.
     *
     * @param list<string> $members
     */
    public static function members(FFI $ffi, array $members): self
    {
        $count = \count($members);
        if ($count === 0) {
            return new self(null, 0, null);
        }
        $block = self::block($ffi, 2 * $count * self::WORD_BYTES, self::joined($members));
        self::strings($block, 0, $block->address + 2 * $count * self::WORD_BYTES, $members);
        $array = $block->views['millpond_bytes *'] ??= $ffi->cast('millpond_bytes *', $block->memory);

        return new self($array, $count, $block);
    }

    /**
     * An array of millpond_shuffle_field, or of another structure of a field and its value.
     *
     * @param list<string> $strings field, value, field, value, …
     */
    public static function fields(FFI $ffi, array $strings, string $type = 'millpond_shuffle_field *'): self
    {
        $count = \count($strings) >> 1;
        if ($count === 0) {
            return new self(null, 0, null);
        }
        $block = self::block($ffi, $count * self::FIELD_BYTES, self::joined($strings));
        self::strings($block, 0, $block->address + $count * self::FIELD_BYTES, $strings);
        $array = $block->views[$type] ??= $ffi->cast($type, $block->memory);

        return new self($array, $count, $block);
    }

    /**
     * An array of uint32_t.
     *
     * @param list<int> $numbers
     */
    public static function numbers(FFI $ffi, array $numbers): self
    {
        return self::ofNumbers($ffi, 'uint32_t *', 1, 'uint32_t *', self::NUMBER_BYTES, $numbers);
    }

    /**
     * An array of millpond_shuffle_receipt: stream, and the two numbers of the id.
     *
     * @param list<int> $receipts
     */
    public static function receipts(FFI $ffi, array $receipts): self
    {
        return self::ofNumbers($ffi, 'millpond_shuffle_receipt *', 3, 'int64_t *', self::WORD_BYTES, $receipts);
    }

    /**
     * An array of millpond_shuffle_id: the two numbers of the id.
     *
     * @param list<int> $ids
     */
    public static function ids(FFI $ffi, array $ids): self
    {
        return self::ofNumbers($ffi, 'millpond_shuffle_id *', 2, 'int64_t *', self::WORD_BYTES, $ids);
    }

    /**
     * An array of structures of `$each` numbers.
     *
     * @param list<int> $numbers those of all structures, one structure after another
     */
    private static function ofNumbers(FFI $ffi, string $type, int $each, string $unit, int $bytes, array $numbers): self
    {
        if ($numbers === []) {
            return new self(null, 0, null);
        }
        $block = self::block($ffi, \count($numbers) * $bytes, '');
        $memory = $block->views[$unit] ??= $ffi->cast($unit, $block->memory);
        foreach ($numbers as $index => $number) {
            $memory[$index] = $number;
        }
        $array = $block->views[$type] ??= $ffi->cast($type, $block->memory);

        return new self($array, \intdiv(\count($numbers), $each), $block);
    }

    /**
     * An array of millpond_shuffle_new_message: its size, pointer and length of the shard key, pointer to the fields
     * and their number. It is followed by the fields of all messages, and then by the bytes.
     *
     * @param list<string>       $keys   the shard keys
     * @param list<list<string>> $fields of each message: field, value, field, value, …
     */
    public static function messages(FFI $ffi, array $keys, array $fields): self
    {
        $count = \count($keys);
        if ($count === 0) {
            return new self(null, 0, null);
        }
        $strings = \array_merge(...$fields);
        $start = $count * self::MESSAGE_BYTES;
        $array = $start + (\count($strings) >> 1) * self::FIELD_BYTES;
        $shardKeys = self::joined($keys);
        $block = self::block($ffi, $array, $shardKeys . self::joined($strings));
        $words = $block->words;
        [$address, $first] = [$block->address + $array, $block->address + $start];
        $word = 0;
        foreach ($keys as $index => $key) {
            [$length, $own] = [\strlen($key), \count($fields[$index]) >> 1];
            $words[$word] = self::MESSAGE_BYTES;
            $words[$word + 1] = $address;
            $words[$word + 2] = $length;
            $words[$word + 3] = $first;
            $words[$word + 4] = $own;
            $word += 5;
            $address += $length;
            $first += $own * self::FIELD_BYTES;
        }
        self::strings($block, $word, $address, $strings);

        $array = $block->views['millpond_shuffle_new_message *'] ??= $ffi->cast('millpond_shuffle_new_message *', $block->memory);

        return new self($array, $count, $block);
    }

    /**
     * An array of structures whose fields are cells: an int is a word, a bool fills a word, a string is a pointer and
     * a length, and null is a string that is not set.
     *
     * @param string                           $type    the type of the array
     * @param list<list<string|int|bool|null>> $records the cells of each structure
     */
    public static function records(FFI $ffi, string $type, array $records): self
    {
        $count = \count($records);
        if ($count === 0) {
            return new self(null, 0, null);
        }
        $cells = \array_merge(...$records);
        $start = self::words($cells) * self::WORD_BYTES;
        $block = self::block($ffi, $start, self::texts($cells));
        self::cells($block, 0, $block->address + $start, $cells);

        $array = $block->views[$type] ??= $ffi->cast($type, $block->memory);

        return new self($array, $count, $block);
    }

    /**
     * One structure of cells, as in records(); the first cell is its size.
     *
     * @param string                     $type  the type of a pointer to it
     * @param list<string|int|bool|null> $cells
     */
    public static function record(FFI $ffi, string $type, array $cells): self
    {
        $block = self::block($ffi, $cells[0], self::texts($cells));
        self::cells($block, 0, $block->address + $cells[0], $cells);

        $array = $block->views[$type] ??= $ffi->cast($type, $block->memory);

        return new self($array, 1, $block);
    }

    /**
     * One structure that has lists after its size: for each list, a pointer to its structures and their number. It is
     * followed by these structures, as in records().
     *
     * @param string                                 $type  the type of a pointer to it
     * @param list<list<list<string|int|bool|null>>> $lists
     */
    public static function lists(FFI $ffi, string $type, array $lists): self
    {
        $cells = \array_map(static fn (array $records): array => \array_merge(...$records), $lists);
        $words = \array_map(self::words(...), $cells);
        $first = 1 + 2 * \count($lists);
        $start = ($first + \array_sum($words)) * self::WORD_BYTES;
        $all = \array_merge(...$cells);
        $block = self::block($ffi, $start, self::texts($all));
        $block->words[0] = $first * self::WORD_BYTES;
        $address = $block->address + $first * self::WORD_BYTES;
        foreach ($lists as $list => $records) {
            $count = \count($records);
            $block->words[2 * $list + 1] = $count === 0 ? 0 : $address;
            $block->words[2 * $list + 2] = $count;
            $address += $words[$list] * self::WORD_BYTES;
        }
        self::cells($block, $first, $block->address + $start, $all);

        $array = $block->views[$type] ??= $ffi->cast($type, $block->memory);

        return new self($array, 1, $block);
    }

    /**
     * How many words the cells fill.
     *
     * @param list<string|int|bool|null> $cells
     */
    private static function words(array $cells): int
    {
        $words = \count($cells);
        foreach ($cells as $cell) {
            if (\is_string($cell) || $cell === null) {
                ++$words;
            }
        }

        return $words;
    }

    /** @param list<string|int|bool|null> $cells */
    private static function texts(array $cells): string
    {
        $strings = [];
        foreach ($cells as $cell) {
            if (\is_string($cell)) {
                $strings[] = $cell;
            }
        }

        return $strings === [] ? '' : self::joined($strings);
    }

    /**
     * Writes cells, starting at this word.
     *
     * @param int                        $address where the bytes of the first string are
     * @param list<string|int|bool|null> $cells
     */
    private static function cells(Block $block, int $word, int $address, array $cells): void
    {
        [$words, $true] = [$block->words, $block->true];
        foreach ($cells as $cell) {
            if (\is_string($cell)) {
                $length = \strlen($cell);
                $words[$word] = $address;
                $words[$word + 1] = $length;
                $word += 2;
                $address += $length;
            } elseif ($cell === null) {
                $words[$word] = $words[$word + 1] = 0;
                $word += 2;
            } else {
                $words[$word] = \is_int($cell) ? $cell : ($cell ? $true : 0);
                ++$word;
            }
        }
    }

    /**
     * Writes the pointer and the length of each string, starting at this word.
     *
     * @param int          $address where the bytes of the first one are
     * @param list<string> $strings
     */
    private static function strings(Block $block, int $word, int $address, array $strings): void
    {
        $words = $block->words;
        foreach ($strings as $string) {
            $length = \strlen($string);
            $words[$word] = $address;
            $words[$word + 1] = $length;
            $word += 2;
            $address += $length;
        }
    }

    /** @param array<string> $strings */
    private static function joined(array $strings): string
    {
        Limits::checkBytes(\array_sum(\array_map(\strlen(...), $strings)));

        return \implode('', $strings);
    }

    /**
     * Memory for an array of this many bytes, followed by these.
     */
    private static function block(FFI $ffi, int $array, string $bytes): Block
    {
        $needed = $array + \strlen($bytes);
        // Taken in one step: a signal handler that makes a call itself must not take it too.
        $block = \array_pop(self::$spares);
        if ($block === null || $block->bytes < $needed) {
            $block = new Block($ffi, $needed);
        }
        if ($bytes !== '') {
            $block->write($array, $bytes);
        }

        return $block;
    }
}
