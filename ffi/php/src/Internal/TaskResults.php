<?php

declare(strict_types=1);

namespace Millpond\Internal;

use FFI;
use FFI\CData;
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

    private function __construct(
        private readonly FFI $ffi,
        private readonly CData $data,
    ) {
        $size = $data[0]->text_length;
        $start = $data[0]->text;
        [$this->texts, $this->base] = $size === 0 ? ['', 0]
            : [FFI::string($start, $size), FFI::cast('uintptr_t', $start)->cdata];
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
     * @param string $name what the fields of the result are called
     * @param string $read the method that reads them
     *
     * @return list<mixed>
     */
    private function all(string $name, string $read): array
    {
        $data = $this->data[0];
        [$array, $count, $size] = ["{$name}s", "{$name}_count", "{$name}_size"];

        return $data->$count === 0 ? []
            : $this->$read($this->ffi->cast('int64_t *', $data->$array), $data->$count, $data->$size);
    }

    /**
     * What a call returns.
     */
    private function read(string $what): mixed
    {
        $data = $this->data[0];

        return match ($what) {
            'tasks' => $this->all('task', 'readTask'),
            'docs' => $this->all('doc', 'readDoc'),
            'queueStats' => $this->all('queue', 'readQueueStats'),
            'namespaceStats' => $this->all('namespace', 'readNamespaceStats'),
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
