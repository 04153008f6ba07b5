<?php

declare(strict_types=1);

namespace Millpond\Tests;

use Millpond\JobCounts;
use Millpond\Exception\DeadLetterException;
use Millpond\Exception\DependencyException;
use Millpond\Exception\InvalidArgumentException;
use Millpond\Exception\LeaseLostException;
use Millpond\Millpond;
use Millpond\MoveJob;
use Millpond\RejectJob;
use Millpond\ReleaseJob;
use Millpond\Report;
use Millpond\RetryJob;
use Millpond\Tasks\Job;
use Millpond\Tasks\Modification;
use Millpond\Tasks\NewDoc;
use Millpond\Tasks\NewTask;
use Millpond\Tasks\Task;
use Millpond\Tasks\TaskId;
use Millpond\Tasks\TaskStore;
use Millpond\Tasks\WorkerOptions;
use Psr\Log\AbstractLogger;

/**
 * Workers: jobs, and what happens to those that fail.
 */
final class TaskWorkerTest extends TestCase
{
    private static function only(TaskStore $store, string $queue): Task
    {
        $tasks = $store->list($queue)->tasks;
        self::assertCount(1, $tasks, $queue);

        return $tasks[0];
    }

    /** @dataProvider ownKinds */
    public function testJobs(string $kind): void
    {
        $store = $this->store($kind);
        $store->modify((new Modification())->insert(new NewTask('q', 'a', priority: 1))->insert(new NewTask('q', 'b')));
        $seen = [];
        foreach ($store->worker('q', new WorkerOptions(lease: 60))->jobs() as $number => $job) {
            self::assertInstanceOf(Job::class, $job);
            self::assertSame([1, 1], [$job->task->version, $job->task->claims]);
            self::assertMatchesRegularExpression('#^ann/[0-9a-f]{16}$#', $job->task->claimant);
            self::assertEquals($job->task->handle(), $job->handle());
            self::assertFalse($job->isLost());
            $seen[$number] = $job->task->value();
            $job->done();
        }
        self::assertSame(['a', 'b'], $seen);
        self::assertSame([], $store->queues());
        self::assertNull($store->worker('q')->jobs()->next());
    }

    /** @dataProvider ownKinds */
    public function testHowAJobEnds(string $kind): void
    {
        $store = $this->store($kind);
        $worker = $store->worker('q', new WorkerOptions(maxAttempts: 2, backoff: 60));
        $next = static function (string $value) use ($store, $worker): Job {
            $store->insert(new NewTask('q', $value, id: $value));

            return $worker->jobs()->next();
        };
        $next('done')->done();
        self::assertSame([], $store->queues());

        $job = $next('finished');
        $modified = $job->finish($job->delete()->insert(new NewTask('out', 'new')));
        self::assertSame('"new"', $modified->inserted[0]->json);

        $next('retried')->retry('no answer');
        $task = self::only($store, 'q');
        self::assertSame(['retried', 1, 'no answer'], [$task->id, $task->attempt, $task->err]);
        $delay = $task->atMs - $task->modifiedMs;
        self::assertTrue($delay >= 30_000 && $delay <= 60_000, "$delay ms");
        $store->modify((new Modification())->change($task->change()));
        $worker->jobs()->next()->retry('again');
        $task = self::only($store, 'q/err');
        self::assertSame([2, "no answer\nexhausted: again"], [$task->attempt, $task->err]);

        $next('later')->retry('busy', delay: 5.5);
        $task = self::only($store, 'q');
        self::assertSame([5_500, 1], [$task->atMs - $task->modifiedMs, $task->attempt]);
        $store->modify((new Modification())->delete($task));

        $next('moved')->moveTo('elsewhere', 'wrong place');
        $task = self::only($store, 'elsewhere');
        self::assertSame([1, 'wrong place', ''], [$task->attempt, $task->err, $task->claimant]);

        $next('released')->release();
        $task = self::only($store, 'q');
        self::assertSame([0, '', 'ann'], [$task->attempt, $task->err, $task->claimant]);
        self::assertGreaterThanOrEqual(50, $task->atMs - $task->modifiedMs);
        self::assertLessThanOrEqual(100, $task->atMs - $task->modifiedMs);
    }

