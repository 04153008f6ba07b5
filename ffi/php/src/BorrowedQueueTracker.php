<?php

declare(strict_types=1);

namespace Millpond;

use Millpond\Exception\InvalidArgumentException;
use Millpond\Internal\Arguments;
use Millpond\Internal\BorrowedSteps;
use Millpond\Internal\Scans;
use Millpond\Internal\TrackerArguments;

/**
 * A queue tracker over one of the program's own connections; created by `BorrowedClient::queueTracker()`. The
 * connection's prefix, serializer and compression are not used.
 */
final class BorrowedQueueTracker implements QueueTrackerInterface
{
    use BorrowedSteps, Scans;

    /** The function of the library that makes its keys. */
    private const KEYS = 'millpond_tracker_keys';

    /** The most ids or rows of a call, and the longest ones, as everywhere. */
    private const IDS_MAX = 1_000;

    private const ID_BYTES_MAX = 512;

    private const ROW_BYTES_MAX = 1_024;

    /** The longest time that a round can be made to last, in milliseconds: 100 years. */
    private const ROUND_MS_MAX = 3_155_760_000_000;

    /** The latest stamp that a script can represent exactly. */
    private const STAMP_MAX = 1 << 53;

    /** @internal made by `BorrowedClient::queueTracker()` */
    public function __construct(
        private readonly BorrowedClient $client,
        private readonly string $name,
    ) {
    }

    public function add(string|iterable $ids): void
    {
        $this->number('tracker.add', self::named('add', $ids));
    }

    public function isQueued(string $id): bool
    {
        return $this->areQueued($id)[0];
    }

    public function areQueued(string|iterable $ids): array
    {
        $ids = self::named('contains', $ids);

        return \array_map(\boolval(...), $this->list('tracker.contains', $ids, \count($ids)));
    }

    public function len(): int
    {
        return $this->stats()->ids;
    }

    public function stats(): TrackerStats
    {
        [$ids, $rounds, $oldest, $row] = $this->list('tracker.stats', [], 4);

        // phpredis has false for what is missing.
        return new TrackerStats($ids, $rounds, $oldest === false ? null : $oldest, $row === false ? null : $row);
    }

    public function ids(int $after = 0, int $limit = 25): array
    {
        $reply = $this->evaluate('tracker.ids', [self::stamp('after', $after), (string) Arguments::size('limit', $limit)]);
        if (!\is_array($reply) || \count($reply) % 2 !== 0) {
            throw $this->badReply('tracker.ids');
        }

        return \array_map(static fn (array $found): Tracked => new Tracked(...$found), \array_chunk($reply, 2));
    }

    public function clear(): int
    {
        return $this->number('tracker.clear', []);
    }

    public function beginScan(int $limit = 25, float $roundMin = 60.0): TrackerStats
    {
        self::roundMs($limit, $roundMin);

        return $this->stats();
    }

    public function advance(string $after, string|iterable $rows, string|iterable $ids, int $limit = 25, float $roundMin = 60.0): Scanned
    {
        $roundMs = self::roundMs($limit, $roundMin);
        [$rows, $ids] = [TrackerArguments::names('rows', $rows), TrackerArguments::names('ids', $ids)];
        $count = \count($rows);
        $last = $rows[$count - 1] ?? '';
        self::check('advance', 'a row', $after === '' ? $rows : [$after, ...$rows], self::ROW_BYTES_MAX);
        foreach ([$after, ...$rows] as $row) {
            if (\preg_match('//u', $row) !== 1) {
                throw self::refused('advance', 'a row is not UTF-8');
            }
        }
        if ($count !== \count($ids)) {
            throw self::refused('advance', "there are $count rows and " . \count($ids) . ' ids');
        }
        if ($count >= $limit && $last === $after) {
            throw self::refused('advance', 'the rows end where they began: they have to come after that row');
        }
        $ids = self::named('advance', \array_filter($ids, static fn (string $id): bool => $id !== ''));
        $arguments = [$after, $last, $count < $limit ? '1' : '0', (string) ($roundMs * 1_000), ...$ids];
        [$isDone, $added] = $this->list('tracker.advance', $arguments, 2);

        return $isDone === 1 ? new Scanned($count, $added, $count >= $limit) : new Scanned(0, 0, true);
    }

    public function sample(int $limit = 25): Sample
    {
        [$stamp, $ids] = $this->list('tracker.sample', [(string) Arguments::size('limit', $limit)], 2);

        return new Sample($ids, $stamp);
    }

    public function remove(string|iterable $ids, string|iterable $sampled, int $stamp): Pruned
    {
        [$ids, $sampled] = [self::named('remove', $ids), TrackerArguments::names('sampled', $sampled)];
        $arguments = [self::stamp('stamp', $stamp), ...$ids];
        $foreign = \count(\array_diff($ids, $sampled));
        if ($foreign > 0) {
            throw self::refused('remove', "$foreign of the ids to remove were not sampled");
        }

        return new Pruned(\count($sampled), $this->number('tracker.remove', $arguments));
    }

    /**
     * @param string|iterable<mixed> $ids
     *
     * @return list<string>
     */
    private static function named(string $step, string|iterable $ids): array
    {
        return self::check($step, 'an id', TrackerArguments::names('ids', $ids), self::ID_BYTES_MAX);
    }

    /**
     * @param list<string> $names
     *
     * @return list<string>
     */
    private static function check(string $step, string $what, array $names, int $bytesMax): array
    {
        if (\count($names) > self::IDS_MAX) {
            throw self::refused($step, 'a call takes at most ' . self::IDS_MAX . ' ' . \explode(' ', $what)[1] . 's');
        }
        foreach ($names as $name) {
            $bytes = \strlen($name);
            if ($bytes < 1 || $bytes > $bytesMax) {
                throw self::refused($step, "$what has $bytes bytes; 1 to $bytesMax are allowed");
            }
        }

        return $names;
    }

    /**
     * How long a round lasts at least, in milliseconds; also checks the limit of the scan.
     */
    private static function roundMs(int $limit, float $roundMin): int
    {
        if ($limit < 1 || $limit > self::IDS_MAX) {
            throw self::refused('advance', "the limit is $limit, not 1 to " . self::IDS_MAX);
        }
        $roundMs = Arguments::milliseconds('roundMin', $roundMin);

        return $roundMs <= self::ROUND_MS_MAX ? $roundMs
            : throw self::refused('advance', "a round lasts at least {$roundMin}s, more than 100 years");
    }

    private static function stamp(string $name, int $stamp): string
    {
        return (string) \min(Arguments::size($name, $stamp), self::STAMP_MAX);
    }

    private static function refused(string $step, string $why): InvalidArgumentException
    {
        return new InvalidArgumentException("tracker.$step: $why", "tracker.$step");
    }
}
