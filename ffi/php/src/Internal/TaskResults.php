<?php

declare(strict_types=1);

namespace Millpond\Internal;

use FFI;
use FFI\CData;
use Millpond\Tasks\Doc;
use Millpond\Tasks\DocId;
use Millpond\Tasks\DocPage;
use Millpond\Tasks\DocPosition;
use Millpond\Tasks\Modified;
use Millpond\Tasks\NamespaceStats;
use Millpond\Tasks\Position;
use Millpond\Tasks\QueueStats;
use Millpond\Tasks\Task;
use Millpond\Tasks\TaskId;
use Millpond\Tasks\TaskPage;

/**
 * What the library returns about tasks and documents, as PHP has it. All texts of a result are copied
 * at once, and the arrays are read word by word in the order of their texts: see `ShuffleResults`.
 *
 * @internal
 */
final class TaskResults
{
    /** The lists of a millpond_tasks_dependency, and how many there are, by the name of the property. */
    private const TASK_LISTS = ['inserts' => ['inserts', 'insert_count'], 'changes' => ['changes', 'change_count'],
        'deletes' => ['deletes', 'delete_count'], 'depends' => ['depends', 'depend_count'],
        'claims' => ['claims', 'claim_count']];
    private const DOC_LISTS = ['docInserts' => ['doc_inserts', 'doc_insert_count'],
        'docChanges' => ['doc_changes', 'doc_change_count'], 'docDeletes' => ['doc_deletes', 'doc_delete_count'],
        'docDepends' => ['doc_depends', 'doc_depend_count'], 'docClaims' => ['doc_claims', 'doc_claim_count']];
    private const PREDICATES = ['has_missing', 'has_missing_docs', 'has_claims', 'has_claimed_docs', 'has_collisions',
        'only_claims'];

    private readonly string $texts;

    /** Where the next text begins. */
    private int $offset = 0;

    private function __construct(
        private readonly FFI $ffi,
        private readonly CData $data,
        private readonly ?CData $result = null,
    ) {
        $size = $data[0]->text_length;
        $start = $data[0]->text;
        $this->texts = $size === 0 ? '' : FFI::string($start, $size);
    }

    /**
     * Makes a call, and reads its result; null if that is nothing.
     *
     * @param string               $what the method of this class that reads it
     * @param \Closure(CData): int $make makes the call with its out-parameters
     */
    public static function call(Library $library, string $what, \Closure $make): mixed
    {
        return Signals::held(static function () use ($library, $what, $make): mixed {
            $call = $library->call();
            $status = $make($call);
            $library->check($status, $call);
            $result = $call->result[0];

            return $result === null ? null : self::of($library->ffi, $result, $what);
        });
    }

    /**
     * What a result holds; it is freed.
     *
     * @param string $what the method of this class that reads it
     */
    public static function of(FFI $ffi, CData $result, string $what): mixed
    {
        Handles::keep($ffi, $ffi, 'millpond_tasks_result_free', $result);
        $data = $ffi->millpond_tasks_result_data($result);
        $found = (new self($ffi, $data, $result))->$what();
        Handles::free($result);

        return $found;
    }

    /**
     * The task of a job.
     */
    public static function taskOf(FFI $ffi, CData $job): Task
    {
        $data = $ffi->millpond_tasks_job_data($job);

        return (new self($ffi, $data))->tasks()[0];
    }

    /**
     * Eighteen words a task: pointer and length of five texts, and eight numbers.
     *
     * @return list<Task>
     */
    private function tasks(): array
    {
        $count = $this->data[0]->task_count;
        if ($count === 0) {
            return [];
        }
        $array = $this->data[0]->tasks;
        $words = $this->ffi->cast('int64_t *', $array);
        $found = [];
        $stride = $this->data[0]->task_size >> 3;
        for ($word = 0, $end = $stride * $count; $word < $end; $word += $stride) {
            $id = $this->text($words[$word + 1]);
            $queue = $this->text($words[$word + 3]);
            $claimant = $this->text($words[$word + 5]);
            $err = $this->text($words[$word + 7]);
            $json = $words[$word + 8] === 0 ? null : $this->text($words[$word + 9]);
            $expires = $words[$word + 14];
            $found[] = new Task(
                $id,
                $words[$word + 10],
                $queue,
                $words[$word + 11],
                $words[$word + 12],
                $words[$word + 13],
                $claimant,
                $words[$word + 15],
                $words[$word + 16],
                $err,
                $json,
                $words[$word + 17],
                $expires < 0 ? null : $expires,
            );
        }

        return $found;
    }

