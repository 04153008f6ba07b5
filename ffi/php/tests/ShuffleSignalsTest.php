<?php

declare(strict_types=1);

namespace Millpond\Tests;

/**
 * Signal handlers run while a consumer of a shuffle queue waits, and lose nothing.
 */
final class ShuffleSignalsTest extends TestCase
{
    /**
     * Runs a consumer that waits, sends it a signal as soon as it does, and returns what it printed.
     */
    private function consumer(string $url, string $handler, string $take): string
    {
        $program = <<<PHP
            use Millpond\{ConsumerOptions, ShuffleOptions};
            require \$argv[1];
            \$queue = Millpond\Millpond::connect(\$argv[2])->shuffleQueue(\$argv[3], new ShuffleOptions(1));
            \$consumer = \$queue->consumer('g', 'c');
            \$loop = \$consumer->messages(10, wait: INF);
            pcntl_async_signals(true);
            pcntl_signal(SIGTERM, $handler);
            \$take = fn () => $take;
            try {
                echo "waiting\n";
                echo \$take()?->field('n') ?? 'nothing', "\n";
            } catch (DomainException) {
                echo "thrown\n";
                \$queue->write('t', ['n' => 'more']);
                echo \$take()->field('n'), "\n";
            }
            PHP;
        $command = [\PHP_BINARY, '-r', $program, __DIR__ . '/bootstrap.php', $url, $this->name];
        $process = \proc_open($command, [1 => ['pipe', 'w'], 2 => ['redirect', 1]], $pipes);
        self::assertSame("waiting\n", \fgets($pipes[1]));
        // Some time into the wait; where it is not yet there, the handler runs a little earlier.
        \usleep(200_000);
        \proc_terminate($process);
        $rest = \stream_get_contents($pipes[1]);
        self::assertSame(0, \proc_close($process), $rest);

        return $rest;
    }

    /**
     * @return iterable<string, array{string, string}>
     */
    public function ways(): iterable
    {
        yield 'read, redis' => [Servers::shared()->url, '$consumer->read(INF)'];
        yield 'loop, memory' => ['memory:', '$loop->next()[0]'];
        $first = '(function ($loop) { foreach ($loop as $batch) { return $batch[0]; } })($loop)';
        yield 'foreach, memory' => ['memory:', $first];
        yield 'foreach, redis' => [Servers::shared()->url, $first];
    }

    /** @dataProvider ways */
    public function testAHandlerThatThrowsEndsTheWait(string $url, string $take): void
    {
        $throws = 'function () { throw new DomainException(); }';
        self::assertSame("thrown\nmore\n", $this->consumer($url, $throws, $take));
    }

    /** @dataProvider ways */
    public function testAfterAHandlerThatReturnsTheWaitGoesOn(string $url, string $take): void
    {
        $writes = 'function () use ($queue) { echo "handled\n"; $queue->write("t", ["n" => "its"]); }';
        self::assertSame("handled\nits\n", $this->consumer($url, $writes, $take));
    }

    public function testAfterAHandlerThatReturnsItWaitsForTheRestOfTheTime(): void
    {
        $program = <<<'PHP'
            require $argv[1];
            $consumer = Millpond\Millpond::connect('memory:')->shuffleQueue('q')->consumer('g', 'c');
            pcntl_async_signals(true);
            $handled = 0;
            pcntl_signal(SIGALRM, function () use (&$handled) { ++$handled; });
            // A wait that began anew at each of these would not end.
            Millpond\Tests\Alarm::every(100_000);
            $message = $consumer->read(0.5);
            Millpond\Tests\Alarm::every(0);
            echo $message === null ? 'nothing' : 'something', $handled > 0 ? ' although handled' : ' unhandled';
            PHP;
        $printed = self::program([\PHP_BINARY, '-r', $program, __DIR__ . '/bootstrap.php']);
        self::assertSame('nothing although handled', $printed);
    }

    /**
     * @return array<string, array{string, string}> what makes a loop, and what goes on with it
     */
    public function loops(): array
    {
        return [
            'messages' => ['$queue->consumer("g", "c")->messages(1)', ''],
            'messages that wait' => ['$queue->consumer("g", "c")->messages(1, 0)', ''],
            'garbage' => ['$queue->gc()', ''],
            'batches' => ['$ick->batches(1)', '$loop->commit();'],
            'batches that wait' => ['$ick->batches(1, 0)', '$loop->commit();'],
        ];
    }

