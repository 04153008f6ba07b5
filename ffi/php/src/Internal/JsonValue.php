<?php

declare(strict_types=1);

namespace Millpond\Internal;

use Millpond\Exception\InvalidArgumentException;

/**
 * Finds the part of a value that JSON cannot represent, and names its path.
 *
 * json_encode() writes an object as its public properties: a closure as `{}`. What it refuses itself, such as NaN,
 * is looked for only after it has refused: see `fault()`.
 *
 * @internal
 */
final class JsonValue
{
    /** How deeply arrays and objects can be nested in a value of a store. */
    private const DEPTH_MAX = 100;

    /** Longer keys are truncated in messages. */
    private const KEY_BYTES_MAX = 40;

    /** @var array<int, int|string> the keys above the current value, by depth */
    private array $path = [];

    private function __construct(private readonly string $argument, private readonly bool $withScalars)
    {
    }

    /**
     * The value with its objects replaced by the results of `jsonSerialize()`, so that this is called once and its
     * results are checked too.
     *
     * @throws InvalidArgumentException for an object that JSON cannot represent
     */
    public static function plain(string $argument, mixed $value): mixed
    {
        return (new self($argument, false))->walk($value, 0);
    }

    /**
     * Finds what json_encode() has refused in a plain value.
     *
     * @return InvalidArgumentException|null null if it is not found
     */
    public static function fault(string $argument, mixed $value): ?InvalidArgumentException
    {
        try {
            (new self($argument, true))->walk($value, 0);
        } catch (InvalidArgumentException $fault) {
            return $fault;
        }

        return null;
    }

    private function walk(mixed $value, int $depth): mixed
    {
        if (\is_array($value)) {
            return $this->members($value, $depth) ?? $value;
        }
        if (!\is_object($value)) {
            $this->withScalars && $this->scalar($value, $depth);

            return $value;
        }
        if ($value instanceof \JsonSerializable) {
            $plain = $value->jsonSerialize();

            // An object that returns itself is written as its public properties.
            return $this->walk($plain === $value ? (object) \get_object_vars($value) : $plain, $depth);
        }
        if ($value::class === \stdClass::class) {
            $changed = $this->members(\get_object_vars($value), $depth);

            return $changed === null ? $value : (object) $changed;
        }
        if ($value instanceof \BackedEnum) {
            return $value;
        }
        throw $this->wrongType($value, $depth);
    }

    /**
     * @param array<mixed> $members
     *
     * @return array<mixed>|null null if they stay as they are
     */
    private function members(array $members, int $depth): ?array
    {
        // This also ends cycles.
        if ($depth >= self::DEPTH_MAX) {
            throw new InvalidArgumentException("$this->argument is nested more than " . self::DEPTH_MAX . ' deep');
        }
        $changed = [];
        foreach ($members as $key => $member) {
            if (!$this->withScalars && !\is_array($member) && !\is_object($member)) {
                continue;
            }
            if ($this->withScalars && !self::isText((string) $key)) {
                throw $this->wrong('has a key that is not UTF-8', $depth);
            }
            $this->path[$depth] = $key;
            $plain = $this->walk($member, $depth + 1);
            if ($plain !== $member) {
                $changed[$key] = $plain;
            }
        }

        // An assignment would write through the caller's references.
        return $changed === [] ? null : \array_replace($members, $changed);
    }

    private function scalar(mixed $value, int $depth): void
    {
        if (\is_float($value) && !\is_finite($value)) {
            $name = \is_nan($value) ? 'NaN' : ($value > 0 ? 'Infinity' : '-Infinity');
            throw $this->wrong("is $name, which JSON does not have", $depth);
        }
        if (\is_string($value) && !self::isText($value)) {
            throw $this->wrong('is not UTF-8', $depth);
        }
        if (!\is_scalar($value) && $value !== null) {
            throw $this->wrongType($value, $depth);
        }
    }

    private static function isText(string $text): bool
    {
        return \preg_match('//u', $text) === 1;
    }

    private function wrongType(mixed $value, int $depth): InvalidArgumentException
    {
        $type = \get_debug_type($value);
        $article = \preg_match('/^[AEIO]/', $type) === 1 ? 'an' : 'a';

        return $this->wrong("is $article $type, which JSON does not have", $depth);
    }

    private function wrong(string $reason, int $depth): InvalidArgumentException
    {
        $path = \implode('', \array_map(self::step(...), \array_slice($this->path, 0, $depth)));

        return new InvalidArgumentException("$this->argument$path $reason");
    }

    private static function step(int|string $key): string
    {
        if (\is_int($key)) {
            return "[$key]";
        }
        if (\strlen($key) <= self::KEY_BYTES_MAX && \preg_match('/^[\pL_][\pL\pN_]*$/uD', $key) === 1) {
            return ".$key";
        }
        $start = \strlen($key) > self::KEY_BYTES_MAX ? \substr($key, 0, self::KEY_BYTES_MAX) . '…' : $key;

        return '[' . \json_encode($start, \JSON_UNESCAPED_UNICODE | \JSON_INVALID_UTF8_SUBSTITUTE) . ']';
    }
}
