<?php

/**
 * The calls of task stores; see php.php.
 */

declare(strict_types=1);

use Millpond\BorrowedClient;
use Millpond\Client;
use Millpond\Exception\DependencyException;
use Millpond\Exception\MillpondException;
use Millpond\Tasks\Doc;
use Millpond\Tasks\DocChange;
use Millpond\Tasks\DocId;
use Millpond\Tasks\DocPosition;
use Millpond\Tasks\Job;
use Millpond\Tasks\Modification;
use Millpond\Tasks\Modified;
use Millpond\Tasks\MoveTask;
use Millpond\Tasks\NamespaceStats;
use Millpond\Tasks\NewDoc;
use Millpond\Tasks\NewTask;
use Millpond\Tasks\Position;
use Millpond\Tasks\QueueStats;
use Millpond\Tasks\ReleaseTask;
use Millpond\Tasks\RetryTask;
use Millpond\Tasks\Task;
use Millpond\Tasks\TaskChange;
use Millpond\Tasks\TaskId;
use Millpond\Tasks\TaskStore;
use Millpond\Tasks\Value;
use Millpond\Tasks\Worker;
use Millpond\Tasks\WorkerOptions;

/** A request as PHP has it: what is labelled is a wrong argument. */
function said(mixed $value): mixed
{
    if ($value instanceof stdClass) {
        $parts = get_object_vars($value);
        if (array_intersect(array_keys($parts), ['float', 'int', 'string']) !== []) {
            return decoded($value);
        }

        return array_map(said(...), $parts);
    }

    return is_array($value) ? array_map(said(...), $value) : $value;
}

/** Milliseconds as seconds, where they are a number. */
function seconds(mixed $milliseconds): mixed
{
    return is_int($milliseconds) || is_float($milliseconds) ? $milliseconds / 1000 : $milliseconds;
}

/**
 * What is given, by the names of the arguments; in seconds where the given name ends in _ms and
 * that of the argument does not.
 */
function given(array $said, array $names): array
{
    $given = [];
    foreach ($names as $name => $argument) {
        if (isset($said[$name])) {
            $isDuration = str_ends_with($name, '_ms') && !str_ends_with($argument, 'Ms');
            $given[$argument] = $isDuration ? seconds($said[$name]) : $said[$name];
        }
    }

    return $given;
}

function lease(array $request): array
{
    return given($request, ['lease_ms' => 'lease']);
}

function filter(array $request): array
{
    return given($request, ['exact' => 'exact', 'prefixes' => 'prefixes', 'limit' => 'limit']);
}

/** A record, with the names that the protocol has. */
function record(object $of, string $json = 'json'): array
{
    $shown = [];
    foreach (get_object_vars($of) as $name => $value) {
        $shown[$name === 'json' ? $json : strtolower(preg_replace('/[A-Z]/', '_$0', $name))] = $value;
    }

    return $shown;
}

function task(Task $task): array
{
    return record($task, 'value');
}

function doc(Doc $doc): array
{
    return record($doc, 'content');
}

function modified(Modified $modified): array
{
    return [
        'inserted' => array_map(task(...), $modified->inserted),
        'changed' => array_map(task(...), $modified->changed),
        'inserted_docs' => array_map(doc(...), $modified->insertedDocs),
        'changed_docs' => array_map(doc(...), $modified->changedDocs),
    ];
}

function taskId(array $said): TaskId
{
    return new TaskId($said['id'], $said['version']);
}

function docId(array $said): DocId
{
    return new DocId($said['namespace'], $said['id'], $said['version']);
}

