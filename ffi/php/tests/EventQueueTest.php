<?php

declare(strict_types=1);

namespace Millpond\Tests;

use Millpond\Cancelled;
use Millpond\DeadReason;
use Millpond\JobCounts;
use Millpond\Event;
use Millpond\EventConfigChange;
use Millpond\EventJob;
use Millpond\EventQueue;
use Millpond\EventReceipt;
use Millpond\EventState;
use Millpond\EventWorkerOptions;
use Millpond\Exception\AlreadyExistsException;
use Millpond\Exception\InvalidArgumentException;
use Millpond\Exception\LeaseLostException;
use Millpond\Held;
use Millpond\IfExists;
use Millpond\ManualClock;
use Millpond\Millpond;
use Millpond\Missed;
use Millpond\NewEvent;
use Millpond\Overlap;
use Millpond\PublishStatus;
use Millpond\PutStatus;
use Millpond\Redriven;
use Millpond\RejectJob;
use Millpond\ReleaseJob;
use Millpond\Report;
use Millpond\Rescheduled;
use Millpond\RetryJob;
use Millpond\Schedule;
use Millpond\Settled;
use Millpond\SyncedSchedules;
use Millpond\Tasks\Modification;
use Millpond\Tasks\NewTask;
use Psr\Log\AbstractLogger;

/**
 * Queues of events, on each backend: what fires at its time, in order by its key.
 */
final class EventQueueTest extends TestCase
{
    private function queue(string $kind): EventQueue
    {
        return $this->connect($kind)->events("{{$this->name}}");
    }

    /** @return list<string> */
    private static function payloads(iterable $events): array
    {
        return \array_map(static fn (Event $event): string => $event->payload, [...$events]);
    }

    /** @dataProvider ownKinds */
    public function testAnEventIsReceivedOnceAndEnds(string $kind): void
    {
        $queue = $this->queue($kind);
        $published = $queue->publish(new NewEvent("\xff\0", "c\xff", headers: ['a' => "1\xff", 'b' => '']));
        self::assertSame(PublishStatus::Created, $published->status);
        [$event] = $queue->receive(10);
        self::assertSame(["\xff\0", "c\xff", ['a' => "1\xff", 'b' => ''], 1], [$event->payload, $event->key, $event->headers, $event->attempts]);
        self::assertSame([$published->id, $published->fireAtUs, EventState::Leased], [$event->id, $event->fireAtUs, $event->state]);
        self::assertSame([null, null, null, ''], [$event->reason, $event->dedupId, $event->expiresAtUs, $event->err]);
        self::assertSame([], $queue->receive(10));
        self::assertSame([Held::Held], $queue->renew($event, lease: 60));
        $queue->nack($event, 'no printer', after: 0);
        self::assertInstanceOf(LeaseLostException::class, self::thrown(static fn () => $queue->ack($event)));
        [$again] = $queue->receive();
        self::assertSame(['no printer', 2], [$again->err, $again->attempts]);
        self::assertSame([Settled::Lost], $queue->ackMany(new EventReceipt($event->id, $event->token)));
        $queue->ackWith($again, ['ship', new NewEvent('bill', delay: 3_600)]);
        self::assertSame(['ship'], self::payloads($queue->receive(10)));
        self::assertSame([null], $queue->fetch($published));
        self::assertSame([1, 1], [$queue->stats()->leased, $queue->stats()->scheduled]);
    }

