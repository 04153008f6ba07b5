<?php

declare(strict_types=1);

namespace Millpond\Tests;

use Millpond\Millpond;
use Millpond\Tasks\NewTask;

/**
 * Signal handlers run while a claimant waits for tasks, and lose nothing that a loop took.
 */
final class TaskSignalsTest extends TestCase
{
    /**
     * Runs a claimant that waits, sends it a signal as soon as it does, and returns what it printed.
     */
    private function claimant(string $url, string $handler, string $take): string
    {
        $program = <<<PHP
            use Millpond\Tasks\{NewDoc, NewTask, WorkerOptions};
            require \$argv[1];
            \$store = Millpond\Millpond::connect(\$argv[2])->tasks(\$argv[3]);
            \$claims = \$store->claims('q', wait: INF);
            \$jobs = \$store->worker('q', new WorkerOptions(wait: INF))->jobs();
            pcntl_async_signals(true);
            pcntl_signal(SIGTERM, $handler);
            \$take = fn () => $take;
            try {
                echo "waiting\n";
                echo \$take()->value(), "\n";
            } catch (DomainException) {
                echo "thrown\n";
                \$store->insert(new NewTask('q', 'more'));
                echo \$take()->value(), "\n";
            }
            PHP;
        $command = [\PHP_BINARY, '-r', $program, __DIR__ . '/bootstrap.php', $url, "{{$this->name}}"];
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
        foreach (['memory' => 'memory:', 'redis' => Servers::shared()->url] as $name => $url) {
            yield "claims, $name" => [$url, '$claims->next()[0]'];
            yield "foreach, $name" => [$url, '(function ($loop) { foreach ($loop as $tasks) { return $tasks[0]; } })($claims)'];
            yield "jobs, $name" => [$url, '$jobs->next()->task'];
            yield "foreach job, $name" => [$url, '(function ($loop) { foreach ($loop as $job) { return $job->task; } })($jobs)'];
        }
    }

    /** @dataProvider ways */
    public function testAHandlerThatThrowsEndsTheWait(string $url, string $take): void
    {
        $throws = 'function () { throw new DomainException(); }';
        self::assertSame("thrown\nmore\n", $this->claimant($url, $throws, $take));
    }

    /** @dataProvider ways */
    public function testAfterAHandlerThatReturnsTheWaitGoesOn(string $url, string $take): void
    {
        $inserts = 'function () use ($store) { echo "handled\n"; $store->insert(new NewTask("q", "its")); }';
        self::assertSame("handled\nits\n", $this->claimant($url, $inserts, $take));
    }

    public function testAHandlerThatThrowsEndsTheWaitOfAWorker(): void
    {
        $program = <<<PHP
            use Millpond\Tasks\{NewDoc, NewTask, WorkerOptions};
            require \$argv[1];
            \$store = Millpond\Millpond::connect('memory:')->tasks('t');
            \$store->insert(new NewTask('q'));
            pcntl_async_signals(true);
            pcntl_signal(SIGALRM, function () { throw new DomainException(); });
            try {
                \$store->worker('q')->run(function () { echo "worked\n"; pcntl_alarm(1); });
            } catch (DomainException) { echo count(\$store->queues()), ' left'; }
            PHP;
        self::assertSame("worked\n0 left", self::program([\PHP_BINARY, '-r', $program, __DIR__ . '/bootstrap.php']));
    }