    /**
     * Handlers throw anywhere in a loop, and it goes on: what was not returned comes.
     *
     * @dataProvider loops
     */
    public function testAHandlerThatThrowsBetweenTwoBatchesLosesNone(string $make, string $goOn): void
    {
        $program = <<<PHP
            use Millpond\{ConsumerOptions, ShuffleOptions};
            require \$argv[1];
            \$client = Millpond\Millpond::connect('memory:');
            [\$queue, \$ick] = [\$client->shuffleQueue('q', new ShuffleOptions(1)), \$client->ick('files')];
            \$all = array_map(fn (\$number) => "n\$number", range(1, 20_000));
            foreach (\$all as \$name) { \$queue->writeTracked('t', ['n' => \$name], 'n', 1_000_000_000); }
            \$ick->add(\$all);
            pcntl_async_signals(true);
            \$mayThrow = false;
            pcntl_signal(SIGALRM, function () use (&\$mayThrow) {
                if (\$mayThrow) { \$mayThrow = false; throw new DomainException(); }
            });
            \$loop = $make;
            Millpond\Tests\Alarm::every(150);
            [\$seen, \$thrown, \$isOver, \$end] = [[], 0, false, hrtime(true) + 2_000_000_000];
            while (!\$isOver) {
                try {
                    \$mayThrow = \$thrown <= 2 || hrtime(true) < \$end;
                    foreach (\$loop as \$batch) { \$seen[] = \$batch; }
                    \$mayThrow = false;
                    \$isOver = true;
                } catch (DomainException) {
                    ++\$thrown;
                    $goOn
                }
            }
            Millpond\Tests\Alarm::every(0);
            \$names = [];
            foreach (array_merge(...\$seen) as \$one) {
                \$names[is_string(\$one) ? \$one : \$one->member ?? \$one->field('n')] = true;
            }
            echo \$thrown > 2 ? count(\$names) : "only \$thrown thrown";
            PHP;
        self::assertSame('20000', self::program([\PHP_BINARY, '-r', $program, __DIR__ . '/bootstrap.php']));
    }

    /**
     * Handlers run between any two steps of PHP, in the middle of a call into the library too.
     */
    public function testAHandlerThatRunsInAnyCallBreaksNothing(): void
    {
        $program = <<<'PHP'
            use Millpond\{ConsumerOptions, ShuffleOptions};
            require $argv[1];
            pcntl_async_signals(true);
            $handled = 0;
            pcntl_signal(SIGUSR1, function () use (&$handled) { ++$handled; });
            $client = Millpond\Millpond::connect('memory:');
            [$queue, $ick] = [$client->shuffleQueue('q', new ShuffleOptions(2)), $client->ick('files')];
            $work = function () use ($queue, $ick) {
                $queue->write('t', ['n' => '1']);
                $queue->writeMany([['t', ['n' => '2', 'job' => '3']], ['u', [['n', '3']]]]);
                $queue->writeTracked('t', ['job' => '1'], 'job', 1_000_000_000);
                $consumer = $queue->consumer('g', 'c', new ConsumerOptions(maxDeliveries: 3));
                $consumer->ack($consumer->readMany(2));
                foreach ($consumer->messages(10) as $batch) { $consumer->ackAndDelete($batch); }
                $queue->consumer('g', 'd', new ConsumerOptions(maxDeliveries: 2))->reclaim(0, 1);
                $consumer->ackAndDelete($consumer->reclaim(0, 100)->messages);
                foreach ($queue->gc() as $values) { $queue->deleteTracked($values[0]); }
                $queue->stats('g'); $queue->deadLetters(3); $queue->cordonDeadlineExceeded(5);
                $consumer->read(0);
                Millpond\Millpond::shard(16, 4, 'a');
                for ($turn = 0; $turn < 200; ++$turn) {
                    $ick->add([[1, 'a']]); $ick->exchange(2, ['a']); $ick->peek(2); $ick->reserve(1);
                }
            };
            $work();
            $signals = 'while kill -USR1 ' . getmypid() . '; do sleep 0.0005; done';
            $sender = proc_open(['sh', '-c', $signals], [2 => ['file', '/dev/null', 'w']], $pipes);
            $end = hrtime(true) + 1_200_000_000;
            while (hrtime(true) < $end || $handled <= 5) { $work(); }
            proc_terminate($sender);
            proc_close($sender);
            echo 'alive';
            PHP;
        self::assertSame('alive', self::program([\PHP_BINARY, '-r', $program, __DIR__ . '/bootstrap.php']));
    }
}
