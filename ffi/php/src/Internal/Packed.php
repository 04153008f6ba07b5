<?php

declare(strict_types=1);

namespace Millpond\Internal;

use FFI;
use FFI\CData;

/**
 * A list as C has it: an array of structures and, behind it, the bytes that they point to. It is
 * written word by word, since PHP takes longer to fill a structure field by field than a round trip.
 *
 * @internal
 */
final class Packed
{
    /** The size of one element of each kind of list. */
    private const PAIR_BYTES = 32, MEMBER_BYTES = 16, NUMBER_BYTES = 4;

    /** The memory of one list is kept for the next, unless it is larger than this. */
    private const SPARE_BYTES_MAX = 1_048_576;

    private static ?Block $spare = null;

    /** @param CData|null $array the elements; null if there are none */
    private function __construct(
        public readonly ?CData $array,
        public readonly int $count,
        private readonly ?Block $block,
    ) {
    }

    public function __destruct()
    {
        if ($this->block !== null && $this->block->bytes <= self::SPARE_BYTES_MAX) {
            self::$spare = $this->block;
        }
    }

    /**
     * An array of millpond_ick_pair: pointer, length, score, and whether the score is now.
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
        $block = self::block($ffi, $count * self::PAIR_BYTES, \implode('', $members));
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

        return new self($block->pairs, $count, $block);
    }

    /**
     * An array of millpond_bytes: pointer and length.
     *
     * @param list<string> $members
     */
    public static function members(FFI $ffi, array $members): self
    {
        $count = \count($members);
        if ($count === 0) {
            return new self(null, 0, null);
        }
        $block = self::block($ffi, $count * self::MEMBER_BYTES, \implode('', $members));
        $words = $block->words;
        $address = $block->address + $count * self::MEMBER_BYTES;
        $word = 0;
        foreach ($members as $member) {
            $length = \strlen($member);
            $words[$word] = $address;
            $words[$word + 1] = $length;
            $word += 2;
            $address += $length;
        }

        return new self($block->members, $count, $block);
    }

    /**
     * An array of uint32_t.
     *
     * @param list<int> $numbers
     */
    public static function numbers(FFI $ffi, array $numbers): self
    {
        $count = \count($numbers);
        if ($count === 0) {
            return new self(null, 0, null);
        }
        $block = self::block($ffi, $count * self::NUMBER_BYTES, '');
        foreach ($numbers as $index => $number) {
            $block->numbers[$index] = $number;
        }

        return new self($block->numbers, $count, $block);
    }

    /**
     * Memory for an array of so many bytes, with these behind it.
     */
    private static function block(FFI $ffi, int $array, string $bytes): Block
    {
        $needed = $array + \strlen($bytes);
        // Taken in one step: a signal handler that makes a call itself must not find it too.
        [$block, self::$spare] = [self::$spare, null];
        if ($block === null || $block->bytes < $needed) {
            $block = new Block($ffi, $needed);
        }
        FFI::memcpy($block->memory + $array, $bytes, \strlen($bytes));

        return $block;
    }
}