    public function testWhatAJobDoesNotTakeIsRefused(): void
    {
        $store = $this->store('memory');
        $store->insert(new NewTask('q'));
        foreach ($store->worker('q')->jobs() as $job) {
            $more = (new Modification())->insert(new NewTask('out'));
            self::assertInstanceOf(\ArgumentCountError::class, self::thrown(static fn () => $job->delete($more)));
            self::assertInstanceOf(\ArgumentCountError::class, self::thrown(static fn () => $job->done($more)));
            self::assertSame(['q' => 1], $store->queues());
            $job->done();
        }
        self::assertSame([], $store->queues());
    }

    /** @dataProvider ownKinds */
    public function testAJobThatIsDroppedLeavesItsTaskLeased(string $kind): void
    {
        $store = $this->store($kind, options: self::RENEWING);
        $store->modify((new Modification())->insert(new NewTask('q'))->insert(new NewTask('renewed')));
        $renewed = $store->worker('renewed', new WorkerOptions(lease: 60))->jobs()->next();
        $jobs = $store->worker('q', new WorkerOptions(lease: 60))->jobs();
        $job = $jobs->next();
        [$id, $claimant] = [$job->task->id, $job->task->claimant];
        unset($job);
        self::assertNull($jobs->next());
        // After these a renewal that was under way is over.
        self::waitForRenewals($renewed, 3);
        [$task] = $store->fetch($id);
        self::assertSame([1, $claimant], [$task->claims, $task->claimant]);
        self::waitForRenewals($renewed, 3);
        self::assertEquals([$task], $store->fetch($id), 'nothing renews it');
        // Its lease ends here, since a minute is long.
        $this->store($kind, $claimant, $store)->renew($task, lease: 0.05);
        self::assertSame($task->id, $store->worker('q', new WorkerOptions(wait: 60))->jobs()->next()->task->id);
    }

    /** @dataProvider ownKinds */
    public function testAJobRenewsItself(string $kind): void
    {
        $store = $this->store($kind, options: self::RENEWING);
        $bob = $this->store($kind, 'bob', $store);
        $store->modify((new Modification())->insert(new NewTask('q'))->insertDoc(new NewDoc('n', 'k', 1, secondaryKey: 'a'))
            ->insertDoc(new NewDoc('n', 'k', 2, secondaryKey: 'b'))->insertDoc(new NewDoc('n', 'k', 3, secondaryKey: 'c')));
        $job = $store->worker('q', new WorkerOptions(lease: 60))->jobs()->next();
        $docs = $job->claimDocs('n', 'k');
        self::assertCount(3, $docs);
        // Busy until it is renewed: PHP does nothing else meanwhile. The second renewal is the first that surely
        // has the documents.
        $version = $job->handle()->version + 3;
        for ($end = \hrtime(true) + 60_000_000_000; $job->handle()->version < $version && \hrtime(true) < $end;) {
            \hash('sha256', 'busy');
        }
        // As others see it too: the leases end later than they did.
        [$task] = $bob->fetch($job->task->id);
        self::assertGreaterThanOrEqual($version, $task->version);
        self::assertGreaterThan($job->task->atMs, $task->atMs);
        foreach ($bob->fetchDocs('n', \array_column($docs, 'id')) as $number => $doc) {
            self::assertGreaterThan($docs[$number]->atMs, $doc->atMs);
        }
        self::assertNull($bob->claim('q'));
        self::assertInstanceOf(DependencyException::class, self::thrown(static fn () => $bob->claimDocs('n', 'k')));
        self::assertFalse($job->isLost());
        self::assertGreaterThanOrEqual(4, $job->handle()->version);
        $done = $job->finish($job->delete()->changeDoc($docs[0]->change('new', release: true))->deleteDoc($docs[1]));
        self::assertCount(2, $done->changedDocs, 'one that was changed and one that was released');
        self::assertSame(['"new"', '3'], \array_column($done->changedDocs, 'json'));
        self::assertCount(2, $bob->claimDocs('n', 'k'));
        self::assertSame([], $store->queues());
    }

