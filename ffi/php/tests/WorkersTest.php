<?php

declare(strict_types=1);

namespace Millpond\Tests;

use Millpond\Exception\ForkedException;
use Millpond\Exception\InvalidArgumentException;
use Millpond\Exception\MillpondException;
use Millpond\Millpond;
use Millpond\Report;
use Millpond\ReportKind;
use Millpond\Tasks\Modification;
use Millpond\Tasks\NewTask;

/**
 * What holds for the workers of every queue.
 */
final class WorkersTest extends TestCase
{
    /**
     * @return array<string, Queue>
     */
    private static function rows(): array
    {
        return \array_filter(Queue::all(), static fn (Queue $row): bool => $row->worker !== null);
    }

    /**
     * @return iterable<string, array{Queue}>
     */
    public function workers(): iterable
    {
        return Queue::each(self::rows());
    }

    /** @dataProvider workers */
    public function testAProcessDoesOneJobAtATime(Queue $row): void
    {
        $queue = ($row->open)($this->connect('memory'), 'q');
        self::assertRefused('run several with run(…, processes: 4)', static fn () => ($row->worker)($queue, concurrency: 4));
    }

    /** @dataProvider workers */
    public function testAJobBelongsToItsProcess(Queue $row): void
    {
        $queue = ($row->open)($this->connect('memory'), 'q');
        ($row->put)($queue, ['a']);
        $drained = ($row->worker)($queue)->drain(static function ($job) use ($row, $queue): void {
            self::inChild(static function () use ($row, $queue, $job): void {
                self::assertFalse($job->isLost() || \method_exists($job, 'isCancelled') && $job->isCancelled());
                self::assertInstanceOf(ForkedException::class, self::thrown(static fn () => ($row->put)($queue, ['b'])));
            });
        });
        self::assertSame(1, $drained->done);
        self::assertSame(0, ($row->worker)($queue)->drain(static fn () => null)->done);
    }

    /** @dataProvider workers */
    public function testWhatAHandlerMayReturn(Queue $row): void
    {
        $values = $expected = $outcomes = [];
        $json = \file_get_contents(\dirname(__DIR__, 3) . '/tests/fixtures/handler-results/cases.json');
        foreach (\json_decode($json, true)['cases'] as $number => $case) {
            foreach (['array' => $case, 'stdClass' => (array) \json_decode($json)->cases[$number]] as $form => ['value' => $value]) {
                $values["{$case['name']}, $form"] = $value;
                $expected["{$case['name']}, $form"] = $case['ends'] === 'done' ? 'done' : "a modification, by its key \"{$case['key']}\"";
            }
        }
        self::assertContains('done', $expected);
        $values += ['a list with a new task' => [1, new NewTask('out')], 'a map of lists by number' => [3 => [1], 7 => [2]]];
        $expected += ['a list with a new task' => 'NewTask that is in no Modification', 'a map of lists by number' => 'done'];
        $values['a list with a modification'] = [1, new Modification()];
        $expected['a list with a modification'] = 'a list with a modification';
        $queue = ($row->open)($this->connect('memory'), 'q');
        ($row->put)($queue, \array_keys($values));
        $returns = static function (object $job) use ($row, $values, &$outcomes): mixed {
            [$name] = $row->texts($job);

            return isset($outcomes[$name]) ? null : $values[$name];
        };
        ($row->worker)($queue)->drain($returns, static function (?object $job, \Throwable $error) use ($row, &$outcomes): void {
            self::assertInstanceOf(InvalidArgumentException::class, $error);
            $outcomes[$row->texts($job)[0]] = $error->getMessage();
        }, static function (Report $report) use ($row, &$outcomes): void {
            $outcomes[$row->texts($report->of)[0]] ??= $report->kind->value;
        });
        self::assertSame(\array_keys($expected), \array_intersect(\array_keys($expected), \array_keys($outcomes)));
        foreach ($expected as $name => $text) {
            self::assertStringContainsString($text, $outcomes[$name], $name);
        }
    }

    public function testAModificationEndsOnlyATask(): void
    {
        foreach (['shuffle' => 'a message', 'events' => 'an event'] as $name => $what) {
            foreach (['a modification' => new Modification(), "its key \"insert\"" => ['insert' => [1]]] as $is => $value) {
                $row = Queue::all()[$name];
                $queue = ($row->open)($this->connect('memory'), 'q');
                ($row->put)($queue, ['a']);
                $told = [];
                ($row->worker)($queue)->drain(static fn () => $value, static function (?object $job, \Throwable $error) use (&$told): void {
                    $told[] = $error->getMessage();
                });
                self::assertStringContainsString("$is, and $what ends without one", $told[0]);
            }
        }
    }

    /**
     * @return iterable<string, array{Queue, string}>
     */
    public function everywhere(): iterable
    {
        return Queue::each(self::rows(), $this->ownKinds());
    }

