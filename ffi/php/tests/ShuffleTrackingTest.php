<?php

declare(strict_types=1);

namespace Millpond\Tests;

use Millpond\Exception\CrossSlotException;
use Millpond\Exception\InvalidArgumentException;
use Millpond\Millpond;
use Millpond\ShuffleOptions;
use Millpond\ShuffleQueue;
use Millpond\TrackKeys;

/**
 * Messages that are found by a value, with every kind of client of its own.
 */
final class ShuffleTrackingTest extends TestCase
{
    private function queue(string $kind): ShuffleQueue
    {
        return $this->shuffleQueue($kind, streams: 4, trackKeys: TrackKeys::Queue);
    }

    /** @dataProvider ownKinds */
    public function testDeletingByAValue(string $kind): void
    {
        $queue = $this->queue($kind);
        $written = $queue->writeTracked('t', ['job' => "j\0", 'n' => '1'], 'job');
        $queue->writeTracked('t', ['n' => '2'], 'job');
        self::assertSame(2, $queue->len());
        self::assertNull($queue->deleteTracked('j'));
        self::assertEquals($written, $queue->deleteTracked("j\0"));
        self::assertNull($queue->deleteTracked("j\0"));
        self::assertSame([['n', '2']], $queue->consumer('g', 'c')->read()->fields);
        self::assertSame(1, $queue->len());
    }

    /** @dataProvider ownKinds */
    public function testManyAreTrackedInOneStep(string $kind): void
    {
        $queue = $this->queue($kind);
        $messages = [['a', ['job' => 'j-1']], ['b', ['job' => 'j-2']], ['c', ['n' => '3']]];
        $receipts = $queue->writeTrackedMany($messages, 'job');
        self::assertCount(3, $receipts);
        self::assertEquals($receipts[1], $queue->deleteTracked('j-2'));
        self::assertSame(2, $queue->len());
        $queue->writeTrackedMany($messages, 'job', 1_000_000_000);
        self::assertSame(['j-1', 'j-2'], self::sorted(\array_merge(...\iterator_to_array($queue->gc(), false))));
        self::assertSame([], $queue->writeTrackedMany([], 'job'));
        $this->expectException(InvalidArgumentException::class);
        $queue->writeTrackedMany($messages, '');
    }

    /**
     * @param list<string> $values
     *
     * @return list<string>
     */
    private static function sorted(array $values): array
    {
        \sort($values);

        return $values;
    }

    /** @dataProvider ownKinds */
    public function testDeletingADeliveredMessage(string $kind): void
    {
        $queue = $this->queue($kind);
        $queue->writeTracked('t', [['job', 'j-1']], 'job', \time() + 1_000);
        $message = $queue->consumer('g', 'c')->read();
        self::assertSame($message->id, $queue->deleteTracked('j-1')?->id);
        self::assertSame([0, 0], [$queue->pendingCount('g'), $queue->len()]);
        self::assertSame(0, $queue->consumer('g', 'c')->ack($message));
    }

    /** @dataProvider ownKinds */
    public function testOneCallerCordonsWhatIsLate(string $kind): void
    {
        $queue = $this->queue($kind);
        $now = \time();
        foreach (['late' => $now - 20, 'later' => $now - 10, 'long ago' => 5, 'not yet' => $now + 1_000] as $value => $deadline) {
            $queue->writeTracked('t', ['job' => $value], 'job', $deadline);
        }
        self::assertSame(['late', 'later'], $queue->cordonDeadlineExceeded(600));
        self::assertSame([], $queue->cordonDeadlineExceeded(600));
        self::assertSame(['long ago'], $queue->cordonDeadlineExceeded(10.0 ** 12));
        self::assertSame(4, $queue->len(), 'the messages stay');
    }

