<?php

declare(strict_types=1);

namespace Millpond\Tasks;

use FFI;
use Millpond\Exception\InvalidArgumentException;
use Millpond\Internal\Arguments;
use Millpond\Internal\Json;
use Millpond\Internal\Packed;
use Millpond\Internal\TaskArguments;

/**
 * Inserts, changes, deletes and dependencies on tasks and documents, for `TaskStore::modify()`: all
 * happen or none does. A task or document may be named only once; there are at most 100,000 entries.
 * Each method adds to the object and returns it.
 *
 *     $store = Millpond::connect('memory:')->tasks('shop');
 *     $task = $store->insert('inbox', 1);
 *     $done = $store->modify((new Modification())->delete($task)->insert('outbox', 2));
 *     echo $done->inserted[0]->queue, "\n"; // outbox
 */
final class Modification
{
    /** What it may hold, in the order of the fields of a millpond_modification. */
    private const LISTS = ['insert', 'change', 'delete', 'depend', 'insertDoc', 'putDoc', 'changeDoc', 'deleteDoc',
        'dependDoc'];

    /** @var array<string, list<list<string|int|bool|null>>> the entries of each list */
    private array $entries = [];

    /**
     * Inserts a task. Refused if a task of that id is there, in any queue.
     *
     * @param string      $queue         the queue, which need not be there; at most 64 KiB of UTF-8
     * @param mixed       $value         anything that JSON has, at most 16 MiB of it
     * @param string|null $json          the value as a JSON text, which is kept byte for byte
     * @param string|null $id            unique in the store, 1 to 64 characters; null is 16 random
     *                                   hexadecimal digits
     * @param int|null    $atMs          from when on it can be claimed, in milliseconds since the Unix
     *                                   epoch; a time in the past counts for its age
     * @param float|null  $delay         in how many seconds it can be claimed, by the engine's clock
     * @param int         $attempt       how often it was tried before
     * @param string      $err           what went wrong before
     * @param int         $priority      0 to 9: of the available tasks of a queue those with the highest
     *                                   are claimed first
     * @param float|null  $ttl           after how many seconds it is deleted, done or not, leased or not
     * @param bool        $skipColliding leaves this task out if its id is taken, instead of refusing the
     *                                   whole modification
     *
     * @return $this
     *
     * @throws InvalidArgumentException for a value that JSON has not, for two values or two times, and for
     *                                  a number below 0
     */
    public function insert(
        string $queue,
        mixed $value = Value::None,
        ?string $json = null,
        ?string $id = null,
        ?int $atMs = null,
        ?float $delay = null,
        int $attempt = 0,
        string $err = '',
        int $priority = 0,
        ?float $ttl = null,
        bool $skipColliding = false,
    ): self {
        $text = Json::given('value', $value, $json);
        [$at, $after] = TaskArguments::when($atMs, $delay);
        $lives = Arguments::wait('ttl', $ttl);
        $tried = Arguments::size('attempt', $attempt);
        $level = Arguments::size('priority', $priority);
        $cells = [$queue, $id, $text, $err, $at, $after, $lives, $tried, $level, $skipColliding];

        return $this->add(__FUNCTION__, $cells);
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
     * Inserts a document. Refused if one of that id is there in its namespace; without an id of its own,
     * if one of its keys is.
     *
     * @param string      $namespace     1 to 64 characters; it need not be there
     * @param string      $key           the primary key, at most 256 characters
     * @param mixed       $content       anything that JSON has, at most 16 MiB of it
     * @param string|null $json          the content as a JSON text, which is kept byte for byte
     * @param string|null $id            unique in its namespace, 1 to 1,025 characters. Null makes it of
     *                                   the keys: the primary key, followed by `|` and the secondary key
     *                                   if there is one. In the primary key `%` and `|` are
     *                                   percent-encoded, so that different keys never make the same id.
     *                                   Several documents of the same keys need ids of their own, and so
     *                                   does a document whose primary key is empty
     * @param string      $secondaryKey  the order of documents with the same primary key, at most 256
     *                                   characters
     * @param bool        $skipColliding leaves this document out if its id is taken, instead of refusing
     *                                   the whole modification
     *
     * @return $this
     *
     * @throws InvalidArgumentException for a content that JSON has not, and for two contents
     */
    public function insertDoc(
        string $namespace,
        string $key,
        mixed $content = Value::None,
        ?string $json = null,
        ?string $id = null,
        string $secondaryKey = '',
        bool $skipColliding = false,
    ): self {
        $text = Json::given('content', $content, $json);

        return $this->add(__FUNCTION__, [$namespace, $key, $id, $secondaryKey, $text, $skipColliding]);
    }

    /**
     * Inserts a document, or replaces the content of the one of its id; without an id of its own, of the
     * one of its keys. The document's claimant stays the same. Refused if another claimant holds it, and
     * as an id that is taken if it has other keys. It is among the inserted documents of what the
     * modification did, after the inserts.
     *
     * @param string      $namespace    as for insertDoc()
     * @param string      $key          as for insertDoc()
     * @param mixed       $content      anything that JSON has, at most 16 MiB of it; there has to be one
     * @param string|null $json         the content as a JSON text, which is kept byte for byte
     * @param string|null $id           as for insertDoc()
     * @param string      $secondaryKey as for insertDoc()
     *
     * @return $this
     *
     * @throws InvalidArgumentException for a content that JSON has not, and for two contents
     */
    public function putDoc(
        string $namespace,
        string $key,
        mixed $content = Value::None,
        ?string $json = null,
        ?string $id = null,
        string $secondaryKey = '',
    ): self {
        $text = Json::given('content', $content, $json);

        return $this->add(__FUNCTION__, [$namespace, $key, $id, $secondaryKey, $text, false]);
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

    /** @internal a millpond_modification */
    public function packed(FFI $ffi): Packed
    {
        $lists = \array_map(fn (string $list): array => $this->entries[$list] ?? [], self::LISTS);

        return Packed::lists($ffi, 'millpond_modification *', $lists);
    }
}