    /** @dataProvider everywhere */
    public function testAStopGivesBackWhatNobodyHasBegun(Queue $row, string $kind): void
    {
        $queue = ($row->open)($this->connect($kind), "{{$this->name}}");
        ($row->put)($queue, ['a', 'b', 'c', 'd', 'e']);
        $worker = ($row->worker)($queue, prefetch: 10);
        $kinds = [];
        $worker->run(static fn () => $worker->stop(), onEvent: static function (Report $report) use (&$kinds): void {
            $kinds[] = $report->kind->value;
        });
        self::assertEqualsCanonicalizing(['done', ...\array_fill(0, 4, 'released')], $kinds);
        self::assertSame(4, ($row->worker)($queue)->drain(static fn () => null)->done);
        $worker->run(static fn () => self::fail('it stays stopped'));
    }

    /** @dataProvider workers */
    public function testAHandlerThatThrowsEndsTheWaitOfAWorker(Queue $row): void
    {
        self::inChild(static function () use ($row): void {
            $queue = ($row->open)(Millpond::connect('memory:'), 'q');
            ($row->put)($queue, ['a']);
            $isDone = false;
            \pcntl_async_signals(true);
            \pcntl_signal(\SIGALRM, static function () use (&$isDone): void {
                if ($isDone) {
                    $isDone = false;
                    throw new \DomainException();
                }
            });
            Alarm::every(20_000);
            $onEvent = static function (Report $report) use (&$isDone): void {
                $isDone = $isDone || $report->kind === ReportKind::Done;
            };
            $run = static fn () => ($row->worker)($queue)->run(static fn () => null, onEvent: $onEvent);
            self::assertInstanceOf(\DomainException::class, self::thrown($run));
            Alarm::every(0);
            self::assertSame(0, ($row->worker)($queue)->drain(static fn () => null)->done);
        });
    }

    /**
     * @return iterable<string, array{Queue, int}>
     */
    public function ways(): iterable
    {
        return Queue::each(self::rows(), ['one process' => [1], 'processes' => [2]]);
    }

    /** @dataProvider ways */
    public function testASignalLosesNothingAndRepeatsNothing(Queue $row, int $processes): void
    {
        $texts = \array_map(static fn (int $number): string => "n$number", \range(1, 300));
        $open = fn (): object => ($row->open)($this->connect('redis'), $this->name);
        ($row->put)($open(), $texts);
        $file = $this->folder() . '/done';
        self::inChild(static function () use ($row, $open, $processes, $file): void {
            \pcntl_async_signals(true);
            $main = \getmypid();
            ($row->worker)($open(), prefetch: 4)->run(static function ($job) use ($row, $processes, $file, $main): void {
                \usleep(3_000);
                \file_put_contents($file, \getmypid() . " {$row->texts($job)[0]}\n", \FILE_APPEND | \LOCK_EX);
                $lines = \file($file);
                $areAllAtWork = \count($lines) >= 20 && \count(\array_unique(\array_map(\intval(...), $lines))) >= $processes;
                // One signal, as a second one gives back what is worked on.
                if ($areAllAtWork && @\mkdir("$file.signal")) {
                    \posix_kill($main, \SIGTERM);
                }
            }, processes: $processes > 1 ? $processes : null, stopWithin: 60);
        });
        $done = \array_map(static fn (string $line): string => \explode(' ', \trim($line))[1], \file($file));
        $left = $attempts = [];
        ($row->worker)($open())->drain(static function ($job) use ($row, &$left, &$attempts): void {
            \array_push($left, ...$row->texts($job));
            $attempts[] = $job->task->attempt ?? 0;
        });
        self::assertEqualsCanonicalizing($texts, [...$done, ...$left], \count($done) . ' were done');
        self::assertSame([0], \array_unique($attempts), 'the rest is available at once');
    }

    /**
     * One report when the server goes and one when it is back, and then jobs again.
     *
     * @dataProvider workers
     */
    public function testAWorkerGoesOnWhenItsServerWasAway(Queue $row): void
    {
        $servers = new Servers();
        $queue = ($row->open)(Millpond::connect($servers->url), 'q');
        $worker = ($row->worker)($queue);
        $put = static fn () => ($row->put)($queue, ['a']);
        $put();
        $told = $errors = [];
        $onEvent = static function (Report $report) use ($servers, $worker, $put, &$told): void {
            $told[] = $report->kind;
            match ($report->kind) {
                ReportKind::Done => \count($told) === 1 ? $servers->run('kill') : $worker->stop(),
                ReportKind::Away => $servers->run('restart'),
                ReportKind::Back => self::waitFor(static function () use ($put): bool {
                    try {
                        $put();
                    } catch (MillpondException) {
                        return false;
                    }

                    return true;
                }),
            };
        };
        $worker->run(static fn () => null, static function (?object $job, \Throwable $error) use (&$errors): void {
            self::assertNull($job);
            $errors[] = $error->getMessage();
        }, $onEvent);
        self::assertSame([ReportKind::Done, ReportKind::Away, ReportKind::Back, ReportKind::Done], $told);
        self::assertCount(2, $errors);
        self::assertStringContainsString('the server is back', $errors[1]);
    }
}