    /** @dataProvider ownKinds */
    public function testNamesAndTimes(string $kind): void
    {
        $queue = $this->queue($kind);
        $atMs = 4_000_000_000_123;
        $first = $queue->publish(new NewEvent('x', atMs: $atMs, dedupId: 'cart'));
        $again = $queue->publish(new NewEvent('x', dedupId: 'cart'));
        self::assertSame([PublishStatus::Duplicate, $first->id], [$again->status, $again->id]);
        $refused = self::thrown(static fn () => $queue->publish(new NewEvent('x', dedupId: 'cart', ifExists: IfExists::Error)));
        self::assertInstanceOf(AlreadyExistsException::class, $refused);
        self::assertSame($atMs * 1_000, $queue->fetch($first->id)[0]->fireAtUs);
        $none = \str_repeat('0', 20);
        self::assertSame([Rescheduled::Rescheduled, Rescheduled::Gone], $queue->rescheduleAtMs([$first, $none], $atMs + 1));
        self::assertSame([Rescheduled::Rescheduled], $queue->reschedule($first, 60));
        $replaced = $queue->publish(new NewEvent('y', delay: 1.5, dedupId: 'cart', ifExists: IfExists::Replace));
        self::assertSame(PublishStatus::Replaced, $replaced->status);
        [$found, $gone, $same] = $queue->fetch([$replaced, $none, $replaced->id]);
        self::assertSame(['y', null, 'y'], [$found->payload, $gone, $same->payload]);
        self::assertSame([[Cancelled::Removed], [Cancelled::Removed]], [$queue->cancel($replaced), $queue->cancel($replaced)]);
        $expired = $queue->publish(new NewEvent('z', ttl: 0.001));
        \usleep(10_000);
        self::assertSame([[], [null]], [$queue->receive(), $queue->fetch($expired)]);
    }

    /** @dataProvider ownKinds */
    public function testLoopsWait(string $kind): void
    {
        $queue = $this->queue($kind);
        $queue->publishMany(new \ArrayIterator(['now', new NewEvent('later', delay: 0.2), 'now']));
        $batches = $queue->deliveries(max: 10, wait: 60, lease: 90);
        $payloads = [];
        foreach ($batches as $events) {
            $payloads[] = self::payloads($events);
            self::assertEqualsWithDelta(90_000_000, $events[0]->stateAtUs - $queue->stats()->nowUs, 30_000_000);
            if (\count($payloads) === 2) {
                break;
            }
        }
        self::assertSame([['now', 'now'], ['later']], $payloads);
        self::assertSame([], [...$queue->deliveries()]);
    }

    /** @dataProvider ownKinds */
    public function testAWorkerEndsEventsAsItsHandlerSays(string $kind): void
    {
        $queue = $this->queue($kind);
        $queue->configure(new EventConfigChange(maxAttempts: 2, backoffMin: 0.001, backoffMax: 0.001));
        $ends = ['null' => null, 'retry' => new RetryJob('busy', delay: 0), 'reject' => new RejectJob('never'),
            'modification' => (new Modification())->insert(new NewTask('q')), 'release' => new ReleaseJob()];
        $queue->publishMany(\array_keys($ends));
        $told = $reports = $seen = [];
        $onEvent = static function (Report $report) use (&$reports): void {
            $reports[$report->kind->value][] = $report->of->payload;
        };
        $onError = static function (?EventJob $job, \Throwable $error) use (&$told): void {
            $told[$job->event->payload] = $error::class;
        };
        $handler = static function (EventJob $job) use (&$seen, $ends): mixed {
            $payload = $job->event->payload;
            $seen[$payload] = ($seen[$payload] ?? 0) + 1;

            return $seen[$payload] > 1 && $payload !== 'modification' ? null : $ends[$payload];
        };
        $worker = $queue->worker();
        self::waitFor(static function () use ($worker, $handler, $onError, $onEvent, &$reports): bool {
            $worker->drain($handler, $onError, $onEvent);

            return \count($reports['done'] ?? []) === 3 && \count($reports['dead'] ?? []) === 2;
        });
        self::assertEqualsCanonicalizing(['null', 'release', 'retry'], $reports['done']);
        self::assertEqualsCanonicalizing(['modification', 'retry'], $reports['retried']);
        self::assertEqualsCanonicalizing(['modification', 'reject'], $reports['dead']);
        self::assertEqualsCanonicalizing(['modification', 'reject'], \array_keys($told));
        $dead = \array_column($queue->list(EventState::Dead)->events, null, 'payload');
        self::assertSame(DeadReason::Exhausted, $dead['modification']->reason);
        self::assertSame([DeadReason::Rejected, 'never'], [$dead['reject']->reason, $dead['reject']->err]);
        self::assertSame(1, $queue->redriveAll(DeadReason::Rejected));
        self::assertSame([Redriven::Redriven], $queue->redrive($dead['modification']));
        self::assertSame([2, 0], [$queue->stats()->ready, $queue->stats()->dead]);
        self::assertSame(2, $queue->purge(EventState::Ready));
    }

