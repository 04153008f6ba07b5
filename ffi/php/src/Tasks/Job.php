<?php

declare(strict_types=1);

namespace Millpond\Tasks;

use FFI\CData;
use Millpond\Exception;
use Millpond\Internal\Arguments;
use Millpond\Internal\Handles;
use Millpond\Internal\Library;
use Millpond\Internal\TaskResults;

/**
 * A task that is being worked on; made by `Jobs`.
 *
 * A native thread renews it, and the documents that it claims, three times a lease, so a busy program keeps
 * them. It ends by one of the methods that decide what happens to the task, which happens to the newest
 * versions. If a job is destroyed without one of these, the task stays leased until the lease is over.
 *
 *     $store = Millpond::connect('memory:')->tasks('shop');
 *     $store->putDoc(new NewDoc('accounts', 'ann', ['balance' => 7]));
 *     $store->insert(new NewTask('inbox', ['from' => 'ann', 'amount' => 2]));
 *     foreach ($store->worker('inbox')->jobs() as $job) {
 *         ['from' => $from, 'amount' => $amount] = $job->task->value();
 *         [$account] = $job->claimDocs('accounts', $from);
 *         $balance = $account->content()['balance'] - $amount;
 *         $job->finish($job->delete()->changeDoc($account->change(['balance' => $balance], release: true)));
 *     }
 *     echo $store->listDocs('accounts')->docs[0]->content()['balance'], "\n"; // 5
 *
 * What ends a job throws a DependencyException if the lease was lost. After another exception it can be
 * tried again while the lease lasts, which is not renewed any more.
 */
final class Job implements JobInterface
{
    /** The task, as it was claimed. */
    public readonly Task $task;

    /** @internal made by `Jobs` */
    public function __construct(
        private readonly Library $library,
        private readonly CData $handle,
        private readonly TaskStore $store,
    ) {
        Handles::keep($this, $library->ffi, 'millpond_tasks_job_free', $handle);
        $this->task = TaskResults::taskOf($library->ffi, $handle);
    }

    public function __destruct()
    {
        Handles::free($this->handle);
    }

    /** A copy would free what the original holds. */
    private function __clone(): void
    {
    }

    public function handle(): TaskId
    {
        $call = $this->library->made('millpond_tasks_job_version', [$this->handle], 'number');

        return new TaskId($this->task->id, $call->number[0]);
    }

    public function isLost(): bool
    {
        $call = $this->library->made('millpond_tasks_job_is_lost', [$this->handle], 'flag');

        return $call->flag[0];
    }

    public function isEnded(): bool
    {
        $call = $this->library->made('millpond_tasks_job_is_ended', [$this->handle], 'flag');

        return $call->flag[0];
    }

    /**
     * A modification that deletes the task: the usual end of a job, to add to and to finish() with. Makes
     * no call.
     */
    public function delete(): Modification
    {
        return (new Modification())->delete($this->handle());
    }

    /**
     * Leases all documents of a primary key while the job runs; no other job gets them meanwhile. What
     * ends the job releases them, unless it deletes them or sets until when they are held.
     *
     * @param float|null $wait up to how many seconds to wait while another claimant holds one of them.
     *                         Waiters have no order: the claimant that held the documents may get them
     *                         again first
     *
     * @return list<Doc>
     *
     * @throws Exception\LeaseLostException once the job has ended
     * @throws Exception\DependencyException if another claimant holds one of them. A handler that lets
     *                                       this exception through has not failed: the task is released
     *                                       with a delay of some milliseconds, as fail() says
     */
    public function claimDocs(string $namespace, string $key, ?float $wait = null): array
    {
        $milliseconds = Arguments::wait('wait', $wait);

        return $this->resultOf(
            'docs',
            'millpond_tasks_job_claim_docs',
            [$this->handle, $namespace, \strlen($namespace), $key, \strlen($key), $milliseconds],
        );
    }

    public function finish(Modification $modification): Modified
    {
        $packed = $modification->packed($this->library->ffi);

        return $this->resultOf(
            'modified',
            'millpond_tasks_job_finish',
            [$this->handle, $packed->array],
        );
    }

    public function done(): void
    {
        $this->library->made('millpond_tasks_job_done', [$this->handle]);
    }

    public function fail(string $err): void
    {
        $this->library->made('millpond_tasks_job_fail', [$this->handle, $err, \strlen($err)]);
    }

    /**
     * Ends the job and schedules another attempt, with the reason in `err`; if that was the last
     * attempt, moves the task to the error queue.
     *
     * @param float|null $delay seconds; null is as the worker says
     *
     * @throws Exception\MillpondException as finish()
     */
    public function retry(string $err, ?float $delay = null): void
    {
        $milliseconds = Arguments::optional('delay', $delay);
        $this->library->made(
            'millpond_tasks_job_retry',
            [$this->handle, $err, \strlen($err), $milliseconds],
        );
    }

    public function moveTo(string $queue, string $err): void
    {
        $this->library->made(
            'millpond_tasks_job_move',
            [$this->handle, $queue, \strlen($queue), $err, \strlen($err)],
        );
    }

    /**
     * Ends the job and releases the task without counting an attempt. It does not count for
     * `maxClaims` either.
     *
     * @param float|null $delay in how many seconds it is available; 0 is at once, and null a random time
     *                          of 0.05 to 0.1 seconds, so that a task is not claimed and released in a
     *                          tight loop
     *
     * @throws Exception\MillpondException as finish()
     */
    public function release(?float $delay = null): void
    {
        $milliseconds = Arguments::optional('delay', $delay);
        $this->library->made('millpond_tasks_job_release', [$this->handle, $milliseconds]);
    }

    /**
     * Makes a call that returns tasks or documents: see `TaskResults`.
     *
     * @param list<mixed> $arguments
     */
    private function resultOf(string $what, string $function, array $arguments): mixed
    {
        return TaskResults::call($this->library, $what, $function, $arguments);
    }
}
