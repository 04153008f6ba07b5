<?php

declare(strict_types=1);

namespace Millpond\Tasks;

use FFI;
use FFI\CData;
use Millpond\Client;
use Millpond\Exception;
use Millpond\Internal\Arguments;
use Millpond\Internal\Handles;
use Millpond\Internal\Library;
use Millpond\Internal\Packed;
use Millpond\Internal\ReadsStore;
use Millpond\Internal\Signals;
use Millpond\Internal\TaskResults;
use Millpond\Internal\TaskArguments;

/**
 * A store of tasks and documents by its name, for one claimant; made by `Client::tasks()`. Everything
 * that one modification spans is in one store.
 *
 * There are two ways to change it. A *claim* leases an available task to the claimant; a *modification*
 * inserts, changes and deletes tasks and documents, all of it or nothing. So a worker deletes the task
 * that it has done and inserts what follows in one step. A modification with a stale version is refused
 * with a DependencyException: a worker whose lease is over, and whose task another one has claimed, can
 * do no harm.
 *
 *     $store = Millpond::connect('memory:')->tasks('shop');
 *     $store->insert(new NewTask('inbox', ['order' => 7]));
 *     $task = $store->claim('inbox');
 *     $done = (new Modification())->delete($task)->insert(new NewTask('outbox', ['invoice' => 7]));
 *     $store->modify($done); // both happen or neither does
 *     echo $store->queues()['outbox'], ' in the outbox', "\n"; // 1 in the outbox
 *
 * Delivery is at least once: a task is available again when the lease is over, unless it was deleted
 * or changed before. Order is not guaranteed, but the oldest tasks of the highest priority come
 * first, nearly.
 *
 * If a signal handler throws during a call, the call may be done, and what it returns is lost.
 *
 * Names and JSON texts are UTF-8. Every call may throw what the connection throws, and an
 * InvalidArgumentException for wrong arguments, before anything is sent; a WrongTypeException or an
 * IncompatibleVersionException if the keys of the store hold something else.
 */
final class TaskStore implements TaskStoreInterface
{
    use ReadsStore;

    /** Who claims. */
    public readonly string $claimant;

    private readonly Library $library;

    private function __construct(
        private readonly Client $client,
        private readonly CData $handle,
    ) {
        $this->library = $client->library;
        Handles::keep($this, $this->library->ffi, 'millpond_tasks_store_free', $handle);
        $call = $this->library->made('millpond_tasks_claimant', [$handle], 'text');
        $this->claimant = TaskResults::bytes($call->text[0]);
    }

    public function __destruct()
    {
        Handles::free($this->handle);
    }

    /** A copy would free what the original holds. */
    private function __clone(): void
    {
    }

    /** @internal what `Client::tasks()` does */
    public static function make(Client $client, string $name, ?string $claimant): self
    {
        $ffi = $client->library->ffi;

        return Signals::held(static function () use ($client, $ffi, $name, $claimant): self {
            $call = $client->library->call();
            $claimantLength = \strlen($claimant ?? '');
            $status = $ffi->millpond_tasks_store_new(
                $client->handle,
                $name,
                \strlen($name),
                $claimant,
                $claimantLength,
                $call->store,
                $call->error,
            );
            $client->library->check($status, $call);

            return new self($client, $call->store[0]);
        });
    }

    /**
     * Inserts one task; for more than one see `Modification::insert()`.
     *
     * After a ConnectionLostException or a TimeoutException the task may or may not be there; with an id
     * of its own it can be inserted again.
     *
     * @throws Exception\DependencyException      if the id is taken
     * @throws Exception\InvalidArgumentException for wrong arguments, before anything is sent
     */
    public function insert(NewTask $task): Task
    {
        return $this->modify((new Modification())->insert($task))->inserted[0];
    }