    /** @dataProvider ownKinds */
    public function testJobsOfAKeyComeInOrder(string $kind): void
    {
        $queue = $this->queue($kind);
        $queue->publishMany(\array_map(static fn (int $n): NewEvent => new NewEvent("$n", $n < 4 ? 'one' : "$n"), \range(0, 7)));
        $worker = $queue->worker(new EventWorkerOptions(prefetch: 3));
        $order = [];
        $worker->run(static function (EventJob $job) use ($worker, &$order): void {
            $order[] = (int) $job->event->payload;
            if (\count($order) === 8) {
                $worker->stop();
            }
        });
        self::assertSame([0, 1, 2, 3], \array_values(\array_filter($order, static fn (int $n): bool => $n < 4)));
        self::assertEqualsCanonicalizing(\range(0, 7), $order);
        self::assertSame(0, $queue->stats()->events);
    }

    /** @dataProvider ownKinds */
    public function testWhatRunsAtTheDeadlineIsGivenBack(string $kind): void
    {
        $queue = $this->queue($kind);
        $queue->publish('x');
        $worker = $queue->worker(new EventWorkerOptions(timeout: 9));
        $over = null;
        $worker->run(static function (EventJob $job) use ($worker, &$over): void {
            self::assertThat($job->timeLeft(), self::logicalAnd(self::greaterThan(1), self::lessThanOrEqual(9)));
            self::assertFalse($job->isCancelled());
            $worker->stop(0);
            self::waitFor($job->isLost(...));
            $over = $job;
        });
        $attempts = [];
        $drained = $queue->worker()->drain(static function (EventJob $job) use (&$attempts): void {
            $attempts[] = $job->event->attempts;
        });
        self::assertEquals([new JobCounts(1, 0, 0, 0), [1]], [$drained, $attempts]);
        self::assertInstanceOf(Event::class, $over->event);
    }

    /** @dataProvider ownKinds */
    public function testWhoeverLooksAfterAQueue(string $kind): void
    {
        $queue = $this->queue($kind);
        self::assertNull($queue->config());
        $config = ['lease' => 12.5, 'maxAttempts' => 0, 'maxCrashes' => 7, 'backoffMin' => 0.5, 'backoffMax' => 90.0, 'eventsMax' => 9, 'dedupIdsMax' => 5];
        $queue->configure(new EventConfigChange(...$config));
        $queue->configure(new EventConfigChange(rate: 9, paused: false));
        self::assertEquals($config, \array_intersect_key((array) $queue->config(), $config));
        self::assertSame([9, false], [$queue->config()->rate, $queue->config()->paused]);
        $queue->configure(new EventConfigChange(rate: 0));
        $queue->pause();
        $queue->publishMany([new NewEvent('a', 'k'), new NewEvent('b', 'k'), 'c', 'd']);
        self::assertSame([true, []], [$queue->config()->paused, $queue->receive(10)]);
        $queue->resume();
        $first = $queue->list(EventState::Ready, limit: 2);
        self::assertSame([['a', 'c'], ['d']], [self::payloads($first->events), self::payloads($queue->list(EventState::Ready, after: $first->next)->events)]);
        self::assertSame(['d'], self::payloads($queue->list(EventState::Ready, after: $first->events[1])->events));
        self::assertSame(['b'], self::payloads($queue->list(EventState::Behind, 'k')->events));
        self::assertSame([], $queue->list(EventState::Ready, sinceUs: $queue->stats()->nowUs + 1_000_000)->events);
        self::assertNull($queue->list(EventState::Dead)->next);
        [$event] = $queue->receive();
        $queue->deadLetter($event, 'no customer');
        self::assertSame([1, 3], [$queue->stats()->dead, $queue->stats()->ready]);
        self::assertSame([DeadReason::Rejected, 'no customer'], [($dead = $queue->list(EventState::Dead)->events[0])->reason, $dead->err]);
        [$other] = $queue->receive();
        $queue->release($other);
        self::assertSame([Cancelled::Removed, Cancelled::Removed], $queue->cancel([$dead, $other->id]));
        [$held] = $queue->receive();
        self::assertSame([Cancelled::Running], $queue->cancel($held, alsoRunning: true));
        self::assertSame([Held::Cancelled], $queue->renew([$held]));
        $queue->delete();
        self::assertSame([0, null], [$queue->stats()->events, $queue->config()]);
    }

