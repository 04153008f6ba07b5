<?php

declare(strict_types=1);

namespace Millpond\Internal;

use FFI;
use FFI\CData;
use FFI\CType;
use Millpond\Exception\DependencyException;
use Millpond\Tasks\Doc;
use Millpond\Tasks\DocId;
use Millpond\Tasks\DocPage;
use Millpond\Tasks\DocPosition;
use Millpond\Tasks\Modified;
use Millpond\Tasks\Position;
use Millpond\Tasks\Task;
use Millpond\Tasks\TaskId;
use Millpond\Tasks\TaskPage;

/**
 * What the library returns about tasks and documents, as PHP has it. All texts of a result are copied
 * at once, and the arrays are read word by word: see `ShuffleResults`.
 *
 * @internal
 */
final class TaskResults
{
    use ReadsRecords;

    /** The type of an address: to look it up by its name takes as long as a small call. */
    private static ?CType $address = null;

    private function __construct(
        private readonly FFI $ffi,
        private readonly CData $data,
    ) {
        $size = $data[0]->text_length;
        $start = $data[0]->text;
        self::$address ??= $ffi->type('uintptr_t');
        $this->texts = $size === 0 ? '' : FFI::string($start, $size);
        $this->base = $size === 0 ? 0 : $ffi->cast(self::$address, $start)->cdata;
    }

    /**
     * Makes a call, and reads its result; null if that is nothing.
     *
     * @param string      $what      what it is: see read()
     * @param list<mixed> $arguments
     */
    public static function call(Library $library, string $what, string $function, array $arguments): mixed
    {
        return Signals::held(static function () use ($library, $what, $function, $arguments): mixed {
            $call = $library->made($function, $arguments, 'result');
            $result = $call->result[0];

            return $result === null ? null : self::of($library->ffi, $result, $what);
        });
    }

    /**
     * What a result holds; it is freed.
     *
     * @param string $what what it is: see read()
     */
    public static function of(FFI $ffi, CData $result, string $what): mixed
    {
        Handles::keep($ffi, $ffi, 'millpond_tasks_result_free', $result);
        $data = $ffi->millpond_tasks_result_data($result);
        $found = (new self($ffi, $data))->read($what);
        Handles::free($result);

        return $found;
    }

    /**
     * The task of a job.
     */
    public static function taskOf(FFI $ffi, CData $job): Task
    {
        $data = $ffi->millpond_tasks_job_data($job);

        return (new self($ffi, $data))->read('tasks')[0];
    }

    /**
     * Reads an array of the result.
     *
     * @param string $read  the method that reads it
     * @param string $array the field of the result that it is, and in `$size` that of how large an element is
     *
     * @return list<mixed>
     */
    private function all(string $read, int $count, CData $data, string $array, string $size): array
    {
        return $count === 0 ? [] : $this->$read($this->ffi->cast('int64_t *', $data->$array), $count, $data->$size);
    }

    /**
     * What a call returns.
     */
    private function read(string $what): mixed
    {
        $data = $this->data[0];

        return match ($what) {
            'tasks' => $this->all('readTask', $data->task_count, $data, 'tasks', 'task_size'),
            'docs' => $this->all('readDoc', $data->doc_count, $data, 'docs', 'doc_size'),
            'queueStats' => $this->all('readQueueStats', $data->queue_count, $data, 'queues', 'queue_size'),
            'namespaceStats' => $this->all('readNamespaceStats', $data->namespace_count, $data, 'namespaces', 'namespace_size'),
            'taskPage' => new TaskPage($this->read('tasks'), $this->next($data->next, 'readPosition')),
            'docPage' => new DocPage($this->read('docs'), $this->next($data->next_doc, 'readDocPosition')),
            'modified' => new Modified(
                ...$this->split($this->read('tasks'), $data->inserted_count),
                ...$this->split($this->read('docs'), $data->inserted_doc_count),
            ),
        };
    }

    /**
     * @param list<Task>|list<Doc> $all
     *
     * @return array{list<Task>, list<Task>}|array{list<Doc>, list<Doc>} what was inserted, and what was changed
     */
    private function split(array $all, int $inserted): array
    {
        return [\array_slice($all, 0, $inserted), \array_slice($all, $inserted)];
    }

    /**
     * Where the next page begins, if there is one.
     */
    private function next(?CData $next, string $read): Position|DocPosition|null
    {
        return $next === null ? null : $this->$read($this->ffi->cast('int64_t *', $next), 1, 8)[0];
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
        foreach (DependencyException::LISTS as $property => [$list, $count, $isTasks]) {
            for ($index = 0; $index < $found->$count; ++$index) {
                $of = $found->$list[$index];
                [$id, $version] = [self::bytes($of->id), $of->version];
                $lists[$property][] = $isTasks ? new TaskId($id, $version)
                    : new DocId(self::bytes($of->namespace_name), $id, $version);
            }
        }
        foreach (['has_missing', 'has_missing_docs', 'has_claims', 'has_claimed_docs', 'has_collisions', 'only_claims'] as $name) {
            $has[$name] = $found->$name;
        }

        return [$lists, $has];
    }

    public static function bytes(CData $bytes): string
    {
        return $bytes->length === 0 ? '' : FFI::string($bytes->data, $bytes->length);
    }
}
