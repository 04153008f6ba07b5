<?php

declare(strict_types=1);

namespace Millpond\Tests;

use Millpond\ManualClock;
use Millpond\Millpond;
use Millpond\Tasks\Job;
use Millpond\Tasks\NewTask;

/**
 * A clock that tests move, in place of sleeping.
 */
final class ClockTest extends TestCase
{
    private const HOUR = 3600;

    public function testStandsStillAtThePresentOrAtATime(): void
    {
        $before = (int) (\microtime(true) * 1000);
        $now = (new ManualClock())->nowMs();
        self::assertGreaterThanOrEqual($before, $now);
        self::assertLessThanOrEqual((int) (\microtime(true) * 1000) + 1, $now);
        $clock = new ManualClock(1_700_000_000_000);
        $clock->advance(1.5);
        $clock->advance(0.5);
        self::assertSame(1_700_000_002_000, $clock->nowMs());
        $clock->advance(\INF);
        self::assertSame('9999', \gmdate('Y', \intdiv($clock->nowMs(), 1000)));
    }

    public function testArguments(): void
    {
        $clock = new ManualClock(0);
        self::assertRefused('nowMs', static fn () => new ManualClock(-1));
        self::assertRefused('time', static fn () => $clock->advance(-1));
        self::assertRefused('time', static fn () => $clock->advance(\NAN));
        self::assertRefused("a server's time is the server's", static fn () => Millpond::connect('redis://127.0.0.1:1', clock: $clock));
        self::assertSame(0, $clock->nowMs());
    }

    public function testThoseThatShareAnEngineShareItsClock(): void
    {
        $clock = new ManualClock(1000);
        $clients = [
            Millpond::connect("memory:php's clock", clock: $clock),
            Millpond::connect("memory:php's clock"),
            Millpond::connect("memory:php's clock", clock: $clock),
        ];
        self::assertRefused('another clock', static fn () => Millpond::connect("memory:php's clock", clock: new ManualClock(1000)));
        $clock->advance(1);
        foreach ($clients as $client) {
            self::assertSame(2000, $client->tasks('q')->time());
        }
    }

    public function testAnEngineKeepsItsClock(): void
    {
        $client = Millpond::connect('memory:', clock: new ManualClock(1000));
        self::assertSame(1000, $client->tasks('q')->time());
    }

    public function testWhatIsDueThenIsDone(): void
    {
        $clock = new ManualClock();
        $store = Millpond::connect('memory:', clock: $clock)->tasks('shop');
        $store->insert(new NewTask('inbox', 7, delay: self::HOUR));
        $worker = $store->worker('inbox');
        $seen = [];
        $see = static function (Job $job) use (&$seen): void {
            $seen[] = $job->task->value();
        };
        $clock->advance(self::HOUR - 1);
        self::assertSame(0, $worker->drain($see)->done);
        $clock->advance(1);
        self::assertSame(1, $worker->drain($see)->done);
        self::assertSame([7], $seen);

        $store->insert(new NewTask('inbox', 8));
        self::assertNotNull($store->claim('inbox'));
        self::assertNull($store->claim('inbox'));
        $clock->advance(30);
        self::assertNotNull($store->claim('inbox'), 'its lease is over');
    }
}
