<?php

declare(strict_types=1);

namespace Millpond\Internal;

use FFI;
use Millpond\Exception\InvalidArgumentException;
use Millpond\Tasks\Doc;
use Millpond\Tasks\DocId;
use Millpond\Tasks\DocPosition;
use Millpond\Tasks\Position;
use Millpond\Tasks\Task;
use Millpond\Tasks\TaskId;

/**
 * Converts PHP values for task stores to what the library takes; see `Arguments`. A structure of the library
 * is a list of cells here: see `Packed::records()`.
 *
 * @internal
 */
final class TaskArguments
{
    /**
     * One name or many.
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
            'queues', 'keys' => $limits->queues,
            'ids' => $limits->ids,
            default => $limits->names,
        };

        return Arguments::each($argument, $names, $max, static fn (mixed $name, string $path): string => \is_string($name)
            ? $name : throw Arguments::wrong($path, 'be string', $name));
    }

    /**
     * @return array{int, int} the point in time and the delay, in milliseconds; NOT_SET if one is not given
     */
    public static function when(int|\DateTimeInterface|null $atMs, ?float $delay): array
    {
        if ($atMs !== null && $delay !== null) {
            throw new InvalidArgumentException('atMs and delay are both given; only one is allowed');
        }

        return [
            $atMs === null ? Arguments::NOT_SET : Arguments::time('atMs', $atMs),
            Arguments::optional('delay', $delay),
        ];
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

    public static function position(FFI $ffi, Position|Task|null $after): Packed
    {
        return Packed::records($ffi, 'millpond_task_position *', $after === null ? [] : [
            [Arguments::size('after.atMs', $after->atMs), $after->id],
        ]);
    }

    public static function docPosition(FFI $ffi, DocPosition|Doc|null $after): Packed
    {
        return Packed::records($ffi, 'millpond_doc_position *', $after === null ? [] : [
            [$after->key, $after->secondaryKey, $after->id],
        ]);
    }

    /**
     * @param Task|TaskId|iterable<mixed> $tasks one, or many
     *
     * @return list<array{string, int}>
     */
    public static function tasks(Task|TaskId|iterable $tasks): array
    {
        $task = static fn (mixed $task, string $path): array => $task instanceof Task || $task instanceof TaskId
            ? self::task($path, $task) : throw Arguments::wrong($path, 'be Task or TaskId', $task);

        return Arguments::each('tasks', $tasks, Limits::get()->entries, $task);
    }

    /**
     * @param Doc|DocId|iterable<mixed> $docs one, or many
     *
     * @return list<array{string, string, int}>
     */
    public static function docs(Doc|DocId|iterable $docs): array
    {
        $doc = static fn (mixed $doc, string $path): array => $doc instanceof Doc || $doc instanceof DocId
            ? self::doc($path, $doc) : throw Arguments::wrong($path, 'be Doc or DocId', $doc);

        return Arguments::each('docs', $docs, Limits::get()->entries, $doc);
    }
}
