<?php

declare(strict_types=1);

namespace Millpond\Internal;

use Millpond\Client;
use Millpond\Exception\ClosedException;
use Millpond\Exception\InvalidArgumentException;
use Millpond\Ick;
use Millpond\IckChannel;
use Millpond\Recovery;
use Millpond\ShuffleQueue;
use Millpond\Tasks\TaskStore;
use Millpond\TrackKeys;

/**
 * A client that sends through a connection that the program owns.
 *
 * @internal
 */
final class ForeignClient implements Client
{
    private bool $closed = false;

    private function __construct(
        public readonly Library $library,
        private readonly Connection $connection,
    ) {
    }

    public static function over(Library $library, object $connection): self
    {
        return new self($library, match (true) {
            $connection instanceof \Redis, $connection instanceof \RedisCluster => new PhpRedisConnection($connection),
            $connection instanceof \Predis\ClientInterface => PredisConnection::of($connection),
            default => throw new InvalidArgumentException(
                'connection must be Redis, RedisCluster or Predis\ClientInterface, not ' . $connection::class,
            ),
        });
    }

    public function ick(string $name): Ick
    {
        return new ForeignIck($this, $name);
    }

    public function ickChannel(string $name, int $shards): IckChannel
    {
        throw new InvalidArgumentException(
            'a channel needs a connection of Millpond\'s own, made by Millpond::connect()',
        );
    }

    public function shuffleQueue(
        string $name,
        ?int $streams = null,
        ?int $streamsPerShard = null,
        ?float $ttl = null,
        TrackKeys $trackKeys = TrackKeys::Global,
        ?float $deadTtl = null,
    ): ShuffleQueue {
        throw new InvalidArgumentException(
            'a shuffle queue needs a connection of Millpond\'s own, made by Millpond::connect()',
        );
    }

    public function tasks(string $name, ?string $claimant = null): TaskStore
    {
        throw new InvalidArgumentException(
            'a store of tasks needs a connection of Millpond\'s own, made by Millpond::connect()',
        );
    }

    public function recovery(): ?Recovery
    {
        return null;
    }

    public function close(): void
    {
        $this->closed = true;
    }

    /**
     * The connection, unless the client was closed.
     */
    public function connection(string $operation): Connection
    {
        if ($this->closed) {
            throw new ClosedException("$operation: the client is closed", $operation);
        }

        return $this->connection;
    }
}
