<?php

declare(strict_types=1);

namespace Millpond\Tests;

use Millpond\Client;
use Millpond\Exception\ClosedException;
use Millpond\Exception\ForkedException;
use Millpond\Exception\InvalidArgumentException;
use Millpond\Exception\MillpondException;
use Millpond\Exception\WrongTypeException;
use Millpond\ManualClock;
use Millpond\Millpond;
use Millpond\Recruiter;
use Millpond\Slice;
use Millpond\Why;
use Psr\Log\AbstractLogger;

/**
 * Recruiters: handlers, their errors, and what ends a slice.
 */
final class RecruiterTest extends TestCase
{
    /** Longer than the time after which a process first asks. */
    private const FIRST = 5.0;

    /**
     * @return array{Recruiter, ManualClock}
     */
    private static function clocked(): array
    {
        $clock = new ManualClock(1_700_000_000_000);
        $recruiter = Millpond::connect('memory:', clock: $clock)->recruiter('r');
        // The clock does not move while a decision is made, but a busy machine takes more than 20 ms.
        $recruiter->setDecisionTimeout(1);

        return [$recruiter, $clock];
    }

    /**
     * With as long for a decision as can be: a busy machine takes more than 20 ms.
     */
    private function recruiter(string $kind): Recruiter
    {
        $recruiter = $this->connect($kind)->recruiter($this->name);
        $recruiter->setDecisionTimeout(1);

        return $recruiter;
    }

    /**
     * Enlists until this comes of it.
     */
    private static function until(Why $why, Recruiter $recruiter): void
    {
        self::waitFor(static fn (): bool => $recruiter->enlist()->why === $why);
    }

    /**
     * @return array<string, array{mixed, Why, int}>
     */
    public function returned(): array
    {
        return [
            'nothing' => [null, Why::Worked, 1],
            'true' => [true, Why::Worked, 1],
            'false' => [false, Why::Nothing, 0],
            '0' => [0, Why::Nothing, 0],
            '7' => [7, Why::Worked, 7],
            'max' => [\PHP_INT_MAX, Why::Worked, 2 ** 53],
        ];
    }

    /** @dataProvider returned */
    public function testWhatAHandlerReturns(mixed $done, Why $why, int $items): void
    {
        [$recruiter, $clock] = self::clocked();
        $recruiter->onError(static fn () => self::fail('it is no failure'));
        $recruiter->install('j', static function () use ($done, $clock): mixed {
            $clock->advance(0.25);

            return $done;
        }, share: 1.0);
        $duty = $recruiter->enlist();
        self::assertSame([$why === Why::Worked, 'j', 0.25, $why], [$duty->recruited, $duty->job, $duty->took, $duty->why]);
        $recruiter->stop();
        $stats = $recruiter->stats();
        self::assertSame([1, 'j', $items, 1], [$stats->enlisted, $stats->jobs[0]->job, $stats->jobs[0]->items, $stats->jobs[0]->overran]);
        self::assertSame(1, $stats->jobs[0]->{$why->value});
        self::assertSame(250_000, $stats->jobs[0]->busyUs);
    }

    /**
     * @return array<string, array{\Closure, string, string}>
     */
    public function failures(): array
    {
        $wrong = static fn (string $is): string => "the handler must return a number of items, a bool or nothing, not $is";

        return [
            '-1' => [static fn () => -1, InvalidArgumentException::class, $wrong('-1')],
            'float' => [static fn () => 1.0, InvalidArgumentException::class, $wrong('float')],
            'string' => [static fn () => '1', InvalidArgumentException::class, $wrong('string')],
            'array' => [static fn () => [], InvalidArgumentException::class, $wrong('array')],
            'object' => [static fn () => new \ArrayObject(), InvalidArgumentException::class, $wrong('ArrayObject')],
            'generator' => [static fn () => yield 1, InvalidArgumentException::class, $wrong('Generator')],
            'exception' => [static fn () => throw new \DomainException('no mail'), \DomainException::class, 'no mail'],
            'exception of the server' => [static fn () => throw new ClosedException('gone'), ClosedException::class, 'gone'],
            'Error' => [static fn () => throw new \Error('bug'), \Error::class, 'bug'],
            'ErrorException' => [static fn () => throw new \ErrorException('old'), \ErrorException::class, 'old'],
            'TypeError' => [static fn (int $slice) => 1, \TypeError::class, '{closure}(): Argument #1 ($slice) must be of type int'],
        ];
    }

