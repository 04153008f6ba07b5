<?php

declare(strict_types=1);

namespace Millpond\Tasks;

use FFI;
use FFI\CData;
use Millpond\Client;
use Millpond\Internal\Arguments;
use Millpond\Internal\Handles;
use Millpond\Internal\Library;
use Millpond\Internal\Owns;
use Millpond\Internal\Packed;
use Millpond\Internal\TaskArguments;
use Millpond\Internal\TaskResults;
use Millpond\Internal\TaskStoreCalls;

/**
 * A named store of tasks and documents; made by `Client::tasks()`. One modification stays within one store.
 *
 * There are two ways to change it: a *claim* leases an available task to one claimant, and a *modification*
 * inserts, changes and deletes tasks and documents, completely or not at all. So a worker can delete the
 * task that it has finished and insert the follow-up work in one step, and nothing is lost or done twice if
 * it crashes before or after.
 *
 * Delivery is at least once: a task is available again when its lease expires. Order is not guaranteed;
 * roughly, the oldest tasks of the highest priority come first.
 *
 * A modification with a stale version is refused with a DependencyException, so a worker whose lease has
 * expired, and whose task another worker has claimed, can do no harm.
 *
 * If a signal handler throws during a call, the call may have taken effect, but its result is lost.
 *
 * Names and JSON texts are UTF-8. Every call may throw the connection's exceptions, and an
 * InvalidArgumentException for wrong arguments, before anything is sent; a WrongTypeException or an
 * IncompatibleVersionException if the keys of the store hold something else.
 *
 *     $store = Millpond::connect('memory:')->tasks('shop');
 *     $store->insert(new NewTask('inbox', ['order' => 7]));
 *     $task = $store->claim('inbox');
 *     $done = (new Modification())->delete($task)->insert(new NewTask('outbox', ['invoice' => 7]));
 *     $store->modify($done); // both happen or neither does
 *     echo $store->queues()['outbox'], ' in the outbox', "\n"; // 1 in the outbox
 */
final class TaskStore implements TaskStoreInterface
{
    use Owns, TaskStoreCalls;

    /** The name that claims are made under. */
    public readonly string $claimant;

    private readonly Library $library;

    /** @internal made by `Client::tasks()` */
    public function __construct(
        private readonly Client $client,
        private readonly CData $handle,
    ) {
        $this->library = $client->library;
        Handles::keep($this, $this->library->ffi, 'millpond_tasks_store_free', $handle);
        $call = $this->library->made('millpond_tasks_claimant', [$handle], 'text');
        $this->claimant = TaskResults::bytes($call->text[0]);
    }

    public function insert(NewTask $task): Task
    {
        return $this->modify((new Modification())->insert($task))->inserted[0];
    }

    public function putDoc(NewDoc $doc): Doc
    {
        return $this->modify((new Modification())->putDoc($doc))->insertedDocs[0];
    }

    public function claim(string|iterable $queues, float $lease = 30.0): ?Task
    {
        return $this->claimMany($queues, 1, $lease)[0] ?? null;
    }

    public function claimMany(string|iterable $queues, int $max, float $lease = 30.0): array
    {
        $names = Packed::members($this->library->ffi, TaskArguments::names('queues', $queues));
        $size = Arguments::size('max', $max);
        $leaseMs = Arguments::milliseconds('lease', $lease);
        $arguments = [$this->handle, $names->array, $names->count, $leaseMs, $size, 0];

        return TaskResults::call($this->library, 'tasks', 'millpond_tasks_claim', $arguments) ?? [];
    }

    public function claims(string|iterable $queues, int $max = 1, ?float $wait = null, float $lease = 30.0): Claims
    {
        $names = Packed::members($this->library->ffi, TaskArguments::names('queues', $queues));
        $size = Arguments::size('max', $max);
        $waitMs = Arguments::wait('wait', $wait);
        $leaseMs = Arguments::milliseconds('lease', $lease);
        $arguments = [$this->handle, $names->array, $names->count, $leaseMs, $size, $waitMs];
        $made = fn (CData $handle): Claims => new Claims($this->library, $handle, $wait, $this);

        return $this->library->handle('millpond_tasks_claims_new', $arguments, 'claims', $made);
    }

    public function worker(string|iterable $queues, WorkerOptions $options = new WorkerOptions()): Worker
    {
        Arguments::concurrency($options->concurrency);
        $ffi = $this->library->ffi;
        $names = Packed::members($ffi, TaskArguments::names('queues', $queues));
        $errorQueue = Packed::members($ffi, $options->errorQueue === null ? [] : [$options->errorQueue]);
        $settings = $this->library->options('millpond_tasks_worker_options');
        $options->write($settings);
        $wait = $options->wait;
        $open = function (\Closure $made) use ($names, $errorQueue, $settings, $wait): mixed {
            if ($errorQueue->array !== null) {
                $settings->error_queue = $errorQueue->array[0];
            }
            $arguments = [$this->handle, $names->array, $names->count, FFI::addr($settings)];

            return $this->library->handle('millpond_tasks_worker_new', $arguments, 'tasks_worker', static fn (CData $it): object => $made($it, $wait));
        };

        $job = fn (?CData $handle, ?Task $task = null): Job => new Job($this->library, $handle, $this, $task);

        return new Worker($this->library, 'tasks', $open, $job, $this->client->logger);
    }

    public function queues(string|iterable $exact = [], string|iterable $prefixes = [], ?int $limit = null): array
    {
        return \array_column($this->queueStats($exact, $prefixes, $limit), 'size', 'queue');
    }

    public function renew(
        Task|TaskId|iterable $tasks = [],
        Doc|DocId|iterable $docs = [],
        float $lease = 30.0,
    ): Renewed {
        $ffi = $this->library->ffi;
        [$taskIds, $docIds] = [TaskArguments::tasks($tasks), TaskArguments::docs($docs)];
        $leaseMs = Arguments::milliseconds('lease', $lease);
        $packed = Packed::records($ffi, 'millpond_task_id *', $taskIds);
        $packedDocs = Packed::records($ffi, 'millpond_doc_id *', $docIds);
        $versions = $ffi->new('uint64_t[' . $packed->count + $packedDocs->count + 1 . ']');
        [$pointer, $docPointer] = [FFI::addr($versions[0]), FFI::addr($versions[$packed->count])];
        $flags = $ffi->new('bool[' . $packed->count + 1 . ']');
        $held = [$packed->array, $packed->count, $packedDocs->array, $packedDocs->count, $leaseMs];
        $arguments = [$this->handle, ...$held, $pointer, $docPointer, FFI::addr($flags[0])];
        $call = $this->library->made('millpond_tasks_renew', $arguments, 'number');
        $newTasks = $newDocs = $cancelled = [];
        foreach ($taskIds as $index => [$id]) {
            $newTasks[] = new TaskId($id, $versions[$index]);
            $cancelled = $flags[$index] ? [...$cancelled, $id] : $cancelled;
        }
        foreach ($docIds as $index => [$namespace, $id]) {
            $newDocs[] = new DocId($namespace, $id, $versions[$packed->count + $index]);
        }

        return new Renewed($newTasks, $newDocs, $call->number[0], $cancelled);
    }
}
