<?php

declare(strict_types=1);

namespace Millpond\Tests;

use Millpond\Exception\ClosedException;
use Millpond\Exception\WrongTypeException;
use Millpond\ManualClock;
use Millpond\Millpond;
use Millpond\Pruned;
use Millpond\QueueTrackerInterface;
use Millpond\Sample;
use Millpond\Scanned;
use Millpond\Tracked;
use Millpond\TrackerStats;

/**
 * Queue trackers, on each backend: ids, and the functions of scans and prunes.
 */
final class TrackerTest extends TestCase
{
    private function tracker(string $kind): QueueTrackerInterface
    {
        return $this->connect($kind)->queueTracker($this->name);
    }

    /** @return list<string> */
    private static function names(QueueTrackerInterface $tracker): array
    {
        return \array_map(static fn (Tracked $of): string => $of->id, $tracker->ids(limit: 1_000));
    }

    /** @dataProvider kinds */
    public function testIdsAreAddedAndKnown(string $kind): void
    {
        $tracker = $this->tracker($kind);
        self::assertSame([false, 0], [$tracker->isQueued('ann'), $tracker->len()]);
        self::assertEquals(new TrackerStats(0, 0, null, null), $tracker->stats());
        $tracker->add('ann');
        $tracker->add(["b\0\xff", 'é', 'ann']);
        $tracker->add((static fn (): \Generator => yield 'x')());
        // PHP makes an int of the key '7'.
        $tracker->add(\array_keys(['7' => true, 'cy' => true]));
        self::assertSame([true, true, false], [$tracker->isQueued('ann'), $tracker->isQueued('7'), $tracker->isQueued('b')]);
        self::assertSame([true, false, true, true, true], $tracker->areQueued(['é', 'e', "b\0\xff", 7, 'ann']));
        self::assertSame([true], $tracker->areQueued('cy'));
        self::assertSame(6, $tracker->len());
        self::assertSame($tracker->ids(limit: 1)[0]->stamp, $tracker->stats()->oldest);
        self::assertSame([6, 0, []], [$tracker->clear(), $tracker->clear(), $tracker->ids()]);
    }

    /** @dataProvider kinds */
    public function testPagesOfIds(string $kind): void
    {
        $tracker = $this->tracker($kind);
        $tracker->add(['c', 'a']);
        $tracker->add("b\0\xff");
        $first = $tracker->ids(limit: 1);
        self::assertEquals([new Tracked('a', $first[0]->stamp), new Tracked('c', $first[0]->stamp)], $first);
        $second = $tracker->ids($first[1]->stamp, 1);
        self::assertEquals([new Tracked("b\0\xff", $second[0]->stamp)], $second);
        self::assertGreaterThan($first[0]->stamp, $second[0]->stamp);
        self::assertSame([], $tracker->ids(after: $second[0]->stamp));
        self::assertSame([], $tracker->ids(after: \PHP_INT_MAX));
        $tracker->add('a');
        self::assertSame(['c', "b\0\xff", 'a'], self::names($tracker));
        $many = \range(1, 1_000);
        $tracker->add($many);
        self::assertSame(\array_fill(0, 1_000, true), $tracker->areQueued($many));
    }

    /** @dataProvider kinds */
    public function testAScanGoesOnWhereTheLastOneEnded(string $kind): void
    {
        $tracker = $this->tracker($kind);
        $seen = [];
        $page = static function (iterable $rows) use (&$seen): \Closure {
            return static function (?string $after, int $limit) use ($rows, &$seen): iterable {
                $seen[] = [$after, $limit];

                return $rows;
            };
        };
        self::assertEquals(new Scanned(2, 2, true), $tracker->scan($page([[1, 'ann'], [2, "b\0\xff"]]), 2));
        self::assertEquals(new Scanned(2, 1, true), $tracker->scan($page([['x/1', 7], ['x/é', 'ann']]), limit: 2));
        self::assertEquals(new TrackerStats(3, 0, $tracker->stats()->oldest, 'x/é'), $tracker->beginScan());
        // Rows without an id, as an iterator, whose keys do not matter.
        self::assertEquals(new Scanned(2, 0, true), $tracker->scan($page(new \ArrayIterator(['a' => ['y', ''], 'b' => ['z', null]])), 2));
        self::assertEquals(new Scanned(1, 1, false), $tracker->scan($page((static fn (): \Generator => yield [\PHP_INT_MAX, 'cy'])())));
        self::assertSame([[null, 2], ['2', 2], ['x/é', 2], ['z', 25]], $seen);
        self::assertSame([true, true, true, true], $tracker->areQueued(['ann', "b\0\xff", '7', 'cy']));
        self::assertSame([1, null], [$tracker->stats()->rounds, $tracker->stats()->row]);
        // The next round is too early, so it stays at the end; and then it is not.
        self::assertEquals(new Scanned(1, 0, false), $tracker->scan($page([[5, 'ann']])));
        self::assertSame([1, '5'], [$tracker->stats()->rounds, $tracker->stats()->row]);
        self::assertEquals(new Scanned(0, 0, false), $tracker->scan($page([]), roundMin: 0));
        self::assertSame([2, null], [$tracker->stats()->rounds, $tracker->stats()->row]);
    }

