<?php

declare(strict_types=1);

namespace Millpond\Internal;

use FFI;
use FFI\CData;
use Millpond\Exception\DependencyException;
use Millpond\Tasks\Doc;
use Millpond\Tasks\DocId;
use Millpond\Tasks\DocPage;
use Millpond\Tasks\Modified;
use Millpond\Tasks\Swept;
use Millpond\Tasks\Task;
use Millpond\Tasks\TaskId;
use Millpond\Tasks\TaskPage;

/**
 * Reads what the library returns about tasks and documents.
 *
 * @internal
 */
final class TaskResults
{
    use ReadsRecords;

    /** The prefix of the names of its functions. */
    private const RESULT = 'millpond_tasks_result';

    /**
     * Makes a call, and reads its result; null if it has none.
     *
     * @param string      $what      the kind of result: see read()
     * @param list<mixed> $arguments
     */
    public static function call(Library $library, string $what, string $function, array $arguments): mixed
    {
        return Signals::held(static function () use ($library, $what, $function, $arguments): mixed {
            $call = $library->made($function, $arguments, 'result');

            return self::of($library->ffi, $call->result[0], $what);
        });
    }

    /**
     * Reads the result of a call.
     */
    private function read(string $what): mixed
    {
        $data = $this->data[0];

        return match ($what) {
            'tasks' => $this->all('readTask', $data->task_count, $data, 'tasks', 'task_size'),
            'docs' => $this->all('readDoc', $data->doc_count, $data, 'docs', 'doc_size'),
            'queueStats' => $this->all('readQueueStats', $data->queue_count, $data, 'queues', 'queue_size'),
            'namespaceStats' => $this->all('readNamespaceStats', $data->namespace_count, $data, 'namespaces', 'namespace_size'),
            'taskPage' => new TaskPage($this->read('tasks'), $this->one('readPosition', $data->next)),
            'swept' => new Swept($data->swept_count, $this->one('readPosition', $data->next)),
            'docPage' => new DocPage($this->read('docs'), $this->one('readDocPosition', $data->next_doc)),
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
