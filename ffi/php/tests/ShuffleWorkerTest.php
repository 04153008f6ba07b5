<?php

declare(strict_types=1);

namespace Millpond\Tests;

use Millpond\ConsumerOptions;
use Millpond\Exception\DeadLetterException;
use Millpond\Exception\InvalidArgumentException;
use Millpond\Message;
use Millpond\MoveJob;
use Millpond\RejectJob;
use Millpond\ReleaseJob;
use Millpond\Report;
use Millpond\RetryJob;
use Millpond\ShuffleJob;
use Millpond\ShuffleWorkerOptions;

/**
 * Workers of shuffle queues: what tasks have too is tested there.
 */
final class ShuffleWorkerTest extends TestCase
{
    /** @dataProvider ownKinds */
    public function testWhatBecomesOfMessages(string $kind): void
    {
        $queue = $this->shuffleQueue($kind);
        $names = ['null', 'value', 'retry', 'release', 'reject', 'move', 'error', 'generator'];
        foreach ($names as $name) {
            $queue->write($name, ['name' => $name]);
        }
        $handler = static fn (string $name): mixed => match ($name) {
            'null' => null,
            'value' => 'sent',
            'retry' => throw new RetryJob('later', delay: 0.05),
            'release' => new ReleaseJob(0),
            'reject' => throw new RejectJob('never'),
            'move' => throw new MoveJob('elsewhere'),
            'error' => throw new \DomainException('bad'),
            'generator' => (static fn (): \Generator => yield)(),
        };
        $kinds = $told = $seen = [];
        $consumer = $queue->consumer('g', 'c', new ConsumerOptions(maxDeliveries: 5));
        $worker = $consumer->worker(new ShuffleWorkerOptions(lease: 60, backoff: 60, delete: true, prefetch: 4, timeout: 60));
        $drained = $worker->drain(static function (ShuffleJob $job) use ($handler, &$seen): mixed {
            $name = $job->message->field('name');
            self::assertFalse($job->isLost());
            self::assertGreaterThan(50, $job->timeLeft());
            $isFirst = !isset($seen[$name]);
            $seen[$name] = true;

            return $handler($isFirst ? $name : 'null');
        }, static function (?ShuffleJob $job, \Throwable $error) use (&$told): void {
            $told[$job->message->field('name')][] = $error::class;
        }, static function (Report $report) use (&$kinds): void {
            self::assertInstanceOf(Message::class, $report->of);
            $kinds[$report->of->field('name')][] = $report->kind->value;
        });
        foreach ($kinds as &$of) {
            $of = $of[0];
        }
        \ksort($kinds);
        self::assertSame(['error' => 'retried', 'generator' => 'retried', 'move' => 'refused', 'null' => 'done', 'reject' => 'dead',
            'release' => 'released', 'retry' => 'retried', 'value' => 'done'], $kinds);
        \ksort($told);
        self::assertSame(['error' => [\DomainException::class], 'generator' => [InvalidArgumentException::class],
            'move' => [InvalidArgumentException::class], 'reject' => [DeadLetterException::class]], $told);
        self::assertSame(1, $drained->dead);
        self::assertSame(['rejected: never'], \array_column($queue->deadLetters(10), 'reason'));
    }
}