function change(array $said): TaskChange
{
    $fields = ['id' => 'id', 'version' => 'version', 'queue' => 'queue', 'attempt' => 'attempt', 'err' => 'err',
        'value' => 'json'];
    $task = new Task(...given($said['task'], $fields) + ['version' => 0, 'queue' => '']);
    $set = $said['set'] ?? [];
    $settings = given($set, ['queue' => 'queue', 'value' => 'json', 'at_ms' => 'atMs', 'after_ms' => 'delay',
        'attempt' => 'attempt', 'err' => 'err']);
    $change = $task->change(...$settings + (isset($set['no_value']) ? ['value' => Value::None] : []));
    if (isset($said['retry'])) {
        $change = $change->retry($said['retry']);
    }
    if (isset($said['retry_or_quarantine'])) {
        $change = $change->retryOrQuarantine(...$said['retry_or_quarantine']);
    }

    return isset($said['quarantine']) ? $change->quarantine(...$said['quarantine']) : $change;
}

function docChange(array $said): DocChange
{
    $handle = docId($said['doc']);
    $names = ['content' => 'json', 'at_ms' => 'atMs', 'after_ms' => 'delay', 'release' => 'release'];

    return (new Doc($handle->namespace, $handle->id, $handle->version))->change(...given($said['set'] ?? [], $names));
}

function newDoc(array $said): NewDoc
{
    return new NewDoc(...given($said, ['namespace' => 'namespace', 'key' => 'key', 'id' => 'id',
        'secondary_key' => 'secondaryKey', 'content' => 'json']));
}

function modification(array $said): Modification
{
    $made = new Modification();
    $task = ['queue' => 'queue', 'id' => 'id', 'at_ms' => 'atMs', 'after_ms' => 'delay', 'value' => 'json',
        'attempt' => 'attempt', 'err' => 'err', 'priority' => 'priority', 'ttl_ms' => 'ttl'];
    $adds = [
        'inserts' => static fn (array $said) => $made
            ->insert(new NewTask(...given($said, $task)), $said['skip_colliding'] ?? false),
        'changes' => static fn (array $said) => $made->change(change($said)),
        'deletes' => static fn (array $said) => $made->delete(taskId($said)),
        'depends' => static fn (array $said) => $made->depend(taskId($said)),
        'doc_inserts' => static fn (array $said) => $made->insertDoc(newDoc($said), $said['skip_colliding'] ?? false),
        'doc_puts' => static fn (array $said) => $made->putDoc(newDoc($said)),
        'doc_changes' => static fn (array $said) => $made->changeDoc(docChange($said)),
        'doc_deletes' => static fn (array $said) => $made->deleteDoc(docId($said)),
        'doc_depends' => static fn (array $said) => $made->dependDoc(docId($said)),
    ];
    foreach ($adds as $list => $add) {
        array_map($add, $said[$list] ?? []);
    }

    return $made;
}

function worker(TaskStore $store, array $request): Worker
{
    $names = ['wait_ms' => 'wait', 'lease_ms' => 'lease', 'max_attempts' => 'maxAttempts',
        'max_claims' => 'maxClaims', 'error_queue' => 'errorQueue'];
    [$first, $most] = $request['backoff_ms'] ?? [null, null];
    $backoff = given(['first_ms' => $first, 'most_ms' => $most], ['first_ms' => 'backoff', 'most_ms' => 'backoffMax']);

    return $store->worker($request['queues'], new WorkerOptions(...given($request, $names), ...$backoff));
}

/** What a job does before it ends; returns its documents. */
function meanwhile(Job $job, array $said, callable $perform, array &$docs): void
{
    foreach ($said['claim_docs'] ?? [] as [$namespace, $key]) {
        $found = $job->claimDocs($namespace, $key, ...given($said, ['claim_wait_ms' => 'wait']));
        $docs = [...$docs, ...array_map(doc(...), $found)];
    }
    foreach ($said['run'] ?? [] as $request) {
        $request = clone $request;
        $request->claimant ??= $job->task->claimant;
        $perform($request);
    }
    usleep(($said['sleep_ms'] ?? 0) * 1000);
}

