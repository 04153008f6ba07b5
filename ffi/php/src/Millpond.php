<?php

declare(strict_types=1);

namespace Millpond;

use Millpond\Internal\Arguments;
use Millpond\Internal\Library;
use Millpond\Internal\ShuffleResults;
use Psr\Log\LoggerInterface;

/**
 * The two entry points: a client with connections of its own, and one over a connection that is there.
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
     * A Redis client connects when it first has something to send; it can be made before a fork. When
     * opening a `file:` finds something that an operator should know, such as bytes that were cut off,
     * the logger gets a warning, or without one an E_USER_WARNING is raised; see `Client::recovery()`.
     *
     * @param string      $url            one of the above; it can hold more options, as in `?pool=4`
     * @param float|null  $timeout        seconds that one call takes at most, connecting and trying
     *                                    again included; 5 if it is not given
     * @param float|null  $connectTimeout seconds that one attempt to connect takes at most; 1
     * @param int|null    $retries        attempts after the first to connect, or to reach a server
     *                                    that is busy, loading or failing over; 10
     * @param string|null $username       the user, as it is: nothing is unescaped
     * @param string|null $password       the password, as it is
     * @param string|null $clientName     the name of the connections in `CLIENT LIST`
     * @param LoggerInterface|null $logger gets what no exception says: warnings of a recovery, handlers of
     *                                    workers that failed (warning), and ends of jobs that were refused
     *                                    (error). Needs the package psr/log
     * @param ManualClock|null $clock     the clock of an embedded engine, for tests; by default the system's.
     *                                    Clients that share an engine share its clock: one that brings none
     *                                    takes the engine's, and one that brings another is refused. So is a
     *                                    clock for a server, whose time is the server's
     *
     * @throws Exception\InvalidUrlException      for a URL or an option in it that is not known
     * @throws Exception\InvalidArgumentException for another argument that is wrong
     * @throws Exception\LockedException          if another process holds the directory of `file:`;
     *                                            use `redis:` to share queues
     * @throws Exception\CorruptException         if that directory is damaged or lacks what was on
     *                                            disk, unless the URL says `?repair`
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
     * A client that sends through a connection that is there, where a second one is not wanted.
     *
     * It has the same Icks, without what needs a thread or a connection of its own: leases and loops that
     * wait. Channels, shuffle queues and stores of tasks need `connect()`. The connection's prefix, if it
     * has one, becomes a part of the name of every Ick: `ick('files')` behind the prefix `app:` is what
     * `ick('app:files')` is for other clients. Its serializer and its compression are not used.
     *
     * @param \Redis|\RedisCluster|\Predis\ClientInterface $connection phpredis, or Predis to one
     *        server; Predis to a cluster or to replicas sends calls again by itself, which could
     *        lose members, and is refused
     *
     * @throws Exception\InvalidArgumentException for any other connection
     * @throws Exception\LibraryException         if libmillpond cannot be used here
     */
    public static function over(object $connection): BorrowedClient
    {
        return BorrowedClient::over(Library::get(), $connection);
    }

    /**
     * The streams of a tenant of a shuffle queue: `$streamsPerShard` of a queue's `$streams`, drawn
     * from a hash of its key, the same in every language. Makes no call.
     *
     *     echo implode(' ', Millpond::shard(16, 4, 'tuna')), "\n"; // 15 13 2 12
     *
     * @param int    $streams         from 1 to 65,536
     * @param int    $streamsPerShard from 1 to `$streams`
     * @param string $key             the tenant, any bytes but none
     *
     * @return list<int>
     *
     * @throws Exception\InvalidArgumentException for an empty key and for other numbers
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
