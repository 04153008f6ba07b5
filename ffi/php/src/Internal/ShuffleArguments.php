<?php

declare(strict_types=1);

namespace Millpond\Internal;

use Millpond\DeadLetter;
use Millpond\Exception\InvalidArgumentException;
use Millpond\Message;
use Millpond\Receipt;

/**
 * Converts PHP values for shuffle queues to what the library takes; see `Arguments`.
 *
 * @internal
 */
final class ShuffleArguments
{
    /** The halves of 2^64 - 1, split before its last ten digits. */
    private const WORD_HIGH = 1_844_674_407, WORD_LOW = 3_709_551_615;

    /**
     * The fields of a message, by name or as `[field, value]`.
     *
     * @param iterable<mixed> $fields
     *
     * @return list<string> field, value, field, value, …
     */
    public static function fields(string $argument, iterable $fields): array
    {
        $found = [];
        $hasNames = \is_array($fields) && self::hasNames($fields);
        foreach (Arguments::items($argument, $fields, Limits::get()->fields) as $name => $value) {
            if (\is_string($value) && (\is_string($name) || $hasNames && \is_int($name))) {
                $found[] = (string) $name;
                $found[] = $value;
                continue;
            }
            $isPair = !\is_string($name) && \is_array($value) && \count($value) === 2 && \array_is_list($value);
            if (!$isPair || !\is_string($value[0]) || !\is_string($value[1])) {
                throw self::wrongField($argument, $name, \count($found) >> 1, $value);
            }
            $found[] = $value[0];
            $found[] = $value[1];
        }

        return $found;
    }

    /**
     * Whether the keys are names. PHP converts a name like '7' to an int. If all keys are ints,
     * they may also be the indices of a list in which array_filter() has left holes, so they are
     * not taken for names.
     *
     * @param array<mixed> $fields
     */
    private static function hasNames(array $fields): bool
    {
        return \is_string(\array_key_first($fields))
            || \array_filter(\array_keys($fields), \is_string(...)) !== [];
    }

    /**
     * @param iterable<mixed> $messages
     *
     * @return array{list<string>, list<list<string>>} the shard keys, and the fields of each message
     */
    public static function messages(iterable $messages): array
    {
        $keys = $fields = [];
        $bytes = 0;
        foreach (Arguments::items('messages', $messages, Limits::get()->items) as $message) {
            $path = 'messages[' . \count($keys) . ']';
            if (!\is_array($message) || \count($message) !== 2 || !\array_is_list($message)) {
                throw Arguments::wrong($path, 'be [shard key, fields]', $message);
            }
            if (!\is_string($message[0])) {
                throw Arguments::wrong("{$path}[0]", 'be string', $message[0]);
            }
            if (!\is_iterable($message[1])) {
                throw Arguments::wrong("{$path}[1]", 'be iterable', $message[1]);
            }
            $keys[] = $message[0];
            $fields[] = $strings = self::fields("{$path}[1]", $message[1]);
            Limits::checkBytes($bytes += \array_sum(\array_map(\strlen(...), $strings)));
        }

        return [$keys, $fields];
    }

    /**
     * One message or many.
     *
     * @param Message|Receipt|iterable<mixed> $messages
     *
     * @return list<int> stream, time, sequence, stream, time, sequence, …
     */
    public static function receipts(string $argument, Message|Receipt|iterable $messages): array
    {
        $isOne = !\is_iterable($messages);
        $found = [];
        $index = 0;
        $items = $isOne ? [$messages] : Arguments::items($argument, $messages, Limits::get()->items);
        foreach ($items as $message) {
            $path = $isOne ? $argument : "{$argument}[$index]";
            if (!$message instanceof Message && !$message instanceof Receipt) {
                throw Arguments::wrong($path, 'be Message or Receipt', $message);
            }
            $found[] = $message->stream === null ? -1 : Arguments::smallSize("$path.stream", $message->stream);
            \array_push($found, ...self::id("$path.id", $message->id));
            ++$index;
        }

        return $found;
    }

    /**
     * One dead letter or many, or their ids.
     *
     * @param DeadLetter|string|iterable<mixed> $letters
     *
     * @return list<int> time, sequence, time, sequence, …
     */
    public static function letterIds(string $argument, DeadLetter|string|iterable $letters): array
    {
        $isOne = !\is_iterable($letters);
        $found = [];
        $index = 0;
        foreach ($isOne ? [$letters] : $letters as $letter) {
            $path = $isOne ? $argument : "{$argument}[$index]";
            $id = $letter instanceof DeadLetter ? $letter->id : $letter;
            if (!\is_string($id)) {
                throw Arguments::wrong($path, 'be DeadLetter or string', $letter);
            }
            \array_push($found, ...self::id($path, $id));
            ++$index;
        }

        return $found;
    }

    /**
     * The two numbers of an id.
     *
     * @return array{int, int}
     */
    private static function id(string $path, string $id): array
    {
        [$time, $sequence] = \explode('-', $id, 2) + [1 => ''];
        // Fewer digits always fit.
        if (\preg_match('/^\d{1,18}-\d{1,18}$/D', $id) === 1) {
            return [(int) $time, (int) $sequence];
        }

        return [self::word($path, $time, $id), self::word($path, $sequence, $id)];
    }

    /**
     * A 64-bit number, which is a negative int in PHP from 2^63 on.
     */
    private static function word(string $path, string $digits, string $id): int
    {
        $text = \ltrim($digits, '0');
        $high = (int) \substr($text, 0, -10);
        $low = (int) \substr($text, -10);
        $isTooLarge = \strlen($text) > 20 || $high > self::WORD_HIGH
            || $high === self::WORD_HIGH && $low > self::WORD_LOW;
        if (\preg_match('/^\d+$/D', $digits) !== 1 || $isTooLarge) {
            throw new InvalidArgumentException(
                "$path is \"$id\", which is no id of a message; one has the form <milliseconds>-<number>",
            );
        }
        $value = $high * 10 ** 10 + $low;

        // Above the largest int the number is built from the other end, so that no step exceeds an
        // int.
        $rest = (self::WORD_HIGH - $high - 1) * 10 ** 10 + (10 ** 10 + self::WORD_LOW - $low);

        return \is_int($value) ? $value : ~$rest;
    }

    private static function wrongField(string $argument, mixed $name, int $index, mixed $value): InvalidArgumentException
    {
        if (\is_string($name)) {
            return Arguments::wrong("{$argument}[\"$name\"]", 'be string', $value);
        }
        if (!\is_array($value) || \count($value) !== 2 || !\array_is_list($value)) {
            if (\is_int($name) && $name !== $index && \is_string($value)) {
                return Arguments::wrong("{$argument}[$name]", 'be [field, value] where names are whole numbers', $value);
            }

            return Arguments::wrong("{$argument}[$index]", 'be [field, value]', $value);
        }
        $part = \is_string($value[0]) ? 1 : 0;

        return Arguments::wrong("{$argument}[$index][$part]", 'be string', $value[$part]);
    }
}
