<?php

declare(strict_types=1);

namespace Millpond\Tests;

use Millpond\EventConfigChange;
use Millpond\EventPosition;
use Millpond\EventState;
use Millpond\EventWorkerOptions;
use Millpond\NewEvent;
use Millpond\Schedule;

final class EventArgumentsTest extends ArgumentsTestCase
{
    protected const ROW = 'events';

    protected function calls(): array
    {
        return [
            'delay is -1' => static fn ($queue) => $queue->publish(new NewEvent('x', delay: -1)),
            'atMs and delay are both given' => static fn ($queue) => $queue->publish(new NewEvent('x', atMs: 1, delay: 1)),
            'ttl is NAN' => static fn ($queue) => $queue->publish(new NewEvent('x', ttl: \NAN)),
            'dedup_id' => static fn ($queue) => $queue->publish(new NewEvent('x', dedupId: "\xff")),
            'headers["a"] must be string, not int' => static fn ($queue) => $queue->publish(new NewEvent('x', headers: ['a' => 7])),
            'events[1] must be NewEvent or string, not int' => static fn ($queue) => $queue->publishMany(['x', 7]),
            'deliveries[0] must be Event or EventReceipt, not string' => static fn ($queue) => $queue->ackMany(['x']),
            'takes 1 to 1000 events, not 0' => static fn ($queue) => $queue->receive(0),
            'max is -1' => static fn ($queue) => $queue->deliveries(-1),
            '"no id" is no id of an event' => static fn ($queue) => $queue->cancel('no id'),
            'ids[0] must be Event, Published or string, not int' => static fn ($queue) => $queue->fetch([7]),
            'delay is -2' => static fn ($queue) => $queue->reschedule([], -2),
            'atMs is -1' => static fn ($queue) => $queue->rescheduleAtMs([], -1),
            'limit is -1' => static fn ($queue) => $queue->list(EventState::Ready, limit: -1),
            'after.stateAtUs is -1' => static fn ($queue) => $queue->list(EventState::Ready, after: new EventPosition(-1, 'x')),
            'partitions is -1' => static fn ($queue) => $queue->configure(new EventConfigChange(partitions: -1)),
            '1 to 1024 partitions, not 0' => static fn ($queue) => $queue->configure(new EventConfigChange(partitions: 0)),
            'concurrency is 2' => static fn ($queue) => $queue->worker(new EventWorkerOptions(concurrency: 2)),
            'lease is -1' => static fn ($queue) => $queue->worker(new EventWorkerOptions(lease: -1)),
            'every is -1' => static fn ($queue) => $queue->putSchedule(new Schedule('a', every: -1)),
            'fromMs is -1' => static fn ($queue) => $queue->putSchedule(new Schedule('a', every: 1, fromMs: -1)),
            'headers["h"] must be string, not int' => static fn ($queue) => $queue->putSchedule(new Schedule('a', every: 1, headers: ['h' => 7])),
            'Atlantis' => static fn ($queue) => $queue->putSchedule(new Schedule('a', cron: '@daily', zone: 'Europe/Atlantis')),
            'schedules[1] must be Schedule, not string' => static fn ($queue) => $queue->syncSchedules('app', 1, [new Schedule('a', every: 1), 'b']),
            'revision is -1' => static fn ($queue) => $queue->syncSchedules('app', -1, []),
        ];
    }

    public function testWrongTypes(): void
    {
        $queue = $this->connect('memory')->events('q');
        $calls = [
            'must be of type string, int given' => static fn () => $queue->publish(new NewEvent(7)),
            'must be of type ?float, string given' => static fn () => $queue->publish(new NewEvent('x', delay: '1')),
            'Unknown named parameter $at' => static fn () => $queue->publish(new NewEvent('x', at: 5)),
            'Event|Millpond\EventReceipt' => static fn () => $queue->ack('x'),
            'must be of type ?Millpond\Missed, string given' => static fn () => $queue->putSchedule(new Schedule('a', every: 1, missed: 'expire')),
            'must be of type Millpond\EventState' => static fn () => $queue->list('waiting'),
        ];
        foreach ($calls as $message => $call) {
            $thrown = self::thrown($call);
            self::assertInstanceOf(\Error::class, $thrown);
            self::assertStringContainsString($message, $thrown->getMessage());
        }
        self::assertSame([0, []], [$queue->stats()->events, $queue->listSchedules()]);
    }
}
