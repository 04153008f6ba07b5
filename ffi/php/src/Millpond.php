<?php

declare(strict_types=1);

namespace Millpond;

use Millpond\Internal\Arguments;
use Millpond\Internal\Library;
use Millpond\Internal\ShuffleResults;
use Psr\Log\LoggerInterface;

/**
 * The two entry points: a client with its own connections, and one over an existing connection.
 *
 *     $files = Millpond::connect('memory:')->ick('files');
 *     $files->add([[1.0, 'a.txt'], [2.0, 'b.txt']]);
 *     foreach ($files->batches(100) as $batch) {
 *         foreach ($batch as $entry) {
 *             echo $entry->member, "\n";
 *         }
 *     }
 */
final class Millpond
{
    private function __construct()
    {
    }

    /**
     * Connects to a server or opens an embedded engine.
     *
     * | URL                                         | where the queues are                       |
     * | ------------------------------------------- | ------------------------------------------ |
     * | `memory:`                                   | embedded, gone with the client             |
     * | `memory:name`                               | embedded, shared in the process            |
     * | `file:dir`                                  | embedded and durable, in this directory    |
     * | `redis://user:password@host:6379/db`        | one server; `rediss:` for TLS              |
     * | `redis+unix:///path/to/socket`              | one server on a Unix socket                |
     * | `redis+sentinel://host,host2/service/db`    | follows failovers                          |
     * | `redis+cluster://host,host2`                | Redis Cluster                              |
     *
     * A Redis client connects when it first sends something, so it can be created before a fork. If opening a
     * `file:` finds something that an operator should know about, such as bytes that were cut off, the logger
     * gets a warning, or without a logger an E_USER_WARNING is raised; see `Client::recovery()`.
     *
     * @param string      $url            one of the above; it can contain further options, as in `?pool=4`
     * @param float|null  $timeout        the most seconds that one call takes, including connecting and
     *                                    retries; 5 by default
     * @param float|null  $connectTimeout the most seconds for one attempt to connect; 1 by default
     * @param int|null    $retries        attempts after the first to connect, or to reach a server that is
     *                                    busy, loading or failing over; 10 by default
     * @param string|null $username       the user, as it is: nothing is unescaped
     * @param string|null $password       the password, as it is
     * @param string|null $clientName     the name of the connections in `CLIENT LIST`
     * @param LoggerInterface|null $logger gets what no exception reports: warnings of a recovery, failures of
     *                                    workers' handlers (warning), and ends of jobs that were refused
     *                                    (error). Needs the package psr/log
     * @param ManualClock|null $clock     the clock of an embedded engine, for tests; by default the system's.
     *                                    Clients that share an engine share its clock: a client without one
     *                                    uses the engine's, and a client with a different one is refused. So is
     *                                    a clock for a server, which has its own time
     *
     * @throws Exception\InvalidUrlException      for a URL, or an option in it, that is not supported
     * @throws Exception\InvalidArgumentException for any other invalid argument
     * @throws Exception\LockedException          if another process holds the directory of `file:`;
     *                                            use `redis:` to share queues
     * @throws Exception\CorruptException         if the data in that directory is damaged, or lacks what was
     *                                            on disk, unless the URL has `?repair`
     * @throws Exception\LibraryException         if libmillpond cannot be used here
     */
    public static function connect(
        #[\SensitiveParameter] string $url,
        ?float $timeout = null,
        ?float $connectTimeout = null,
        ?int $retries = null,
        ?string $username = null,
        #[\SensitiveParameter] ?string $password = null,
        ?string $clientName = null,
        ?LoggerInterface $logger = null,
        ?ManualClock $clock = null,
    ): Client {
        if ($clientName !== null && \preg_match('//u', $clientName) !== 1) {
            throw new Exception\InvalidArgumentException('clientName is not UTF-8');
        }
        $client = Client::make(Library::get(), [
            $url,
            $username,
            $password,
            $clientName,
            Arguments::optionalLimit('timeout', $timeout),
            Arguments::optionalLimit('connectTimeout', $connectTimeout),
            $retries === null ? Arguments::NOT_SET : Arguments::smallSize('retries', $retries),
            true,
            $clock?->address() ?? 0,
        ], $logger);
        foreach ($client->recovery()?->warnings ?? [] as $warning) {
            $logger === null
                ? \trigger_error("millpond: $warning", \E_USER_WARNING)
                : $logger->warning('millpond: {warning}', ['warning' => $warning]);
        }

        return $client;
    }

    /**
     * A client that sends over an existing connection, for a program that does not want a second one.
     *
     * It has the same Icks, volatile hashes and queue trackers, except for what needs a separate thread or
     * connection: leases and locks that are renewed, and loops that wait. Channels, families of hashes,
     * recruiters and all other queues need `connect()`, and an error says so. If the connection has a prefix, it
     * becomes part of the name of every Ick: `ick('files')` with the prefix `app:` is what `ick('app:files')` is
     * for other clients. The keys of a volatile hash and of a queue tracker have no prefix, so
     * `volatileHash('pages')` is the same hash for all clients. The connection's serializer and compression are
     * not used.
     *
     * @param \Redis|\RedisCluster|\Predis\ClientInterface $connection phpredis, or Predis to one
     *        server; Predis to a cluster or to replicas resends calls by itself, which could lose
     *        members, and is refused
     *
     * @throws Exception\InvalidArgumentException for any other connection
     * @throws Exception\LibraryException         if libmillpond cannot be used here
     */
    public static function over(object $connection): BorrowedClient
    {
        return BorrowedClient::over(Library::get(), $connection);
    }

    /**
     * The streams of a shuffle queue that a tenant writes to: `$streamsPerShard` of the queue's `$streams`,
     * drawn from a hash of the tenant's key, the same in every language. Makes no call.
     *
     *     echo implode(' ', Millpond::shard(16, 4, 'tuna')), "\n"; // 15 13 2 12
     *
     * @param int    $streams         from 1 to 65,536
     * @param int    $streamsPerShard from 1 to `$streams`
     * @param string $key             the tenant's key: any bytes, at least one
     *
     * @return list<int>
     *
     * @throws Exception\InvalidArgumentException for an empty key and for numbers out of range
     * @throws Exception\LibraryException         if libmillpond cannot be used here
     */
    public static function shard(int $streams, int $streamsPerShard, string $key): array
    {
        return ShuffleResults::shard(
            Library::get(),
            Arguments::smallSize('streams', $streams),
            Arguments::smallSize('streamsPerShard', $streamsPerShard),
            $key,
        );
    }

    /**
     * The version of libmillpond, such as `0.1.0`.
     *
     * @throws Exception\LibraryException if libmillpond cannot be used here
     */
    public static function version(): string
    {
        return Library::get()->ffi->millpond_version();
    }
}
