<?php

declare(strict_types=1);

namespace Millpond;

use FFI\CData;
use Millpond\Internal\Handles;
use Millpond\Internal\Library;
use Millpond\Internal\Owns;
use Millpond\Internal\VolatileHashesCalls;

/**
 * Many volatile hashes with names of their own, such as one for each user, that are reaped together; made by
 * `Client::volatileHashes()`.
 *
 * A family tracks which of its hashes may have something to remove, so that a reap skips the others, however
 * many there are.
 *
 * The hash with a base is in the shard FNV-1a-64(base) mod `shards`. The keys of a shard lie in one cluster
 * slot. All programs have to give a family the same number of shards: a program with another number does not
 * see the hashes of the others, and their locks do not exclude each other. After a change of the number,
 * reap the old shards with a family of the old number.
 *
 *     $clock = new ManualClock();
 *     $carts = Millpond::connect('memory:', clock: $clock)->volatileHashes('carts');
 *     $carts->hash('ann')->set('book', '1', 60);
 *     $carts->hash('bob')->set('lamp', '2', 3600);
 *     echo $carts->hash('ann')->len(), "\n"; // 1
 *     $clock->advance(60);
 *     echo $carts->reap()->fields, "\n"; // 1: the book of ann
 */
final class VolatileHashes implements VolatileHashesInterface
{
    use Owns, VolatileHashesCalls;

    private readonly Library $library;

    /** @internal made by `Client::volatileHashes()` */
    public function __construct(
        private readonly Client $client,
        private readonly CData $handle,
    ) {
        $this->library = $client->library;
        Handles::keep($this, $this->library->ffi, 'millpond_volatile_hashes_free', $handle);
    }

    public function hash(string $base): VolatileHash
    {
        $made = fn (CData $handle): VolatileHash => new VolatileHash($this->client, $handle);

        return $this->library->handle('millpond_volatile_hashes_hash_new', [$this->handle, $base, \strlen($base)], 'volatile_hash', $made);
    }
}