    /** @dataProvider kinds */
    public function testAPruneRemovesWhatItsFunctionReturns(string $kind): void
    {
        $tracker = $this->tracker($kind);
        self::assertEquals(new Pruned(0, 0), $tracker->prune(static fn () => self::fail('there is nothing to check')));
        $tracker->add(['a', "b\0\xff", '7']);
        $tracker->add('c');
        $seen = [];
        self::assertEquals(new Pruned(3, 1), $tracker->prune(static function (array $ids) use (&$seen): iterable {
            $seen[] = $ids;
            yield "b\0\xff";
        }, 3));
        // Ids as keys of an array, where PHP makes ints of some.
        self::assertEquals(new Pruned(3, 1), $tracker->prune(static function (array $ids) use (&$seen): array {
            $seen[] = $ids;

            return \array_keys(\array_diff_key(\array_flip($ids), ['a' => true, 'c' => true]));
        }));
        self::assertSame([['7', 'a', "b\0\xff"], ['c', '7', 'a']], $seen);
        self::assertEquals(new Pruned(1, 0), $tracker->prune(static fn (): array => [], limit: 1));
        self::assertSame(['c', 'a'], self::names($tracker));
        self::assertEquals(new Pruned(2, 2), $tracker->prune('array_reverse'));
        self::assertSame(0, $tracker->len());
    }

    /** @dataProvider kinds */
    public function testTheHalvesOfAScanAndOfAPrune(string $kind): void
    {
        $tracker = $this->tracker($kind);
        self::assertEquals(new TrackerStats(0, 0, null, null), $tracker->beginScan(2, 60));
        self::assertEquals(new Scanned(2, 1, true), $tracker->advance('', ['1', '2'], ['a', ''], 2));
        // Another scan was there before, and one was repeated.
        self::assertEquals(new Scanned(0, 0, true), $tracker->advance('', ['1'], ['b'], 1));
        self::assertEquals(new Scanned(2, 0, true), $tracker->advance('', ['1', '2'], ['a', ''], 2));
        self::assertEquals(new Scanned(2, 1, false), $tracker->advance('2', [3, 4], ['b', 'a'], roundMin: 0));
        $sample = $tracker->sample(limit: 5);
        self::assertEquals(new Sample(['a', 'b'], $sample->stamp), $sample);
        $tracker->add('b');
        self::assertEquals(new Pruned(2, 1), $tracker->remove(['a', 'b'], $sample->ids, $sample->stamp));
        self::assertEquals(new Pruned(2, 0), $tracker->remove('a', $sample->ids, $sample->stamp));
        self::assertSame(['b'], self::names($tracker));
        $tracker->clear();
        self::assertSame([], $tracker->sample()->ids);
        self::assertEquals(new Pruned(0, 0), $tracker->remove([], [], 1));
    }

    /** @dataProvider kinds */
    public function testAFunctionMayUseTheTracker(string $kind): void
    {
        $tracker = $this->tracker($kind);
        self::assertEquals(new Scanned(1, 0, false), $tracker->scan(static function () use ($tracker): array {
            $tracker->add(['a', 'b']);

            return [[1, 'a']];
        }));
        self::assertEquals(new Pruned(2, 1), $tracker->prune(static function (array $ids) use ($tracker): array {
            $tracker->add('b');

            return $ids;
        }));
        self::assertSame(['b'], self::names($tracker));
        // A scan that another one has overtaken.
        $rows = static fn (): array => [[8, $tracker->scan(static fn (): array => [[7, 'c']], 1)->more ? 'd' : 'e']];
        self::assertEquals(new Scanned(0, 0, true), $tracker->scan($rows));
        self::assertSame(['7', ['b', 'c']], [$tracker->stats()->row, self::names($tracker)]);
    }

    /** @dataProvider kinds */
    public function testWhatAFunctionThrowsComesOutUnchanged(string $kind): void
    {
        $tracker = $this->tracker($kind);
        $tracker->scan(static fn (): array => [[1, 'a'], [2, 'b'], [3, 'c']], 3);
        $before = $tracker->ids();
        foreach ([new \DomainException('no database'), new \Error('bug'), new ClosedException('gone')] as $error) {
            $throws = static fn () => throw $error;
            $later = static function () use ($error): \Generator {
                yield [4, 'd'];
                throw $error;
            };
            self::assertSame([$error, $error], [self::thrown(static fn () => $tracker->scan($throws)), self::thrown(static fn () => $tracker->scan($later))]);
        }
        self::assertEquals($before, $tracker->ids());
        self::assertSame('3', $tracker->stats()->row);
        $error = new \DomainException('no database');
        $throws = static function (array $ids) use ($error): \Generator {
            yield $ids[0];
            throw $error;
        };
        self::assertSame($error, self::thrown(static fn () => $tracker->prune(static fn () => throw $error)));
        // Now one at a time: whichever makes the check fail does not hold up the others.
        self::assertSame($error, self::thrown(static fn () => $tracker->prune($throws)));
        self::assertEquals(new Pruned(1, 0), $tracker->prune(static fn (): array => []));
        self::assertEquals(new Pruned(3, 0), $tracker->prune(static fn (): array => []));
    }