    /** @dataProvider ownKinds */
    public function testAJobThatHasLostItsLease(string $kind): void
    {
        $store = $this->store($kind, options: self::RENEWING);
        $store->insert(new NewTask('q'));
        $job = $store->worker('q', new WorkerOptions(lease: 60))->jobs()->next();
        $thrown = null;
        // Again if it was renewed at the same moment, as another version is no other's claim.
        self::waitFor(static function () use ($store, $job, &$thrown): bool {
            $thrown = self::thrown(static fn () => $store->modify((new Modification())->delete($job->handle())));

            return $thrown->claims !== [];
        });
        self::assertSame($job->task->id, $thrown->claims[0]->id);
        self::deleteHeld($this->store($kind, $job->task->claimant, $store), $job);
        self::waitFor($job->isLost(...));
        self::assertInstanceOf(LeaseLostException::class, self::thrown($job->done(...)));
    }

    /**
     * @return iterable<string, array{callable(Job): mixed, string, array<string, int>, list<string|class-string>}>
     */
    public function outcomes(): iterable
    {
        $kept = ['failed' => 1];
        $invalid = InvalidArgumentException::class . ': the handler returned ';
        yield 'nothing' => [static fn () => null, '', [], ['done']];
        yield 'a value' => [static fn () => ['sent' => 2], '', [], ['done']];
        yield 'a modification' => [static fn (Job $job) => $job->delete()->insert(new NewTask('out')), '', ['out' => 1], ['done']];
        yield 'ended itself' => [static fn (Job $job) => $job->moveTo('out', 'by hand'), 'by hand', ['out' => 1], []];
        yield 'retry' => [static fn () => throw new RetryJob('tried'), 'exhausted: tried', $kept, ['dead']];
        yield 'retry, returned' => [static fn () => new RetryJob('tried', delay: 60), 'exhausted: tried', $kept, ['dead']];
        yield 'move' => [static fn () => throw new MoveJob('out', 'why'), 'why', ['out' => 1], ['moved']];
        yield 'reject' => [static fn () => throw new RejectJob('never'), 'rejected: never', $kept, ['dead']];
        yield 'release' => [static fn () => throw new ReleaseJob(60), '', ['q' => 1], ['released']];
        yield 'an error' => [static fn () => \intdiv(1, 0), 'exhausted: DivisionByZeroError: Division by zero', $kept,
            ['dead', \DivisionByZeroError::class]];
        yield 'bytes' => [static fn () => throw new \DomainException("\xff!"), "exhausted: DomainException: \u{fffd}!", $kept,
            ['dead', \DomainException::class]];
        yield 'refused' => [static fn (Job $job) => $job->delete()->depend(new TaskId('x', 1)),
            'exhausted: tasks.modify: task x is not at version 1 any more', $kept, ['dead']];
        yield 'not its own' => [static fn () => (new Modification())->insert(new NewTask('out')), '', ['out' => 1], ['done']];
        yield 'a queue of bytes' => [static fn () => new MoveJob("\xff"),
            'exhausted: ' . InvalidArgumentException::class . ': queue is not UTF-8', $kept, ['dead', InvalidArgumentException::class]];
        yield 'a generator' => [static function () {
            yield 1;
        }, "exhausted: {$invalid}a generator, since it has a yield: nothing of it has run", $kept,
            ['dead', InvalidArgumentException::class]];
        yield 'an array like a modification' => [static fn () => ['insert' => [], 'deleteDoc' => []],
            "exhausted: {$invalid}a value that looks like a modification, by its key \"insert\": return a Modification, such as"
                . ' $job->delete(), or nothing', $kept,
            ['dead', InvalidArgumentException::class]];
        yield 'new tasks' => [static fn () => [new NewTask('out')],
            "exhausted: $invalid" . NewTask::class . ' that is in no Modification', $kept, ['dead', InvalidArgumentException::class]];
    }

