<?php

declare(strict_types=1);

namespace Millpond\Internal;

use Millpond\Exception\MillpondException;

/**
 * A connection that the program owns. It sends a call once: one that may have run must not be sent
 * again.
 *
 * @internal
 */
interface Connection
{
    /**
     * What this connection puts before every key.
     *
     * @throws MillpondException if it cannot be known without a connection, and there is none
     */
    public function prefix(): string;

    /**
     * Calls a script, by its hash or by its source.
     *
     * @param list<string> $keys      as they are in Redis, so with the prefix
     * @param list<string> $arguments
     *
     * @return int|string|list<int|string|false|null>|null the reply, byte for byte; what is nothing
     *         in a list may be false
     *
     * @throws ServerError       if the server returned an error
     * @throws MillpondException if there was no reply
     */
    public function evaluate(Script $script, bool $bySource, array $keys, array $arguments): int|string|array|null;

    /**
     * Closes a connection on which a reply may still be outstanding: the next call would take it for
     * its own. It opens again with that call.
     */
    public function abandon(): void;
}