    /**
     * Inserts a document, or replaces the content of the one of its id, in one step, and returns it as
     * it is now. Without an id of its own that is the document of its keys. The document's claimant stays
     * the same.
     *
     *     $store = Millpond::connect('memory:')->tasks('shop');
     *     $store->putDoc(new NewDoc('accounts', 'ann', ['balance' => 100]));
     *     $store->putDoc(new NewDoc('accounts', 'ann', ['balance' => 70]));
     *     echo $store->getDoc('accounts', 'ann')->content()['balance'], "\n"; // 70
     *
     * After a ConnectionLostException or a TimeoutException it may be done; sent again, it replaces what
     * others put meanwhile.
     *
     * @throws Exception\DependencyException      if another claimant holds it, or a document of other keys
     *                                            has its id
     * @throws Exception\InvalidArgumentException for wrong arguments, before anything is sent
     */
    public function putDoc(NewDoc $doc): Doc
    {
        return $this->modify((new Modification())->putDoc($doc))->insertedDocs[0];
    }

    public function modify(Modification $modification): Modified
    {
        $packed = $modification->packed($this->library->ffi);

        return $this->resultOf(
            'modified',
            'millpond_tasks_modify',
            [$this->handle, $packed->array],
        );
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

        return $this->resultOf(
            'tasks',
            'millpond_tasks_claim',
            [$this->handle, $names->array, $names->count, $leaseMs, $size, 0],
        ) ?? [];
    }

    /**
     * The loop of claims: batches of leased tasks.
     *
     * @param string|iterable<string> $queues as for claim()
     * @param int                     $max    how many a batch has at most, from 1 to 1,000
     * @param float|null              $wait   seconds to wait for a task, again for each batch; INF waits
     *                                        without limit, null ends the loop when nothing is available
     * @param float                   $lease  as for claim()
     *
     * @throws Exception\InvalidArgumentException for wrong arguments, now or with the first batch
     */
    public function claims(string|iterable $queues, int $max = 1, ?float $wait = null, float $lease = 30.0): Claims
    {
        return Claims::open($this->library, $this->handle, $queues, $max, $wait, $lease, $this);
    }

    /**
     * A worker for these queues, which renews what it works on, retries what failed, and moves what
     * fails too often to the error queue. Makes no call.
     *
     * @param string|iterable<string> $queues as for claim()
     *
     * @throws Exception\InvalidArgumentException for wrong arguments, now or with the first job
     */
    public function worker(string|iterable $queues, WorkerOptions $options = new WorkerOptions()): Worker
    {
        $ffi = $this->library->ffi;
        $names = TaskArguments::names('queues', $queues);
        $error = Packed::members($ffi, $options->errorQueue === null ? [] : [$options->errorQueue]);
        $settings = $ffi->new('millpond_tasks_worker_options');
        $pointer = FFI::addr($settings);
        $size = FFI::sizeof($settings);
        $ffi->millpond_tasks_worker_options_init($pointer, $size);
        $options->write($settings);
        if ($error->array !== null) {
            $settings->error_queue = $error->array[0];
        }
        $waits = $options->wait !== null;

        return new Worker(
            fn (): Jobs => Jobs::open($this->library, $this->handle, $names, $settings, $waits, $this, $error),
            $this->client->logger,
        );
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
        $call = $this->library->made(
            'millpond_tasks_renew',
            [$this->handle, $packed->array, $packed->count, $packedDocs->array, $packedDocs->count, $leaseMs, $pointer, $docPointer],
            'number',
        );
        $newTasks = $newDocs = [];
        foreach ($taskIds as $index => [$id]) {
            $newTasks[] = new TaskId($id, $versions[$index]);
        }
        foreach ($docIds as $index => [$namespace, $id]) {
            $newDocs[] = new DocId($namespace, $id, $versions[$packed->count + $index]);
        }

        return new Renewed($newTasks, $newDocs, $call->number[0]);
    }

    public function claimDocs(string $namespace, string $key, float $lease = 30.0): array
    {
        $leaseMs = Arguments::milliseconds('lease', $lease);

        return $this->resultOf(
            'docs',
            'millpond_tasks_claim_docs',
            [$this->handle, $namespace, \strlen($namespace), $key, \strlen($key), $leaseMs],
        );
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
