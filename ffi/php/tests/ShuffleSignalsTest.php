<?php

declare(strict_types=1);

namespace Millpond\Tests;

/**
 * Signal handlers run while a consumer of a shuffle queue waits, and lose nothing.
 */
final class ShuffleSignalsTest extends TestCase
{
    /**
     * Runs a consumer that waits, sends it a signal as soon as it does, and answers what it printed.
     */
    private function consumer(string $url, string $handler, string $take, float $after = 0.2): string
    {
        $program = <<<PHP
            require \$argv[1];
            \$queue = Millpond\Millpond::connect(\$argv[2])->shuffleQueue(\$argv[3], 1);
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
        \usleep((int) ($after * 1e6));
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
        $handler = 'function () { echo "handled\n"; }';
        $take = '[$start = hrtime(true), $consumer->read(0.6),'
            . ' print(hrtime(true) - $start < 1.05e9 ? "in time\n" : "anew\n")][1]';
        self::assertSame("handled\nin time\nnothing\n", $this->consumer('memory:', $handler, $take, 0.5));
    }

    /**
     * The handler throws while the server is paused in the middle of a call: what the call takes
     * is what the next one answers.
     */
    public function testAHandlerThatThrowsDuringACallLosesNothing(): void
    {
        $program = <<<'PHP'
            require $argv[1];
            pcntl_async_signals(true);
            pcntl_signal(SIGUSR1, function () { throw new DomainException(); });
            $queue = Millpond\Millpond::connect($argv[2])->shuffleQueue($argv[3], 1);
            $redis = new Redis();
            $redis->connect('127.0.0.1', parse_url($argv[2], PHP_URL_PORT));
            $interrupted = function ($take) use ($redis) {
                $redis->rawCommand('CLIENT', 'PAUSE', '400', 'ALL');
                exec('(sleep 0.1; kill -USR1 ' . getmypid() . ') > /dev/null 2>&1 &');
                try { $take(); } catch (DomainException) { echo 'thrown '; }
            };
            $names = fn ($messages) => implode('', array_map(fn ($message) => $message->field('n'), $messages));
            foreach (['a', 'b', 'c', 'd', 'e', 'f'] as $name) {
                $queue->writeTracked('t', ['n' => $name], 'n', 1_000_000_000);
            }
            $consumer = $queue->consumer('g', 'c');
            $interrupted(fn () => $consumer->readMany(3));
            echo $consumer->read()->field('n'), $names($consumer->readMany(9)), $names($consumer->readMany(1)), ' ';
            $interrupted(fn () => $consumer->readMany(1, 5));
            echo $names($consumer->readMany(1, 5)), ' ';
            $loop = $consumer->messages(1);
            $interrupted(fn () => $loop->next());
            echo $names($loop->next()), json_encode($loop->next()), ' ', $queue->pendingCount('g'), ' ';
            $garbage = $queue->gc();
            $interrupted(fn () => $garbage->next());
            echo count($garbage->next()), ' ', $garbage->deleted();
            PHP;
        $server = new Servers();
        $printed = self::program([\PHP_BINARY, '-r', $program, __DIR__ . '/bootstrap.php', $server->url, $this->name]);
        self::assertSame('thrown abcd thrown e thrown fnull 6 thrown 6 0', $printed);
    }

    /**
     * PHP forgets what a C function is, and crashes, if a handler throws while it works out the
     * arguments of a call to one: there must be no call and no condition among them.
     */
    public function testAHandlerThatThrowsInAnyCallBreaksNothing(): void
    {
        $program = <<<'PHP'
            require $argv[1];
            pcntl_async_signals(true);
            $mayThrow = false;
            pcntl_signal(SIGUSR1, function () use (&$mayThrow) {
                if ($mayThrow) {
                    $mayThrow = false;
                    throw new DomainException();
                }
            });
            $client = Millpond\Millpond::connect('memory:');
            [$queue, $ick] = [$client->shuffleQueue('q', 2), $client->ick('files')];
            $work = function () use ($queue, $ick) {
                $queue->write('t', ['n' => '1']);
                $queue->writeMany([['t', ['n' => '2', 'job' => '3']], ['u', [['n', '3']]]]);
                $queue->writeTracked('t', ['job' => '1'], 'job', 1_000_000_000);
                $consumer = $queue->consumer('g', 'c', maxDeliveries: 3);
                $consumer->ack($consumer->readMany(2));
                foreach ($consumer->messages(10) as $batch) { $consumer->ackAndDelete($batch); }
                $queue->consumer('g', 'd', maxDeliveries: 2)->reclaim(0, 1);
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
            [$end, $thrown] = [hrtime(true) + 1_200_000_000, 0];
            while (hrtime(true) < $end) {
                try {
                    $mayThrow = true;
                    while (hrtime(true) < $end) { $work(); }
                    $mayThrow = false;
                } catch (DomainException) { ++$thrown; }
            }
            $mayThrow = false;
            proc_terminate($sender);
            proc_close($sender);
            echo $thrown > 5 ? 'alive' : "only $thrown";
            PHP;
        self::assertSame('alive', self::program([\PHP_BINARY, '-r', $program, __DIR__ . '/bootstrap.php']));
    }
}
