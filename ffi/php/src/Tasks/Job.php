<?php

declare(strict_types=1);

namespace Millpond\Tasks;

use FFI\CData;
use Millpond\Internal\Handles;
use Millpond\Internal\JobCalls;
use Millpond\Internal\Library;
use Millpond\Internal\Owns;
use Millpond\Internal\TaskResults;

/**
 * A task that is being worked on; made by `Jobs`.
 *
 * A native thread renews the task, and the documents that the job claims, three times per lease, so a busy
 * handler keeps them. A job is ended by one of the methods that say what becomes of the task. They wait for
 * a renewal that is in progress, and act on the newest versions. A job that is never ended leaves the task
 * leased until the lease expires. A job belongs to its process: in the child of a fork, the methods that end
 * it fail with ForkedException.
 *
 * The job holds all of this under its own `claimant`, the task's. So no two jobs hold the same task or
 * document, and only the job can change or delete what it holds: end it by its own methods, not by
 * `TaskStore::modify()`, which is refused.
 *
 * The methods that end a job throw a LeaseLostException if the lease was lost. After another exception, the
 * call can be repeated while the lease lasts; the lease is no longer renewed.
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
 */
final class Job implements JobInterface
{
    use JobCalls, Owns;

    /** The task, as it was claimed. */
    public readonly Task $task;

    private readonly CData $handle;

    /** @internal made by `Jobs` or a worker; a job without a handle is over, and every call on it is refused */
    public function __construct(
        private readonly Library $library,
        ?CData $handle,
        private readonly TaskStore $store,
        ?Task $task = null,
    ) {
        $this->handle = $handle ?? $library->ffi->new('millpond_tasks_job *');
        if ($handle !== null) {
            Handles::keep($this, $library->ffi, 'millpond_tasks_job_free', $handle);
        }
        $this->task = $task ?? TaskResults::in($library->ffi, $library->ffi->millpond_tasks_job_data($handle), 'tasks')[0];
    }

    public function handle(): TaskId
    {
        $call = $this->library->made('millpond_tasks_job_version', [$this->handle], 'number');

        return new TaskId($this->task->id, $call->number[0]);
    }

    public function delete(): Modification
    {
        // PHP drops arguments that a method does not take, and with them what was meant to happen.
        if (\func_num_args() > 0) {
            throw new \ArgumentCountError('delete() takes no argument: add to the Modification that it returns');
        }

        return (new Modification())->delete($this->handle());
    }

    public function done(): void
    {
        if (\func_num_args() > 0) {
            throw new \ArgumentCountError('done() takes no argument: finish() takes a Modification');
        }
        $this->library->made('millpond_tasks_job_done', [$this->handle]);
    }
}
