<?php

declare(strict_types=1);

namespace Millpond\Tests;

use Millpond\ConsumerOptions;
use Millpond\DeadLetter;
use Millpond\Exception\CrossSlotException;
use Millpond\Exception\InvalidArgumentException;
use Millpond\Exception\WrongTypeException;
use Millpond\Message;
use Millpond\Millpond;
use Millpond\Receipt;
use Millpond\ShuffleOptions;

/**
 * Writing to a shuffle queue and its statistics, with every kind of client of its own.
 */
final class ShuffleQueueTest extends TestCase
{
    /** @dataProvider ownKinds */
    public function testWhatAShuffleQueueIsFor(string $kind): void
    {
        $queue = $this->shuffleQueue($kind, streams: 64, streamsPerShard: 4);
        $heavy = $queue->writeMany(\array_fill(0, 1_000, ['heavy', ['image' => 'many.png']]));
        self::assertEqualsCanonicalizing(
            Millpond::shard(64, 4, 'heavy'),
            \array_values(\array_unique(\array_column($heavy, 'stream'))),
        );
        $light = $queue->write('light', ['image' => 'one.png']);
        self::assertContains($light->stream, Millpond::shard(64, 4, 'light'));
        self::assertNotContains($light->stream, Millpond::shard(64, 4, 'heavy'));
        $consumer = $queue->consumer('workers', 'worker-1');
        $first = $consumer->readMany(5);
        $images = \array_map(static fn (Message $message): ?string => $message->field('image'), $first);
        self::assertContains('one.png', $images);
        self::assertSame([1_001, 5, 1_001], [$queue->backlog(), $queue->pendingCount('workers'), $queue->len()]);
        self::assertSame(5, $consumer->ackAndDelete($first));
        self::assertSame([996, 0, 996], [$queue->backlog(), $queue->pendingCount('workers'), $queue->len()]);
    }

    /** @dataProvider ownKinds */
    public function testFieldsComeAsTheyWereWritten(string $kind): void
    {
        $queue = $this->shuffleQueue($kind, streams: 1);
        $every = \implode('', \array_map(\chr(...), \range(0, 255)));
        $pairs = [['b', '1'], ['a', ''], ['b', '2'], ['', $every], [$every, "x\0"]];
        $generated = (static function (): \Generator {
            yield '7' => 'seven';
            yield ['8', 'eight'];
        })();
        $queue->write("\0tenant", $pairs);
        $queue->write('tenant', ['b' => '1', '7' => '2', 'a' => "\xff"]);
        $queue->write('tenant', $generated);
        $messages = $queue->consumer('g', 'c')->readMany(10);
        self::assertSame([
            $pairs,
            [['b', '1'], ['7', '2'], ['a', "\xff"]],
            [['7', 'seven'], ['8', 'eight']],
        ], \array_column($messages, 'fields'));
        self::assertSame(['1', $every, null],
            [$messages[0]->field('b'), $messages[0]->field(''), $messages[0]->field('c')]);
        self::assertSame(['2', 1], [$messages[1]->field('7'), $messages[1]->deliveries]);
    }

    /** @dataProvider ownKinds */
    public function testMessagesAreRejectedRedrivenAndReleased(string $kind): void
    {
        $queue = $this->shuffleQueue($kind, streams: 1, ttl: 60);
        $queue->writeMany(\array_map(static fn (int $n): array => ['t', ['n' => "$n"]], \range(1, 3)));
        [$consumer, $other] = [$queue->consumer('g', 'c'), $queue->consumer('g', 'other')];
        $messages = $consumer->readMany(3);
        self::assertSame(0, $other->reject($messages, 'rejected: not its own'));
        self::assertSame(1, $consumer->reject($messages[0], 'rejected: nö'));
        self::assertSame(1, $consumer->reject(\array_slice($messages, 0, 2), 'exhausted'));
        [$first, $second] = $queue->deadLetters();
        self::assertSame(['rejected: nö', 'exhausted'], [$first->reason, $second->reason]);
        self::assertEquals([$second], $queue->deadLetters(9, $first));
        self::assertSame([], $queue->deadLetters(after: $second->id));
        self::assertSame([false, false, true], $consumer->ackEach($messages));
        $redriven = $queue->redrive([$second, $second->id, $first->id]);
        self::assertNull($redriven[1]);
        self::assertSame([null], $queue->redrive($first));
        $again = $consumer->readMany(9);
        self::assertSame([$redriven[0]->id, $redriven[2]->id], \array_column($again, 'id'));
        self::assertSame(2, $consumer->release($again, 60));
        $reclaimed = $other->reclaim(60, 9)->messages;
        self::assertSame([1, 1], \array_column($reclaimed, 'deliveries'));
        self::assertSame(1, $other->release($reclaimed[0], minIdle: 60, delay: 30));
        self::assertSame([true, true], $other->ackAndDeleteEach($reclaimed));
        self::assertSame([[], 0], [$other->ackEach([]), $queue->removeIdleConsumers(60)]);
        foreach (['', \str_repeat('x', 4_097)] as $wrong) {
            self::assertRefused('the reason', static fn () => $consumer->reject($messages[0], $wrong));
        }
        self::assertRefused('', static fn () => $consumer->release($messages[0], 1, delay: 2));
    }

