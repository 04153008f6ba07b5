<?php

declare(strict_types=1);

namespace Millpond\Tests;

use Millpond\Exception\InvalidArgumentException;
use Millpond\Exception\LeaseLostException;
use Millpond\ManualClock;
use Millpond\Millpond;

/**
 * The lock of a field of a volatile hash, which is renewed.
 */
final class FieldLockTest extends TestCase
{
    /** @dataProvider ownKinds */
    public function testOneHolderAtATime(string $kind): void
    {
        $hash = $this->connect($kind)->volatileHash($this->name);
        $lock = $hash->lock("f\0", 30);
        self::assertFalse($lock->isLost());
        self::assertNull($hash->lock("f\0", 30));
        self::assertSame($lock->fence(), $hash->holder("f\0")->fence);
        self::assertNotNull($hash->lock('other', 30));
        $lock->set("1\0\xff", 60);
        self::assertSame("1\0\xff", $hash->get("f\0"));
        self::assertTrue($lock->release());
        self::assertTrue($lock->isLost());
        self::assertFalse($lock->release());
        self::assertInstanceOf(LeaseLostException::class, self::thrown(static fn () => $lock->set('2', 60)));
        self::assertSame("1\0\xff", $hash->get("f\0"));
        self::assertGreaterThan($lock->fence(), $hash->lock("f\0", 30)->fence());
    }

    public function testALockThatIsLost(): void
    {
        $clock = new ManualClock(1_700_000_000_000);
        $hash = Millpond::connect('memory:', clock: $clock)->volatileHash('h');
        // It is renewed after a third of an hour, of which the clock says nothing.
        $lock = $hash->lock('f', 3_600);
        $lock->set('1', 7_200);
        $clock->advance(3_600);
        $other = $hash->lock('f', 3_600);
        self::assertGreaterThan($lock->fence(), $other->fence());
        $thrown = self::thrown(static fn () => $lock->set('2', 60));
        self::assertInstanceOf(LeaseLostException::class, $thrown);
        self::assertSame('LEASE_LOST', $thrown->errorName);
        self::assertFalse($lock->release());
        $other->set('3', 60);
        self::assertSame('3', $hash->get('f'));
        self::assertTrue($other->release());
    }

    public function testANativeThreadRenewsIt(): void
    {
        $hash = $this->connect('redis', self::RENEWING)->volatileHash($this->name);
        $lock = $hash->lock('f', 60);
        // A busy holder: nothing of PHP calls its client meanwhile.
        $redis = Servers::shared()->admin();
        $others = Millpond::over($redis)->volatileHash($this->name);
        $token = $others->holder('f')->token;
        for ($renewals = 0; $renewals < 3; ++$renewals) {
            self::assertTrue($others->renew('f', $token, 50));
            self::waitFor(static fn (): bool => $others->holder('f')->remaining > 50);
        }
        self::assertFalse($lock->isLost());
        $lock->set('1', 60);
        unset($lock);
        self::waitFor(static fn (): bool => $others->holder('f') === null); // what nobody refers to is given back
        self::assertSame('1', $hash->get('f'));
    }

    public function testALockThatIsTakenAway(): void
    {
        $hash = $this->connect('redis', self::RENEWING)->volatileHash($this->name);
        $lock = $hash->lock('f', 60);
        self::assertTrue($hash->release('f', $hash->holder('f')->token));
        self::waitFor($lock->isLost(...));
        self::assertInstanceOf(LeaseLostException::class, self::thrown(static fn () => $lock->set('1', 60)));
        self::assertFalse($lock->release());
    }

    public function testWrongArguments(): void
    {
        $hash = $this->connect('memory')->volatileHash($this->name);
        foreach ([0.0, -1.0, \NAN, \INF] as $ttl) {
            self::assertInstanceOf(InvalidArgumentException::class, self::thrown(static fn () => $hash->lock('f', $ttl)));
        }
        self::assertInstanceOf(InvalidArgumentException::class, self::thrown(static fn () => $hash->lock(\str_repeat('f', 65_537), 60)));
        $lock = $hash->lock('f', 60);
        self::assertInstanceOf(InvalidArgumentException::class, self::thrown(static fn () => $lock->set('1', 0)));
        self::assertTrue($lock->release());
    }
}