    /**
     * Sixteen words a document: pointer and length of six texts, and four numbers.
     *
     * @return list<Doc>
     */
    private function docs(): array
    {
        $count = $this->data[0]->doc_count;
        if ($count === 0) {
            return [];
        }
        $array = $this->data[0]->docs;
        $words = $this->ffi->cast('int64_t *', $array);
        $found = [];
        $stride = $this->data[0]->doc_size >> 3;
        for ($word = 0, $end = $stride * $count; $word < $end; $word += $stride) {
            $namespace = $this->text($words[$word + 1]);
            $id = $this->text($words[$word + 3]);
            $key = $this->text($words[$word + 5]);
            $secondaryKey = $this->text($words[$word + 7]);
            $claimant = $this->text($words[$word + 9]);
            $json = $words[$word + 10] === 0 ? null : $this->text($words[$word + 11]);
            $found[] = new Doc(
                $namespace,
                $id,
                $words[$word + 12],
                $key,
                $secondaryKey,
                $json,
                $words[$word + 13],
                $claimant,
                $words[$word + 14],
                $words[$word + 15],
            );
        }

        return $found;
    }

    private function modified(): Modified
    {
        [$tasks, $docs] = [$this->tasks(), $this->docs()];
        [$inserted, $insertedDocs] = [$this->data[0]->inserted_count, $this->data[0]->inserted_doc_count];

        return new Modified(
            \array_slice($tasks, 0, $inserted),
            \array_slice($tasks, $inserted),
            \array_slice($docs, 0, $insertedDocs),
            \array_slice($docs, $insertedDocs),
        );
    }

    private function page(): TaskPage
    {
        $tasks = $this->tasks();
        $next = $this->data[0]->next;

        return new TaskPage(
            $tasks,
            $next === null ? null : new Position($next[0]->at_ms, $this->text($next[0]->id->length)),
        );
    }

    private function docPage(): DocPage
    {
        $docs = $this->docs();
        $next = $this->data[0]->next_doc;

        return new DocPage($docs, $next === null ? null : new DocPosition(
            $this->text($next[0]->key->length),
            $this->text($next[0]->secondary_key->length),
            $this->text($next[0]->id->length),
        ));
    }

    /**
     * @return list<QueueStats>
     */
    private function queueStats(): array
    {
        $found = [];
        for ($index = 0, $count = $this->data[0]->queue_count; $index < $count; ++$index) {
            $stats = $this->ffi->millpond_tasks_result_queue($this->result, $index)[0];
            $queue = $this->text($stats->queue->length);
            $found[] = new QueueStats(
                $queue,
                $stats->size,
                $stats->available,
                $stats->claimed,
                $stats->future,
                $stats->max_claims,
            );
        }

        return $found;
    }

    /**
     * @return list<NamespaceStats>
     */
    private function namespaceStats(): array
    {
        $found = [];
        for ($index = 0, $count = $this->data[0]->namespace_count; $index < $count; ++$index) {
            $stats = $this->ffi->millpond_tasks_result_namespace($this->result, $index)[0];
            $namespace = $this->text($stats->namespace_name->length);
            $found[] = new NamespaceStats($namespace, $stats->size, $stats->claimed);
        }

        return $found;
    }

    private function text(int $length): string
    {
        $text = \substr($this->texts, $this->offset, $length);
        $this->offset += $length;

        return $text;
    }

    /**
     * Why a modification was refused, for the exception.
     *
     * @param CData $dependency a millpond_tasks_dependency
     *
     * @return array{array<string, list<TaskId>|list<DocId>>, array<string, bool>}
     */
    public static function dependency(CData $dependency): array
    {
        $found = $dependency[0];
        $lists = $has = [];
        foreach (self::TASK_LISTS as $property => [$list, $count]) {
            for ($index = 0; $index < $found->$count; ++$index) {
                $task = $found->$list[$index];
                $lists[$property][] = new TaskId(self::bytes($task->id), $task->version);
            }
        }
        foreach (self::DOC_LISTS as $property => [$list, $count]) {
            for ($index = 0; $index < $found->$count; ++$index) {
                $doc = $found->$list[$index];
                [$namespace, $id] = [self::bytes($doc->namespace_name), self::bytes($doc->id)];
                $lists[$property][] = new DocId($namespace, $id, $doc->version);
            }
        }
        foreach (self::PREDICATES as $predicate) {
            $has[$predicate] = $found->$predicate;
        }

        return [$lists, $has];
    }

    public static function bytes(CData $bytes): string
    {
        return $bytes->length === 0 ? '' : FFI::string($bytes->data, $bytes->length);
    }
}
