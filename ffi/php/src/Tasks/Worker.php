<?php

declare(strict_types=1);

namespace Millpond\Tasks;

use Millpond\Exception\DependencyException;
use Millpond\Exception\InvalidArgumentException;
use Millpond\Exception\MillpondException;
use Psr\Log\LoggerInterface;

/**
 * Says how tasks are worked on; made by `TaskStore::worker()`. jobs() or run() begin the work; run several
 * for several tasks at a time.
 *
 *     $store = Millpond::connect('memory:')->tasks('shop');
 *     $store->modify((new Modification())->insert(new NewTask('inbox', ['price' => 7]))->insert(new NewTask('inbox', 'free')));
 *     $store->worker('inbox', new WorkerOptions(maxAttempts: 1))->run(function (Job $job) {
 *         $total = $job->task->value()['price'] * 6; // a TypeError for the second task
 *         return $job->delete()->insert(new NewTask('outbox', ['total' => $total]));
 *     });
 *     echo $store->list('outbox')->tasks[0]->value()['total'], "\n"; // 42
 *     echo strtok($store->list('inbox/err')->tasks[0]->err, ':'), "\n"; // TypeError
 */
final class Worker implements WorkerInterface
{
    /**
     * @internal made by `TaskStore::worker()`
     *
     * @param \Closure(): Jobs $jobs
     */
    public function __construct(private readonly \Closure $jobs, private readonly ?LoggerInterface $logger)
    {
    }

    public function jobs(): Jobs
    {
        return ($this->jobs)();
    }

    public function run(callable $handler, ?callable $onError = null): void
    {
        $onError ??= $this->refused(...);
        foreach ($this->jobs() as $job) {
            try {
                $done = $handler($job);
                $end = self::finished($job, $done);
            } catch (RetryTask $failure) {
                $end = static fn () => $job->retry($failure->getMessage(), $failure->delay);
            } catch (MoveTask $failure) {
                $end = static fn () => $job->moveTo($failure->queue, $failure->getMessage());
            } catch (ReleaseTask $failure) {
                $end = static fn () => $job->release($failure->delay);
            } catch (\Throwable $failure) {
                $level = $failure instanceof DependencyException ? 'debug' : 'warning';
                $this->logger?->log($level, 'millpond: task {task} of queue {queue} failed', self::context($job, $failure));
                $end = static fn () => $job->fail(self::told($failure));
            }
            if ($end === null) {
                throw new InvalidArgumentException(
                    'a handler must return Modification or null, not ' . \get_debug_type($done),
                );
            }
            if ($job->isEnded()) {
                continue;
            }
            try {
                $end();
            } catch (DependencyException | InvalidArgumentException $refused) {
                self::giveBack($job, $refused);
                $onError($job, $refused);
            }
        }
    }

    /**
     * Releases the task of a job that could not end as its handler said.
     */
    private static function giveBack(Job $job, MillpondException $refused): void
    {
        try {
            $job->fail(self::told($refused));
        } catch (DependencyException) {
            // Another claimant has the task now.
        }
    }

    private function refused(Job $job, MillpondException $refused): void
    {
        $message = 'millpond: the end of task {task} of queue {queue} was refused';
        if ($this->logger !== null) {
            $this->logger->error($message, self::context($job, $refused));
        } else {
            $names = ['{task}' => $job->task->id, '{queue}' => $job->task->queue];
            \error_log(\strtr($message, $names) . ": {$refused->getMessage()}");
        }
    }

    /**
     * @return array{task: string, queue: string, attempt: int, exception: \Throwable} what PSR-3 calls the context
     */
    private static function context(Job $job, \Throwable $failure): array
    {
        $task = $job->task;

        return ['task' => $task->id, 'queue' => $task->queue, 'attempt' => $task->attempt, 'exception' => $failure];
    }

    /**
     * How a job ends whose handler returned this; null for what no handler may return.
     */
    private static function finished(Job $job, mixed $done): ?\Closure
    {
        return match (true) {
            $done === null => $job->done(...),
            $done instanceof Modification => static fn () => $job->finish($done),
            default => null,
        };
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