    /**
     * @dataProvider failures
     *
     * @param class-string $class
     */
    public function testAHandlerThatFails(\Closure $handler, string $class, string $message): void
    {
        [$recruiter] = self::clocked();
        $told = [];
        $recruiter->onError(static function (?string $job, \Throwable $error) use (&$told): void {
            $told[] = [$job, $error];
        });
        $recruiter->install('j', $handler, share: 1.0);
        $duty = $recruiter->enlist();
        self::assertSame([false, 'j', Why::Failed], [$duty->recruited, $duty->job, $duty->why]);
        self::assertCount(1, $told);
        self::assertSame(['j', $class], [$told[0][0], $told[0][1]::class]);
        self::assertStringContainsString($message, $told[0][1]->getMessage());
        // What fails is over: the next slice begins.
        self::assertSame(Why::Failed, $recruiter->enlist()->why);
        $recruiter->stop();
        self::assertSame(2, $recruiter->stats()->jobs[0]->failed);
    }

    /**
     * @return array<string, array{string, string}> a hook, and what is logged
     */
    public function hooks(): array
    {
        $throws = static fn (string $class): array => ["fn () => throw new $class('of the hook')", "has thrown $class: of the hook in "];

        return [
            'none' => ['', 'millpond: the job j failed: DomainException: no mail in '],
            'exception' => $throws('DomainException'),
            'TypeError' => $throws('TypeError'),
            'ErrorException' => $throws('ErrorException'),
            'wrong arguments' => ['fn (int $job) => null', 'has thrown TypeError: '],
        ];
    }

    /** @dataProvider hooks */
    public function testErrorsGoToTheLogAndNotToThePage(string $hook, string $logged): void
    {
        $file = $this->folder() . '/log';
        $program = <<<'PHP'
            require $argv[1];
            set_error_handler(fn ($level, $message) => throw new ErrorException($message));
            $recruiter = Millpond\Millpond::connect('memory:')->recruiter('r');
            $recruiter->install('j', fn () => throw new DomainException('no mail'), share: 1.0);

            PHP;
        $program .= ($hook === '' ? '' : "\$recruiter->onError($hook); ") . 'echo $recruiter->enlist()->why->value;';
        $command = [\PHP_BINARY, '-d', "error_log=$file", '-d', 'display_errors=1', '-r', $program, __DIR__ . '/bootstrap.php'];
        self::assertSame('failed', self::program($command));
        self::assertStringContainsString($logged, \file_get_contents($file));
    }

    public function testErrorsGoToTheClientsLogger(): void
    {
        $logger = new class () extends AbstractLogger {
            /** @var list<array{string, array<string, mixed>}> */
            public array $lines = [];

            public function log($level, $message, array $context = []): void
            {
                $this->lines[] = ["$level: $message", $context];
            }
        };
        $recruiter = Millpond::connect('memory:', logger: $logger)->recruiter('r');
        $recruiter->install('j', static fn () => throw $GLOBALS['thrown'] = new \DomainException(), share: 1.0);
        $recruiter->enlist();
        self::assertSame([['error: millpond: the job {job} failed', ['job' => 'j', 'exception' => $GLOBALS['thrown']]]], $logger->lines);
        $recruiter->onError(static fn () => null);
        $recruiter->enlist();
        self::assertCount(1, $logger->lines);
        unset($GLOBALS['thrown']);
    }