    /** @dataProvider ownKinds */
    public function testDeadLettersStayUntilTheyAreDeleted(string $kind): void
    {
        $queue = $this->shuffleQueue($kind, streams: 1, ttl: 60, deadTtl: 86_400);
        $queue->writeMany(\array_map(static fn (int $n): array => ['t', ['n' => "$n"]], \range(1, 4)));
        $consumer = $queue->consumer('g', 'c', new ConsumerOptions(maxDeliveries: 1));
        $consumer->readMany(4);
        self::assertSame(4, $consumer->reclaim(0, 10)->dead);
        $letters = $queue->deadLetters();
        self::assertSame([1, 1, 1, 1], \array_column(\array_column($letters, 'message'), 'deliveries'));
        self::assertSame(1, $queue->deleteDeadLetters($letters[0]));
        self::assertSame(1, $queue->deleteDeadLetters($letters[1]->id));
        self::assertSame(2, $queue->deleteDeadLetters([...$letters, $letters[3]->id]));
        self::assertSame([0, []], [$queue->deleteDeadLetters([]), $queue->deadLetters()]);
        foreach (['x', ['1'], [3]] as $wrong) {
            self::assertRefused('letters', static fn () => $queue->deleteDeadLetters($wrong));
        }
    }

    /** @dataProvider ownKinds */
    public function testAQueueKeepsItsSizeUntilItIsResized(string $kind): void
    {
        [$client, $name] = [$this->connect($kind), "{{$this->name}}"];
        $client->shuffleQueue($name, new ShuffleOptions(streams: 5))->write('t', ['n' => '1']);
        try {
            $client->shuffleQueue($name, new ShuffleOptions(streams: 3))->write('t', ['n' => '2']);
            self::fail('it was written');
        } catch (InvalidArgumentException $error) {
            self::assertMatchesRegularExpression('/has 5 streams, .* given 3:/', $error->getMessage());
        }
        $queue = $client->shuffleQueue($name);
        self::assertContains($queue->write('tenant', ['n' => '3'])->stream, Millpond::shard(5, 2, 'tenant'));
        self::assertSame(64, $queue->resize(64));
        self::assertContains($queue->write('tenant', ['n' => '4'])->stream, Millpond::shard(64, 2, 'tenant'));
        self::assertSame(64, $queue->resize(1));
        self::assertSame(0, $queue->write('tenant', ['n' => '5'])->stream);
        self::assertRefused('', static fn () => $queue->resize(0));
    }

    /** @dataProvider ownKinds */
    public function testManyMessagesAtOnce(string $kind): void
    {
        $queue = $this->shuffleQueue($kind, streams: 4, streamsPerShard: 2);
        $messages = (static function (): \Generator {
            for ($number = 0; $number < 12_000; ++$number) {
                yield ["tenant $number", \array_fill(0, $number % 3 + 1, ["f$number", \str_repeat('x', $number % 7)])];
            }
        })();
        $receipts = $queue->writeMany($messages);
        self::assertCount(12_000, $receipts);
        self::assertCount(12_000, \array_unique($receipts, \SORT_REGULAR));
        $taken = $queue->consumer('g', 'c')->readMany(10_000);
        self::assertCount(10_000, $taken);
        $written = [];
        foreach ($receipts as $number => $receipt) {
            $written["$receipt->stream $receipt->id"] = $number;
        }
        foreach ($taken as $message) {
            $number = $written["$message->stream $message->id"];
            self::assertSame(\array_fill(0, $number % 3 + 1, ["f$number", \str_repeat('x', $number % 7)]), $message->fields);
        }
        self::assertSame(10_000, $queue->consumer('g', 'c')->ackAndDelete($taken));
        self::assertSame(2_000, $queue->backlog());
        self::assertSame([], $queue->writeMany([]));
    }

