<?php

declare(strict_types=1);

namespace Millpond\Tests;

use Millpond\Exception\ForkedException;
use Millpond\Exception\InvalidArgumentException;
use Millpond\Millpond;
use Millpond\Tasks\Modification;
use Millpond\Tasks\NewTask;
use Millpond\Tasks\TaskStore;

/**
 * Workers as programs: what signals, exit() and death do to them, in one process and in several.
 */
final class WorkerProcessesTest extends TestCase
{
    private TaskStore $tasks;

    /** @var resource|null a program that works */
    private $program;

    /** @var resource what it prints */
    private $output;

    protected function setUp(): void
    {
        parent::setUp();
        $this->tasks = Millpond::connect(Servers::shared()->url, timeout: 60)->tasks("{{$this->name}}");
    }

    /**
     * Begins a program that works on queue q.
     *
     * @param string $handler what it does with $job
     * @param string $options of run()
     * @param string $before  what the program does before that
     */
    private function begin(string $handler, string $options, int $prefetch = 4, float $lease = 60, string $before = ''): void
    {
        $program = <<<PHP
            use Millpond\RetryJob; use Millpond\Tasks\{NewTask, WorkerOptions};
            require \$argv[1];
            \$store = Millpond\Millpond::connect(\$argv[2])->tasks(\$argv[3]);
            \$worker = \$store->worker('q', new WorkerOptions(lease: $lease, prefetch: $prefetch));
            $before
            \$worker->run(function (\$job) use (\$store, \$worker) { $handler }, $options);
            echo "ended\n";
            PHP;
        $this->start($program, Servers::shared()->url, "{{$this->name}}");
    }

    private function start(string $program, string ...$arguments): void
    {
        $command = [\PHP_BINARY, '-r', $program, __DIR__ . '/bootstrap.php', ...$arguments];
        $this->program = \proc_open($command, [1 => ['pipe', 'w'], 2 => ['redirect', 1]], $pipes);
        $this->output = $pipes[1];
    }

    /**
     * Sends signals to it, in turn when these queues are there.
     *
     * @param array<string, int> $signals by the queue
     */
    private function signal(array $signals): void
    {
        foreach ($signals as $queue => $signal) {
            self::waitFor(fn (): bool => isset($this->tasks->queues()[$queue]));
            \proc_terminate($this->program, $signal);
        }
    }

    /**
     * What it, and all that it has forked, printed until the end.
     */
    private function ended(): string
    {
        $printed = \stream_get_contents($this->output);
        \proc_close($this->program);

        return $printed;
    }

    private function insert(mixed ...$values): void
    {
        $all = new Modification();
        \array_map(static fn (mixed $value) => $all->insert(new NewTask('q', $value)), $values);
        $this->tasks->modify($all);
    }

    /**
     * @return array<string, array{string}>
     */
    public function ways(): array
    {
        return ['one process' => ['stopWithin: 60'], 'processes' => ['processes: 3, stopWithin: 60']];
    }

    /** @dataProvider ways */
    public function testASecondSignalStopsAtOnce(string $options): void
    {
        $this->insert('slow');
        $handler = 'if ($job->task->claims > 1) { return; } $store->insert(new NewTask("begun"));'
            . ' while (!isset($store->queues("go")["go"])) { usleep(1_000); }';
        $this->begin($handler, $options);
        $this->signal(['begun' => \SIGTERM]);
        \usleep(200_000);
        self::assertNull($this->tasks->claim('q'), 'the first one waits');
        \proc_terminate($this->program, \SIGINT);
        self::waitFor(fn (): bool => $this->tasks->claim('q') !== null);
        $this->tasks->insert(new NewTask('go'));
        self::assertSame("ended\n", $this->ended());
        self::assertSame(0, $this->tasks->list('q')->tasks[0]->attempt);
    }

