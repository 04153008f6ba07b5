<?php

declare(strict_types=1);

namespace Millpond\Tasks;

use FFI;
use Millpond\Internal\Packed;
use Millpond\Internal\TaskArguments;

/**
 * Inserts, changes, deletes and dependencies on tasks and documents, for `TaskStore::modify()`: all of them
 * apply or none does. At most 100,000 entries; a task or document may be named only once.
 *
 * Each method adds to the object and returns it.
 *
 *     $store = Millpond::connect('memory:')->tasks('shop');
 *     $task = $store->insert(new NewTask('inbox', 1));
 *     $done = $store->modify((new Modification())->delete($task)->insert(new NewTask('outbox', 2)));
 *     echo $done->inserted[0]->queue, "\n"; // outbox
 */
final class Modification
{
    /** @internal the lists that it can hold, in the order of the fields of a millpond_tasks_modification */
    public const LISTS = ['insert', 'change', 'delete', 'depend', 'insertDoc', 'putDoc', 'changeDoc', 'deleteDoc',
        'dependDoc'];

    /** @var array<string, list<list<string|int|bool|null>>> the entries of each list */
    private array $entries = [];

    /**
     * Inserts a task. Refused if its id is taken: by a task in any queue, or by one that has ended and whose
     * deduplication window is not over.
     *
     * @param NewTask $task          the task
     * @param bool    $skipColliding leaves this task out if its id is taken, instead of refusing the whole
     *                               modification
     */
    public function insert(NewTask $task, bool $skipColliding = false): self
    {
        return $this->add(__FUNCTION__, $task->cells($skipColliding));
    }

    /**
     * Changes a task. Refused if it does not exist at that version, or if another claimant holds it.
     *
     * @param TaskChange $change the change to make
     */
    public function change(TaskChange $change): self
    {
        return $this->add(__FUNCTION__, $change->cells());
    }

    /**
     * Deletes a task. Refused if it does not exist at that version, or if another claimant holds it.
     *
     * @param Task|TaskId $task the task
     */
    public function delete(Task|TaskId $task): self
    {
        return $this->add(__FUNCTION__, TaskArguments::task('task', $task));
    }

    /**
     * Depends on a task. Refused if it does not exist at that version; who holds it does not matter.
     *
     * @param Task|TaskId $task the task
     */
    public function depend(Task|TaskId $task): self
    {
        return $this->add(__FUNCTION__, TaskArguments::task('task', $task));
    }

    /**
     * Inserts a document. Refused if one with that id exists in its namespace, or, without an explicit `id`,
     * if one with its keys does.
     *
     * @param NewDoc $doc           the document
     * @param bool   $skipColliding leaves this document out if its id is taken, instead of refusing the whole
     *                              modification
     */
    public function insertDoc(NewDoc $doc, bool $skipColliding = false): self
    {
        return $this->add(__FUNCTION__, $doc->cells($skipColliding));
    }

    /**
     * Inserts a document, or replaces the content of the document with that id. The document must have a
     * content. Refused if another claimant holds the existing document, and as a collision if that has other
     * keys. The claimant that holds it stays the same. The result lists it among the inserted documents.
     *
     * In the modification that ends a `Job`, a put of a document that the job holds is a change: the
     * document must be at the version that the job holds, is released, and is listed among the changed
     * documents.
     *
     * @param NewDoc $doc the document
     */
    public function putDoc(NewDoc $doc): self
    {
        return $this->add(__FUNCTION__, $doc->cells(false));
    }

    /**
     * Changes a document. Refused if it does not exist at that version, or if another claimant holds it.
     *
     * @param DocChange $change the change to make
     */
    public function changeDoc(DocChange $change): self
    {
        return $this->add(__FUNCTION__, $change->cells());
    }

    /**
     * Deletes a document. Refused if it does not exist at that version, or if another claimant holds it.
     *
     * @param Doc|DocId $doc the document
     */
    public function deleteDoc(Doc|DocId $doc): self
    {
        return $this->add(__FUNCTION__, TaskArguments::doc('doc', $doc));
    }

    /**
     * Depends on a document. Refused if it does not exist at that version; who holds it does not matter.
     *
     * @param Doc|DocId $doc the document
     */
    public function dependDoc(Doc|DocId $doc): self
    {
        return $this->add(__FUNCTION__, TaskArguments::doc('doc', $doc));
    }

    /** @param list<string|int|bool|null> $cells */
    private function add(string $list, array $cells): self
    {
        $this->entries[$list][] = $cells;

        return $this;
    }

    /** @internal a millpond_tasks_modification */
    public function packed(FFI $ffi): Packed
    {
        $lists = \array_map(fn (string $list): array => $this->entries[$list] ?? [], self::LISTS);

        return Packed::lists($ffi, 'millpond_tasks_modification *', $lists);
    }
}