/** Ends a job. */
function ended(Job $job, array $said): ?array
{
    $err = $said['err'] ?? '';
    switch ($said['then']) {
        case 'finish':
            return modified($job->finish(modification($said['modification'])));
        case 'done':
            $job->done();
            break;
        case 'retry':
            $job->retry($err, ...given($said, ['after_ms' => 'delay']));
            break;
        case 'move':
            $job->moveTo($said['queue'], $err);
            break;
        case 'release':
            $job->release(...given($said, ['after_ms' => 'delay']));
            break;
        case 'leave':
            break;
        default:
            throw new Unsupported("the end {$said['then']}");
    }

    return null;
}

/** The same as a handler says it. */
function outcome(array $said): ?Modification
{
    $err = $said['err'] ?? '';

    return match ($said['then']) {
        'done' => null,
        'finish' => modification($said['modification']),
        'retry' => throw new RetryTask($err, ...given($said, ['after_ms' => 'delay'])),
        'move' => throw new MoveTask($said['queue'], $err),
        'release' => throw new ReleaseTask(...given($said, ['after_ms' => 'delay'])),
        'fail' => throw new RuntimeException($err),
        default => throw new Unsupported("the end {$said['then']}"),
    };
}

/** Takes jobs, and does with each as the request says. */
function work(Worker $worker, array $request, callable $perform): array
{
    $jobs = $worker->jobs();
    $seen = [];
    foreach ($request['jobs'] as $said) {
        $job = $jobs->next();
        if ($job === null) {
            break;
        }
        [$docs, $isLost] = [[], false];
        $outcome = attempt(static function () use ($job, $said, $perform, &$docs, &$isLost): ?array {
            meanwhile($job, $said, $perform, $docs);
            $isLost = $job->isLost();

            return ended($job, $said);
        });
        $seen[] = ['task' => task($job->task), 'docs' => $docs, 'is_lost' => $isLost, 'answer' => $outcome];
        unset($job);
    }

    return $seen;
}

/** The same by a handler. */
function run(Worker $worker, array $request, callable $perform): array
{
    $seen = [];
    $worker->run(static function (Job $job) use ($request, $perform, &$seen): ?Modification {
        $said = $request['jobs'][count($seen)] ?? throw new RetryTask('no such job');
        [$docs, $isLost, $failure] = [[], false, null];
        $outcome = attempt(static function () use ($job, $said, $perform, &$docs, &$isLost, &$failure): void {
            try {
                meanwhile($job, $said, $perform, $docs);
            } catch (\Throwable $failure) {
                throw $failure;
            }
            $isLost = $job->isLost();
        });
        $one = ['task' => task($job->task), 'docs' => $docs, 'is_lost' => $isLost, 'answer' => $outcome];
        $seen[] = [...$one, 'told' => null];

        return $failure === null ? outcome($said) : throw $failure;
    }, static function (Job $job, MillpondException $error) use (&$seen): void {
        $seen[array_key_last($seen)]['told'] = $error->errorName;
    });

    return $seen;
}

