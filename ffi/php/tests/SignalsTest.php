<?php

declare(strict_types=1);

namespace Millpond\Tests;

use Millpond\BatchesInterface;
use Millpond\Client;
use Millpond\Exception\ClosedException;
use Millpond\Millpond;

/**
 * Signal handlers run while something waits for work, in loops and in calls, and lose nothing.
 */
final class SignalsTest extends TestCase
{
    /**
     * @return iterable<string, array{\Closure, string}>
     */
    public function waits(): iterable
    {
        return Queue::each(Queue::waits(), $this->ownKinds());
    }

    /**
     * Handlers that return, one that throws, and one that puts what the wait is for.
     *
     * @dataProvider waits
     */
    public function testHandlersRunDuringAWait(\Closure $open, string $kind): void
    {
        $url = $this->url($kind);
        self::inChild(function () use ($open, $url): void {
            $client = Millpond::connect($url);
            foreach (['next', 'first', 'next', 'first'] as $turn => $take) {
                \pcntl_async_signals($turn < 2);
                $loop = $open($client, "{{$this->name}}$turn", wait: \INF);
                $come = 0;
                \pcntl_signal(\SIGALRM, static function (int $signal, array $details) use ($loop, &$come): void {
                    self::assertSame([\SIGALRM, \SIGALRM], [$signal, $details['signo']]);
                    match (++$come) {
                        2 => throw new \DomainException(),
                        4 => $loop->put('of a handler'),
                        default => null,
                    };
                });
                $thrown = self::thrown(static fn () => [Alarm::every(10_000), $loop->$take()]);
                self::assertInstanceOf(\DomainException::class, $thrown);
                self::assertSame(['of a handler'], $loop->$take());
                Alarm::every(0);
            }
        });
    }

    /**
     * @return iterable<string, array{\Closure}>
     */
    public function waitsInMemory(): iterable
    {
        return Queue::each(Queue::waits());
    }

    /** @dataProvider waitsInMemory */
    public function testAfterAHandlerThatReturnsItWaitsForTheRestOfTheTime(\Closure $open): void
    {
        self::inChild(static function () use ($open): void {
            $loop = $open(Millpond::connect('memory:'), 'q', wait: 0.5);
            $handled = 0;
            self::onAlarm(static function () use (&$handled): void {
                ++$handled;
            });
            // A wait that began anew at each of these would not end.
            Alarm::every(100_000);
            $start = \hrtime(true);
            self::assertSame([], $loop->next());
            Alarm::every(0);
            self::assertGreaterThan(0.49e9, \hrtime(true) - $start);
            self::assertGreaterThan(0, $handled);
        });
    }

    /** @dataProvider waitsInMemory */
    public function testAHandlerThatClosesTheClientEndsTheWait(\Closure $open): void
    {
        self::inChild(static function () use ($open): void {
            $client = Millpond::connect('memory:');
            $loop = $open($client, 'q', wait: \INF);
            self::onAlarm($client->close(...));
            Alarm::every(20_000);
            self::assertInstanceOf(ClosedException::class, self::thrown($loop->next(...)));
            Alarm::every(0);
        });
    }

    private static function onAlarm(\Closure $handler): void
    {
        \pcntl_async_signals(true);
        \pcntl_signal(\SIGALRM, static fn () => $handler());
    }

    /**
     * @return iterable<string, array{string, bool}>
     */
    public function ways(): iterable
    {
        foreach (['memory', 'redis'] as $kind) {
            yield "$kind, async" => [$kind, true];
            yield "$kind, not async" => [$kind, false];
        }
    }

    /** @dataProvider ways */
    public function testAHandlerMayExit(string $kind, bool $async): void
    {
        $program = <<<'PHP'
            require $argv[1];
            pcntl_async_signals((bool) $argv[3]);
            pcntl_signal(SIGALRM, function () { echo 'bye'; exit; });
            Millpond\Tests\Alarm::every(100_000);
            Millpond\Millpond::connect($argv[2])->ick('{none}')->batches(1, wait: INF)->next();
            echo 'returned';
            PHP;
        $command = [\PHP_BINARY, '-r', $program, __DIR__ . '/bootstrap.php', $this->url($kind), (string) (int) $async];
        self::assertSame('bye', self::program($command));
    }

