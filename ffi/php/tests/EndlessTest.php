<?php

declare(strict_types=1);

namespace Millpond\Tests;

use Millpond\DirtyListInterface;
use Millpond\EventQueue;
use Millpond\IckChannel;
use Millpond\QueueTracker;
use Millpond\Receipt;
use Millpond\Schedule;
use Millpond\ShuffleQueue;
use Millpond\Tasks\TaskId;
use Millpond\Tasks\TaskStore;
use Millpond\VolatileHash;

/**
 * What takes an iterable reads it before anything is sent. One that may have no end is refused as it is read.
 */
final class EndlessTest extends TestCase
{
    /**
     * @return iterable<string, array{string, string, callable(object, iterable): mixed, mixed, string}>
     */
    public function calls(): iterable
    {
        $ick = [
            'pairs has more than 1000000 items' => ['ick', static fn (DirtyListInterface $ick, $items) => $ick->add($items), 'm'],
            'members has more than 1000000 items' => ['ick', static fn (DirtyListInterface $ick, $items) => $ick->commit($items), 'm'],
            'members has more than 250000' => ['ick', static fn (DirtyListInterface $ick, $items) => $ick->exchange(1, $items), 'm'],
        ];
        $others = [
            'numbers has more than 65536 items' => ['channel', static fn (IckChannel $channel, $items) => $channel->batches($items, 1), 0],
            'fields has more than 32768 items' => ['shuffle', static fn (ShuffleQueue $queue, $items) => $queue->write('t', $items), ['f', 'v']],
            'messages[0][1] has more than 32768 items' =>
                ['shuffle', static fn (ShuffleQueue $queue, $items) => $queue->writeMany([['t', $items]]), ['f', 'v']],
            'messages has more than 1000000 items' =>
                ['shuffle', static fn (ShuffleQueue $queue, $items) => $queue->consumer('g', 'c')->ack($items), new Receipt(0, '1-1')],
            'queues has more than 1000 items' => ['tasks', static fn (TaskStore $store, $items) => $store->claim($items), 'q'],
            'ids has more than 10000 items' => ['tasks', static fn (TaskStore $store, $items) => $store->fetch($items), 't'],
            'tasks has more than 100000 items' => ['tasks', static fn (TaskStore $store, $items) => $store->renew($items), new TaskId('t', 0)],
            'prefixes has more than 10000 items' => ['tasks', static fn (TaskStore $store, $items) => $store->queues(prefixes: $items), 'q'],
            'ids has more than 1000000 items' => ['events', static fn (EventQueue $queue, $items) => $queue->fetch($items), '00000000000000000000'],
            'schedules has more than 10000 items' =>
                ['events', static fn (EventQueue $queue, $items) => $queue->syncSchedules('app', 1, $items), new Schedule('a', every: 60)],
            'fields has more than 1000000 items' => ['volatile', static fn (VolatileHash $hash, $items) => $hash->setMany($items, 60), ['f', 'v']],
            'fields has more than 1000000' => ['volatile', static fn (VolatileHash $hash, $items) => $hash->delete($items), 'f'],
            'ids has more than 10000' => ['tracker', static fn (QueueTracker $tracker, $items) => $tracker->add($items), 'a'],
            'rows has more than 10000 items' => ['tracker', static fn (QueueTracker $tracker, $items) => $tracker->scan(static fn () => $items), [1, 'a']],
            'rows has more than 10000' => ['tracker', static fn (QueueTracker $tracker, $items) => $tracker->advance('', $items, ['a']), '1'],
            'sampled has more than 10000 items' => ['tracker', static fn (QueueTracker $tracker, $items) => $tracker->remove('a', $items, 1), 'a'],
        ];
        foreach ($this->kinds() as [$kind]) {
            foreach ($ick + ($kind === 'memory' || $kind === 'redis' ? $others : []) as $message => $call) {
                yield "$kind: $message" => [$kind, $message, ...$call];
            }
        }
    }

    /** @dataProvider calls */
    public function testWhatHasNoEnd(string $kind, string $message, string $row, callable $call, mixed $item): void
    {
        $endless = static function () use ($item): \Generator {
            for (;;) {
                yield $item;
            }
        };
        $row = Queue::all()[$row];
        $queue = ($row->open)($this->connect($kind), "{{$this->name}}");
        self::assertRefused($message, static fn () => $call($queue, $endless()));
        self::assertTrue(($row->isEmpty)($queue));
    }

    /** @dataProvider calls */
    public function testAnIterableThatThrows(string $kind, string $message, string $row, callable $call, mixed $item): void
    {
        $throws = static function () use ($item): \Generator {
            yield $item;
            throw new \DomainException();
        };
        $row = Queue::all()[$row];
        $queue = ($row->open)($this->connect($kind), "{{$this->name}}");
        self::assertInstanceOf(\DomainException::class, self::thrown(static fn () => $call($queue, $throws())));
        self::assertTrue(($row->isEmpty)($queue));
    }

    public function testAllStringsOfACall(): void
    {
        $members = \array_fill(0, 1_025, \str_repeat('m', 1 << 20));
        self::assertRefused('the strings of the call have more than 1073741824 bytes', fn () => $this->connect('memory')->ick('x')->commit($members));
    }
}
