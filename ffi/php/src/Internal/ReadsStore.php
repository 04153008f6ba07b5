<?php

declare(strict_types=1);

namespace Millpond\Internal;

use FFI;
use Millpond\Exception;
use Millpond\Tasks\Doc;
use Millpond\Tasks\DocPage;
use Millpond\Tasks\DocPosition;
use Millpond\Tasks\Position;
use Millpond\Tasks\Task;
use Millpond\Tasks\TaskPage;

/**
 * What a store of tasks says of what it holds.
 *
 * @internal
 */
trait ReadsStore
{
    public function fetch(string|iterable $ids): array
    {
        $names = Packed::members($this->library->ffi, TaskArguments::names('ids', $ids));

        return $this->resultOf(
            'tasks',
            'millpond_tasks_fetch',
            [$this->handle, $names->array, $names->count],
        );
    }

    /**
     * A page of a queue's tasks, by time and id. Pages are not one snapshot: a task that is claimed
     * between two pages may be on both or on none.
     *
     *     $store = Millpond::connect('memory:')->tasks('shop');
     *     $store->modify((new Modification())->insert(new NewTask('inbox', 1))->insert(new NewTask('inbox', 2))->insert(new NewTask('inbox', 3)));
     *     $first = $store->list('inbox', limit: 2);
     *     $rest = $store->list('inbox', after: $first->next);
     *     echo count($first->tasks), ' and ', count($rest->tasks), "\n"; // 2 and 1
     *
     * @param Position|Task|null $after      the page after this position; null is the first
     * @param int|null           $limit      how many tasks to read: 1 to 10,000, null is 1,000
     * @param string|null        $claimant   only tasks that are this claimant's or available. A page may
     *                                       hold fewer tasks then, or none, and still have a next one
     * @param bool               $omitValues whether to leave the values out
     *
     * @throws Exception\InvalidArgumentException for names and numbers beyond their limits
     */
    public function list(
        string $queue,
        Position|Task|null $after = null,
        ?int $limit = null,
        ?string $claimant = null,
        bool $omitValues = false,
    ): TaskPage {
        $ffi = $this->library->ffi;
        $position = Packed::records($ffi, 'millpond_task_position *', $after === null ? [] : [
            [Arguments::size('after.atMs', $after->atMs), $after->id],
        ]);
        $only = Packed::members($ffi, $claimant === null ? [] : [$claimant]);
        $query = $ffi->new('millpond_task_query');
        $pointer = FFI::addr($query);
        $size = FFI::sizeof($query);
        $ffi->millpond_task_query_init($pointer, $size);
        $query->after = $position->array;
        $query->omit_values = $omitValues;
        if ($limit !== null) {
            $query->limit = Arguments::size('limit', $limit);
        }
        if ($only->array !== null) {
            $query->claimant = $only->array[0];
        }

        return $this->resultOf(
            'page',
            'millpond_tasks_list',
            [$this->handle, $queue, \strlen($queue), $pointer],
        );
    }

    /**
     * The queues that hold tasks, by name, with how many. PHP makes an int of a name like '7'.
     *
     * @param string|iterable<string> $exact    those of these names,
     * @param string|iterable<string> $prefixes and those whose names begin like these; all if neither is
     *                                          given
     * @param int|null                $limit    how many at most, the first by name: from 1 to 100,000
     *
     * @return array<string, int>
     *
     * @throws Exception\InvalidArgumentException for names and numbers beyond their limits
     */
    public function queues(string|iterable $exact = [], string|iterable $prefixes = [], ?int $limit = null): array
    {
        return \array_column($this->queueStats($exact, $prefixes, $limit), 'size', 'queue');
    }

    public function areEmpty(string|iterable $exact = [], string|iterable $prefixes = []): bool
    {
        [$filter, $kept] = TaskArguments::filter($this->library->ffi, $exact, $prefixes, null);
        $call = $this->library->made('millpond_tasks_are_empty', [$this->handle, $filter], 'flag');

        return $call->flag[0];
    }

    public function queueStats(string|iterable $exact = [], string|iterable $prefixes = [], ?int $limit = null): array
    {
        [$filter, $kept] = TaskArguments::filter($this->library->ffi, $exact, $prefixes, $limit);

        return $this->resultOf(
            'queueStats',
            'millpond_tasks_queue_stats',
            [$this->handle, $filter],
        );
    }

    public function getDoc(string $namespace, string $key, string $secondaryKey = ''): ?Doc
    {
        $found = $this->resultOf(
            'docs',
            'millpond_tasks_get_doc',
            [$this->handle, $namespace, \strlen($namespace), $key, \strlen($key), $secondaryKey, \strlen($secondaryKey)],
        );

        return $found[0] ?? null;
    }

    public function fetchDocs(string $namespace, string|iterable $ids): array
    {
        $names = Packed::members($this->library->ffi, TaskArguments::names('ids', $ids));

        return $this->resultOf(
            'docs',
            'millpond_tasks_fetch_docs',
            [$this->handle, $namespace, \strlen($namespace), $names->array, $names->count],
        );
    }

    /**
     * A page of a namespace's documents, by primary key, secondary key and id.
     *
     * @param string               $start        from this primary key on
     * @param string               $end          up to this primary key, and without it; '' is no end
     * @param DocPosition|Doc|null $after        the page after this position; null is the first
     * @param int|null             $limit        how many: 1 to 10,000, null is 1,000
     * @param bool                 $omitContents whether to leave the contents out
     *
     * @throws Exception\InvalidArgumentException for names and numbers beyond their limits
     */
    public function listDocs(
        string $namespace,
        string $start = '',
        string $end = '',
        DocPosition|Doc|null $after = null,
        ?int $limit = null,
        bool $omitContents = false,
    ): DocPage {
        $ffi = $this->library->ffi;
        $position = Packed::records($ffi, 'millpond_doc_position *', $after === null ? [] : [
            [$after->key, $after->secondaryKey, $after->id],
        ]);
        $range = Packed::members($ffi, [$start, $end]);
        $query = $ffi->new('millpond_doc_query');
        $pointer = FFI::addr($query);
        $size = FFI::sizeof($query);
        $ffi->millpond_doc_query_init($pointer, $size);
        [$query->after, $query->start, $query->end] = [$position->array, $range->array[0], $range->array[1]];
        $query->omit_contents = $omitContents;
        if ($limit !== null) {
            $query->limit = Arguments::size('limit', $limit);
        }

        return $this->resultOf(
            'docPage',
            'millpond_tasks_list_docs',
            [$this->handle, $namespace, \strlen($namespace), $pointer],
        );
    }

    public function namespaceStats(
        string|iterable $exact = [],
        string|iterable $prefixes = [],
        ?int $limit = null,
    ): array {
        $ffi = $this->library->ffi;
        [$filter, $kept] = TaskArguments::filter($ffi, $exact, $prefixes, $limit);

        return $this->resultOf(
            'namespaceStats',
            'millpond_tasks_namespace_stats',
            [$this->handle, $filter],
        );
    }

    public function time(): int
    {
        $call = $this->library->made('millpond_tasks_time', [$this->handle], 'number');

        return $call->number[0];
    }
}
