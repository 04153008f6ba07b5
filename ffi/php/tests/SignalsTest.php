<?php

declare(strict_types=1);

namespace Millpond\Tests;

/**
 * Signal handlers run while a consumer waits for work.
 */
final class SignalsTest extends TestCase
{
    /**
     * Runs a consumer that waits forever, sends it a signal as soon as it does, and returns what it
     * printed.
     */
    private function consumer(string $url, string $handler, bool $async): string
    {
        $program = <<<PHP
            require \$argv[1];
            \$ick = Millpond\Millpond::connect(\$argv[2])->ick(\$argv[3]);
            pcntl_async_signals($async);
            pcntl_signal(SIGTERM, $handler);
            \$batches = \$ick->batches(10, wait: INF);
            try {
                echo "waiting\n";
                echo count(\$batches->next()), " came\n";
            } catch (DomainException) {
                echo "thrown\n";
                \$ick->add([[1, 'more']]);
                echo count(\$batches->next()), " came\n";
            }
            PHP;
        $command = [\PHP_BINARY, '-r', $program, __DIR__ . '/bootstrap.php', $url, $this->name];
        $process = \proc_open($command, [1 => ['pipe', 'w'], 2 => ['redirect', 1]], $pipes);
        self::assertSame("waiting\n", \fgets($pipes[1]));
        // Some time into the wait; where it is not yet there, the handler runs a little earlier.
        \usleep(300_000);
        \proc_terminate($process);
        $rest = \stream_get_contents($pipes[1]);
        self::assertSame(0, \proc_close($process), $rest);

        return $rest;
    }

    /**
     * @return iterable<string, array{string, bool}>
     */
    public function ways(): iterable
    {
        foreach (['memory:', Servers::shared()->url] as $url) {
            foreach ([true, false] as $async) {
                yield \strtok($url, ':') . ($async ? ', async' : ', not async') => [$url, $async];
            }
        }
    }

    /** @dataProvider ways */
    public function testAHandlerThatThrowsEndsTheWait(string $url, bool $async): void
    {
        $throws = 'function () { throw new DomainException(); }';
        self::assertSame("thrown\n1 came\n", $this->consumer($url, $throws, $async));
    }

    /** @dataProvider ways */
    public function testAHandlerMayExit(string $url, bool $async): void
    {
        self::assertSame('bye', $this->consumer($url, 'function () { echo "bye"; exit; }', $async));
    }

    /** @dataProvider ways */
    public function testAfterAHandlerThatReturnsTheWaitGoesOn(string $url, bool $async): void
    {
        $adds = 'function (int $signal, array $details) use ($ick) {'
            . ' echo $signal, " ", $details["signo"], "\n"; $ick->add(["from the handler"]); }';
        self::assertSame("15 15\n1 came\n", $this->consumer($url, $adds, $async));
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

    /**
     * Runs a program that has calls interrupted while the server holds them: a handler throws.
     */
    private function interrupted(string $code): string
    {
        $program = <<<'PHP'
            require $argv[1];
            pcntl_async_signals(true);
            pcntl_signal(SIGUSR1, function () { throw new DomainException(); });
            $ick = Millpond\Millpond::connect($argv[2])->ick($argv[3]);
            $ick->add([[1, 'a'], [2, 'b']]);
            $server = new Millpond\Tests\PausedServer(parse_url($argv[2], PHP_URL_PORT));
            $interrupted = function ($call) use ($server) {
                try { $server->interrupt($call); } catch (DomainException) { echo 'thrown '; }
            };
            PHP;
        $server = new Servers();

        return self::program(
            [\PHP_BINARY, '-r', "$program\n$code", __DIR__ . '/bootstrap.php', $server->url, $this->name],
        );
    }

    public function testAHandlerThatThrowsDuringACall(): void
    {
        foreach (['add(["c"])', 'stats()', 'reserve(1)', 'commit(["a"])', 'peek(1)'] as $call) {
            $code = '$interrupted(fn () => $ick->CALL);'
                . ' for ($k = 0; $k < 5; ++$k) { $ick->peek(5); } unset($ick); echo "alive";';
            self::assertSame('thrown alive', $this->interrupted(\str_replace('CALL', $call, $code)), $call);
        }
    }

    public function testAHandlerThatThrowsDuringNextLosesNoBatch(): void
    {
        foreach (['null', '5.0'] as $wait) {
            $code = '$batches = $ick->batches(1, WAIT); $interrupted(fn () => $batches->next());'
                . ' echo $batches->next()[0]->member, $batches->next()[0]->member;';
            self::assertSame('thrown ab', $this->interrupted(\str_replace('WAIT', $wait, $code)), $wait);
        }
    }

    public function testAHandlerThatThrowsDuringALeaseHoldsNone(): void
    {
        $code = '$interrupted(fn () => $ick->lease(60));'
            . ' for ($k = 0; $k < 1000 && !($lease = $ick->lease(60)); ++$k) { usleep(10000); }'
            . ' echo $lease ? "free" : "held";';
        self::assertSame('thrown free', $this->interrupted($code));
    }

    public function testASignalThatTheProgramHasBlockedWaits(): void
    {
        $code = 'pcntl_signal(SIGUSR1, function () { echo "handled "; });'
            . ' pcntl_sigprocmask(SIG_BLOCK, [SIGUSR1]); posix_kill(getmypid(), SIGUSR1);'
            . ' $ick->batches(1, 0.1)->next(); echo "blocked ";'
            . ' pcntl_sigprocmask(SIG_UNBLOCK, [SIGUSR1]); echo "end";';
        self::assertSame('blocked handled end', $this->interrupted($code));
    }
}
