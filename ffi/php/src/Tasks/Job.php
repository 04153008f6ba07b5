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
 * A native thread renews it, and the documents that it claims, three times a lease, so a busy program keeps
 * them. It ends by one of the methods that decide what happens to the task, which happens to the newest
 * versions. If a job is destroyed without one of these, the task stays leased until the lease is over.
 *
 * What ends a job throws a DependencyException if the lease was lost. After another exception it can be
 * tried again while the lease lasts, which is not renewed any more.
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

    /** @internal made by `Jobs` */
    public function __construct(
        private readonly Library $library,
        private readonly CData $handle,
        private readonly TaskStore $store,
    ) {
        Handles::keep($this, $library->ffi, 'millpond_tasks_job_free', $handle);
        $this->task = TaskResults::taskOf($library->ffi, $handle);
    }

    public function handle(): TaskId
    {
        $call = $this->library->made('millpond_tasks_job_version', [$this->handle], 'number');

        return new TaskId($this->task->id, $call->number[0]);
    }

    public function delete(): Modification
    {
        return (new Modification())->delete($this->handle());
    }
}
