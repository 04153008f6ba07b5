<?php

declare(strict_types=1);

namespace Millpond;

/**
 * A server or an embedded engine, and the way to the queues on it; made by `Millpond::connect()` or
 * `Millpond::over()`. On Redis it can be used after a fork too.
 */
interface Client
{
    /**
     * The Ick of this name. Makes no call.
     *
     * @param string $name any bytes, at most 64 KiB
     */
    public function ick(string $name): Ick;

    /**
     * The channel of several Icks of this name. Makes no call.
     *
     * @param string $name   any bytes, at most 64 KiB
     * @param int    $shards how many Icks, from 1 to 65,536
     *
     * @throws Exception\InvalidArgumentException for another number of Icks, or over a connection
     *                                            that is not Millpond's own
     */
    public function ickChannel(string $name, int $shards): IckChannel;

    /**
     * Closes the client: calls throw a ClosedException from now on, and what an embedded engine
     * still holds back is written. A client that nobody refers to any more does the same. A
     * connection that was there before stays open.
     *
     * @throws Exception\StorageException if the disk refuses the last write
     */
    public function close(): void;
}
