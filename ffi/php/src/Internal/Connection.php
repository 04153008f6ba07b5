<?php

declare(strict_types=1);

namespace Millpond\Internal;

use Millpond\Exception\MillpondException;

/**
 * A connection that the program owns. It sends each call once: a call that may have run must not be
 * sent again.
 *
 * @internal
 */
interface Connection
{
    /**
     * The prefix that this connection puts before every key.
     *
     * @throws MillpondException if the prefix cannot be known without a connection, and there is none
     */
    public function prefix(): string;

    /**
     * Calls a script, by its hash or by its source.
     *
     * @param list<string> $keys      as they are in Redis, so including the prefix
     * @param list<string> $arguments
     *
     * @return int|string|list<int|string|false|null>|null the reply, byte for byte; a null in a list may be
     *         returned as false
     *
     * @throws ServerError       if the server returned an error
     * @throws MillpondException if there was no reply
     */
    public function evaluate(Script $script, bool $bySource, array $keys, array $arguments): int|string|array|null;

    /**
     * Closes a connection on which a reply may still be outstanding: the next call would take that
     * reply for its own. The next call opens the connection again.
     */
    public function abandon(): void;
}