    /** @dataProvider ownKinds */
    public function testSchedulesArePutAndRead(string $kind): void
    {
        $queue = $this->queue($kind);
        $look = new Schedule('look', every: 1.5, anchorMs: 7, payload: "\xff\0", headers: ['h' => "\xff"], ttl: 60, missed: Missed::Expire, grace: 2, overlap: Overlap::Allow, fromMs: 1, untilMs: 1 << 42, revision: 3);
        self::assertSame([PutStatus::Created, PutStatus::Unchanged], [$queue->putSchedule($look), $queue->putSchedule($look)]);
        $info = $queue->getSchedule('look');
        self::assertSame(['look', 1.5, "\xff\0", false, 3, ''], [$info->id, $info->every, $info->payload, $info->paused, $info->revision, $info->owner]);
        self::assertSame([null, null, null], [$info->cron, $info->zone, $info->passedUs]);
        self::assertEqualsWithDelta($queue->stats()->nowUs, $info->nextUs, 60_000_000);
        $id = $queue->triggerSchedule('look')->id;
        [$event] = $queue->receive();
        self::assertSame([$id, '', ['h' => "\xff"]], [$event->id, $event->key, $event->headers]);
        $lazily = (static function (): \Generator {
            yield 'x' => new Schedule('a', cron: '@daily', payload: 'x');
            yield 'x' => new Schedule('b', cron: '@daily');
        })();
        self::assertEquals(new SyncedSchedules(false, 2, 0, 0, 0), $queue->syncSchedules('app', 1, $lazily));
        self::assertSame(['UTC', 'UTC', null], \array_column($queue->listSchedules(), 'zone'));
        self::assertTrue($queue->removeSchedule('a'));
        self::assertSame([false, false, null, null], [$queue->pauseSchedule('a'), $queue->resumeSchedule('a'), $queue->getSchedule('a'), $queue->triggerSchedule('a')]);
    }

    public function testTicksOfAClock(): void
    {
        $clock = new ManualClock();
        $queue = Millpond::connect('memory:', clock: $clock)->events('jobs');
        $queue->putSchedule(new Schedule('nightly', cron: '30 3 * * *', zone: 'Europe/Berlin', payload: 'clean up'));
        $tickUs = $queue->getSchedule('nightly')->nextUs;
        self::assertSame([], $queue->receive());
        $clock->advance(86_400);
        [$event] = $queue->receive();
        self::assertSame(['nightly', 'clean up', $tickUs], [$event->key, $event->payload, $event->fireAtUs]);
        self::assertSame($tickUs, $queue->getSchedule('nightly')->passedUs);
    }

    public function testWhatFailsIsLogged(): void
    {
        $logger = new class () extends AbstractLogger {
            public array $lines = [];

            public function log($level, $message, array $context = []): void
            {
                unset($context['exception']);
                $this->lines[] = [$level, $message, $context];
            }
        };
        $queue = Millpond::connect('memory:', logger: $logger)->events('q');
        $id = $queue->publish(new NewEvent('x', 'k'))->id;
        $queue->worker()->drain(static fn () => throw new \DomainException('why'));
        self::assertSame([['error', 'millpond: event {event} (attempt {attempts}) failed', ['event' => $id, 'key' => 'k', 'attempts' => 1]]], $logger->lines);
    }

    public function testAnEventOfATransaction(): void
    {
        $queue = Millpond::connect(Servers::shared()->url)->events($this->name);
        $command = $queue->publishCall(new NewEvent("\xff\0", key: 'k', headers: ['a' => '1']));
        $redis = Servers::shared()->admin();
        $redis->script('flush');
        [, $id] = $redis->multi()->set("$this->name:order", 'paid')->rawCommand(...$command)->exec();
        [$event] = $queue->receive(1);
        self::assertSame([$id, "\xff\0", 'k'], [$event->id, $event->payload, $event->key]);
        self::assertSame('paid', $redis->get("$this->name:order"));
        $refused = new NewEvent('paid', dedupId: 'a', ifExists: IfExists::Error);
        $thrown = self::thrown(static fn () => $queue->publishCall($refused));
        self::assertInstanceOf(InvalidArgumentException::class, $thrown);
        $memory = $this->connect('memory')->events('q');
        $thrown = self::thrown(static fn () => $memory->publishCall('paid'));
        self::assertInstanceOf(InvalidArgumentException::class, $thrown);
    }
}