    /** @dataProvider ways */
    public function testAHandlerOfTheProgramIsCalledToo(string $options): void
    {
        $this->insert('slow');
        $handler = '$store->insert(new NewTask("begun")); while (!isset($store->queues()["go"])) { usleep(1_000); }';
        $this->begin($handler, $options, before: 'pcntl_signal(SIGTERM, function ($signal, $details) { echo "$signal $details[signo]\n"; });');
        $this->signal(['begun' => \SIGTERM]);
        self::assertSame("15 15\n", \fgets($this->output));
        $this->tasks->insert(new NewTask('go'));
        self::assertSame("ended\n", $this->ended());
        self::assertArrayNotHasKey('q', $this->tasks->queues(), 'it was done');
    }

    public function testAProcessThatDiesIsReplaced(): void
    {
        $this->insert('die', 'exit', 'memory', 'throw', ...\range(1, 50));
        $handler = <<<'PHP'
            match ($job->task->claims > 1 ? 'again' : $job->task->value()) {
                'die' => posix_kill(getmypid(), SIGKILL),
                'exit' => exit(3),
                'memory' => ini_set('memory_limit', '32M') && str_repeat('x', 1 << 28),
                'throw' => throw new RetryJob('later', delay: 0.1),
                default => null,
            };
            return $job->delete()->insert(new NewTask('out', $job->task->value()));
            PHP;
        // What a process has when it dies is available again after its lease.
        $this->begin($handler, 'processes: 2', prefetch: 0, lease: 2);
        self::waitFor(fn (): bool => ($this->tasks->queues()['out'] ?? 0) === 52);
        \proc_terminate($this->program);
        $printed = $this->ended();
        self::assertStringEndsWith("ended\n", $printed);
        // These two wait for another attempt.
        $errs = [];
        $lines = ['ended with signal 9; another begins in 0.', 'ended with status 3; another begins in 0.', 'ended with status 255'];
        foreach ($this->tasks->list('q')->tasks as $task) {
            $errs[$task->value()] = $task->err;
            $lines[] = "millpond: task $task->id of queue q ended its process: $task->err\n";
        }
        foreach ($lines as $line) {
            self::assertStringContainsString($line, $printed);
        }
        self::assertSame('exit', $errs['exit']);
        self::assertStringStartsWith('Fatal error: Allowed memory size of ', $errs['memory']);
        self::assertCount(2, $errs);
    }

    public function testAJobThatDoesNotEndIsKilled(): void
    {
        $this->insert('slow');
        $this->begin('$store->insert(new NewTask("begun")); while (true) { usleep(1_000); }', 'processes: 2, stopWithin: 0.2');
        $this->signal(['begun' => \SIGTERM]);
        self::assertSame("ended\n", $this->ended());
        self::assertNotNull($this->tasks->claim('q'), 'it was given back');
    }

    public function testTheProcessesOfOneThatIsKilledStop(): void
    {
        $this->begin('return;', 'processes: 2');
        $this->insert('first');
        self::waitFor(fn (): bool => $this->tasks->queues() === []);
        \proc_terminate($this->program, \SIGKILL);
        self::assertSame('', $this->ended());
    }

    public function testExitIsAnAttempt(): void
    {
        $this->insert(1, 2, 3);
        $this->begin('echo "leaves\n"; exit;', 'stopWithin: 1');
        self::assertStringStartsWith("leaves\n", $this->ended());
        self::assertCount(2, $this->tasks->claimMany('q', 10));
        $left = \array_filter($this->tasks->list('q')->tasks, static fn ($task) => $task->attempt === 1);
        self::assertSame(['exit'], \array_column($left, 'err'));
    }

    /**
     * @return iterable<string, array{string, string, string}>
     */
    public function ends(): iterable
    {
        foreach (['shuffle', 'tasks', 'events'] as $queue) {
            yield "$queue, exit" => [$queue, 'exit(0)', 'exit'];
            yield "$queue, fatal" => [$queue, 'trigger_error("no", E_USER_ERROR)', 'Fatal error: no'];
            // After many small values nothing is left for a hook.
            $fills = 'ini_set("memory_limit", "32M"); for ($all = null;; $all = [$all, str_repeat("x", 1_000)])';
            yield "$queue, memory" => [$queue, $fills, 'Fatal error: Allowed memory size of 33554432 bytes exhausted'];
        }
    }

