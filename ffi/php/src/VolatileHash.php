<?php

declare(strict_types=1);

namespace Millpond;

use FFI\CData;
use Millpond\Internal\Arguments;
use Millpond\Internal\Handles;
use Millpond\Internal\Library;
use Millpond\Internal\Owns;
use Millpond\Internal\VolatileHashCalls;

/**
 * A hash whose fields expire, each at its own time, with a lock for each field; made by
 * `Client::volatileHash()`.
 *
 * It is for data that can be computed again: caches, sessions, results of slow calls. No read returns a
 * field that has expired, to the microsecond, on the clock of the server. Its memory is freed later, by a
 * reap(), or in small parts by each set().
 *
 * A lock is named by a field and is independent of its value: with getOrAcquire() one caller computes a
 * value that many ask for. The holder of a lock is known by its token: two callers with the same token are
 * one holder, so use a new random token each time.
 *
 * Fields, values and tokens are bytes. PHP makes an int of a key of an array that is a whole number, so
 * wherever an array has fields, an int is a field too.
 *
 *     $pages = Millpond::connect('memory:')->volatileHash('pages');
 *     $pages->getOrAcquire('/', 'req-1', 10); // it is missing: req-1 computes it
 *     echo $pages->getOrAcquire('/', 'req-2', 10)->remaining > 0 ? 'wait' : 'compute', "\n"; // wait
 *     $pages->setAndRelease('/', 'req-1', '<h1>Home</h1>', 60);
 *     echo $pages->getOrAcquire('/', 'req-2', 10)->value, "\n"; // <h1>Home</h1>
 */
final class VolatileHash implements VolatileHashInterface
{
    use Owns, VolatileHashCalls;

    private readonly Library $library;

    /** @internal made by `Client::volatileHash()` */
    public function __construct(
        private readonly Client $client,
        private readonly CData $handle,
    ) {
        $this->library = $client->library;
        Handles::keep($this, $this->library->ffi, 'millpond_volatile_hash_free', $handle);
    }

    public function lock(string $field, float $ttl): ?FieldLock
    {
        $arguments = [$this->handle, $field, \strlen($field), Arguments::milliseconds('ttl', $ttl)];
        $made = fn (CData $handle): FieldLock => new FieldLock($this->library, $handle);

        return $this->library->handle('millpond_volatile_lock_acquire', $arguments, 'volatile_lock', $made);
    }
}