    /**
     * @param callable(Job): mixed $handler
     * @param array<string, int>   $queues
     * @param list<string>         $expected what is told: the kind of the report, and the class of what was thrown
     *
     * @dataProvider outcomes
     */
    public function testWhatAHandlerReturnsOrThrows(callable $handler, string $err, array $queues, array $expected): void
    {
        foreach (['memory', 'redis'] as $kind) {
            $store = $this->store($kind);
            $id = $store->insert(new NewTask('q'))->id;
            $told = [];
            $worker = $store->worker('q', new WorkerOptions(maxAttempts: 1, errorQueue: 'failed'));
            $drained = $worker->drain($handler, static function (?Job $job, \Throwable $error) use (&$told, $id): void {
                self::assertSame($id, $job->task->id);
                // What was thrown is the cause of the error that says that the task was put aside.
                $told[] = ($error instanceof DeadLetterException ? $error->getPrevious() ?? $error : $error)::class;
            }, static function (Report $report) use (&$told, $id): void {
                self::assertSame($id, $report->of->id);
                self::assertStringContainsString("task $id of queue q", $report->message);
                $told[] = $report->kind->value;
            });
            self::assertSame($expected, \array_slice($told, 0, \count($expected)));
            self::assertLessThanOrEqual(2, \count($told), 'an error is told once');
            $kind = $expected[0] ?? '';
            $others = (int) ($kind === 'moved' || $kind === 'released');
            self::assertEquals(new JobCounts((int) ($kind === 'done'), 0, (int) ($kind === 'dead'), $others), $drained);
            self::assertSame($queues, $store->queues());
            self::assertSame($err, $store->list(\array_key_first($queues) ?? 'q')->tasks[0]->err ?? '');
        }
    }

    /** @dataProvider ownKinds */
    public function testARetryThatSaysWhen(string $kind): void
    {
        $store = $this->store($kind);
        $store->insert(new NewTask('q'));
        $times = [];
        $worker = $store->worker('q');
        $worker->run(static function () use (&$times, $worker): void {
            $times[] = \hrtime(true);
            if (\count($times) === 1) {
                throw new RetryJob('not yet', delay: 0.3);
            }
            $worker->stop();
        });
        self::assertCount(2, $times);
        self::assertGreaterThan(0.25e9, $times[1] - $times[0]);
        self::assertSame([], $store->queues());
    }

    public function testAReleaseIsTriedByAnother(): void
    {
        $store = $this->store('memory');
        $store->insert(new NewTask('q'));
        $turns = 0;
        $store->worker('q', new WorkerOptions(maxCrashes: 1))->drain(static function () use (&$turns): void {
            ++$turns < 3 ? throw new ReleaseJob(0) : null;
        });
        self::assertSame([3, []], [$turns, $store->queues()]);
    }

    /** @dataProvider ownKinds */
    public function testATaskThatKillsItsWorkersGoesToTheErrorQueue(string $kind): void
    {
        $store = $this->store($kind);
        $store->insert(new NewTask('q', id: 'poison'));
        foreach ([1, 2] as $claims) {
            self::assertSame($claims, $store->claim('q', lease: 0)->claims);
        }
        self::assertNull($store->worker('q', new WorkerOptions(maxCrashes: 2))->jobs()->next());
        $task = self::only($store, 'q/err');
        self::assertSame(['poison', 'crashed: claimed 2 times without an end'], [$task->id, $task->err]);
    }