    /** @dataProvider ends */
    public function testAHandlerThatEndsItsProcessIsReported(string $queue, string $handler, string $err): void
    {
        $this->start(<<<PHP
            require \$argv[1];
            \$row = Millpond\Tests\Queue::all()['$queue'];
            \$queue = (\$row->open)(Millpond\Millpond::connect('memory:'), 'q');
            (\$row->put)(\$queue, ['first', 'second']);
            (\$row->worker)(\$queue, prefetch: 2)->run(function (\$job) { $handler; }, function (\$job, \$error) use (\$row) {
                echo 'onError ', \$row->texts(\$job)[0], ' ', \$error->getMessage(), str_repeat(' ', 1 << 20), "\n";
            }, function (\$report) use (\$row) {
                echo 'onEvent ', \$row->texts(\$report->of)[0], ' ', \$report->kind->value, " \$report->message\n";
            });
            PHP);
        $lines = \array_values(\preg_grep('/^on(Error|Event) /', \explode("\n", $this->ended())));
        self::assertCount(3, $lines);
        [$text, $other] = \str_contains($lines[0], 'first') ? ['first', 'second'] : ['second', 'first'];
        self::assertMatchesRegularExpression("/^onError $text (task|message|event) \S+ .*ended its process: $err/", $lines[0]);
        self::assertMatchesRegularExpression("/^onEvent $text retried .*: $err/", $lines[1]);
        self::assertMatchesRegularExpression("/^onEvent $other released /", $lines[2]);
    }

    /**
     * The end of a program by its own signal handler is not the job's doing.
     *
     * @dataProvider waysToStop
     */
    public function testWhatASignalHandlerDoesIsNoAttempt(string $stop, bool $stopOnSignals): void
    {
        $program = <<<'PHP'
            require $argv[1];
            $store = Millpond\Millpond::connect($argv[2])->tasks($argv[3]);
            pcntl_async_signals(true);
            pcntl_signal(SIGTERM, static function () use ($argv): void {
                $argv[4] === 'exit' ? exit(0) : throw new DomainException('stop');
            });
            try {
                $store->worker('q')->run(static fn ($job) => posix_kill(getmypid(), SIGTERM), stopOnSignals: $argv[5] === '1');
            } catch (DomainException $stop) {
                echo $stop->getMessage(), is_int(pcntl_signal_get_handler(SIGTERM)) ? ' lost' : '';
            }
            PHP;
        $this->insert(1);
        $command = [\PHP_BINARY, '-r', $program, __DIR__ . '/bootstrap.php', Servers::shared()->url, "{{$this->name}}", $stop, (string) (int) $stopOnSignals];
        self::assertSame($stop === 'exit' ? '' : 'stop', self::program($command));
        [$task] = $this->tasks->list('q')->tasks;
        self::assertSame([0, '', false], [$task->attempt, $task->err, $task->atMs > $task->modifiedMs]);
    }

    /**
     * @return iterable<array{string, bool}>
     */
    public function waysToStop(): iterable
    {
        foreach (['exit', 'throw'] as $stop) {
            yield [$stop, false];
            yield [$stop, true];
        }
    }

    public function testWhatAProcessCannotHealEndsAll(): void
    {
        $program = <<<'PHP'
            require $argv[1];
            $worker = Millpond\Millpond::connect('memory:')->tasks('t')->worker('q');
            $before = [pcntl_async_signals(), pcntl_signal_get_handler(SIGTERM)];
            try {
                $worker->run(fn () => null, processes: 3);
            } catch (Millpond\Exception\ForkedException $error) {
                echo get_class($error), $before === [pcntl_async_signals(), pcntl_signal_get_handler(SIGTERM)] ? ' restored' : '';
            }
            $worker->stop();
            $worker->run(fn () => null, processes: 3);
            echo ' stopped';
            PHP;
        $printed = self::program([\PHP_BINARY, '-r', $program, __DIR__ . '/bootstrap.php']);
        self::assertSame(ForkedException::class . ' restored stopped', $printed);
        $thrown = self::thrown(fn () => $this->tasks->worker('q')->run(static fn () => null, processes: 0));
        self::assertInstanceOf(InvalidArgumentException::class, $thrown);
    }
}