/** Makes the call of one request to a task store; `perform` makes another one. */
function tasksResult(stdClass $raw, Client|BorrowedClient $client, callable $perform): mixed
{
    if ($client instanceof BorrowedClient) {
        throw new Unsupported('a borrowed connection has no task stores');
    }
    $request = said($raw);
    $store = $client->tasks($request['store'], $request['claimant'] ?? null);
    foreach ($raw->jobs ?? [] as $number => $job) {
        // These are made as they are.
        $request['jobs'][$number]['run'] = $job->run ?? [];
    }

    return match ($request['call']) {
        'tasks_insert' => task($store->insert(new NewTask($request['queue'], json: $request['value'] ?? null))),
        'tasks_modify' => modified($store->modify(modification($request))),
        'tasks_claim' => (static function () use ($store, $request): ?array {
            $task = $store->claim($request['queues'], ...lease($request));

            return $task === null ? null : task($task);
        })(),
        'tasks_claim_many' =>
            array_map(task(...), $store->claimMany($request['queues'], $request['max'], ...lease($request))),
        'tasks_claims' => array_map(task(...), $store->claims($request['queues'], ...given($request, [
            'max' => 'max', 'wait_ms' => 'wait', 'lease_ms' => 'lease',
        ]))->next() ?? []),
        'tasks_renew' => (static function () use ($store, $request): array {
            $tasks = array_map(taskId(...), $request['tasks'] ?? []);
            $renewed = $store->renew($tasks, array_map(docId(...), $request['docs'] ?? []), ...lease($request));

            return [
                'tasks' => array_map(record(...), $renewed->tasks),
                'docs' => array_map(record(...), $renewed->docs),
                'at_ms' => $renewed->atMs,
            ];
        })(),
        'tasks_fetch' => array_map(task(...), $store->fetch($request['ids'])),
        'tasks_list' => (static function () use ($store, $request): array {
            $after = $request['after'] ?? null;
            $page = $store->list(
                $request['queue'],
                $after === null ? null : new Position($after['at_ms'], $after['id']),
                ...given($request, ['limit' => 'limit', 'only_claimant' => 'claimant', 'omit_values' => 'omitValues']),
            );

            return ['tasks' => array_map(task(...), $page->tasks), 'next' => $page->next ? record($page->next) : null];
        })(),
        'tasks_queues' => (static function () use ($store, $request): array {
            $queues = $store->queues(...filter($request));

            return array_map(null, array_map(strval(...), array_keys($queues)), array_values($queues));
        })(),
        // How many there are has no limit.
        'tasks_are_empty' => $store->areEmpty(...array_diff_key(filter($request), ['limit' => 0])),
        'tasks_queue_stats' =>
            array_map(static fn (QueueStats $stats): array => record($stats), $store->queueStats(...filter($request))),
        'tasks_claim_docs' => array_map(
            doc(...),
            $store->claimDocs($request['namespace'], $request['key'], ...lease($request)),
        ),
        'tasks_get_doc' => (static function () use ($store, $request): ?array {
            $found = $store->getDoc($request['namespace'], $request['key'], $request['secondary_key'] ?? '');

            return $found === null ? null : doc($found);
        })(),
        'tasks_put_doc' => doc($store->putDoc(newDoc($request['doc']))),
        'tasks_fetch_docs' => array_map(doc(...), $store->fetchDocs($request['namespace'], $request['ids'])),
        'tasks_list_docs' => (static function () use ($store, $request): array {
            $after = $request['after'] ?? null;
            $settings = given($request, ['start' => 'start', 'end' => 'end', 'limit' => 'limit',
                'omit_contents' => 'omitContents']);
            if ($after !== null) {
                $settings['after'] = new DocPosition($after['key'], $after['secondary_key'], $after['id']);
            }
            $page = $store->listDocs($request['namespace'], ...$settings);

            return ['docs' => array_map(doc(...), $page->docs), 'next' => $page->next ? record($page->next) : null];
        })(),
        'tasks_namespace_stats' => array_map(
            static fn (NamespaceStats $stats): array => record($stats),
            $store->namespaceStats(...filter($request)),
        ),
        'tasks_time' => $store->time(),
        'tasks_work' => work(worker($store, $request), $request, $perform),
        'tasks_run' => run(worker($store, $request), $request, $perform),
        default => throw new Unsupported("the call {$request['call']} is not known"),
    };
}

/** What a modification met, as a response has it. */
function dependency(DependencyException $error): array
{
    $found = [];
    foreach (['inserts', 'changes', 'deletes', 'depends', 'claims'] as $list) {
        $found[$list] = array_map(static fn (TaskId $task): array => [$task->id, $task->version], $error->$list);
        $found["doc_$list"] = array_map(
            static fn (DocId $doc): array => [$doc->namespace, $doc->id, $doc->version],
            $error->{'doc' . ucfirst($list)},
        );
    }

    return $found;
}
