<?php

declare(strict_types=1);

namespace Millpond\Tasks;

use Millpond\Exception\DependencyException;
use Millpond\Exception\InvalidArgumentException;
use Millpond\Exception\MillpondException;

/**
 * Says how tasks are worked on; made by `TaskStore::worker()`. jobs() or run() begin the work. Run several
 * processes for several tasks at a time.
 *
 *     $store = Millpond::connect('memory:')->tasks('shop');
 *     $store->modify((new Modification())->insert('inbox', ['price' => 7])->insert('inbox', 'free'));
 *     $store->worker('inbox', maxAttempts: 1)->run(function (Job $job) {
 *         $total = $job->task->value()['price'] * 6; // a TypeError for the second task
 *         return $job->delete()->insert('outbox', ['total' => $total]);
 *     });
 *     echo $store->list('outbox')->tasks[0]->value()['total'], "\n"; // 42
 *     echo strtok($store->list('inbox/err')->tasks[0]->err, ':'), "\n"; // TypeError
 */
final class Worker
{
    /**
     * @internal made by `TaskStore::worker()`
     *
     * @param \Closure(): Jobs $jobs
     */
    public function __construct(private readonly \Closure $jobs)
    {
    }

    /**
     * The jobs, one after the other. Makes no call yet.
     */
    public function jobs(): Jobs
    {
        return ($this->jobs)();
    }

    /**
     * Works until there is nothing left to do and the wait is over.
     *
     * The Modification that the handler returns happens in one step, with the job's own versions; null
     * deletes the task. The handler may throw a `Retry`, a `Move` or a `Release`; any other exception is a
     * retry with its class and message. That holds also for one that a signal handler throws while a task
     * is worked on: to stop a worker by a signal, let it set a flag, and look at it in a loop over jobs(). A
     * handler that only sets a flag does not end a wait, so let the worker wait for a second, and begin the
     * loop again until the flag is set.
     *
     * A job whose lease was lost, or with a modification that the store refuses with a
     * DependencyException, is left to whoever has it now, and the work goes on. A modification that no
     * store could do is a failure as well, and tried again later.
     *
     * @param callable(Job): ?Modification $handler
     *
     * @throws MillpondException        what `Jobs::next()` throws, and the other exceptions of what ends a
     *                                  job
     * @throws InvalidArgumentException if the handler returns something else; the task stays leased until
     *                                  the lease is over
     */
    public function run(callable $handler): void
    {
        foreach ($this->jobs() as $job) {
            try {
                $end = self::finished($job, $handler($job));
            } catch (Retry $failure) {
                $end = static fn () => $job->retry($failure->getMessage(), $failure->delay);
            } catch (Move $failure) {
                $end = static fn () => $job->moveTo($failure->queue, $failure->getMessage());
            } catch (Release) {
                $end = $job->release(...);
            } catch (\Throwable $failure) {
                $end = static fn () => $job->retry(self::told($failure));
            }
            try {
                $end();
            } catch (DependencyException) {
                // Somebody else has the task now.
            }
        }
    }

    /**
     * How a job ends whose handler returned this.
     */
    private static function finished(Job $job, mixed $done): \Closure
    {
        return match (true) {
            $done === null => $job->done(...),
            $done instanceof Modification => static fn () => self::finish($job, $done),
            default => static fn () => throw new InvalidArgumentException(
                'a handler must return Modification or null, not ' . \get_debug_type($done),
            ),
        };
    }

    /**
     * Ends a job with a modification. What no store could do is the handler's failure.
     */
    private static function finish(Job $job, Modification $modification): void
    {
        try {
            $job->finish($modification);
        } catch (InvalidArgumentException $failure) {
            $job->retry(self::told($failure));
        }
    }

    /**
     * What went wrong, for people. What a message shows of bytes may be no text.
     */
    private static function told(\Throwable $failure): string
    {
        $told = \get_debug_type($failure) . ': ' . $failure->getMessage();

        return \json_decode(\json_encode($told, \JSON_INVALID_UTF8_SUBSTITUTE));
    }
}
