<?php

declare(strict_types=1);

namespace Millpond\Internal;

use Millpond\Exception\InvalidArgumentException;

/**
 * Converts PHP values to what the library takes. Errors name the argument and the index in it, and
 * are thrown before anything is sent.
 *
 * @internal
 */
final class Arguments
{
    /** MILLPOND_NOT_SET. */
    public const NOT_SET = \PHP_INT_MIN;

    private const SMALL_SIZE_MAX = 0xffff_ffff;

    /**
     * Reads each item: `[score, member]`, `[null, member]` or just a member.
     *
     * @param iterable<mixed> $pairs
     *
     * @return array{list<float|int|null>, list<string>} the scores and the members
     */
    public static function pairs(iterable $pairs): array
    {
        $scores = $members = [];
        foreach (self::items('pairs', $pairs, Limits::get()->items) as $pair) {
            $isPair = \is_array($pair);
            $score = $isPair ? $pair[0] ?? null : null;
            $member = $isPair ? $pair[1] ?? null : $pair;
            $isScore = \is_float($score) || \is_int($score) || $score === null;
            if (!\is_string($member) || !$isScore || $isPair && (\count($pair) !== 2 || !\array_is_list($pair))) {
                throw self::wrongPair(\count($members), $pair);
            }
            $scores[] = $score;
            $members[] = $member;
        }

        return [$scores, $members];
    }

    /**
     * The exception for an invalid item of an add.
     */
    public static function wrongPair(int $index, mixed $pair): InvalidArgumentException
    {
        if (!\is_array($pair)) {
            return self::wrong("pairs[$index]", 'be [score, member] or a member', $pair);
        }
        if (\count($pair) !== 2 || !\array_is_list($pair)) {
            return self::wrong("pairs[$index]", 'be [score, member]', $pair);
        }

        return \is_string($pair[1])
            ? self::wrong("pairs[$index][0]", 'be float, int or null', $pair[0])
            : self::wrong("pairs[$index][1]", 'be string', $pair[1]);
    }

    /**
     * @param iterable<mixed> $members
     * @param int|null        $max     by default the limit of a step
     *
     * @return list<string>
     */
    public static function members(iterable $members, ?int $max = null): array
    {
        $found = [];
        foreach (self::items('members', $members, $max ?? Limits::get()->stepMembers) as $member) {
            if (!\is_string($member)) {
                throw self::wrong('members[' . \count($found) . ']', 'be string', $member);
            }
            $found[] = $member;
        }

        return $found;
    }

    /**
     * Converts one value, or each of many.
     *
     * @template Value
     *
     * @param callable(mixed, string): Value $convert gets a value, and its place in the argument for errors
     *
     * @return list<Value>
     */
    public static function each(string $argument, mixed $values, int $max, callable $convert): array
    {
        $found = [];
        foreach (\is_iterable($values) ? self::items($argument, $values, $max) : [$values] as $value) {
            $found[] = $convert($value, $argument . '[' . \count($found) . ']');
        }

        return $found;
    }

    /**
     * Up to `$max` items of an iterable that may be endless.
     *
     * @param iterable<mixed> $values
     *
     * @return iterable<mixed>
     */
    public static function items(string $argument, iterable $values, int $max): iterable
    {
        if (!\is_array($values)) {
            return self::first($argument, $values, $max);
        }
        if (\count($values) > $max) {
            throw self::tooMany($argument, $max);
        }

        return $values;
    }

    /**
     * @param iterable<mixed> $values
     *
     * @return \Generator<mixed>
     */
    private static function first(string $argument, iterable $values, int $max): \Generator
    {
        $count = 0;
        foreach ($values as $name => $value) {
            if (++$count > $max) {
                throw self::tooMany($argument, $max);
            }
            yield $name => $value;
        }
    }

    private static function tooMany(string $argument, int $max): InvalidArgumentException
    {
        return new InvalidArgumentException("$argument has more than $max items");
    }

    /**
     * A size or a count; the library checks how large it may be.
     */
    public static function size(string $argument, int $size): int
    {
        if ($size < 0) {
            throw new InvalidArgumentException("$argument is $size; it has to be 0 or more");
        }

        return $size;
    }

    /**
     * A size, where null means that it is not set.
     */
    public static function optionalSize(string $argument, ?int $size): int
    {
        return $size === null ? self::NOT_SET : self::size($argument, $size);
    }

    /**
     * A number, where null means that it is not set; to the library that is NAN.
     */
    public static function optionalNumber(string $argument, ?float $number): float
    {
        if ($number !== null && \is_nan($number)) {
            throw new InvalidArgumentException("$argument is NAN; it has to be a number");
        }

        return $number ?? \NAN;
    }

    /**
     * A point in time, in milliseconds since the Unix epoch.
     */
    public static function time(string $argument, int|\DateTimeInterface $time): int
    {
        $isObject = $time instanceof \DateTimeInterface;

        return self::size($argument, $isObject ? $time->getTimestamp() * 1000 + (int) $time->format('v') : $time);
    }

    /**
     * A 32-bit size.
     */
    public static function smallSize(string $argument, int $size): int
    {
        if (self::size($argument, $size) > self::SMALL_SIZE_MAX) {
            throw new InvalidArgumentException("$argument is $size, which is too large");
        }

        return $size;
    }

    /**
     * @param iterable<mixed> $sizes
     *
     * @return list<int>
     */
    public static function smallSizes(string $argument, iterable $sizes): array
    {
        $size = static fn (mixed $size, string $path): int => \is_int($size)
            ? self::smallSize($path, $size) : throw self::wrong($path, 'be int', $size);

        return self::each($argument, $sizes, Limits::get()->icks, $size);
    }

    /**
     * Converts seconds to milliseconds. A time that is too long for an int means no limit.
     */
    public static function milliseconds(string $argument, float $seconds): int
    {
        if (!($seconds >= 0)) {
            throw new InvalidArgumentException("$argument is $seconds; a time has to be 0 or more seconds");
        }
        $milliseconds = \ceil($seconds * 1000);

        return $milliseconds >= \PHP_INT_MAX ? \PHP_INT_MAX : (int) $milliseconds;
    }

    /**
     * How long a call waits, in milliseconds; -1 means no limit.
     */
    public static function wait(string $argument, ?float $wait): int
    {
        return $wait === \INF ? -1 : self::milliseconds($argument, $wait ?? 0.0);
    }

    /**
     * Checks how many jobs a worker runs at a time.
     */
    public static function concurrency(int $jobs): void
    {
        if ($jobs > 1) {
            throw new InvalidArgumentException(
                "concurrency is $jobs, but a process of PHP works on one job at a time: run several with run(…, processes: $jobs)",
            );
        }
    }

    /**
     * Converts seconds to milliseconds, where null means that the time is not set.
     */
    public static function optional(string $argument, ?float $seconds): int
    {
        return $seconds === null ? self::NOT_SET : self::milliseconds($argument, $seconds);
    }

    /**
     * The same, for a time that has to be longer than 0.
     */
    public static function optionalLimit(string $argument, ?float $seconds): int
    {
        $milliseconds = self::optional($argument, $seconds);
        if ($milliseconds === 0) {
            throw new InvalidArgumentException("$argument has to be longer than 0 seconds");
        }

        return $milliseconds;
    }

    /**
     * The exception for an invalid value.
     */
    public static function wrong(string $path, string $expected, mixed $found): InvalidArgumentException
    {
        return new InvalidArgumentException("$path must $expected, not " . \get_debug_type($found));
    }
}