    /** @dataProvider ownKinds */
    public function testStats(string $kind): void
    {
        $queue = $this->shuffleQueue($kind, streams: 3, streamsPerShard: 1);
        $receipts = $queue->writeMany([['a', ['x' => '1']], ['a', ['x' => '2']], ['b', ['x' => '3']]]);
        $consumer = $queue->consumer('g', 'c');
        $first = $consumer->read();
        \usleep(20_000);
        $stats = $queue->stats('g');
        self::assertSame([3, 1, 2], [$stats->len, $stats->pending, $stats->lag]);
        self::assertCount(3, $stats->streams);
        self::assertSame([3, 1, 2], [
            \array_sum(\array_column($stats->streams, 'len')),
            \array_sum(\array_column($stats->streams, 'pending')),
            \array_sum(\array_column($stats->streams, 'lag')),
        ]);
        foreach ($stats->streams as $number => $stream) {
            $len = \count(\array_keys(\array_column($receipts, 'stream'), $number, true));
            self::assertSame([$len, (int) ($number === $first->stream)], [$stream->len, $stream->pending]);
            if ($number === $first->stream) {
                self::assertGreaterThanOrEqual(0.02, $stream->oldestIdle);
                self::assertLessThan(20.0, $stream->oldestIdle);
            } else {
                self::assertNull($stream->oldestIdle);
            }
        }
        self::assertSame(3, $queue->stats('another group')->lag);
    }

    /** @dataProvider ownKinds */
    public function testDeadLetters(string $kind): void
    {
        $queue = $this->shuffleQueue($kind);
        $written = $queue->write('tenant', [['task', 'explode'], ['task', "\0"]]);
        $queue->consumer('workers', 'worker-1')->read();
        $reclaimed = $queue->consumer('workers', 'worker-2', new ConsumerOptions(maxDeliveries: 1))->reclaim(0, 10);
        self::assertSame([[], 1], [$reclaimed->messages, $reclaimed->dead]);
        [$letter] = $queue->deadLetters();
        $message = new Message($written->stream, $written->id, [['task', 'explode'], ['task', "\0"]]);
        $reason = 'exhausted: max_deliveries';
        self::assertEquals(new DeadLetter($letter->id, $message, 'workers', 'worker-1', 1, $reason), $letter);
        self::assertMatchesRegularExpression('/^\d+-\d+$/', $letter->id);
        self::assertSame(0, $queue->backlog());
    }

    public function testShardsAreTheSameInEveryLanguage(): void
    {
        self::assertSame([15, 13, 2, 12], Millpond::shard(16, 4, 'tuna'));
        self::assertSame([0], Millpond::shard(1, 1, "\0"));
        self::assertCount(65_536, Millpond::shard(65_536, 65_536, 'all'));
    }

    public function testAKeyThatHoldsSomethingElse(): void
    {
        $queue = $this->shuffleQueue('redis');
        Servers::shared()->admin()->set("{{$this->name}}:meta", 'x');
        foreach ([$queue->len(...), static fn () => $queue->write('a', ['x' => '1'])] as $call) {
            $thrown = self::thrown($call);
            self::assertInstanceOf(WrongTypeException::class, $thrown);
            self::assertStringContainsString("{{$this->name}}:meta holds a string", $thrown->getMessage());
        }
    }

    public function testANameWithoutATagOnACluster(): void
    {
        $queue = $this->connect('cluster')->shuffleQueue($this->name);
        $thrown = self::thrown(static fn () => $queue->write('a', ['x' => '1']));
        self::assertInstanceOf(CrossSlotException::class, $thrown);
        self::assertStringContainsString('{tag}', $thrown->getMessage());
    }

    public function testIdsHave64Bits(): void
    {
        $queue = $this->shuffleQueue('redis', streams: 1);
        $queue->write('a', ['x' => '1']);
        $redis = Servers::shared()->admin();
        $ids = ['9223372036854775807-9223372036854775808', '18446744073709551614-18446744073709551615'];
        foreach ($ids as $id) {
            $redis->rawCommand('XADD', "{{$this->name}}:s0", $id, 'x', $id);
        }
        $messages = $queue->consumer('g', 'c')->readMany(10);
        self::assertSame($ids, \array_slice(\array_column($messages, 'id'), 1));
        self::assertSame(1, $queue->consumer('g', 'c')->ack($messages[0]));
        self::assertSame(2, $queue->consumer('g', 'c')->ack([$messages[1], $messages[2]]));
        $redis->rawCommand('XADD', "{{$this->name}}:s1", '9223372036854775807-9223372036854775806', 'x', '');
        $redis->hSet("{{$this->name}}:meta", 'streams', '2');
        $taken = $queue->consumer('g', 'c')->read();
        self::assertSame(1, $queue->consumer('g', 'c')->ack(new Receipt(1, $taken->id)));
    }
}
