<?php

declare(strict_types=1);

namespace Millpond\Tests;

use Millpond\Exception\InvalidArgumentException;
use Millpond\Exception\LeaseLostException;

/**
 * The consumer lease.
 */
final class LeaseTest extends TestCase
{
    /** @dataProvider ownKinds */
    public function testOneConsumerAtATime(string $kind): void
    {
        $ick = $this->connect($kind)->ick($this->name);
        $lease = $ick->lease(30);
        self::assertNotNull($lease);
        self::assertFalse($lease->isLost());
        self::assertNull($ick->lease(30));
        self::assertTrue($lease->release());
        self::assertTrue($lease->isLost());
        self::assertFalse($lease->release());
        self::assertNotNull($ick->lease(30));
    }

    /** @dataProvider ownKinds */
    public function testEveryStepOfTheHolder(string $kind): void
    {
        $ick = $this->connect($kind)->ick($this->name);
        $ick->add([[1, 'a'], [2, 'b'], [3, 'c'], [4, 'd']]);
        $lease = $ick->lease(30);
        self::assertSame([['a', 1.0]], self::plain($lease->reserve(1)));
        self::assertSame(1, $lease->commit(['a']));
        self::assertSame([['b', 2.0]], self::plain($lease->exchange(1)));
        self::assertSame([['c', 3.0]], self::plain($lease->exchange(1, ['b'])));
        self::assertSame([['c', 3.0]], self::plain($lease->batches(1, wait: 0)->next() ?? []));
        foreach ($lease->batches(1) as $batch) {
            self::assertCount(1, $batch);
        }
        self::assertSame(0, $ick->stats()->totalSize);
    }

    public function testALeaseThatIsLost(): void
    {
        $ick = $this->connect('redis')->ick($this->name);
        $ick->add([[1, 'a']]);
        $lease = $ick->lease(30);
        $batches = $lease->batches(10);
        $batches->next();
        Servers::shared()->admin()->set("$this->name/ick/{{$this->name}}/lease", 'somebody else');
        $calls = [
            static fn () => $lease->reserve(1),
            static fn () => $lease->commit(['a']),
            static fn () => $lease->exchange(1, ['a']),
            static fn () => $batches->commit(),
            static fn () => $lease->batches(1)->next(),
        ];
        foreach ($calls as $call) {
            $thrown = self::thrown($call);
            self::assertInstanceOf(LeaseLostException::class, $thrown);
            self::assertSame('LEASE_LOST', $thrown->errorName);
        }
        self::assertSame(1, $ick->stats()->csetSize);
        self::assertFalse($lease->release());
    }

    public function testANativeThreadRenewsIt(): void
    {
        $ick = $this->connect('redis', self::RENEWING)->ick($this->name);
        $lease = $ick->lease(60);
        $key = "$this->name/ick/{{$this->name}}/lease";
        $admin = Servers::shared()->admin();
        // A busy handler: nothing of PHP calls the library meanwhile.
        for ($renewals = 0; $renewals < 3; ++$renewals) {
            self::assertTrue($admin->expire($key, 50));
            self::waitFor(static fn (): bool => $admin->ttl($key) > 50);
        }
        self::assertFalse($lease->isLost());
        unset($lease);
        self::waitFor(static fn (): bool => $admin->exists($key) === 0); // what nobody refers to is given back
    }

    public function testWrongTerms(): void
    {
        $ick = $this->connect('memory')->ick($this->name);
        foreach ([0.0, -1.0, \NAN, \INF, 86_401.0] as $ttl) {
            self::assertInstanceOf(InvalidArgumentException::class, self::thrown(static fn () => $ick->lease($ttl)));
        }
    }
}
