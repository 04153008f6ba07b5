<?php

declare(strict_types=1);

namespace Millpond;

use Millpond\Exception\ClosedException;
use Millpond\Exception\InvalidArgumentException;
use Millpond\Internal\Connection;
use Millpond\Internal\Library;
use Millpond\Internal\PhpRedisConnection;
use Millpond\Internal\PredisConnection;

/**
 * A client that sends over one of the program's own connections; created by `Millpond::over()`. It supports
 * what works there: the steps of an Ick, and a loop that does not wait.
 */
final class BorrowedClient implements IckFactoryInterface
{
    private bool $closed = false;

    private function __construct(
        /** @internal */
        public readonly Library $library,
        private readonly Connection $connection,
    ) {
    }

    /** @internal called by `Millpond::over()` */
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

    public function ick(string $name): BorrowedIck
    {
        return new BorrowedIck($this, $name);
    }

    /**
     * Closes the client: calls throw a ClosedException from now on. The connection stays open.
     */
    public function close(): void
    {
        $this->closed = true;
    }

    /**
     * @internal the connection, unless the client was closed.
     */
    public function connection(string $operation): Connection
    {
        if ($this->closed) {
            throw new ClosedException("$operation: the client is closed", $operation);
        }

        return $this->connection;
    }
}