    /**
     * What the loops took while the server was paused and a handler threw is returned by their next
     * call, and by no other's.
     */
    public function testAHandlerThatThrowsDuringACallLosesNothing(): void
    {
        $program = <<<'PHP'
            use Millpond\Tasks\{NewDoc, NewTask, WorkerOptions};
            require $argv[1];
            pcntl_async_signals(true);
            pcntl_signal(SIGUSR1, function () { throw new DomainException(); });
            $store = Millpond\Millpond::connect($argv[2])->tasks($argv[3]);
            $server = new Millpond\Tests\PausedServer(parse_url($argv[2], PHP_URL_PORT));
            $interrupted = function ($take) use ($server) {
                try { $server->interrupt($take); } catch (DomainException) { echo 'thrown '; }
            };
            foreach (['a' => 9, 'b' => 8, 'c' => 7, 'd' => 6] as $id => $priority) {
                $store->insert(new NewTask('q', id: $id, priority: $priority));
            }
            foreach ([null, 5] as $wait) {
                [$claims, $jobs] = [$store->claims('q', wait: $wait), $store->worker('q', new WorkerOptions(wait: $wait))->jobs()];
                $interrupted(fn () => $claims->next());
                $interrupted(fn () => $jobs->next());
                if ($wait === 5 && pcntl_fork() === 0) {
                    // A copy of what is its parent's.
                    $store->insert(new NewTask('q', id: 'e'));
                    echo $claims->next()[0]->id;
                    exit;
                }
                $wait === 5 ? pcntl_wait($status) : null;
                echo $claims->next()[0]->id, $jobs->next()->task->id, ' ';
            }
            echo count(array_unique(array_column($store->list('q')->tasks, 'claims'))), ' ';
            echo $store->claims('q')->next() === null ? 'none' : 'more';
            PHP;
        $server = new Servers();
        $printed = self::program([\PHP_BINARY, '-r', $program, __DIR__ . '/bootstrap.php', $server->url, "{{$this->name}}"]);
        self::assertMatchesRegularExpression('/^thrown thrown (?!(.).*\1)[a-e]{2} thrown thrown e[a-d]{2} 1 none$/', $printed);
    }

    /**
     * @return array<string, array{string, string}> what makes a loop, and the ids of what it yields
     */
    public function loops(): array
    {
        return [
            'claims' => ['$store->claims("q", 2)', 'array_push($seen, ...array_column($one, "id"));'],
            'claims that wait' => ['$store->claims("q", 2, 0)', 'array_push($seen, ...array_column($one, "id"));'],
            'jobs' => ['$store->worker("q")->jobs()', '$seen[] = $one->task->id;'],
            'jobs that wait' => ['$store->worker("q", new WorkerOptions(wait: 0))->jobs()', '$seen[] = $one->task->id;'],
        ];
    }

    /**
     * Handlers throw anywhere in a loop, and it goes on: what was not returned comes.
     *
     * @dataProvider loops
     */
    public function testAHandlerThatThrowsBetweenTwoBatchesLosesNone(string $make, string $see): void
    {
        $program = <<<PHP
            use Millpond\Tasks\{NewDoc, NewTask, WorkerOptions};
            require \$argv[1];
            \$store = Millpond\Millpond::connect('memory:')->tasks('t');
            \$all = new Millpond\Tasks\Modification();
            for (\$number = 0; \$number < 10_000; ++\$number) { \$all->insert(new NewTask('q', \$number)); }
            \$store->modify(\$all);
            pcntl_async_signals(true);
            \$mayThrow = false;
            pcntl_signal(SIGALRM, function () use (&\$mayThrow) {
                if (\$mayThrow) { \$mayThrow = false; throw new DomainException(); }
            });
            \$loop = $make;
            Millpond\Tests\Alarm::every(150);
            [\$batches, \$seen, \$thrown, \$isOver, \$end] = [[], [], 0, false, hrtime(true) + 2_000_000_000];
            while (!\$isOver) {
                try {
                    \$mayThrow = \$thrown <= 2 || hrtime(true) < \$end;
                    foreach (\$loop as \$one) { \$batches[] = \$one; }
                    \$mayThrow = false;
                    \$isOver = true;
                } catch (DomainException) {
                    ++\$thrown;
                }
            }
            Millpond\Tests\Alarm::every(0);
            foreach (\$batches as \$one) { $see }
            echo \$thrown > 2 ? count(array_unique(\$seen)) : "only \$thrown thrown";
            PHP;
        self::assertSame('10000', self::program([\PHP_BINARY, '-r', $program, __DIR__ . '/bootstrap.php']));
    }