    public function testASlice(): void
    {
        [$recruiter, $clock] = self::clocked();
        $recruiter->setDutyMax(1.0);
        $told = [];
        $see = static function (Slice $slice) use ($recruiter, $clock, &$told): int {
            $told = [$slice->job, $slice->budget(), $slice->remaining(), $slice->isOver(), $slice->fence() > 0, $slice->isLost()];
            $clock->advance(0.004);
            // It is another enlistment, with results of its own.
            self::assertSame([Why::InSlice, null], [$recruiter->enlist(0.001)->why, $recruiter->enlist()->job]);
            \array_push($told, $slice->remaining(), $slice->isOver());

            return 2;
        };
        $recruiter->install('j', $see, share: 1.0, budget: 0.02);
        self::assertSame([Why::Worked, 0.004], [$recruiter->enlist()->why, $recruiter->enlist()->took]);
        self::assertSame(['j', 0.02, 0.02, false, false, false, 0.016, false], $told);
        $recruiter->enlist(10);
        self::assertSame(0.02, $told[1]);
        $recruiter->enlist(0.004);
        self::assertSame([0.004, 0.0, true], [$told[1], $told[6], $told[7]]);
        $recruiter->enlist(0);
        self::assertSame([0.0, true], [$told[1], $told[3]]);
        $recruiter->uninstall('j');

        $recruiter->install('p', static function (Slice $slice) use ($see, $clock): int {
            $see($slice);
            $clock->advance(30);
            self::assertTrue($slice->isLost());

            return 2;
        }, perSecond: 2, maxRunning: 1, lease: 30);
        $clock->advance(self::FIRST);
        self::assertSame([true, true], [$recruiter->isDue(), $recruiter->enlist()->recruited]);
        self::assertSame(['p', 0.05, 0.05, false, true, false, 0.046, false], $told);
        $recruiter->stop();
        self::assertSame([1, 1], [$recruiter->stats()->jobs[1]->worked, $recruiter->stats()->jobs[1]->overran]);
    }

    public function testASliceIsOverWhenItsHandlerIs(): void
    {
        [$recruiter, $clock] = self::clocked();
        $recruiter->setDutyMax(1.0);
        $kept = [];
        $recruiter->install('j', static function (Slice $slice) use (&$kept): void {
            $kept[] = $slice;
        }, share: 1.0, budget: 0.02);
        $recruiter->enlist();
        $recruiter->enlist();
        self::assertCount(2, $kept);
        $clock->advance(1);
        self::assertSame(['j', 0.0, true], [$kept[0]->job, $kept[0]->remaining(), $kept[0]->isOver()]);
        $kept = [];
        $recruiter->stop();
        self::assertSame([2, 0], [$recruiter->stats()->jobs[0]->worked, $recruiter->stats()->jobs[0]->aborted]);
    }

    public function testAnAbort(): void
    {
        [$recruiter] = self::clocked();
        $recruiter->setDutyMax(1.0);
        $recruiter->install('j', static fn (Slice $slice) => $slice->abort(), share: 1.0);
        $duty = $recruiter->enlist();
        self::assertSame([false, 'j', Why::Aborted], [$duty->recruited, $duty->job, $duty->why]);
    }

    public function testAHandlerThatUninstallsItself(): void
    {
        [$recruiter] = self::clocked();
        $recruiter->install('j', static fn () => $recruiter->uninstall('j'), share: 1.0);
        self::assertSame([Why::Worked, Why::NoJobs], [$recruiter->enlist()->why, $recruiter->enlist()->why]);
    }