    /**
     * @return iterable<string, array{\Closure, float|null}>
     */
    public function loops(): iterable
    {
        return Queue::each(Queue::loops(), ['at once' => [null], 'waits' => [0.0]]);
    }

    /**
     * Handlers throw anywhere in a loop, and it goes on: what was not returned comes.
     *
     * @dataProvider loops
     */
    public function testAHandlerThatThrowsBetweenTwoBatchesLosesNone(\Closure $open, ?float $wait): void
    {
        self::inChild(static function () use ($open, $wait): void {
            $loop = $open(Millpond::connect('memory:'), 'q', wait: $wait);
            $texts = \array_map(static fn (int $number): string => "n$number", \range(1, 10_000));
            $loop->put(...$texts);
            $mayThrow = false;
            self::onAlarm(static function () use (&$mayThrow): void {
                if ($mayThrow) {
                    $mayThrow = false;
                    throw new \DomainException();
                }
            });
            Alarm::every(150);
            [$batches, $thrown, $isOver, $end] = [[], 0, false, \hrtime(true) + 2_000_000_000];
            while (!$isOver) {
                try {
                    $mayThrow = $thrown <= 2 || \hrtime(true) < $end;
                    foreach ($loop->of as $batch) {
                        $batches[] = $batch;
                    }
                    $mayThrow = false;
                    $isOver = true;
                } catch (\DomainException) {
                    ++$thrown;
                    $loop->of instanceof BatchesInterface && $loop->of->commit();
                }
            }
            Alarm::every(0);
            self::assertGreaterThan(2, $thrown);
            self::assertEqualsCanonicalizing($texts, \array_values(\array_unique(\array_merge(...\array_map($loop->row->texts(...), $batches)))));
        });
    }

    /**
     * @return iterable<string, array{Queue}>
     */
    public function queues(): iterable
    {
        return Queue::each(Queue::all());
    }

    /**
     * Handlers run between any two steps of PHP, in the middle of a call into the library too, and make calls.
     *
     * @dataProvider queues
     */
    public function testAHandlerThatRunsInAnyCallBreaksNothing(Queue $row): void
    {
        self::inChild(static function () use ($row): void {
            $client = Millpond::connect('memory:');
            $others = ($row->open)($client, 'of the handler');
            $handled = 0;
            \pcntl_async_signals(true);
            \pcntl_signal(\SIGUSR1, static function () use ($row, $others, &$handled): void {
                ($row->put)($others, ['n' . ++$handled]);
            });
            ($row->use)($client, 'q');
            $signals = 'while kill -USR1 ' . \getmypid() . '; do sleep 0.0005; done';
            $sender = \proc_open(['sh', '-c', $signals], [2 => ['file', '/dev/null', 'w']], $pipes);
            $end = \hrtime(true) + 1_200_000_000;
            while (\hrtime(true) < $end || $handled <= 5) {
                ($row->use)($client, 'q');
            }
            \proc_terminate($sender);
            \proc_close($sender);
        });
    }

    /**
     * @return iterable<string, array{\Closure, float|null, string}>
     */
    public function calls(): iterable
    {
        return Queue::each(Queue::waits(), ['at once' => [null, 'next'], 'waits' => [5.0, 'first']]);
    }

