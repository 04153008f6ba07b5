<?php

declare(strict_types=1);

namespace Millpond\Tests;

use Millpond\BorrowedClient;
use Millpond\Client;
use Millpond\Entry;
use Millpond\Exception\DependencyException;
use Millpond\Exception\InvalidArgumentException;
use Millpond\Millpond;
use Millpond\ShuffleOptions;
use Millpond\ShuffleQueue;
use Millpond\Tasks\Job;
use Millpond\Tasks\Modification;
use Millpond\Tasks\TaskStore;

abstract class TestCase extends \PHPUnit\Framework\TestCase
{
    /** The name of a queue that no other test uses. */
    protected string $name;

    /** @var list<string> */
    private array $folders = [];

    /** @var array<string, Client> the clients of stores of tasks, by the kind */
    private array $clients = [];

    protected function setUp(): void
    {
        $this->name = \bin2hex(\random_bytes(8));
    }

    protected function tearDown(): void
    {
        $this->clients = [];
        foreach ($this->folders as $folder) {
            \exec('rm -rf ' . \escapeshellarg($folder));
        }
    }

    /**
     * The kinds of client that all tests of an Ick and of a queue tracker run with.
     *
     * @return array<string, array{string}>
     */
    public function kinds(): array
    {
        return $this->ownKinds() + ['phpredis' => ['phpredis'], 'phpredis-cluster' => ['phpredis-cluster'],
            'predis' => ['predis']];
    }

    /**
     * Those with connections of their own.
     *
     * @return array<string, array{string}>
     */
    public function ownKinds(): array
    {
        return ['memory' => ['memory'], 'file' => ['file'], 'redis' => ['redis'], 'cluster' => ['cluster']];
    }

    /**
     * Leases that are renewed ten times a second, however long they are: a test sees a renewal soon, and loses
     * no lease where the machine stands still.
     */
    protected const RENEWING = '?renew_every=100ms';

    /**
     * A client that looks for work when it is woken, and not every few seconds as well: what a wait returns then
     * shows that the wake-up came.
     */
    protected const ONLY_WOKEN = '?poll=never';

    /**
     * With a minute for a step: a busy machine takes long over 260,000 members.
     *
     * @param string $options of the URL, for a client with connections of its own
     */
    protected function connect(string $kind, string $options = ''): Client|BorrowedClient
    {
        return match ($kind) {
            'phpredis' => Millpond::over(Servers::shared()->admin()),
            'phpredis-cluster' => Millpond::over($this->redisCluster()),
            'predis' => Millpond::over($this->predis()),
            default => Millpond::connect($this->url($kind) . \strtr($options, $kind === 'file' ? ['?' => '&'] : []), timeout: 60),
        };
    }

    /**
     * The URL of a client with connections of its own; a directory is a new one each time.
     */
    protected function url(string $kind): string
    {
        return match ($kind) {
            'memory' => 'memory:',
            'file' => 'file:' . $this->folder() . '/data?sync=never',
            default => Servers::shared($kind)->url,
        };
    }

    /**
     * The shuffle queue of this test; its name ties its keys to one slot.
     */
    protected function shuffleQueue(string $kind, mixed ...$settings): ShuffleQueue
    {
        return $this->connect($kind)->shuffleQueue("{{$this->name}}", new ShuffleOptions(...$settings));
    }

    /**
     * The store of tasks of this test, for a claimant. With another store it is on the same client, since
     * an embedded engine is a client's own.
     */
    protected function store(
        string $kind,
        string $claimant = 'ann',
        ?TaskStore $beside = null,
        string $options = '',
    ): TaskStore {
        $this->clients[$kind] = $beside === null ? $this->connect($kind, $options) : $this->clients[$kind];

        return $this->clients[$kind]->tasks("{{$this->name}}", $claimant);
    }

    /**
     * Waits for this many more renewals of a job.
     */
    protected static function waitForRenewals(Job $job, int $count): void
    {
        $version = $job->handle()->version + $count;
        self::waitFor(static fn (): bool => $job->handle()->version >= $version);
    }

    /**
     * Deletes the task of a job, which may be renewed at the same moment.
     */
    protected static function deleteHeld(TaskStore $store, Job $job): void
    {
        self::waitFor(static function () use ($store, $job): bool {
            try {
                $store->modify((new Modification())->delete($job->handle()));
            } catch (DependencyException) {
                return false;
            }

            return true;
        });
    }

    protected function redisCluster(float $readTimeout = 60.0): \RedisCluster
    {
        $seeds = \array_map(
            static fn (int $port): string => "127.0.0.1:$port",
            Servers::shared('cluster')->ports,
        );

        return new \RedisCluster(null, $seeds, 5.0, $readTimeout);
    }

    /**
     * @param array<string, mixed> $options
     */
    protected function predis(array $options = []): \Predis\Client
    {
        return new \Predis\Client(['host' => '127.0.0.1', 'port' => Servers::shared()->ports[0]], $options);
    }

