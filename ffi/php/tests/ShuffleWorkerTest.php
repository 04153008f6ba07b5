<?php

declare(strict_types=1);

namespace Millpond\Tests;

use Millpond\ConsumerOptions;
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
            'move' => [InvalidArgumentException::class], 'reject' => [\RuntimeException::class]], $told);
        self::assertSame(1, $drained->dead);
        self::assertSame(['rejected: never'], \array_column($queue->deadLetters(10), 'reason'));
    }

    public function testAProcessDoesOneJobAtATime(): void
    {
        $consumer = $this->shuffleQueue('memory')->consumer('g', 'c');
        $thrown = self::thrown(static fn () => $consumer->worker(new ShuffleWorkerOptions(concurrency: 2)));
        self::assertInstanceOf(InvalidArgumentException::class, $thrown);
    }

    public function testASignalLosesNothingAndRepeatsNothing(): void
    {
        $queue = $this->shuffleQueue('redis');
        $queue->writeMany(\array_map(static fn (int $number): array => ["t$number", ['n' => (string) $number]], \range(1, 200)));
        $program = <<<'PHP'
            require $argv[1];
            $client = Millpond\Millpond::connect($argv[2]);
            $out = $client->tasks($argv[3]);
            $worker = $client->shuffleQueue($argv[3])->consumer('g', 'c')->worker(new Millpond\ShuffleWorkerOptions(delete: true, prefetch: 4));
            $worker->run(function ($job) use ($out) {
                usleep(3_000);
                $out->insert(new Millpond\Tasks\NewTask('out', $job->message->field('n')));
            }, processes: 2);
            PHP;
        $command = [\PHP_BINARY, '-r', $program, __DIR__ . '/bootstrap.php', Servers::shared()->url, "{{$this->name}}"];
        $worker = \proc_open($command, [1 => ['pipe', 'w'], 2 => ['redirect', 1]], $pipes);
        $out = $this->store('redis');
        self::waitFor(static fn (): bool => ($out->queues()['out'] ?? 0) > 20);
        \proc_terminate($worker);
        self::assertSame('', \stream_get_contents($pipes[1]));
        self::assertSame(0, \proc_close($worker));
        $values = \array_map(static fn ($task): int => (int) $task->value(), $out->list('out', limit: 1_000)->tasks);
        $done = \count($values);
        $queue->consumer('g', 'other')->worker()->drain(static function (ShuffleJob $job) use (&$values): void {
            $values[] = (int) $job->message->field('n');
        });
        \sort($values);
        self::assertSame(\range(1, 200), $values, "$done were done");
    }
}
