<?php

declare(strict_types=1);

namespace Millpond\Tests;

use Millpond\Acquired;
use Millpond\Exception\LeaseLostException;
use Millpond\Exception\WrongTypeException;
use Millpond\ExpiringHashInterface;
use Millpond\FieldPage;
use Millpond\FieldPosition;
use Millpond\HashField;
use Millpond\HashStats;
use Millpond\ManualClock;
use Millpond\Millpond;
use Millpond\Reaped;
use Millpond\ValueOrLock;
use Millpond\VolatileHash;

/**
 * Volatile hashes, on each backend and connection: fields that expire, and their locks; and families of them.
 */
final class VolatileHashTest extends TestCase
{
    /** Much longer than any test. */
    private const HOUR = 3_600.0;

    private function hash(string $kind): ExpiringHashInterface
    {
        return $this->connect($kind)->volatileHash($this->name);
    }

    /**
     * @return array{VolatileHash, ManualClock}
     */
    private static function clocked(): array
    {
        $clock = new ManualClock(1_700_000_000_000);

        return [Millpond::connect('memory:', clock: $clock)->volatileHash('h'), $clock];
    }

    /** @return list<string> */
    private static function names(FieldPage $page): array
    {
        return \array_map(static fn (HashField $field): string => $field->field, $page->fields);
    }

    /** @dataProvider kinds */
    public function testFieldsAreSetAndRead(string $kind): void
    {
        $hash = $this->hash($kind);
        self::assertNull($hash->get('a'));
        $hash->set('a', "1\0\xff", self::HOUR);
        $hash->set('', '', self::HOUR);
        self::assertSame(["1\0\xff", ''], [$hash->get('a'), $hash->get('')]);
        self::assertSame(['', null, "1\0\xff"], $hash->getMany(['', 'b', 'a']));
        self::assertSame(["1\0\xff"], $hash->getMany('a'));
        self::assertSame(2, $hash->len());
        self::assertGreaterThan(self::HOUR / 2, $hash->ttl('a'));
        self::assertLessThanOrEqual(self::HOUR, $hash->ttl('a'));
        self::assertNull($hash->ttl('b'));
        self::assertSame([true, false], [$hash->touch('a', 2 * self::HOUR), $hash->touch('b', self::HOUR)]);
        self::assertGreaterThan(1.5 * self::HOUR, $hash->ttl('a'));
        self::assertSame([false, true], [$hash->setIfAbsent('a', '2', self::HOUR), $hash->setIfAbsent('b', '2', self::HOUR)]);
        self::assertSame([true, false], [$hash->setIfPresent('b', '3', self::HOUR), $hash->setIfPresent('c', '3', self::HOUR)]);
        self::assertSame(["1\0\xff", '3', null], $hash->getMany(['a', 'b', 'c']));
        self::assertEquals(new HashStats(3, 0, 0), $hash->stats());
        self::assertSame([1, 0, 2], [$hash->delete('a'), $hash->delete(['a', 'none']), $hash->clear()]);
        self::assertSame([null, 0], [$hash->get(''), $hash->len()]);
    }