    /**
     * An empty folder that is gone after the test.
     */
    protected function folder(): string
    {
        $folder = \sys_get_temp_dir() . '/millpond-php-' . \bin2hex(\random_bytes(8));
        \mkdir($folder);

        return $this->folders[] = $folder;
    }

    /**
     * @param list<Entry> $entries
     *
     * @return list<array{string, float}>
     */
    protected static function plain(array $entries): array
    {
        return \array_map(static fn (Entry $entry): array => [$entry->member, $entry->score], $entries);
    }

    /**
     * What a call throws.
     */
    public static function thrown(callable $call): \Throwable
    {
        try {
            $call();
        } catch (\Throwable $thrown) {
            self::assertDoesNotMatchRegularExpression(self::NAMES_OF_C, $thrown->getMessage());

            return $thrown;
        }
        self::fail('nothing was thrown');
    }

    /**
     * That a call refuses its arguments, with a message that has this.
     */
    protected static function assertRefused(string $message, callable $call): void
    {
        $thrown = self::thrown($call);
        self::assertInstanceOf(InvalidArgumentException::class, $thrown);
        self::assertStringContainsString($message, $thrown->getMessage());
        self::assertLessThan(300, \strlen($thrown->getMessage()));
    }

    /** What no error says to a caller in PHP. */
    private const NAMES_OF_C = '/MILLPOND_|(?:timeout|lease|backoff|backoff_max|wait|delay|ttl|keep_consumers)_ms/';

    /**
     * Waits for something that comes soon.
     *
     * @param callable(): bool $isSo
     */
    protected static function waitFor(callable $isSo): void
    {
        for ($until = \microtime(true) + 60; !$isSo();) {
            self::assertLessThan($until, \microtime(true), 'it does not come');
            \usleep(5_000);
        }
    }

    /**
     * Runs a program, which may neither fail nor hang, and returns what it printed.
     *
     * @param list<string>          $command
     * @param array<string, string> $environment
     */
    protected static function program(array $command, array $environment = [], ?string $folder = null): string
    {
        $streams = [0 => ['file', '/dev/null', 'r'], 1 => ['pipe', 'w'], 2 => ['redirect', 1]];
        $process = \proc_open(
            ['timeout', '--kill-after=5', '60', ...$command],
            $streams,
            $pipes,
            $folder,
            $environment + \getenv(),
        );
        $output = \stream_get_contents($pipes[1]);
        self::assertSame(0, \proc_close($process), $output);

        return $output;
    }

    /**
     * Does it in a child, which may neither fail nor hang.
     */
    protected static function inChild(callable $work): void
    {
        self::joined(self::forked($work));
    }

    /**
     * Begins it in a child.
     *
     * @return int the child, for joined()
     */
    protected static function forked(callable $work): int
    {
        $child = \pcntl_fork();
        if ($child !== 0) {
            return $child;
        }
        $status = 1;
        try {
            $work();
            $status = 0;
        } catch (\Throwable $failure) {
            \fwrite(\STDERR, "child: $failure\n");
        }
        // Not exit: what PHPUnit does at its end is the parent's.
        self::end($status);
    }

    protected static function joined(int $child): void
    {
        $until = \microtime(true) + 60;
        while (\microtime(true) < $until) {
            if (\pcntl_waitpid($child, $status, \WNOHANG) === $child) {
                self::assertTrue(\pcntl_wifexited($status) && \pcntl_wexitstatus($status) === 0, "child: $status");

                return;
            }
            \usleep(5_000);
        }
        \posix_kill($child, \SIGKILL);
        \pcntl_waitpid($child, $status);
        self::fail('the child hangs');
    }

    /**
     * Does it in a child, with a client of a server that is paused and `$interrupted`, which makes a call that the server
     * holds, and during which a signal handler throws.
     *
     * @param callable(Client, \Closure): void $work
     */
    protected static function interrupting(callable $work): void
    {
        $server = new PausedServer();
        self::inChild(static function () use ($work, $server): void {
            \pcntl_async_signals(true);
            \pcntl_signal(\SIGUSR1, static fn () => throw new \DomainException());
            $work(Millpond::connect($server->url()), static function (callable $call) use ($server): void {
                self::assertInstanceOf(\DomainException::class, self::thrown(static fn () => $server->interrupt($call)));
            });
        });
    }

    private static function end(int $status): never
    {
        \FFI::cdef('void _exit(int status);')->_exit($status);
        throw new \LogicException('unreachable');
    }

    /**
     * An object that is written as this value.
     */
    protected static function serializable(mixed $value): \JsonSerializable
    {
        return new class ($value) implements \JsonSerializable {
            public function __construct(private readonly mixed $value)
            {
            }

            public function jsonSerialize(): mixed
            {
                return $this->value;
            }
        };
    }
}