    /**
     * What a loop took meanwhile is returned by its next call, and not by a copy of the loop in a child.
     *
     * @dataProvider calls
     */
    public function testAHandlerThatThrowsDuringACallLosesNothing(\Closure $open, ?float $wait, string $take): void
    {
        self::interrupting(function (Client $client, \Closure $interrupted) use ($open, $wait, $take): void {
            $loop = $open($client, $this->name, wait: $wait);
            // That there was nothing is not kept.
            $interrupted($loop->$take(...));
            $loop->put('a', 'b', 'c');
            $interrupted($loop->$take(...));
            self::inChild(static fn () => self::assertCount(1, $loop->next()));
            $seen = \array_unique([...$loop->next(), ...$loop->next()]);
            self::assertCount(2, $seen);
            $rest = $open($client, $this->name)->all();
            self::assertCount($loop->row->shares ? 3 : 2, \array_unique([...$seen, ...$rest]), 'the child took one');
        });
    }

    /** @dataProvider queues */
    public function testAHandlerThatThrowsDuringACall(Queue $row): void
    {
        self::interrupting(function (Client $client, \Closure $interrupted) use ($row): void {
            $queue = ($row->open)($client, $this->name);
            $calls = ($row->calls)($queue);
            \array_map($interrupted, $calls);
            ($row->put)($queue, ['a']);
            self::assertFalse(($row->isEmpty)($queue));
        });
    }

    /** @dataProvider waitsInMemory */
    public function testASignalThatTheProgramHasBlockedWaits(\Closure $open): void
    {
        self::inChild(static function () use ($open): void {
            $isHandled = false;
            self::onAlarm(static function () use (&$isHandled): void {
                $isHandled = true;
            });
            \pcntl_sigprocmask(\SIG_BLOCK, [\SIGALRM]);
            \posix_kill(\getmypid(), \SIGALRM);
            self::assertSame([], $open(Millpond::connect('memory:'), 'q', wait: 0.1)->next());
            self::assertFalse($isHandled);
            \pcntl_sigprocmask(\SIG_UNBLOCK, [\SIGALRM]);
            self::assertTrue($isHandled);
        });
    }

    public function testAHandlerThatThrowsDuringALeaseHoldsNone(): void
    {
        self::interrupting(function (Client $client, \Closure $interrupted): void {
            $ick = $client->ick($this->name);
            $interrupted(static fn () => $ick->lease(60));
            self::waitFor(static fn (): bool => $ick->lease(60) !== null);
        });
    }

    public function testAHandlerThatThrowsDuringALockHoldsNone(): void
    {
        self::interrupting(function (Client $client, \Closure $interrupted): void {
            $hash = $client->volatileHash($this->name);
            $interrupted(static fn () => $hash->lock('f', 60));
            self::waitFor(static fn (): bool => $hash->lock('f', 60) !== null);
        });
    }

    /**
     * The loop of the README whose handler sets a flag: it ends although there is nothing to do.
     */
    public function testALoopThatChecksAFlagEndsOnSigterm(): void
    {
        $readme = \file_get_contents(\dirname(__DIR__) . '/README.md');
        self::assertSame(1, \preg_match('/^function serve\(.*?^}$/ms', $readme, $function));
        $program = 'use Millpond\Ick; require $argv[1]; ' . $function[0]
            . ' $ick = Millpond\Millpond::connect("memory:")->ick("files"); $ick->add([[1, "a.txt"]]);'
            . ' serve($ick); echo $ick->stats()->totalSize, " left";';
        $command = [\PHP_BINARY, '-r', $program, __DIR__ . '/bootstrap.php'];
        $process = \proc_open($command, [1 => ['pipe', 'w'], 2 => ['redirect', 1]], $pipes);
        self::assertSame("1 to do\n", \fgets($pipes[1]));
        // Some time into the wait: an earlier signal ends the loop too.
        \usleep(100_000);
        \proc_terminate($process);
        $reads = [$pipes[1]];
        $none = null;
        if (\stream_select($reads, $none, $none, 20) === 0) {
            \proc_terminate($process, \SIGKILL);
            self::fail('SIGTERM is ignored');
        }
        self::assertSame('0 left', \stream_get_contents($pipes[1]));
        self::assertSame(0, \proc_close($process));
    }
}
