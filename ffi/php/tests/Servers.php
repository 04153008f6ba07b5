<?php

declare(strict_types=1);

namespace Millpond\Tests;

/**
 * Redis servers of the suite's own: the binary millpond-test-servers of the workspace starts them.
 * They live as long as this object, and die with this process.
 */
final class Servers
{
    /** @var array<string, self> */
    private static array $shared = [];

    public readonly string $url;

    /** @var list<int> */
    public readonly array $ports;

    /** @var resource */
    private $process;

    /** @var array<int, resource> */
    private array $pipes = [];

    public function __construct(string $kind = 'redis')
    {
        $streams = [0 => ['pipe', 'r'], 1 => ['pipe', 'w'], 2 => \STDERR];
        $this->process = \proc_open([self::binary(), $kind], $streams, $this->pipes)
            ?: throw new \RuntimeException('the test servers cannot be started');
        $started = \json_decode($this->line(), true, flags: \JSON_THROW_ON_ERROR);
        $this->url = $started['url'];
        $this->ports = \array_column($started['servers'], 'port');
    }

    public function __destruct()
    {
        // A child of a fork has copies of the pipes, and they are its parent's.
        \fclose($this->pipes[0]);
        \fclose($this->pipes[1]);
    }

    /**
     * Servers that all tests use, so no test may stop them.
     */
    public static function shared(string $kind = 'redis'): self
    {
        return self::$shared[$kind] ??= new self($kind);
    }

    /**
     * Kills, stops, continues or restarts them: see the binary.
     */
    public function run(string $command): void
    {
        \fwrite($this->pipes[0], "$command\n");
        $response = $this->line();
        if ($response !== "ok\n") {
            throw new \RuntimeException("$command: $response");
        }
    }

    /**
     * A connection that is not Millpond's.
     */
    public function admin(): \Redis
    {
        $redis = new \Redis();
        $redis->connect('127.0.0.1', $this->ports[0]);

        return $redis;
    }

    /**
     * The ids of the connections of this name.
     *
     * @return list<string>
     */
    public function clients(string $name): array
    {
        $listed = \array_filter(
            $this->admin()->client('list'),
            static fn (array $client): bool => $client['name'] === $name,
        );

        return \array_column($listed, 'id');
    }

    private function line(): string
    {
        return \fgets($this->pipes[1]) ?: throw new \RuntimeException('the test servers have ended');
    }

    private static function binary(): string
    {
        $named = \getenv('MILLPOND_TEST_SERVERS');
        if (\is_string($named) && $named !== '') {
            return $named;
        }
        $workspace = \dirname(__DIR__, 3);
        \exec('cd ' . \escapeshellarg($workspace)
            . ' && cargo build --quiet -p millpond-tests --bin millpond-test-servers', result_code: $failed);
        if ($failed !== 0) {
            throw new \RuntimeException('millpond-test-servers cannot be built');
        }

        return (\getenv('CARGO_TARGET_DIR') ?: "$workspace/target") . '/debug/millpond-test-servers';
    }
}
