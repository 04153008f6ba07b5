<?php

declare(strict_types=1);

namespace Millpond\Tests;

use Millpond\ConsumerOptions;
use Millpond\Message;
use Millpond\Receipt;
use Millpond\ShuffleQueue;

/**
 * The consumers of a shuffle queue, with every kind of client of its own.
 */
final class ShuffleConsumerTest extends TestCase
{
    private function queue(string $kind): ShuffleQueue
    {
        $queue = $this->shuffleQueue($kind, streams: 1);
        $queue->writeMany([['t', ['n' => 'a']], ['t', ['n' => 'b']], ['t', ['n' => 'c']]]);

        return $queue;
    }

    /**
     * @param list<Message>|null $messages
     */
    private static function names(?array $messages): string
    {
        return \implode('', \array_map(static fn (Message $message): string => $message->field('n') ?? '', $messages ?? []));
    }

    /** @dataProvider ownKinds */
    public function testAMessageIsItsConsumersUntilItIsAcknowledged(string $kind): void
    {
        $queue = $this->queue($kind);
        $consumer = $queue->consumer('g', 'c');
        $first = $consumer->read();
        self::assertSame('a', $first->field('n'));
        self::assertSame('bc', self::names($consumer->readMany(10)));
        self::assertNull($consumer->read());
        self::assertSame([], $consumer->readMany(10));
        self::assertSame(3, $queue->pendingCount('g'));
        self::assertSame(1, $consumer->ack($first));
        self::assertSame(0, $consumer->ack([$first]));
        self::assertSame([2, 3], [$queue->pendingCount('g'), $queue->len()]);
        self::assertSame('abc', self::names($queue->consumer('another', 'c')->readMany(10)));
    }

    /** @dataProvider ownKinds */
    public function testMessagesAndReceiptsOneOrMany(string $kind): void
    {
        $queue = $this->queue($kind);
        $consumer = $queue->consumer('g', 'c');
        [$a, $b, $c] = $consumer->readMany(3);
        self::assertSame(3, $consumer->renew([$a, new Receipt($b->stream, $b->id), $c]));
        self::assertSame(0, $queue->consumer('g', 'other')->renew([$a, $b]));
        self::assertSame(0, $consumer->ack([]));
        self::assertSame(1, $consumer->ack(new Receipt($a->stream, $a->id)));
        self::assertSame(2, $consumer->ackAndDelete(new \ArrayIterator([$b, $c])));
        self::assertSame([1, 0], [$queue->len(), $queue->backlog()]);
    }

    /** @dataProvider ownKinds */
    public function testReclaim(string $kind): void
    {
        $queue = $this->queue($kind);
        $lost = $queue->consumer('g', 'dies')->readMany(2);
        $consumer = $queue->consumer('g', 'c', new ConsumerOptions(maxDeliveries: 3));
        self::assertEquals([[], 0], \array_values((array) $consumer->reclaim(60, 100)));
        $reclaimed = $consumer->reclaim(0, 100);
        self::assertSame([\array_column($lost, 'id'), [2, 2], 0],
            [\array_column($reclaimed->messages, 'id'), \array_column($reclaimed->messages, 'deliveries'), $reclaimed->dead]);
        self::assertSame(1, \count($consumer->reclaim(0, 1)->messages));
        self::assertSame(1, $consumer->ack($reclaimed->messages[1]));
        self::assertSame([[], 1], \array_values((array) $consumer->reclaim(0, 100)));
        self::assertSame('a', self::names(\array_column($queue->deadLetters(), 'message')));
    }

    /** @dataProvider ownKinds */
    public function testAPreferredStream(string $kind): void
    {
        $queue = $this->shuffleQueue($kind, streams: 8, streamsPerShard: 1);
        $queue->consumer('g', 'c')->read();
        foreach (\range(1, 40) as $number) {
            $last = $queue->write("tenant $number", ['n' => '1']);
        }
        $queue->consumer('g', 'c')->readMany(8);
        $inLast = $queue->stats('g')->streams[$last->stream]->lag;
        $taken = $queue->consumer('g', 'c', new ConsumerOptions(preferStream: $last->stream))->readMany($inLast);
        self::assertSame(\array_fill(0, $inLast, $last->stream), \array_column($taken, 'stream'));
    }

    public function testTheDefaultStream(): void
    {
        $queue = $this->shuffleQueue('redis');
        Servers::shared()->admin()->xAdd("{{$this->name}}", '5-6', ['n' => 'old']);
        self::assertNull($queue->consumer('g', 'c')->read());
        $consumer = $queue->consumer('g', 'c', new ConsumerOptions(defaultStream: true));
        $message = $consumer->read();
        self::assertEquals(new Message(null, '5-6', [['n', 'old']]), $message);
        self::assertSame(1, $consumer->renew($message));
        self::assertSame(1, $consumer->ackAndDelete(new Receipt(null, '5-6')));
        self::assertSame(0, Servers::shared()->admin()->xLen("{{$this->name}}"));
    }

    /** @dataProvider ownKinds */
    public function testTheLoop(string $kind): void
    {
        $queue = $this->queue($kind);
        $consumer = $queue->consumer('g', 'c');
        $seen = [];
        foreach ($consumer->messages(2) as $turn => $batch) {
            $seen[$turn] = self::names($batch);
            $consumer->ack($batch[0]);
        }
        self::assertSame(['ab', 'c'], $seen);
        self::assertSame(1, $queue->pendingCount('g'), 'asking for the next acknowledges nothing');
    }
}