    /** @dataProvider ownKinds */
    public function testACollection(string $kind): void
    {
        $queue = $this->queue($kind);
        for ($number = 0; $number < 300; ++$number) {
            $queue->writeTracked('t', ['job' => "old $number"], 'job', 1_000_000_000 + $number);
        }
        $queue->writeTracked('t', ['job' => 'new'], 'job');
        $queue->cordonDeadlineExceeded(60);
        $garbage = $queue->gc();
        self::assertSame([0, 0], [$garbage->scanned(), $garbage->deleted()]);
        $first = $garbage->next();
        self::assertSame(0, $garbage->deleted(), 'the last batch is recorded until the next');
        $seen = [...$first, ...\array_merge(...\iterator_to_array($garbage, false))];
        self::assertCount(300, \array_unique($seen));
        self::assertContains('old 299', $seen);
        self::assertSame(300, $garbage->deleted());
        self::assertGreaterThanOrEqual(300, $garbage->scanned());
        self::assertNull($queue->deleteTracked('old 7'));
        self::assertNotNull($queue->deleteTracked('new'));
        self::assertSame([], \iterator_to_array($queue->gc()));
    }

    /** @dataProvider ownKinds */
    public function testACollectionThatIsLeftKeepsItsLastBatch(string $kind): void
    {
        $queue = $this->queue($kind);
        $queue->writeTracked('t', ['job' => 'j-1'], 'job', 1_000_000_000);
        foreach ($queue->gc() as $values) {
            break;
        }
        self::assertSame(['j-1'], $queue->gc()->next());
    }

    /** @dataProvider ownKinds */
    public function testASecondLoopBeginsWithTheBatchThatFailed(string $kind): void
    {
        $queue = $this->queue($kind);
        for ($number = 0; $number < 300; ++$number) {
            $queue->writeTracked('t', ['job' => "j-$number"], 'job', 1_000_000_000);
        }
        $garbage = $queue->gc();
        $done = [];
        // Without a server there is one batch.
        $fails = $kind === 'memory' || $kind === 'file' ? 0 : 1;
        self::thrown(static function () use ($garbage, $fails, &$done): void {
            foreach ($garbage as $turn => $values) {
                if ($turn === $fails) {
                    throw new \DomainException();
                }
                $done = $values;
            }
        });
        [$scanned, $deleted] = [$garbage->scanned(), $garbage->deleted()];
        self::assertSame(\count($done), $deleted);
        foreach ($garbage as $values) {
            \array_push($done, ...$values);
        }
        self::assertCount(300, $done);
        self::assertCount(300, \array_unique($done));
        self::assertSame(300, $garbage->deleted());
        self::assertGreaterThanOrEqual($scanned + 300 - $deleted, $garbage->scanned());
    }

    /** @dataProvider ownKinds */
    public function testDigitsOfTheTime(string $kind): void
    {
        $queue = $this->queue($kind);
        $queue->writeTracked('t', ['job' => 'old'], 'job', 1_000_000_000);
        self::assertSame([], \iterator_to_array($queue->gc(10)));
        self::assertSame([['old']], \iterator_to_array($queue->gc()));
        foreach ([0, 11] as $digits) {
            self::assertInstanceOf(InvalidArgumentException::class, self::thrown($queue->gc($digits)->next(...)));
        }
    }

    public function testWhereTheRecordsAre(): void
    {
        $servers = new Servers();
        $admin = $servers->admin();
        $client = Millpond::connect($servers->url);
        $client->shuffleQueue('q')->writeTracked('t', ['job' => 'j-1'], 'job');
        self::assertSame(1, $admin->exists('meta:cancelation'));
        $client->shuffleQueue('q', new ShuffleOptions(trackKeys: TrackKeys::Queue))->writeTracked('t', ['job' => 'j-2'], 'job');
        self::assertSame(1, $admin->exists('q:meta:cancelation'));
        // With the global keys, whatever the name of the queue.
        self::assertNotNull($client->shuffleQueue('other')->deleteTracked('j-1'));
        self::assertNull($client->shuffleQueue('q')->deleteTracked('j-2'));
    }

    public function testAClusterRefusesTheGlobalKeys(): void
    {
        $queue = $this->shuffleQueue('cluster');
        $calls = [
            static fn () => $queue->writeTracked('t', ['job' => 'j-1'], 'job'),
            static fn () => $queue->deleteTracked('j-1'),
            static fn () => $queue->cordonDeadlineExceeded(1),
            $queue->gc()->next(...),
        ];
        foreach ($calls as $call) {
            self::assertInstanceOf(CrossSlotException::class, self::thrown($call));
        }
    }
}
