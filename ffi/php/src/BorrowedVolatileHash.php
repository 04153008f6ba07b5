<?php

declare(strict_types=1);

namespace Millpond;

use Millpond\Exception\InvalidArgumentException;
use Millpond\Internal\Arguments;
use Millpond\Internal\BorrowedSteps;
use Millpond\Internal\NeedsOwnConnection;
use Millpond\Internal\VolatileArguments;

/**
 * A volatile hash over one of the program's own connections; created by `BorrowedClient::volatileHash()`.
 * The connection's prefix, serializer and compression are not used.
 */
final class BorrowedVolatileHash implements ExpiringHashInterface
{
    use BorrowedSteps, NeedsOwnConnection;

    /** What it is over connections of Millpond's own. */
    private const OWN = VolatileHashInterface::class;

    /** The function of the library that makes its keys: those of the fields, and behind them those of the locks. */
    private const KEYS = 'millpond_volatile_keys';

    /** How many keys a step on the fields alone takes; any other step takes all. */
    private const FIELD_KEYS = 2;

    /** The maximum sizes of a field and of a value, as everywhere. */
    private const FIELD_BYTES_MAX = 65_536;

    private const VALUE_BYTES_MAX = 16_777_216;

    /** The number of fields of a page by default, as everywhere. */
    private const PAGE_DEFAULT = 100;

    /** @internal made by `BorrowedClient::volatileHash()` */
    public function __construct(
        private readonly BorrowedClient $client,
        private readonly string $name,
    ) {
    }

    public function set(string $field, string $value, float $ttl): void
    {
        $this->write([$field, $value], $ttl);
    }

    public function setMany(iterable $fields, float $ttl): void
    {
        $this->write(VolatileArguments::values('fields', $fields), $ttl);
    }

    public function setIfAbsent(string $field, string $value, float $ttl): bool
    {
        return $this->write([$field, $value], $ttl, 'absent') === 1;
    }

    public function setIfPresent(string $field, string $value, float $ttl): bool
    {
        return $this->write([$field, $value], $ttl, 'present') === 1;
    }

    public function setLocked(string $field, string $token, string $value, float $ttl): void
    {
        $this->write([$field, $value], $ttl, 'always', [$field, $token, '0']);
    }

    public function setAndRelease(string $field, string $token, string $value, float $ttl): void
    {
        $this->write([$field, $value], $ttl, 'always', [$field, $token, '1']);
    }

    public function get(string $field): ?string
    {
        return $this->values([$field])[0];
    }

    public function getMany(string|iterable $fields): array
    {
        return $this->values(VolatileArguments::names('fields', $fields));
    }

    public function fields(FieldPosition|HashField|null $after = null, ?int $limit = null, bool $omitValues = false): FieldPage
    {
        $reply = $this->evaluate('volatile.fields', [
            (string) Arguments::size('limit', $limit ?? self::PAGE_DEFAULT),
            $after === null ? '' : (string) Arguments::size('after.expiresUs', $after->expiresUs),
            $after === null ? '' : $after->field,
            $omitValues ? '1' : '0',
        ], self::FIELD_KEYS);
        $width = $omitValues ? 2 : 3;
        [$found, $us, $last] = \is_array($reply) ? $reply + [null, null, null] : [null, null, null];
        if (!\is_array($found) || \count($found) % $width !== 0) {
            throw $this->badReply('volatile.fields');
        }
        $fields = [];
        foreach (\array_chunk($found, $width) as $field) {
            $fields[] = new HashField($field[0], $field[2] ?? null, $field[1]);
        }

        return new FieldPage($fields, $last === null ? null : new FieldPosition($us, $last));
    }

    public function ttl(string $field): ?float
    {
        $left = $this->evaluate('volatile.ttl', [$field], self::FIELD_KEYS);

        return match (true) {
            $left === null => null,
            \is_int($left) => self::seconds($left),
            default => throw $this->badReply('volatile.ttl'),
        };
    }

    public function len(): int
    {
        return $this->stats()->fields;
    }

    public function stats(): HashStats
    {
        return new HashStats(...$this->list('volatile.stats', [], 3));
    }

    public function touch(string $field, float $ttl): bool
    {
        return $this->number('volatile.touch', [$field, self::micros($ttl)], self::FIELD_KEYS) === 1;
    }