    /** @dataProvider kinds */
    public function testFieldsOfArrays(string $kind): void
    {
        $hash = $this->hash($kind);
        // PHP makes an int of the keys '7' and '8'.
        $hash->setMany(['7' => 'a', 'x' => 'b'], self::HOUR);
        $hash->setMany(['8' => 'c'], self::HOUR);
        $hash->setMany([['9', 'd'], [10, 'e'], ['07', 'f']], self::HOUR);
        $hash->setMany((static function (): \Generator {
            yield 'y' => 'g';
            yield ['z', 'h'];
        })(), self::HOUR);
        self::assertSame(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'], $hash->getMany(['7', 'x', '8', '9', '10', '07', 'y', 'z']));
        $values = ['7' => null, 'x' => null];
        self::assertSame(['a', 'b'], $hash->getMany(\array_keys($values)));
        self::assertSame(2, $hash->delete(\array_keys($values)));
        self::assertSame(6, $hash->len());
        $many = \array_fill(0, 10_000, 'v');
        $hash->setMany($many, self::HOUR);
        self::assertSame($many, $hash->getMany(\array_keys($many)));
    }

    /** @dataProvider kinds */
    public function testLargeValues(string $kind): void
    {
        $hash = $this->hash($kind);
        $value = \random_bytes(1 << 20);
        $hash->setMany(['a' => $value, 'b' => ''], self::HOUR);
        self::assertTrue($hash->get('a') === $value);
        self::assertTrue($hash->getMany(['b', 'none', 'a', 'a']) === ['', null, $value, $value]);
    }

    /** @dataProvider kinds */
    public function testPages(string $kind): void
    {
        $hash = $this->hash($kind);
        self::assertEquals(new FieldPage([], null), $hash->fields());
        foreach (['c' => 3, 'a' => 1, 'b' => 2, "\xff" => 4] as $field => $hours) {
            $hash->set($field, "$field!", $hours * self::HOUR);
        }
        $first = $hash->fields(limit: 2);
        self::assertSame([['a', 'a!'], ['b', 'b!']], \array_map(static fn (HashField $of): array => [$of->field, $of->value], $first->fields));
        self::assertEquals(new FieldPosition($first->fields[1]->expiresUs, 'b'), $first->next);
        $rest = $hash->fields(after: $first->next, omitValues: true);
        self::assertSame(['c', "\xff"], self::names($rest));
        self::assertSame([null, null, null], [$rest->next, $rest->fields[0]->value, $rest->fields[1]->value]);
        self::assertSame(['b', 'c', "\xff"], self::names($hash->fields($first->fields[0])));
        self::assertEqualsWithDelta(self::HOUR * 1e6, $first->fields[1]->expiresUs - $first->fields[0]->expiresUs, self::HOUR * 1e6 / 2);
    }

    /** @dataProvider kinds */
    public function testOneComputesWhatManyAskFor(string $kind): void
    {
        $hash = $this->hash($kind);
        $taken = $hash->getOrAcquire('/', 'req-1', self::HOUR);
        self::assertEquals(new ValueOrLock(null, $taken->fence, null), $taken);
        self::assertGreaterThan(0, $taken->fence);
        $busy = $hash->getOrAcquire('/', 'req-2', self::HOUR);
        self::assertEquals(new ValueOrLock(null, null, $busy->remaining), $busy);
        self::assertGreaterThan(self::HOUR / 2, $busy->remaining);
        $hash->setAndRelease('/', 'req-1', '<h1>', self::HOUR);
        self::assertEquals(new ValueOrLock('<h1>', null, null), $hash->getOrAcquire('/', 'req-2', self::HOUR));
        $hash->set('', '', self::HOUR);
        self::assertSame('', $hash->getOrAcquire('', 'req-2', self::HOUR)->value);
        self::assertNull($hash->holder('/'));
    }

    /** @dataProvider kinds */
    public function testLocks(string $kind): void
    {
        $hash = $this->hash($kind);
        self::assertNull($hash->holder('f'));
        $taken = $hash->acquire('f', "t\0\xff", self::HOUR);
        self::assertEquals(new Acquired($taken->fence, null), $taken);
        self::assertSame($taken->fence, $hash->acquire('f', "t\0\xff", self::HOUR)->fence);
        $busy = $hash->acquire('f', 'other', self::HOUR);
        self::assertNull($busy->fence);
        self::assertGreaterThan(self::HOUR / 2, $busy->remaining);
        $holder = $hash->holder('f');
        self::assertSame(["t\0\xff", $taken->fence], [$holder->token, $holder->fence]);
        self::assertGreaterThan(self::HOUR / 2, $holder->remaining);
        self::assertSame([true, false], [$hash->renew('f', "t\0\xff", 2 * self::HOUR), $hash->renew('f', 'other', self::HOUR)]);
        self::assertGreaterThan(1.5 * self::HOUR, $hash->holder('f')->remaining);
        $hash->setLocked('f', "t\0\xff", '1', self::HOUR);
        self::assertSame('1', $hash->get('f'));
        self::assertSame(1, $hash->stats()->locks);
        foreach ([$hash->setLocked(...), $hash->setAndRelease(...)] as $set) {
            self::assertInstanceOf(LeaseLostException::class, self::thrown(static fn () => $set('f', 'other', '2', self::HOUR)));
        }
        self::assertSame('1', $hash->get('f'));
        self::assertSame([false, true, false], [$hash->release('f', 'other'), $hash->release('f', "t\0\xff"), $hash->release('f', "t\0\xff")]);
        self::assertGreaterThan($taken->fence, $hash->acquire('f', 'other', self::HOUR)->fence);
    }

    public function testTimePasses(): void
    {
        [$hash, $clock] = self::clocked();
        $hash->set('a', '1', 0.5);
        $hash->set('b', '2', 60);
        self::assertSame([0.5, 60.0], [$hash->ttl('a'), $hash->ttl('b')]);
        self::assertSame(1_700_000_000_500_000, $hash->fields()->fields[0]->expiresUs);
        self::assertNull($hash->acquire('a', 't', 10)->remaining);
        self::assertSame(10.0, $hash->holder('a')->remaining);
        self::assertEquals(new Reaped(0, 0, 0, false, 0.5), $hash->reap());
        $clock->advance(0.499);
        self::assertSame(['1', 0.001], [$hash->get('a'), $hash->ttl('a')]);
        $clock->advance(0.001);
        self::assertSame([null, null], [$hash->get('a'), $hash->ttl('a')]);
        self::assertFalse($hash->touch('a', 60));
        self::assertEquals(new HashStats(1, 1, 1), $hash->stats());
        self::assertEquals(new Reaped(1, 0, 0, false, 9.5), $hash->reap());
        $clock->advance(60);
        self::assertEquals(new Reaped(0, 1, 0, true, 0.0), $hash->reap(1));
        self::assertEquals(new Reaped(1, 0, 0, false, null), $hash->reap(limit: 5));
        self::assertEquals(new HashStats(0, 0, 0), $hash->stats());
    }

    public function testAHolderWhoseLockHasExpired(): void
    {
        [$hash, $clock] = self::clocked();
        $first = $hash->getOrAcquire('/', 'req-1', 10);
        $clock->advance(9);
        self::assertSame(1.0, $hash->getOrAcquire('/', 'req-2', 10)->remaining);
        $clock->advance(1);
        self::assertGreaterThan($first->fence, $hash->getOrAcquire('/', 'req-2', 10)->fence);
        self::assertInstanceOf(
            LeaseLostException::class,
            self::thrown(static fn () => $hash->setAndRelease('/', 'req-1', 'old', 60)),
        );
        $hash->setAndRelease('/', 'req-2', 'new', 60);
        self::assertSame('new', $hash->get('/'));
    }

    public function testKeysOfAnotherType(): void
    {
        $hash = $this->hash('redis');
        Servers::shared()->admin()->set("vhash-map:{{$this->name}}", 'x');
        foreach ([static fn () => $hash->set('a', '1', 60), static fn () => $hash->get('a'), $hash->clear(...)] as $call) {
            self::assertInstanceOf(WrongTypeException::class, self::thrown($call));
        }
    }

    /** What another program stored in this layout is the same hash. */
    public function testTheLayoutOnRedis(): void
    {
        $redis = Servers::shared()->admin();
        $redis->hSet("vhash-map:{{$this->name}}", '7', 'x');
        $redis->zAdd("vhash-zset:{{$this->name}}", \time() + 3_600, '7');
        $hash = $this->hash('redis');
        self::assertSame('x', $hash->get('7'));
        $hash->set('8', 'y', self::HOUR);
        self::assertSame(['7' => 'x', '8' => 'y'], $redis->hGetAll("vhash-map:{{$this->name}}"));
        self::assertGreaterThan(\time(), $redis->zScore("vhash-zset:{{$this->name}}", '8'));
    }

    /** @dataProvider ownKinds */
    public function testTheHashesOfAFamily(string $kind): void
    {
        $client = $this->connect($kind);
        $family = $client->volatileHashes($this->name, shards: 2);
        $family->hash('ann')->set('f', '1', self::HOUR);
        $family->hash("b\0\xff")->set('f', '2', self::HOUR);
        self::assertSame(['1', '2', null], [$family->hash('ann')->get('f'), $family->hash("b\0\xff")->get('f'), $family->hash('cy')->get('f')]);
        self::assertSame(0, $client->volatileHash($this->name)->len());
        self::assertSame(1, $family->hash('ann')->clear());
        self::assertSame('2', $client->volatileHashes($this->name, 2)->hash("b\0\xff")->get('f'));
        $reaped = $family->reap();
        self::assertSame([0, 0, false], [$reaped->fields, $reaped->locks, $reaped->more]);
        // The time of a real server passes by itself.
        $family->hash('dee')->set('f', '3', 0.001);
        $family->hash('dee')->acquire('f', 't', 0.001);
        $removed = 0;
        self::waitFor(static function () use ($family, &$removed): bool {
            $reaped = $family->reap(1);
            $removed += $reaped->fields + $reaped->locks;

            return $removed === 2;
        });
        self::assertSame(1, $family->hash("b\0\xff")->clear());
    }

    public function testAFamilyIsReaped(): void
    {
        $clock = new ManualClock(1_700_000_000_000);
        $family = Millpond::connect('memory:', clock: $clock)->volatileHashes('h');
        $family->hash('ann')->setMany(['a' => '1', 'b' => '2'], 60);
        $family->hash('bob')->set('a', '1', 90);
        self::assertEquals(new Reaped(0, 0, 0, false, 60.0), $family->reap());
        $clock->advance(60);
        self::assertEquals(new HashStats(0, 2, 0), $family->hash('ann')->stats());
        self::assertEquals(new Reaped(1, 0, 0, true, 0.0), $family->reap(1));
        self::assertEquals(new Reaped(1, 0, 0, false, 30.0), $family->reap(limit: 5));
        self::assertEquals([new HashStats(0, 0, 0), new HashStats(1, 0, 0)], [$family->hash('ann')->stats(), $family->hash('bob')->stats()]);
        // With another number of shards it is another family.
        self::assertSame(0, Millpond::connect('memory:', clock: $clock)->volatileHashes('h', 3)->hash('bob')->len());
    }

    public function testWrongFamilies(): void
    {
        $client = $this->connect('memory');
        $calls = [
            'the name' => static fn () => $client->volatileHashes('')->hash('a')->len(),
            'the base' => static fn () => $client->volatileHashes('h')->hash('')->len(),
            'shards, not 0' => static fn () => $client->volatileHashes('h', 0)->hash('a')->len(),
            'shards, not 65537' => static fn () => $client->volatileHashes('h', 65_537)->reap(),
            'shards is -1' => static fn () => $client->volatileHashes('h', -1),
            'not 1001' => static fn () => $client->volatileHashes('h')->reap(1_001),
        ];
        foreach ($calls as $message => $call) {
            self::assertRefused($message, $call);
        }
    }
}
