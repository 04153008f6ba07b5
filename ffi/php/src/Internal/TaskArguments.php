<?php

declare(strict_types=1);

namespace Millpond\Internal;

use FFI;
use FFI\CData;
use Millpond\Exception\InvalidArgumentException;
use Millpond\Tasks\Doc;
use Millpond\Tasks\DocId;
use Millpond\Tasks\Task;
use Millpond\Tasks\TaskId;

/**
 * Values of PHP for stores of tasks, as the library takes them; see `Arguments`. A structure of the
 * library's is a list of cells here: see `Packed::records()`.
 *
 * @internal
 */
final class TaskArguments
{
    /**
     * One name, or many.
     *
     * @param string|iterable<mixed> $names
     *
     * @return list<string>
     */
    public static function names(string $argument, string|iterable $names): array
    {
        if (\is_string($names)) {
            return [$names];
        }
        $limits = Limits::get();
        $max = match ($argument) {
            'queues' => $limits->queues,
            'ids' => $limits->ids,
            default => $limits->names,
        };
        $found = [];
        foreach (Arguments::items($argument, $names, $max) as $name) {
            if (!\is_string($name)) {
                throw Arguments::wrong($argument . '[' . \count($found) . ']', 'be string', $name);
            }
            $found[] = $name;
        }

        return $found;
    }

    /**
     * @return array{int, int} the time on the clock and the delay, in milliseconds; NOT_SET if it is not given
     */
    public static function when(?int $atMs, ?float $delay): array
    {
        if ($atMs !== null && $delay !== null) {
            throw new InvalidArgumentException('atMs and delay are both given; only one is allowed');
        }

        return [$atMs === null ? Arguments::NOT_SET : Arguments::size('atMs', $atMs), Arguments::optional('delay', $delay)];
    }

    /**
     * @return array{string, int} a millpond_task_id
     */
    public static function task(string $argument, Task|TaskId $task): array
    {
        return [$task->id, Arguments::size("$argument.version", $task->version)];
    }

    /**
     * @return array{string, string, int} a millpond_doc_id
     */
    public static function doc(string $argument, Doc|DocId $doc): array
    {
        return [$doc->namespace, $doc->id, Arguments::size("$argument.version", $doc->version)];
    }

    /**
     * @param Task|TaskId|iterable<mixed> $tasks one, or many
     *
     * @return list<array{string, int}>
     */
    public static function tasks(Task|TaskId|iterable $tasks): array
    {
        $found = [];
        $items = \is_iterable($tasks) ? Arguments::items('tasks', $tasks, Limits::get()->entries) : [$tasks];
        foreach ($items as $task) {
            $path = 'tasks[' . \count($found) . ']';
            if (!$task instanceof Task && !$task instanceof TaskId) {
                throw Arguments::wrong($path, 'be Task or TaskId', $task);
            }
            $found[] = self::task($path, $task);
        }

        return $found;
    }

    /**
     * @param Doc|DocId|iterable<mixed> $docs one, or many
     *
     * @return list<array{string, string, int}>
     */
    public static function docs(Doc|DocId|iterable $docs): array
    {
        $found = [];
        $items = \is_iterable($docs) ? Arguments::items('docs', $docs, Limits::get()->entries) : [$docs];
        foreach ($items as $doc) {
            $path = 'docs[' . \count($found) . ']';
            if (!$doc instanceof Doc && !$doc instanceof DocId) {
                throw Arguments::wrong($path, 'be Doc or DocId', $doc);
            }
            $found[] = self::doc($path, $doc);
        }

        return $found;
    }

    /**
     * A millpond_tasks_filter, and what has to be there as long as it is.
     *
     * @param string|iterable<mixed> $exact
     * @param string|iterable<mixed> $prefixes
     *
     * @return array{CData, list<mixed>}
     */
    public static function filter(FFI $ffi, string|iterable $exact, string|iterable $prefixes, ?int $limit): array
    {
        $names = Packed::members($ffi, self::names('exact', $exact));
        $starts = Packed::members($ffi, self::names('prefixes', $prefixes));
        $filter = $ffi->new('millpond_tasks_filter');
        $pointer = FFI::addr($filter);
        $size = FFI::sizeof($filter);
        $ffi->millpond_tasks_filter_init($pointer, $size);
        [$filter->exact, $filter->exact_count] = [$names->array, $names->count];
        [$filter->prefixes, $filter->prefix_count] = [$starts->array, $starts->count];
        if ($limit !== null) {
            $filter->limit = Arguments::size('limit', $limit);
        }

        return [$pointer, [$filter, $names, $starts]];
    }
}
