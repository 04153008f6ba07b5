<?php

declare(strict_types=1);

namespace Millpond\Tests;

use Millpond\Client;
use Millpond\ConsumerOptions;
use Millpond\Message;
use Millpond\Reclaimed;
use Millpond\ShuffleConsumer;
use Millpond\ShuffleOptions;
use Millpond\ShuffleQueue;
use Millpond\TrackKeys;

/**
 * A signal handler throws during a call of a shuffle queue that returns several things: each of them is returned once.
 */
final class ShuffleInterruptedTest extends TestCase
{
    /**
     * Does this with a queue of six messages, a to f.
     *
     * @param \Closure(\Closure, ShuffleQueue, ShuffleConsumer): void $work
     */
    private function withSix(\Closure $work): void
    {
        self::interrupting(function (Client $client, \Closure $interrupted) use ($work): void {
            $queue = $client->shuffleQueue($this->name, new ShuffleOptions(1, trackKeys: TrackKeys::Queue));
            foreach (['a', 'b', 'c', 'd', 'e', 'f'] as $name) {
                $queue->writeTracked('t', ['n' => $name], 'n', 1_000_000_000);
            }
            $work($interrupted, $queue, $queue->consumer('g', 'c'));
        });
    }

    /**
     * @param list<Message> $messages
     */
    private static function names(array $messages): string
    {
        return \implode('', \array_map(static fn (Message $message): string => $message->field('n'), $messages));
    }

    /**
     * @param array{string, int|null, int} $expected the names of messages, how often the first was delivered, and how many
     *                                               are dead
     */
    private static function assertReclaimed(array $expected, Reclaimed $reclaimed): void
    {
        self::assertSame($expected, [self::names($reclaimed->messages), $reclaimed->messages[0]->deliveries ?? null, $reclaimed->dead]);
    }

    public function testWhatWasReadIsReturnedBeforeWhatIsNew(): void
    {
        $this->withSix(static function (\Closure $interrupted, ShuffleQueue $queue, ShuffleConsumer $consumer): void {
            $interrupted(static fn () => $consumer->readMany(3));
            self::assertSame('a', $consumer->read()->field('n'));
            self::assertSame('bc', self::names($consumer->readMany(9)));
            self::assertSame('d', self::names($consumer->readMany(1)));
            self::assertSame(4, $queue->pendingCount('g'));
        });
    }

    public function testACollection(): void
    {
        $this->withSix(static function (\Closure $interrupted, ShuffleQueue $queue): void {
            $garbage = $queue->gc();
            $interrupted($garbage->next(...));
            self::inChild(static fn () => self::assertCount(6, $garbage->next()));
            self::assertSame([6, 0], [\count($garbage->next()), $garbage->deleted()]);
            $again = $queue->gc();
            $interrupted(static fn () => \iterator_to_array($again));
            foreach ($again as $values) {
                self::assertSame([6, 0], [\count($values), $again->deleted()]);
            }
            self::assertSame(6, $again->deleted());
        });
    }

    public function testWhatWasReclaimedIsReturnedNext(): void
    {
        $this->withSix(static function (\Closure $interrupted, ShuffleQueue $queue, ShuffleConsumer $consumer): void {
            $consumer->readMany(5);
            $other = $queue->consumer('g', 'd', new ConsumerOptions(maxDeliveries: 3));
            $strict = $queue->consumer('g', 'd', new ConsumerOptions(maxDeliveries: 2));
            $interrupted(static fn () => $other->reclaim(60, 1));
            $interrupted(static fn () => $other->reclaim(0, 4));
            self::inChild(static fn () => self::assertReclaimed(['', null, 0], $other->reclaim(60, 1)));
            self::assertReclaimed(['abc', 2, 0], $other->reclaim(60, 3));
            self::assertReclaimed(['d', 2, 0], $other->reclaim(60, 3));
            self::assertReclaimed(['', null, 0], $other->reclaim(60, 3));
            $interrupted(static fn () => $strict->reclaim(0, 100));
            self::assertReclaimed(['e', 2, 4], $strict->reclaim(60, 3));
            self::assertReclaimed(['', null, 0], $strict->reclaim(60, 3));
        });
    }
}
