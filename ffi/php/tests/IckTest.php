<?php

declare(strict_types=1);

namespace Millpond\Tests;

use Millpond\Added;
use Millpond\IckSet;
use Millpond\Stats;

/**
 * Every step of an Ick, with every kind of client.
 */
final class IckTest extends TestCase
{
    /** @dataProvider kinds */
    public function testWhatAnIckIsFor(string $kind): void
    {
        $ick = $this->connect($kind)->ick($this->name);
        self::assertNull($ick->stats());
        self::assertEquals(new Added(2, 0), $ick->add([[2.0, 'b'], [1.0, 'a']]));
        self::assertEquals(new Added(0, 1), $ick->add([[3.0, 'a'], [1.5, 'b']]));
        self::assertSame([['a', 1.0]], self::plain($ick->reserve(1)));
        self::assertSame([['a', 1.0], ['b', 1.5]], self::plain($ick->reserve(10)));
        self::assertEquals(new Added(1, 0), $ick->add([[4, 'a']]));
        self::assertSame(2, $ick->commit(['a', 'b', 'c']));
        self::assertSame([['a', 4.0]], self::plain($ick->reserve(10)));
    }

    /** @dataProvider kinds */
    public function testStats(string $kind): void
    {
        $ick = $this->connect($kind)->ick($this->name);
        $ick->add([]);
        $keys = [$this->name, "$this->name/ick/{{$this->name}}/pset", "$this->name/ick/{{$this->name}}/cset"];
        $none = [null, null, null, null, null, null];
        self::assertEquals(new Stats('ick.v1', ...[...$keys, 0, 0, 0, ...$none]), $ick->stats());
        $ick->add([[-\INF, 'a'], [0.1 + 0.2, 'b'], [1763691473.123456, 'c']]);
        $ick->reserve(1);
        $scores = [0.1 + 0.2, 1763691473.123456, -\INF, -\INF, -\INF, 1763691473.123456];
        self::assertEquals(new Stats('ick.v1', ...[...$keys, 2, 1, 3, ...$scores]), $ick->stats());
    }

    /** @dataProvider kinds */
    public function testScoresAreExact(string $kind): void
    {
        $ick = $this->connect($kind)->ick($this->name);
        $scores = [-\INF, -1e300, -1763691473.123456, -5e-324, -0.0, 5e-324, 0.1, 0.1 + 0.2, 1 / 3, 1.0, 12.8,
            1763691473.123456, 9007199254740994, \PHP_INT_MAX, 1.7976931348623157e308, \INF];
        $pairs = [];
        foreach ($scores as $index => $score) {
            $pairs[] = [$score, "member $index"];
        }
        $ick->add($pairs);
        self::assertSame(\array_map(\floatval(...), $scores), \array_column($ick->peek(100), 'score'));
        self::assertSame(\array_map(\floatval(...), $scores), \array_column($ick->reserve(100), 'score'));
    }

    /** @dataProvider kinds */
    public function testWithoutAScoreItIsTheServersTime(string $kind): void
    {
        $ick = $this->connect($kind)->ick($this->name);
        $ick->add([[null, 'a'], 'b', [1, 'c']]);
        [$c, $a, $b] = $ick->peek(3);
        self::assertSame(['c', 'a', 'b'], [$c->member, $a->member, $b->member]);
        self::assertSame($a->score, $b->score);
        self::assertEqualsWithDelta(\microtime(true), $a->score, 600);
    }

    /** @dataProvider kinds */
    public function testBytesAreBytes(string $kind): void
    {
        $every = \implode('', \array_map(\chr(...), \range(0, 255)));
        $name = "$this->name\0\xff";
        $ick = $this->connect($kind)->ick($name);
        $ick->add([[1, ''], [2, "a\0b"], [3, $every], [4, "a\0c"]]);
        $expected = [['', 1.0], ["a\0b", 2.0], [$every, 3.0], ["a\0c", 4.0]];
        self::assertSame($expected, self::plain($ick->peek(10)));
        self::assertSame($expected, self::plain($ick->reserve(10)));
        self::assertSame($name, $ick->stats()->key);
        self::assertSame("$name/ick/{{$name}}/pset", $ick->stats()->psetKey);
        self::assertSame(4, $ick->commit(['', "a\0b", $every, "a\0c"]));
    }

    /** @dataProvider kinds */
    public function testExchange(string $kind): void
    {
        $ick = $this->connect($kind)->ick($this->name);
        $ick->add([[1, 'a'], [2, 'b'], [3, 'c']]);
        self::assertSame([['a', 1.0]], self::plain($ick->exchange(1)));
        self::assertSame([['b', 2.0], ['c', 3.0]], self::plain($ick->exchange(2, ['a'])));
        $ick->add([[1, 'd']]);
        self::assertSame([['d', 1.0], ['c', 3.0]], self::plain($ick->exchange(5, ['b'], backwash: true)));
        self::assertSame([], $ick->exchange(0, ['c', 'd']));
        self::assertSame(0, $ick->stats()->totalSize);
    }

    /** @dataProvider kinds */
    public function testBackwash(string $kind): void
    {
        $ick = $this->connect($kind)->ick($this->name);
        $ick->add([[5, 'a']]);
        $ick->reserve(1);
        $ick->add([[1, 'b']]);
        self::assertSame([['a', 5.0]], self::plain($ick->reserve(1)));
        self::assertSame([['b', 1.0]], self::plain($ick->reserve(1, backwash: true)));
    }

    /** @dataProvider kinds */
    public function testPeek(string $kind): void
    {
        $ick = $this->connect($kind)->ick($this->name);
        $ick->add([[1, 'a'], [2, 'b']]);
        $ick->reserve(1);
        self::assertSame([['b', 2.0]], self::plain($ick->peek(10)));
        self::assertSame([['a', 1.0]], self::plain($ick->peek(10, IckSet::Consumer)));
        self::assertSame([], $ick->peek(0));
    }

    /** @dataProvider kinds */
    public function testDelete(string $kind): void
    {
        $ick = $this->connect($kind)->ick($this->name);
        self::assertSame(0, $ick->delete());
        $ick->add([[1, 'a'], [2, 'b']]);
        $ick->reserve(1);
        self::assertSame(3, $ick->delete());
        $ick->add([[1, 'a']]);
        self::assertSame(2, $ick->unlink());
        self::assertNull($ick->stats());
    }

    /** @dataProvider kinds */
    public function testBigBatches(string $kind): void
    {
        $ick = $this->connect($kind)->ick($this->name);
        $pairs = (static function (): \Generator {
            for ($number = 0; $number < 260_000; ++$number) {
                yield [$number, "member $number"];
            }
        })();
        self::assertEquals(new Added(260_000, 0), $ick->add($pairs));
        $batch = $ick->reserve(260_000);
        self::assertCount(260_000, $batch);
        self::assertSame(['member 259999', 259_999.0], [$batch[259_999]->member, $batch[259_999]->score]);
        $members = \array_column($batch, 'member');
        self::assertRefused('more than 250000 items', static fn () => $ick->exchange(1, $members));
        self::assertSame(260_000, $ick->commit($members));
        self::assertSame(0, $ick->stats()->totalSize);
    }

    /** @dataProvider kinds */
    public function testLongMembers(string $kind): void
    {
        $ick = $this->connect($kind)->ick($this->name);
        $long = \str_repeat("long\0", 200_000);
        $ick->add([[1, $long]]);
        self::assertSame([[$long, 1.0]], self::plain($ick->reserve(1)));
        self::assertSame(1, $ick->commit([$long]));
    }
}
