<?php

declare(strict_types=1);

namespace Millpond\Tasks;

/**
 * How tasks are worked on, for `TaskStore::worker()`; set by named arguments.
 *
 *     $store = Millpond::connect('memory:')->tasks('shop');
 *     $store->insert(new NewTask('inbox', 'a.pdf'));
 *     $worker = $store->worker('inbox', new WorkerOptions(lease: 60, maxAttempts: 1));
 *     $worker->run(fn () => throw new RetryTask('no paper'));
 *     echo $store->list('inbox/err')->tasks[0]->err, "\n"; // no paper
 */
final class WorkerOptions
{
    /**
     * @param float|null  $wait        seconds to wait for a task when none is available; INF waits without
     *                                 limit, null ends the work
     * @param float       $lease       seconds that a task is leased; a native thread renews it three times
     *                                 a lease
     * @param float       $backoff     seconds that a task is delayed after its first failure; then twice as
     *                                 long each time, each time minus a random part of up to a half
     * @param float       $backoffMax  seconds that a failed task is delayed at most
     * @param int         $maxAttempts after this many attempts a task goes to the error queue; 0 is never
     * @param int         $maxClaims   a task that was claimed more often since it was last inserted, changed
     *                                 or released goes to the error queue and to no handler, as it may be
     *                                 what kills the workers: only expired leases count; 0 is never
     * @param string|null $errorQueue  null is the queue that each task is in with `/err` appended
     */
    public function __construct(
        public readonly ?float $wait = null,
        public readonly float $lease = 30.0,
        public readonly float $backoff = 30.0,
        public readonly float $backoffMax = 3_600.0,
        public readonly int $maxAttempts = 0,
        public readonly int $maxClaims = 0,
        public readonly ?string $errorQueue = null,
    ) {
    }
}
