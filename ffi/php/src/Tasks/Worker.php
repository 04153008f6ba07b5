<?php

declare(strict_types=1);

namespace Millpond\Tasks;

use FFI\CData;
use Millpond\Internal\Works;

/**
 * Says how tasks are processed; created by `TaskStore::worker()`. run() works until it is stopped, and
 * drain() until nothing is left. The handler of both gets a `Job`.
 *
 * A Modification that the handler returns is applied in one step, with the job's own versions. The task is
 * deleted unless the modification changes it. Any other return value also deletes it: the job is done. The
 * handler may throw or return a `RetryJob`, a `MoveJob`, a `RejectJob` or a `ReleaseJob`; any other
 * exception is a failure with its class and message, and the task is retried as the options say. A return
 * value that was plainly meant as something else is a failure too: a generator, because the handler contains
 * a yield; a change outside a modification; an array or a stdClass that looks like a modification, because
 * it has a key such as `inserts` or nothing but lists. A job that the handler ended itself is left alone.
 *
 * A handler that calls exit() ends the program, and that is a failed attempt of the job; a fatal error, such
 * as running out of memory, is a failure with its message. Both are reported before the process ends, for
 * which `memoryLimit` is raised by 16 MiB if it was exceeded. The job of a killed process becomes available
 * when its lease expires.
 *
 *     $store = Millpond::connect('memory:')->tasks('shop');
 *     $store->modify((new Modification())->insert(new NewTask('inbox', ['price' => 7]))->insert(new NewTask('inbox', 'free')));
 *     $worker = $store->worker('inbox', new WorkerOptions(maxAttempts: 1));
 *     $worker->drain(function (Job $job) {
 *         $total = $job->task->value()['price'] * 6; // a TypeError for the second task
 *         return $job->delete()->insert(new NewTask('outbox', ['total' => $total]));
 *     }, onError: fn ($job, $error) => print("{$job->task->queue}: " . $error->getMessage() . "\n"));
 *     echo $store->list('outbox')->tasks[0]->value()['total'], "\n"; // 42
 */
final class Worker implements WorkerInterface
{
    use Works;

    public function jobs(): Jobs
    {
        $made = fn (CData $worker, ?float $wait): Jobs => new Jobs($this->library, $worker, $this->job, $wait ?? \INF);

        return ($this->open)($made, null);
    }
}
