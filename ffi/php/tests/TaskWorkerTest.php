<?php

declare(strict_types=1);

namespace Millpond\Tests;

use Millpond\Exception\DependencyException;
use Millpond\Exception\InvalidArgumentException;
use Millpond\Exception\MillpondException;
use Millpond\Millpond;
use Millpond\Tasks\Job;
use Millpond\Tasks\Modification;
use Millpond\Tasks\MoveTask;
use Millpond\Tasks\NewDoc;
use Millpond\Tasks\NewTask;
use Millpond\Tasks\ReleaseTask;
use Millpond\Tasks\RetryTask;
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
        self::assertSame([2, "no answer\nagain"], [$task->attempt, $task->err]);

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

    /** @dataProvider ownKinds */
    public function testAJobThatIsDroppedLeavesItsTaskLeased(string $kind): void
    {
        $store = $this->store($kind);
        $store->insert(new NewTask('q'));
        $jobs = $store->worker('q', new WorkerOptions(lease: 2))->jobs();
        $job = $jobs->next();
        $task = $job->task;
        unset($job);
        self::assertNull($jobs->next());
        self::assertEquals([$task], $store->fetch($task->id), 'nothing renews it');
        self::assertSame($task->id, $store->worker('q', new WorkerOptions(wait: 60))->jobs()->next()->task->id);
    }

    /** @dataProvider ownKinds */
    public function testAJobRenewsItself(string $kind): void
    {
        $store = $this->store($kind);
        $bob = $this->store($kind, 'bob', $store);
        $store->modify((new Modification())->insert(new NewTask('q'))->insertDoc(new NewDoc('n', 'k', 1, secondaryKey: 'a'))
            ->insertDoc(new NewDoc('n', 'k', 2, secondaryKey: 'b'))->insertDoc(new NewDoc('n', 'k', 3, secondaryKey: 'c')));
        $job = $store->worker('q', new WorkerOptions(lease: 2))->jobs()->next();
        $docs = $job->claimDocs('n', 'k');
        self::assertCount(3, $docs);
        // Busy for more than two leases: PHP does nothing else meanwhile.
        for ($end = \hrtime(true) + 4_500_000_000; \hrtime(true) < $end;) {
            \hash('sha256', 'busy');
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
        $store = $this->store($kind);
        $store->insert(new NewTask('q'));
        $job = $store->worker('q', new WorkerOptions(lease: 4))->jobs()->next();
        $thrown = self::thrown(static fn () => $store->modify((new Modification())->delete($job->task)));
        self::assertSame($job->task->id, $thrown->claims[0]->id);
        $same = $this->store($kind, $job->task->claimant, $store);
        $same->modify((new Modification())->delete($job->task));
        for ($tries = 0; $tries < 4_000 && !$job->isLost(); ++$tries) {
            \usleep(5_000);
        }
        self::assertTrue($job->isLost());
        $thrown = self::thrown($job->done(...));
        self::assertInstanceOf(DependencyException::class, $thrown);
        self::assertSame([true, $job->task->id], [$thrown->hasMissing(), $thrown->deletes[0]->id]);
    }

    /** @dataProvider ownKinds */
    public function testRun(string $kind): void
    {
        $store = $this->store($kind);
        $store->modify((new Modification())
            ->insert(new NewTask('q', 'null'))->insert(new NewTask('q', 'modification'))->insert(new NewTask('q', 'retry'))->insert(new NewTask('q', 'retry later'))
            ->insert(new NewTask('q', 'move'))->insert(new NewTask('q', 'error'))->insert(new NewTask('q', 'bytes'))->insert(new NewTask('q', 'refused')));
        [$calls, $told] = [0, []];
        $store->worker('q', new WorkerOptions(maxAttempts: 1, errorQueue: 'failed'))->run(static function (Job $job) use (&$calls): ?Modification {
            ++$calls;

            return match ($job->task->value()) {
                'null' => null,
                'modification' => $job->delete()->insert(new NewTask('out', 'new')),
                'retry' => throw new RetryTask('tried'),
                'retry later' => throw new RetryTask('later', delay: 60),
                'move' => throw new MoveTask('moved', 'why'),
                'error' => \intdiv(1, 0),
                'bytes' => throw new \DomainException("\xff!"),
                'refused' => $job->delete()->depend(new TaskId('x', 1)),
            };
        }, static function (Job $job, MillpondException $refused) use (&$told): void {
            $told[] = [$job->task->value(), $job->isEnded(), $refused::class];
        });
        self::assertSame([['refused', true, DependencyException::class]], $told);
        self::assertSame(8, $calls);
        self::assertSame(['failed' => 5, 'moved' => 1, 'out' => 1], $store->queues());
        $errs = \array_column($store->list('failed')->tasks, 'err', 'json');
        \ksort($errs);
        self::assertSame(['"bytes"' => "DomainException: \u{fffd}!", '"error"' => 'DivisionByZeroError: Division by zero',
            '"refused"' => DependencyException::class . ': tasks.modify: tasks to depend on that are not there: x:v1',
            '"retry later"' => 'later', '"retry"' => 'tried'], $errs);
        self::assertSame(['why', 1], [self::only($store, 'moved')->err, self::only($store, 'moved')->attempt]);
    }

    /** @dataProvider ownKinds */
    public function testARetryThatSaysWhen(string $kind): void
    {
        $store = $this->store($kind);
        $store->insert(new NewTask('q'));
        $times = [];
        $store->worker('q', new WorkerOptions(wait: 2))->run(static function () use (&$times): void {
            $times[] = \hrtime(true);
            if (\count($times) === 1) {
                throw new RetryTask('not yet', delay: 0.3);
            }
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
        $store->worker('q', new WorkerOptions(maxClaims: 1))->run(static function () use (&$turns): void {
            ++$turns < 3 ? throw new ReleaseTask(0) : null;
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
        self::assertNull($store->worker('q', new WorkerOptions(maxClaims: 2))->jobs()->next());
        $task = self::only($store, 'q/err');
        self::assertSame(['poison', 'claimed 2 times without an end'], [$task->id, $task->err]);
    }

    /** @dataProvider ownKinds */
    public function testAWorkerWaits(string $kind): void
    {
        $store = $this->store($kind);
        $store->insert(new NewTask('late', delay: 0.3));
        $seen = [];
        $store->worker(['q', 'late'], new WorkerOptions(wait: 0.8))->run(static function (Job $job) use (&$seen, $store): void {
            $seen[] = $job->task->queue;
        });
        self::assertSame(['late'], $seen);
    }

    /** @dataProvider ownKinds */
    public function testAnInvalidModificationIsAFailure(string $kind): void
    {
        $store = $this->store($kind);
        $store->insert(new NewTask('q'));
        $tries = [];
        $store->worker('q', new WorkerOptions(backoff: 0.001, wait: 0.3))->run(static function (Job $job) use (&$tries): Modification {
            $tries[] = [$job->task->attempt, $job->task->err];

            return $job->delete()->insert(new NewTask(\count($tries) === 1 ? '' : 'next'));
        });
        $err = InvalidArgumentException::class . ": tasks.modify: the queue's name is empty";
        self::assertSame([[0, ''], [1, $err]], $tries);
        self::assertSame(['next' => 1], $store->queues());
    }

    public function testARefusedEndIsLoggedAndWhatTheHookThrowsEndsTheWork(): void
    {
        $store = $this->store('memory');
        $store->insert(new NewTask('q', id: 'x'));
        $handler = static fn () => throw new MoveTask('', 'nowhere');
        $log = \ini_set('error_log', $file = \tempnam(\sys_get_temp_dir(), 'millpond'));
        try {
            $store->worker('q', new WorkerOptions(maxAttempts: 1))->run($handler);
        } finally {
            \ini_set('error_log', $log);
        }
        $logged = \file_get_contents($file);
        \unlink($file);
        self::assertStringContainsString('millpond: the end of task x of queue q was refused: ', $logged);
        self::assertSame(1, self::only($store, 'q/err')->attempt);

        $store->insert(new NewTask('q'));
        $stop = new \RuntimeException('stop');
        $hook = static fn () => throw $stop;
        self::assertSame($stop, self::thrown(static fn () => $store->worker('q')->run($handler, $hook)));
    }

    public function testWhatALoggerGets(): void
    {
        $logger = new class () extends AbstractLogger {
            /** @var list<array{string, string, string}> */
            public array $lines = [];

            public function log($level, $message, array $context = []): void
            {
                $names = ['{task}' => $context['task'], '{queue}' => $context['queue']];
                $this->lines[] = [$level, \strtr($message, $names), \get_debug_type($context['exception'])];
            }
        };
        $store = Millpond::connect('memory:', logger: $logger)->tasks('t');
        $store->modify((new Modification())->insertDoc(new NewDoc('n', 'k')));
        $store->claimDocs('n', 'k', lease: 60);
        $outcomes = [
            static fn () => throw new \DomainException('bad'),
            static fn () => throw new MoveTask('', 'nowhere'),
            static fn () => throw new RetryTask('later'),
            static fn (Job $job) => $job->claimDocs('n', 'k') && false,
            static fn () => null,
        ];
        foreach ($outcomes as $number => $outcome) {
            $store->insert(new NewTask("q$number", id: "t$number"));
            $left = 1;
            $store->worker("q$number", new WorkerOptions(maxAttempts: 1))->run(static function (Job $job) use ($outcome, &$left) {
                return $left-- > 0 ? $outcome($job) : null;
            });
        }
        self::assertSame([
            ['warning', 'millpond: task t0 of queue q0 failed', \DomainException::class],
            ['error', 'millpond: the end of task t1 of queue q1 was refused', InvalidArgumentException::class],
            ['debug', 'millpond: task t3 of queue q3 failed', DependencyException::class],
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
                . ' $store->worker("q", new WorkerOptions(wait: 0.2))->run(fn ($job) => $job->delete()->insert(new NewTask("out", $job->task->value())));';
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
