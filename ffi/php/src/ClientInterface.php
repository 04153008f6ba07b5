<?php

declare(strict_types=1);

namespace Millpond;

use Millpond\Tasks\TaskStoreInterface;

/**
 * A server or an embedded engine, and the access to its queues; made by `Millpond::connect()`. On
 * Redis it can be used after a fork too.
 */
interface ClientInterface extends IckFactoryInterface
{
    /**
     * The Ick of this name. Makes no call.
     *
     * @param string $name any bytes, at most 64 KiB
     */
    public function ick(string $name): IckInterface;

    /**
     * The channel of several Icks of this name. Makes no call.
     *
     * @param string $name   any bytes, at most 64 KiB
     * @param int    $shards how many Icks, from 1 to 65,536
     *
     * @throws Exception\InvalidArgumentException for another number of Icks
     */
    public function ickChannel(string $name, int $shards): IckChannelInterface;

    /**
     * The shuffle queue of this name, which many tenants share so that one tenant's burst delays
     * only itself. Makes no call.
     *
     *     $client = Millpond::connect('memory:');
     *     $queue = $client->shuffleQueue('jobs', new ShuffleOptions(streams: 64, streamsPerShard: 4));
     *     echo $queue->resize(128), "\n"; // 128
     *
     * @param string         $name    any bytes but none, at most 64 KiB; on a cluster it has to hold a `{tag}`
     * @param ShuffleOptions $options the queue's number of streams and so on
     *
     * @throws Exception\InvalidArgumentException for a number that is negative or huge; other invalid
     *                                            settings are refused by the step that needs them
     */
    public function shuffleQueue(string $name, ShuffleOptions $options = new ShuffleOptions()): ShuffleQueueInterface;

    /**
     * The store of tasks and documents of this name, for a claimant. Makes no call.
     *
     * @param string      $name     any bytes but none, at most 64 KiB
     * @param string|null $claimant the name that claims are made under: 1 to 64 characters; null is 16
     *                              random hexadecimal digits. It is no secret: any program that uses a
     *                              claimant's name can do what that claimant can. Each job of a worker
     *                              has a claimant of its own: this one, cut to 47 characters, `/` and 16
     *                              random hexadecimal digits. So two jobs never hold the same task or
     *                              document, and `TaskStore::modify()` is refused for what a job holds.
     *                              What a job's end delays to a time in the future, this claimant holds
     *                              until then. Invalid names are refused by the step that needs them
     */
    public function tasks(string $name, ?string $claimant = null): TaskStoreInterface;

    /**
     * What opening the engine of a `file:` found; null for another URL. Makes no call. Clients of one
     * process that share a directory get the same.
     *
     * `Millpond::connect()` raises an E_USER_WARNING for what an operator should know, such as bytes
     * that were cut off. What is not detected is listed in the documentation of the Rust method
     * `Client::recovery`.
     *
     *     echo json_encode(Millpond::connect('memory:')->recovery()), "\n"; // null
     */
    public function recovery(): ?Recovery;

    /**
     * Closes the client: calls throw a ClosedException from now on, and what an embedded engine
     * has buffered is written. So does the destructor of a client that is not referenced any
     * more. A connection that was there before stays open.
     *
     * @throws Exception\StorageException if the disk refuses the last write
     */
    public function close(): void;
}