    public function testTheRateOfAJob(): void
    {
        [$recruiter, $clock] = self::clocked();
        $items = 0;
        $recruiter->install('j', static function (Slice $slice) use (&$items): int {
            $items > 1 && $slice->more();

            return $items;
        }, perSecond: 2, burst: 1, idleMax: 8);
        self::assertSame([false, Why::NotDue], [$recruiter->isDue(), $recruiter->enlist()->why]);
        $slices = static function (float $seconds) use ($recruiter, $clock): int {
            for ($slices = $step = 0; $step < $seconds * 10; ++$step) {
                $clock->advance(0.1);
                $slices += (int) ($recruiter->enlist()->job !== null);
            }

            return $slices;
        };
        $slices(60);
        self::assertLessThan(15, $slices(60), 'there is nothing to do');
        self::assertGreaterThan(3, $recruiter->stats()->jobs[0]->backoff);
        $recruiter->wake('j');
        self::assertSame(0, $recruiter->stats()->jobs[0]->backoff);
        $items = 2;
        self::assertGreaterThan(30, $slices(60), 'there is something to do');
        self::assertGreaterThan(1_700_000_000_000_000, $recruiter->stats()->jobs[0]->lastGrantedUs);
    }

    public function testAProcessRests(): void
    {
        [$recruiter, $clock] = self::clocked();
        $recruiter->install('j', static fn () => $clock->advance(1), share: 1.0);
        self::assertSame(Why::Worked, $recruiter->enlist()->why);
        $clock->advance(8.9);
        self::assertSame(Why::OverDuty, $recruiter->enlist()->why);
        $clock->advance(0.1);
        self::assertSame(Why::Worked, $recruiter->enlist()->why);
        $recruiter->setDutyMax(0.5);
        $clock->advance(9);
        $recruiter->enlist();
        $clock->advance(1);
        self::assertSame(Why::Worked, $recruiter->enlist()->why);
    }

    public function testSharesAndStats(): void
    {
        [$recruiter] = self::clocked();
        self::assertSame(Why::NoJobs, $recruiter->enlist()->why);
        $recruiter->install('j', static fn () => null, share: 0.5);
        for ($count = 0; $count < 1_000; ++$count) {
            $recruiter->enlist();
        }
        $recruiter->stop();
        self::assertSame(Why::Stopped, $recruiter->enlist()->why);
        $recruiter->stop();
        $stats = $recruiter->stats();
        self::assertSame([1_001, 1], [$stats->enlisted, $stats->noJobs]);
        self::assertSame(1_000, $stats->notDrawn + $stats->jobs[0]->worked);
        self::assertGreaterThan(300, \min($stats->notDrawn, $stats->jobs[0]->worked));
    }

    /** As the pages of a worker do, each of which makes its client anew. */
    public function testClientsOfAProcessShareItsPace(): void
    {
        $made = function (): Recruiter {
            $recruiter = $this->recruiter('redis');
            $recruiter->setDutyMax(1.0);
            $recruiter->install('j', static fn () => 1, perSecond: 0.001);

            return $recruiter;
        };
        $one = $made();
        self::until(Why::Worked, $one);
        self::until(Why::Denied, $one);
        $two = $made();
        self::assertSame([Why::NotDue, false], [$two->enlist()->why, $two->isDue()]);
        // Jobs, settings and a stop are of one.
        $two->install('now', static function () use ($made): void {
            $other = $made();
            $other->install('other', static fn () => 1, share: 1.0);
            self::assertSame(Why::InSlice, $other->enlist()->why);
        }, share: 1.0);
        $one->stop();
        self::assertSame([Why::Stopped, Why::Worked], [$one->enlist()->why, $two->enlist()->why]);
        self::assertSame(Why::NotDue, $made()->enlist()->why);
    }

    public function testAChildHasAPaceOfItsOwn(): void
    {
        $recruiter = $this->recruiter('redis');
        $recruiter->install('j', static fn () => 1, perSecond: 100);
        self::until(Why::Worked, $recruiter);
        self::inChild(static function () use ($recruiter): void {
            self::assertSame([Why::NotDue, false], [$recruiter->enlist()->why, $recruiter->isDue()]);
            $slices = 0;
            $recruiter->uninstall('j');
            $recruiter->install('j', static function () use ($recruiter, &$slices): void {
                ++$slices < 3 || $recruiter->stop();
            }, perSecond: 100);
            $recruiter->run();
            self::assertSame([3, Why::Stopped], [$slices, $recruiter->enlist()->why]);
        });
        $recruiter->stop();
        // What the child had to report may have ended with it.
        self::waitFor(static fn (): bool => $recruiter->stats()->jobs[0]->worked >= 1);
        self::assertGreaterThanOrEqual(4, $recruiter->stats()->jobs[0]->granted);
    }