    /** @dataProvider ownKinds */
    public function testAWorkerWaits(string $kind): void
    {
        $store = $this->store($kind);
        $store->insert(new NewTask('late', delay: 0.3));
        $seen = [];
        $worker = $store->worker(['q', 'late']);
        $worker->run(static function (Job $job) use (&$seen, $worker): void {
            $seen[] = $job->task->queue;
            $worker->stop();
        });
        self::assertSame(['late'], $seen);
    }

    /** @dataProvider ownKinds */
    public function testAfterItsTimeAStopGivesBackWhatRuns(string $kind): void
    {
        $store = $this->store($kind);
        $store->insert(new NewTask('q', id: 'x'));
        $worker = $store->worker('q');
        $other = null;
        $worker->run(static function (Job $job) use ($worker, $store, &$other): Modification {
            $worker->stop(0.05);
            self::waitFor($job->isLost(...));
            self::waitFor(static function () use ($store, &$other): bool {
                return ($other = $store->claim('q')) !== null;
            });

            return $job->delete()->insert(new NewTask('out'));
        });
        self::assertSame(['q' => 1], $store->queues(), 'what it says then has no effect');
        self::assertSame([0, ''], [$other->attempt, $other->err]);
    }

    /** @dataProvider ownKinds */
    public function testALeaseThatIsLostIsTold(string $kind): void
    {
        $store = $this->store($kind, options: self::RENEWING);
        $store->insert(new NewTask('q', id: 'x'));
        $told = [];
        $drained = $store->worker('q', new WorkerOptions(lease: 60))->drain(function (Job $job) use ($kind, $store): void {
            self::deleteHeld($this->store($kind, $job->task->claimant, $store), $job);
            self::waitFor($job->isLost(...));
        }, static function (?Job $job, \Throwable $error) use (&$told): void {
            $told[] = [$job->task->id, $error::class];
            self::assertInstanceOf(InvalidArgumentException::class, self::thrown($job->isEnded(...)), 'it is over');
        });
        self::assertSame([['x', LeaseLostException::class]], $told);
        self::assertEquals(new JobCounts(0, 0, 0, 1), $drained);
    }

    public function testHowLongAHandlerMayWork(): void
    {
        $store = $this->store('memory');
        $store->insert(new NewTask('q'));
        $left = $store->worker('q')->jobs()->next()->timeLeft();
        self::assertNull($left);
        $store->insert(new NewTask('q'));
        $store->worker('q', new WorkerOptions(timeout: 60))->drain(static function (Job $job) use (&$left): void {
            $left = $job->timeLeft();
        });
        self::assertTrue($left > 50 && $left <= 60, "$left s");
    }

    public function testWhatIsLoggedByDefault(): void
    {
        $store = $this->store('memory');
        $log = \ini_set('error_log', $file = \tempnam(\sys_get_temp_dir(), 'millpond'));
        try {
            $store->insert(new NewTask('q', id: 'x'));
            $store->worker('q', new WorkerOptions(maxAttempts: 1))->drain(static fn () => throw new \DomainException('bad'));
            $store->insert(new NewTask('q', id: 'y'));
            $drained = $store->worker('q', new WorkerOptions(maxAttempts: 1))->drain(
                static fn () => throw new RejectJob('never'),
                static fn () => throw new \RuntimeException('no hook'),
                static fn () => throw new \LogicException('no counter'),
            );
        } finally {
            \ini_set('error_log', $log);
        }
        $logged = \file_get_contents($file);
        \unlink($file);
        self::assertSame(1, $drained->dead);
        foreach (['millpond: task x of queue q was put aside: into q/err: exhausted: DomainException: bad: DomainException: bad in '
            . __FILE__, '#0 ',
            'thrown RuntimeException: no hook in ', 'thrown LogicException: no counter in '] as $line) {
            self::assertStringContainsString($line, $logged);
        }
    }

