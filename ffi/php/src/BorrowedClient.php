<?php

declare(strict_types=1);

namespace Millpond;

use Millpond\Exception\ClosedException;
use Millpond\Exception\InternalException;
use Millpond\Exception\InvalidArgumentException;
use Millpond\Internal\Connection;
use Millpond\Internal\Library;
use Millpond\Internal\NeedsOwnConnection;
use Millpond\Internal\PhpRedisConnection;
use Millpond\Internal\PredisConnection;
use Millpond\Internal\Script;
use Millpond\Internal\ServerError;

/**
 * A client that sends over one of the program's own connections; created by `Millpond::over()`. It supports
 * what works there: the steps of an Ick and of a volatile hash, a loop that does not wait, and queue
 * trackers. Any other method throws an InvalidArgumentException that names `Millpond::connect()`.
 */
final class BorrowedClient implements QueueFactoryInterface
{
    use NeedsOwnConnection;

    /** What it is over connections of Millpond's own. */
    private const OWN = ClientInterface::class;

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

    public function volatileHash(string $name): BorrowedVolatileHash
    {
        return new BorrowedVolatileHash($this, $name);
    }

    public function queueTracker(string $name): QueueTrackerInterface
    {
        return new BorrowedQueueTracker($this, $name);
    }

    /**
     * Closes the client: calls throw a ClosedException from now on. The connection stays open.
     */
    public function close(): void
    {
        $this->closed = true;
    }

    /**
     * @internal Makes a step.
     *
     * @param callable(string): list<string> $keys      gets the connection's prefix, and returns the keys as they are in
     *                                                  Redis
     * @param list<string>                   $arguments
     *
     * @return int|string|array<mixed>|null
     */
    public function evaluate(string $operation, callable $keys, array $arguments): int|string|array|null
    {
        $script = Script::of($this->library, $operation);
        $connection = $this->connection($operation);
        $keys = $keys($connection->prefix());
        try {
            try {
                return $connection->evaluate($script, false, $keys, $arguments);
            } catch (ServerError $error) {
                if (!\str_starts_with($error->getMessage(), 'NOSCRIPT')) {
                    throw $error;
                }

                return $connection->evaluate($script, true, $keys, $arguments);
            }
        } catch (ServerError $error) {
            $call = $this->library->call();
            $text = $error->getMessage();
            $this->library->ffi->millpond_script_error($text, \strlen($text), $call->error);
            throw $this->library->exception($call->error[0], $operation);
        }
    }

    /**
     * @internal The reply is not one of this step: the reply before it was read only in part.
     */
    public function badReply(string $operation): InternalException
    {
        $this->connection($operation)->abandon();

        return new InternalException(
            "$operation: the server's reply does not have the form of this step's",
            $operation,
        );
    }

    private function connection(string $operation): Connection
    {
        if ($this->closed) {
            throw new ClosedException("$operation: the client is closed", $operation);
        }

        return $this->connection;
    }
}
