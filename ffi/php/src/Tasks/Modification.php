<?php

declare(strict_types=1);

namespace Millpond\Tasks;

use FFI;
use Millpond\Internal\Packed;
use Millpond\Internal\TaskArguments;

/**
 * Inserts, changes, deletes and dependencies on tasks and documents, for `TaskStore::modify()`: all
 * happen or none does. A task or document may be named only once; there are at most 100,000 entries.
 * Each method adds to the object and returns it.
 *
 *     $store = Millpond::connect('memory:')->tasks('shop');
 *     $task = $store->insert(new NewTask('inbox', 1));
 *     $done = $store->modify((new Modification())->delete($task)->insert(new NewTask('outbox', 2)));
 *     echo $done->inserted[0]->queue, "\n"; // outbox
 */
final class Modification
{
    /** What it may hold, in the order of the fields of a millpond_tasks_modification. */
    private const LISTS = ['insert', 'change', 'delete', 'depend', 'insertDoc', 'putDoc', 'changeDoc', 'deleteDoc',
        'dependDoc'];

    /** @var array<string, list<list<string|int|bool|null>>> the entries of each list */
    private array $entries = [];

    /**
     * Inserts a task. Refused if a task of its id is there, in any queue.
     *
     * @param bool $skipColliding leaves this task out then, instead of refusing the whole modification
     *
     * @return $this
     */
    public function insert(NewTask $task, bool $skipColliding = false): self
    {
        return $this->add(__FUNCTION__, $task->cells($skipColliding));
    }

    /**
     * Changes a task. Refused if it is not there at that version, or held by another claimant.
     *
     * @param TaskChange $change what `Task::change()` has made
     *
     * @return $this
     */
    public function change(TaskChange $change): self
    {
        return $this->add(__FUNCTION__, $change->cells());
    }

    /**
     * Deletes a task. Refused if it is not there at that version, or held by another claimant.
     *
     * @return $this
     */
    public function delete(Task|TaskId $task): self
    {
        return $this->add(__FUNCTION__, TaskArguments::task('task', $task));
    }

    /**
     * Is refused if this task is not there at that version, claimed or not.
     *
     * @return $this
     */
    public function depend(Task|TaskId $task): self
    {
        return $this->add(__FUNCTION__, TaskArguments::task('task', $task));
    }

    /**
     * Inserts a document. Refused if one of its id is there in its namespace; without an id of its own, if
     * one of its keys is.
     *
     * @param bool $skipColliding leaves this document out then, instead of refusing the whole modification
     *
     * @return $this
     */
    public function insertDoc(NewDoc $doc, bool $skipColliding = false): self
    {
        return $this->add(__FUNCTION__, $doc->cells($skipColliding));
    }

    /**
     * Inserts a document, or replaces the content of the one of its id; without an id of its own, of the
     * one of its keys. The document's claimant stays the same. Refused if another claimant holds it, and
     * as an id that is taken if it has other keys. It is among the inserted documents of what the
     * modification did, after the inserts.
     *
     * @return $this
     */
    public function putDoc(NewDoc $doc): self
    {
        return $this->add(__FUNCTION__, $doc->cells(false));
    }

    /**
     * Changes a document. Refused if it is not there at that version, or held by another claimant.
     *
     * @param DocChange $change what `Doc::change()` has made
     *
     * @return $this
     */
    public function changeDoc(DocChange $change): self
    {
        return $this->add(__FUNCTION__, $change->cells());
    }

    /**
     * Deletes a document. Refused if it is not there at that version, or held by another claimant.
     *
     * @return $this
     */
    public function deleteDoc(Doc|DocId $doc): self
    {
        return $this->add(__FUNCTION__, TaskArguments::doc('doc', $doc));
    }

    /**
     * Is refused if this document is not there at that version, claimed or not.
     *
     * @return $this
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