    /**
     * The end of a program by its own signal handler is not the job's doing.
     *
     * @dataProvider waysToStop
     */
    public function testWhatASignalHandlerDoesIsNoAttempt(string $stop): void
    {
        $program = <<<'PHP'
            require $argv[1];
            $store = Millpond\Millpond::connect($argv[2])->tasks($argv[3]);
            pcntl_async_signals(true);
            pcntl_signal(SIGTERM, static function () use ($argv): void {
                $argv[4] === 'exit' ? exit(0) : throw new DomainException('stop');
            });
            try {
                $store->worker('q')->run(static fn ($job) => posix_kill(getmypid(), SIGTERM), stopOnSignals: false);
            } catch (DomainException $stop) {
                echo $stop->getMessage(), is_int(pcntl_signal_get_handler(SIGTERM)) ? ' lost' : '';
            }
            PHP;
        $url = Servers::shared()->url;
        $store = Millpond::connect($url)->tasks("{{$this->name}}");
        $store->insert(new NewTask('q'));
        $said = self::program([\PHP_BINARY, '-r', $program, __DIR__ . '/bootstrap.php', $url, "{{$this->name}}", $stop]);
        self::assertSame($stop === 'exit' ? '' : 'stop', $said);
        [$task] = $store->list('q')->tasks;
        self::assertSame([0, '', false], [$task->attempt, $task->err, $task->atMs > $task->modifiedMs]);
    }

    /**
     * @return iterable<array{string}>
     */
    public function waysToStop(): iterable
    {
        yield ['exit'];
        yield ['throw'];
    }

    /**
     * Handlers run between any two steps of PHP, in the middle of a call into the library too.
     */
    public function testAHandlerThatRunsInAnyCallBreaksNothing(): void
    {
        $program = <<<'PHP'
            use Millpond\Tasks\{NewDoc, NewTask, WorkerOptions};
            require $argv[1];
            pcntl_async_signals(true);
            $handled = 0;
            $client = Millpond\Millpond::connect('memory:');
            $mine = $client->tasks('mine');
            pcntl_signal(SIGUSR1, function () use (&$handled, $mine) { ++$handled; $mine->insert(new NewTask('h', $handled)); $mine->claim('h'); });
            $work = function () use ($client) {
                $store = $client->tasks('t', 'ann');
                $made = fn () => new Millpond\Tasks\Modification();
                $done = $store->modify($made()->insert(new NewTask('q', [1]))->insert(new NewTask('q', 'b', ttl: 60))->insertDoc(new NewDoc('n', 'k', 1))->insertDoc(new NewDoc('n', 'k', id: 'other')));
                foreach ($store->claims('q', wait: 0) as [$task]) {
                    $store->renew($task, $done->insertedDocs, 60);
                    foreach ($store->fetchDocs('n', array_column($done->insertedDocs, 'id')) as $doc) {
                        $store->modify($made()->deleteDoc($doc));
                    }
                    [$task] = $store->fetch($task->id);
                    $store->modify($made()->change($task->change('x', queue: 'p')->retry('why')));
                    $done = $store->modify($made()->insertDoc(new NewDoc('n', 'k', 1)));
                }
                foreach ($store->worker('p')->jobs() as $job) {
                    $job->isLost();
                    $job->claimDocs('n', 'k');
                    $job->finish($job->delete()->insert(new NewTask('o', id: 'x'), skipColliding: true));
                }
                try { $store->insert(new NewTask('o', id: 'x')); } catch (Millpond\Exception\DependencyException) { }
                $store->list('o', limit: 1); $store->listDocs('n'); $store->queues('o'); $store->areEmpty(prefixes: 'x');
                $store->namespaceStats(); $store->time();
                foreach ($store->claimDocs('n', 'k') as $doc) { $store->modify($made()->deleteDoc($doc)); }
                $store->worker('o')->drain(fn ($job) => null);
            };
            $work();
            $signals = 'while kill -USR1 ' . getmypid() . '; do sleep 0.0005; done';
            $sender = proc_open(['sh', '-c', $signals], [2 => ['file', '/dev/null', 'w']], $pipes);
            $end = hrtime(true) + 1_200_000_000;
            while (hrtime(true) < $end || $handled <= 5) { $work(); }
            proc_terminate($sender);
            proc_close($sender);
            echo 'alive', count($client->tasks('t')->queues());
            PHP;
        self::assertSame('alive0', self::program([\PHP_BINARY, '-r', $program, __DIR__ . '/bootstrap.php']));
    }
}