    /** @dataProvider kinds */
    public function testWrongRows(string $kind): void
    {
        $tracker = $this->tracker($kind);
        $wrong = [
            'what the function returned must be iterable, not null' => null,
            'must be iterable, not string' => 'a',
            'rows[0] must be a list of two, [row, id], not string' => ['a'],
            'rows[0] must be a list of two, [row, id], not array' => [['number' => 1, 'customer' => 'a']],
            'rows[1] must be a list of two, [row, id], not array' => [[1, 'a'], [2]],
            'rows[1] must be a list of two, [row, id], not stdClass' => [[1, 'a'], new \stdClass()],
            'rows[0] must be a list of two, [row, id]' => [[1, 'a', 'b']],
            'rows[0][0] must be string or int, not null' => [[null, 'a']],
            'rows[1][0] must be string or int, not float' => [[1, 'a'], [2.5, 'b']],
            'rows[0][1] must be string or int, not bool' => [[1, true]],
            'rows[0][1] must be string or int, not array' => [[1, ['a']]],
            'a row has 0 bytes; 1 to 1024 are allowed' => [['', 'a']],
            'a row is not UTF-8' => [["\xff", 'a']],
            'an id has 513 bytes' => [[1, \str_repeat('x', 513)]],
            'a call takes at most 1000 rows' => \array_fill(0, 1_001, [1, 'a']),
        ];
        foreach ($wrong as $message => $rows) {
            self::assertRefused($message, static fn () => $tracker->scan(static fn () => $rows));
        }
        self::assertEquals(new TrackerStats(0, 0, null, null), $tracker->stats());
    }

    /** @dataProvider kinds */
    public function testWrongIdsOfACheck(string $kind): void
    {
        $tracker = $this->tracker($kind);
        $tracker->add(['a', 'b']);
        $endless = static function (): \Generator {
            while (true) {
                yield 'a';
            }
        };
        $wrong = [
            'what the function returned must be iterable, not null' => null,
            'must be iterable, not string' => 'a',
            'must be iterable, not bool' => true,
            'ids[0] must be string or int, not null' => [null],
            'ids[1] must be string or int, not array' => ['a', ['b']],
            'an id has 0 bytes' => [''],
            '1 of the ids to remove were not sampled' => ['c'],
            'ids has more than 10000 items' => $endless(),
        ];
        foreach ($wrong as $message => $ids) {
            self::assertRefused($message, static fn () => $tracker->prune(static fn () => $ids));
        }
        self::assertSame(2, $tracker->len());
    }

    public function testTimePasses(): void
    {
        $clock = new ManualClock(1_700_000_000_000);
        $tracker = Millpond::connect('memory:', clock: $clock)->queueTracker('t');
        $tracker->add('a');
        self::assertEquals([new Tracked('a', 1_700_000_000_000_000)], $tracker->ids());
        $row = static fn (): array => [[1, 'a']];
        $tracker->scan($row, roundMin: 1.5);
        $clock->advance(1.499);
        $tracker->scan($row, roundMin: 1.5);
        self::assertSame([1, '1'], [$tracker->stats()->rounds, $tracker->stats()->row]);
        $clock->advance(0.001);
        $tracker->scan(static fn (): array => [], roundMin: 1.5);
        self::assertSame([2, null], [$tracker->stats()->rounds, $tracker->stats()->row]);
        self::assertSame(1_700_000_001_499_000, $tracker->stats()->oldest);
    }

    public function testAClientThatAFunctionCloses(): void
    {
        $client = $this->connect('redis');
        $tracker = $client->queueTracker($this->name);
        $close = static function () use ($client): array {
            $client->close();

            return [[1, 'a']];
        };
        self::assertInstanceOf(ClosedException::class, self::thrown(static fn () => $tracker->scan($close)));
        self::assertSame(0, $this->tracker('redis')->len());
    }

    public function testTheLayoutOnRedis(): void
    {
        $redis = Servers::shared()->admin();
        $tracker = $this->tracker('redis');
        $tracker->scan(static fn (): array => [['1', '7']], 1);
        $stamp = $tracker->stats()->oldest;
        self::assertSame((float) $stamp, $redis->zScore("{{$this->name}}:tracker:ids", '7'));
        self::assertEquals(['version' => 'tracker.v1', 'row' => '1', 'stamp' => (string) $stamp], $redis->hGetAll("{{$this->name}}:tracker"));
        $redis->hSet("{{$this->name}}:tracker", 'row', 'x');
        self::assertSame('x', $tracker->beginScan()->row);
        $redis->del("{{$this->name}}:tracker:ids");
        $redis->set("{{$this->name}}:tracker:ids", 'x');
        foreach ([static fn () => $tracker->add('a'), static fn () => $tracker->isQueued('a'), $tracker->sample(...)] as $call) {
            self::assertInstanceOf(WrongTypeException::class, self::thrown($call));
        }
    }
}