    /**
     * @return array<string, array{string}>
     */
    public function servers(): array
    {
        return ['memory' => ['memory'], 'file' => ['file'], 'redis' => ['redis'], 'cluster' => ['cluster']];
    }

    /** @dataProvider servers */
    public function testRunEndsWhenItIsStopped(string $kind): void
    {
        $recruiter = $this->recruiter($kind);
        $told = [];
        $recruiter->onError(static function (?string $job, \Throwable $error) use (&$told): void {
            $job === null || $told[] = [$job, $error->getMessage()];
        });
        $fences = [];
        $recruiter->install('j', static function (Slice $slice) use ($recruiter, &$fences): void {
            $fences[] = $slice->fence();
            if (\count($fences) === 2) {
                throw new \DomainException('no mail');
            }
            if (\count($fences) === 3) {
                $recruiter->stop();
            }
        }, perSecond: 100, maxRunning: 1);
        $recruiter->run();
        self::assertSame([['j', 'no mail']], $told);
        self::assertCount(3, $fences);
        self::assertSame($fences, \array_unique($fences));
        self::assertSame(\max($fences), $fences[2]);
        self::waitFor(static fn (): bool => $recruiter->stats()->jobs[0]->worked === 2);
        self::assertSame(1, $recruiter->stats()->jobs[0]->failed);
        // It stays stopped.
        $recruiter->run();
        self::assertSame(Why::Stopped, $recruiter->enlist()->why);
    }

    /**
     * @return array<string, array{string, int}>
     */
    public function signals(): array
    {
        return ['memory, SIGTERM' => ['memory', \SIGTERM], 'redis, SIGTERM' => ['redis', \SIGTERM], 'memory, SIGINT' => ['memory', \SIGINT],
            'a stop in a handler' => ['memory', \SIGALRM]];
    }

    /** @dataProvider signals */
    public function testSignalsStopARun(string $kind, int $signal): void
    {
        $url = $this->url($kind);
        self::inChild(function () use ($url, $signal): void {
            $recruiter = Millpond::connect($url)->recruiter($this->name);
            $recruiter->install('j', static fn () => 0, perSecond: 1);
            $signals = [];
            $before = static function (int $signal) use ($recruiter, &$signals): void {
                $recruiter->stop();
                $signals[] = $signal;
            };
            foreach ([\SIGTERM, \SIGINT, \SIGALRM] as $of) {
                \pcntl_signal($of, $before);
            }
            $parent = \getmypid();
            $sender = \proc_open(['sh', '-c', "sleep 0.1; kill -$signal $parent"], [], $pipes);
            $recruiter->run();
            \proc_close($sender);
            self::assertSame([[$signal], $before, false], [$signals, \pcntl_signal_get_handler(\SIGTERM), \pcntl_async_signals()]);
        });
    }

    public function testAHandlerOfTheProgramEndsARun(): void
    {
        self::inChild(static function (): void {
            $recruiter = Millpond::connect('memory:')->recruiter('r');
            $recruiter->install('j', static fn () => 0, perSecond: 1);
            \pcntl_async_signals(true);
            \pcntl_signal(\SIGTERM, static fn () => throw new \DomainException('stop'));
            $parent = \getmypid();
            self::assertSame('stop', self::thrown(static function () use ($recruiter, $parent): void {
                $sender = \proc_open(['sh', '-c', "sleep 0.1; kill $parent"], [], $pipes);
                $recruiter->run(stopOnSignals: false);
            })->getMessage());
        });
    }

