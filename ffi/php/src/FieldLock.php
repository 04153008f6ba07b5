<?php

declare(strict_types=1);

namespace Millpond;

use Millpond\Internal\FieldLockCalls;
use Millpond\Internal\HoldsLease;

/**
 * The lock of a field, for as long as it is held; made by `VolatileHash::lock()`.
 *
 * A native thread renews it three times per `ttl`, so a busy holder keeps it. A set() through the lock is
 * refused with LeaseLostException once the lock is lost, so a holder that was stopped for too long changes
 * nothing in the hash. For anything else that the lock protects, pass the fence() along, and refuse a lower
 * one than the last.
 *
 * A lock that is no longer referenced is released in the background; if the process ends before that, the
 * lock expires.
 *
 *     $pages = Millpond::connect('memory:')->volatileHash('pages');
 *     $lock = $pages->lock('/', 10) ?? exit('another process computes the page');
 *     try {
 *         $lock->set('<h1>Home</h1>', 60);
 *     } finally {
 *         $lock->release();
 *     }
 *     echo $pages->get('/'), "\n"; // <h1>Home</h1>
 */
final class FieldLock implements FieldLockInterface
{
    use FieldLockCalls, HoldsLease;

    private const HANDLE = 'millpond_volatile_lock';
}