    public function testWhatALoggerGets(): void
    {
        $logger = new class () extends AbstractLogger {
            /** @var list<array{string, string, string}> */
            public array $lines = [];

            public function log($level, $message, array $context = []): void
            {
                $names = ['{task}' => $context['task'], '{queue}' => $context['queue']];
                $this->lines[] = [$level, \strtr($message, $names), \get_debug_type($context['exception'] ?? null)];
            }
        };
        $store = Millpond::connect('memory:', logger: $logger)->tasks('t');
        $store->modify((new Modification())->insertDoc(new NewDoc('n', 'k')));
        $store->claimDocs('n', 'k', lease: 60);
        $outcomes = [
            static fn () => throw new \DomainException('bad'),
            static fn () => throw new MoveJob('', 'nowhere'),
            static fn () => throw new RetryJob('later'),
            static fn (Job $job) => $job->claimDocs('n', 'k') && false,
            static fn () => null,
        ];
        foreach ($outcomes as $number => $outcome) {
            $store->insert(new NewTask("q$number", id: "t$number"));
            $left = 1;
            $store->worker("q$number")->drain(static function (Job $job) use ($outcome, &$left) {
                return $left-- > 0 ? $outcome($job) : null;
            });
        }
        self::assertSame([
            ['error', 'millpond: task t0 of queue q0 failed', \DomainException::class],
            ['error', "millpond: task t1 of queue q1 could not end as its handler said, and is tried again: the queue's name is empty",
                InvalidArgumentException::class],
            ['debug', 'millpond: task t3 of queue q3 is given back', DependencyException::class],
        ], $logger->lines);
    }

    /** @dataProvider ownKinds */
    public function testAJobWaitsForDocuments(string $kind): void
    {
        $store = $this->store($kind);
        $store->insert(new NewTask('q'));
        $store->modify((new Modification())->insertDoc(new NewDoc('n', 'k', id: 'd')));
        $docs = $store->claimDocs('n', 'k', lease: 60);
        $job = $store->worker('q')->jobs()->next();
        $taken = self::thrown(static fn () => $job->claimDocs('n', 'k', wait: 0.05));
        self::assertInstanceOf(DependencyException::class, $taken);
        $store->renew(docs: $docs, lease: 0.05);
        self::assertCount(1, $job->claimDocs('n', 'k', wait: 60));
        // Its message for a document that was claimed is no failed attempt; any other is.
        $job->fail('as it was: ' . $taken->getMessage());
        $task = self::only($store, 'q');
        self::assertSame([0, ''], [$task->attempt, $task->err]);
        self::assertContains($task->atMs - $task->modifiedMs, \range(8, 16));
    }

    public function testWorkersDoNotGetInEachOthersWay(): void
    {
        $store = $this->store('redis');
        $modification = new Modification();
        foreach (\range(1, 300) as $number) {
            $modification->insert(new NewTask('q', $number));
        }
        $store->modify($modification);
        $workers = [];
        foreach (\range(1, 3) as $number) {
            $program = 'use Millpond\Tasks\{NewTask, WorkerOptions}; require $argv[1]; $store = Millpond\Millpond::connect($argv[2])->tasks($argv[3]);'
                . ' $store->worker("q", new WorkerOptions(prefetch: 4))->drain(fn ($job) => $job->delete()->insert(new NewTask("out", $job->task->value())));';
            $command = [\PHP_BINARY, '-r', $program, __DIR__ . '/bootstrap.php', Servers::shared()->url, "{{$this->name}}"];
            $workers[] = \proc_open($command, [], $pipes);
        }
        foreach ($workers as $worker) {
            self::assertSame(0, \proc_close($worker));
        }
        $values = \array_map(static fn (Task $task): int => $task->value(), $store->list('out')->tasks);
        \sort($values);
        self::assertSame(\range(1, 300), $values);
        self::assertSame(['out' => 300], $store->queues());
    }
}