    /** What ends the program passes through, and SIGALRM, which limits the time of a slice, does not. */
    public function testAHandlerOfTheProgramThatThrowsInASlice(): void
    {
        self::inChild(static function (): void {
            [$recruiter] = self::clocked();
            $told = [];
            $recruiter->onError(static function (?string $job, \Throwable $error) use (&$told): void {
                $told[] = $error->getMessage();
            });
            $recruiter->setDutyMax(1.0);
            \pcntl_async_signals(true);
            foreach ([\SIGTERM, \SIGALRM] as $signal) {
                \pcntl_signal($signal, static fn (int $signal) => throw new \DomainException("signal $signal"));
            }
            $signal = \SIGTERM;
            $recruiter->install('j', static function () use (&$signal): void {
                \posix_kill(\getmypid(), $signal);
                \usleep(1_000);
            }, share: 1.0);
            self::assertSame('signal 15', self::thrown(static fn () => $recruiter->enlist())->getMessage());
            self::assertSame([], $told);
            $signal = \SIGALRM;
            self::assertSame([Why::Failed, ['signal 14']], [$recruiter->enlist()->why, $told]);
            $recruiter->stop();
            self::assertSame(2, $recruiter->stats()->jobs[0]->failed);
        });
    }

    public function testAHandlerThatThrowsDuringAnAskLosesNoSlice(): void
    {
        self::interrupting(function (Client $client, \Closure $interrupted): void {
            $recruiter = $client->recruiter($this->name);
            $recruiter->setDecisionTimeout(1);
            $recruiter->install('j', static fn () => 1, perSecond: 100);
            self::waitFor(static fn (): bool => $recruiter->isDue());
            $interrupted(static function () use ($recruiter): void {
                // It may have waited in vain before the signal came.
                for (;; \usleep(1_000)) {
                    $recruiter->enlist();
                }
            });
            // The slice that it had is aborted, or there was none: the process is free.
            self::until(Why::Worked, $recruiter);
        });
    }

    public function testAHandlerThatExits(): void
    {
        $program = <<<'PHP'
            require $argv[1];
            $recruiter = Millpond\Millpond::connect('memory:')->recruiter('r');
            $recruiter->onError(fn () => print('told'));
            register_shutdown_function(function () use ($recruiter) {
                $recruiter->stop();
                echo json_encode(array_filter((array) $recruiter->stats()->jobs[0], fn ($of) => $of === 1));
            });
            $recruiter->install('j', fn () => exit(0), share: 1.0, budget: 1);
            $recruiter->enlist();
            echo 'it returned';
            PHP;
        self::assertSame('{"aborted":1}', self::program([\PHP_BINARY, '-r', $program, __DIR__ . '/bootstrap.php']));
    }

    public function testASliceBelongsToItsProcess(): void
    {
        $recruiter = $this->connect('redis')->recruiter($this->name);
        $recruiter->setDutyMax(1.0);
        $isChild = false;
        $recruiter->install('j', static function (Slice $slice) use ($recruiter, &$isChild): void {
            if ($isChild) {
                return;
            }
            self::inChild(static function () use ($recruiter, $slice, &$isChild): void {
                $isChild = true;
                self::assertSame([Why::Worked, 'j'], [$recruiter->enlist()->why, $slice->job], 'it is in no slice');
                self::assertSame(Why::Aborted, $slice->end(1)->why);
                self::assertFalse($slice->isLost());
            });
        }, share: 1.0, budget: 60);
        self::assertSame(Why::Worked, $recruiter->enlist()->why);
        $recruiter->stop();
        self::waitFor(static fn (): bool => $recruiter->stats()->enlisted === 1);
        self::assertSame([1, 0], [$recruiter->stats()->jobs[0]->worked, $recruiter->stats()->jobs[0]->aborted]);
    }