    public function delete(string|iterable $fields): int
    {
        $fields = self::checked('volatile.delete', VolatileArguments::names('fields', $fields));

        return $this->number('volatile.delete', $fields, self::FIELD_KEYS);
    }

    public function clear(): int
    {
        return $this->number('volatile.clear', [], self::FIELD_KEYS);
    }

    public function reap(int $limit = 5): Reaped
    {
        $reply = $this->list('volatile.reap', [(string) Arguments::size('limit', $limit)], 5);
        [$fields, $locks, $orphans, $more, $next] = $reply;

        return new Reaped($fields, $locks, $orphans, $more === 1, \is_int($next) ? self::seconds($next) : null);
    }

    public function acquire(string $field, string $token, float $ttl): Acquired
    {
        $found = $this->valueOrLock('volatile.acquire', $field, $token, $ttl);

        return new Acquired($found->fence, $found->remaining);
    }

    public function getOrAcquire(string $field, string $token, float $ttl): ValueOrLock
    {
        return $this->valueOrLock('volatile.get_or_acquire', $field, $token, $ttl);
    }

    public function renew(string $field, string $token, float $ttl): bool
    {
        return $this->number('volatile.renew', [$field, $token, self::micros($ttl)]) === 1;
    }

    public function release(string $field, string $token): bool
    {
        return $this->number('volatile.release', [$field, $token]) === 1;
    }

    public function holder(string $field): ?LockHolder
    {
        $reply = $this->list('volatile.holder', [$field], 0, 3);

        return $reply === [] ? null : new LockHolder($reply[0], $reply[1], self::seconds($reply[2]));
    }

    /**
     * Sets fields; returns how many were set.
     *
     * @param list<string>                      $pairs field, value, field, value, …
     * @param array{string, string, string}|null $lock the field of the lock, the token, and whether to release it
     */
    private function write(array $pairs, float $ttl, string $condition = 'always', ?array $lock = null): int
    {
        for ($index = 1, $end = \count($pairs); $index < $end; $index += 2) {
            self::checkBytes('volatile.set', 'value', $pairs[$index], self::VALUE_BYTES_MAX);
        }
        $arguments = [self::micros($ttl), $condition, ...($lock ?? ['', '', '0']), ...$pairs];
        $count = \count($pairs) >> 1;
        $set = $this->list('volatile.set', $arguments, $count, keys: $lock === null ? self::FIELD_KEYS : null);

        return \array_sum($set);
    }

    /**
     * @param list<string> $fields
     *
     * @return list<string|null>
     */
    private function values(array $fields): array
    {
        $fields = self::checked('volatile.get', $fields);
        $values = $this->list('volatile.get', $fields, \count($fields), keys: self::FIELD_KEYS);

        // phpredis has false for what is missing.
        return \array_map(static fn (string|false|null $value): ?string => $value === false ? null : $value, $values);
    }

    private function valueOrLock(string $operation, string $field, string $token, float $ttl): ValueOrLock
    {
        [$kind, $found] = $this->list($operation, [$field, $token, self::micros($ttl)], 2);

        return match ($kind) {
            0 => new ValueOrLock(null, null, self::seconds($found)),
            1 => new ValueOrLock(null, $found, null),
            2 => new ValueOrLock($found, null, null),
            default => throw $this->badReply($operation),
        };
    }

    /**
     * Fields whose length the script does not check.
     *
     * @param list<string> $fields
     *
     * @return list<string>
     */
    private static function checked(string $operation, array $fields): array
    {
        foreach ($fields as $field) {
            self::checkBytes($operation, 'field', $field, self::FIELD_BYTES_MAX);
        }

        return $fields;
    }

    private static function checkBytes(string $operation, string $what, string $given, int $max): void
    {
        $bytes = \strlen($given);
        if ($bytes > $max) {
            throw new InvalidArgumentException("$operation: the $what has $bytes bytes; $max are allowed", $operation);
        }
    }

    /**
     * A time to live in microseconds, as the scripts take it.
     */
    private static function micros(float $ttl): string
    {
        // As a text, since the number of microseconds may be too large for an int.
        return Arguments::milliseconds('ttl', $ttl) . '000';
    }

    /**
     * Microseconds as seconds, in whole milliseconds: what has not expired has one left.
     */
    private static function seconds(int $micros): float
    {
        return \intdiv($micros + 999, 1000) / 1000;
    }
}