    public function testAnEmbeddedRecruiterBelongsToItsProcess(): void
    {
        [$recruiter, $clock] = self::clocked();
        $recruiter->install('j', static fn () => 1, perSecond: 1);
        $told = [];
        $recruiter->onError(static function (?string $job, \Throwable $error) use (&$told): void {
            $told[] = [$job, $error::class];
        });
        self::inChild(static function () use ($recruiter, $clock, &$told): void {
            $recruiter->enlist();
            $clock->advance(self::FIRST);
            self::assertInstanceOf(ForkedException::class, self::thrown($recruiter->run(...)));
            self::assertSame(Why::NotDue, $recruiter->enlist()->why);
            $clock->advance(2 * self::FIRST);
            self::assertSame([Why::Unavailable, [[null, ForkedException::class]]], [$recruiter->enlist()->why, $told]);
        });
        $clock->advance(self::FIRST);
        self::assertSame(Why::Worked, $recruiter->enlist()->why);
    }

    public function testAClientThatIsClosed(): void
    {
        $client = $this->connect('memory');
        $recruiter = $client->recruiter('r');
        $recruiter->install('j', static fn () => 1, perSecond: 1);
        $told = [];
        $recruiter->onError(static function (?string $job, \Throwable $error) use (&$told): void {
            $told[] = [$job, $error::class];
        });
        $client->close();
        self::until(Why::Unavailable, $recruiter);
        self::assertSame([[null, ClosedException::class]], $told);
        self::assertInstanceOf(ClosedException::class, self::thrown($recruiter->run(...)));
    }

    public function testKeysOfAnotherType(): void
    {
        $recruiter = $this->recruiter('redis');
        Servers::shared()->admin()->set("{{$this->name}}:steal", 'x');
        $recruiter->install('j', static fn () => 1, perSecond: 1);
        $told = null;
        $recruiter->onError(static function (?string $job, \Throwable $error) use (&$told): void {
            self::assertNull($job);
            $told = $error;
        });
        self::waitFor(static function () use ($recruiter, &$told): bool {
            return $recruiter->enlist()->why === Why::Unavailable && $told instanceof WrongTypeException;
        });
        foreach ([$recruiter->run(...), $recruiter->stats(...), static fn () => $recruiter->wake('j')] as $call) {
            self::assertInstanceOf(WrongTypeException::class, self::thrown($call));
        }
    }

    /**
     * @return array<string, array{\Closure(): string}>
     */
    public function unreachable(): array
    {
        return ['nothing listens' => [static fn (): string => 'redis://127.0.0.1:1'], 'it hangs' => [static fn (): string => (new Servers('hostile'))->url]];
    }

    /** @dataProvider unreachable */
    public function testAServerThatDoesNotRespond(\Closure $url): void
    {
        $recruiter = Millpond::connect($url(), timeout: 600)->recruiter('r');
        $recruiter->install('j', static fn () => 1, perSecond: 1);
        $told = [];
        $recruiter->onError(static function (?string $job, \Throwable $error) use (&$told): void {
            $told[] = [$job, $error instanceof MillpondException];
        });
        self::until(Why::Unavailable, $recruiter);
        self::assertSame([[null, true]], $told);
        self::assertSame([Why::NotDue, false], [$recruiter->enlist()->why, $recruiter->isDue()]);
    }

    public function testARunGoesOnWhenItsServerWasAway(): void
    {
        $servers = new Servers();
        $recruiter = Millpond::connect($servers->url)->recruiter('r');
        $recruiter->setDecisionTimeout(1);
        $slices = $told = 0;
        $recruiter->onError(static function (?string $job, \Throwable $error) use ($servers, &$slices, &$told): void {
            self::assertNull($job);
            if ($slices === 1 && ++$told === 2) {
                $servers->run('restart');
            }
        });
        $recruiter->install('j', static function () use ($servers, $recruiter, &$slices): void {
            ++$slices === 1 ? $servers->run('kill') : $recruiter->stop();
        }, perSecond: 100);
        $recruiter->run();
        self::assertSame(2, $slices);
        self::assertGreaterThan(1, $told);
    }
}
