<?php

/**
 * Jobs of a worker, and what a request says of each; `perform` makes another request.
 */

declare(strict_types=1);

use Millpond\Exception\MillpondException;
use Millpond\Tasks\Job;
use Millpond\Tasks\Modification;
use Millpond\Tasks\MoveTask;
use Millpond\Tasks\ReleaseTask;
use Millpond\Tasks\RetryTask;
use Millpond\Tasks\Worker;

/** The errors with which a handler ends a job. */
const ENDS = ['retry' => RetryTask::class, 'move' => MoveTask::class, 'release' => ReleaseTask::class];

/** The arguments of the end of a job. */
function rest(array $said): array
{
    return array_diff_key($said, array_flip(['claim_docs', 'claim_wait_ms', 'run', 'sleep_ms', 'then']));
}

/** What a job does before it ends; notes its documents. */
function meanwhile(Job $job, array $said, callable $perform, array &$docs): void
{
    $wait = isset($said['claim_wait_ms']) ? ['wait' => seconds($said['claim_wait_ms'])] : [];
    foreach ($said['claim_docs'] ?? [] as [$namespace, $key]) {
        $docs = [...$docs, ...$job->claimDocs($namespace, $key, ...$wait)];
    }
    foreach ($said['run'] ?? [] as $request) {
        $request['calls'][0][1]['claimant'] ??= $job->task->claimant;
        $perform($request);
    }
    usleep(($said['sleep_ms'] ?? 0) * 1000);
}

/** Ends a job. */
function ended(Job $job, array $said): mixed
{
    $then = $said['then'];
    if ($then === 'leave') {
        return null;
    }

    return made($job, $then === 'move' ? 'moveTo' : $then, rest($said));
}

/** The same as a handler says it. */
function outcome(array $said): ?Modification
{
    return match ($said['then']) {
        'done' => null,
        'finish' => modification($said['modification']),
        'fail' => throw new RuntimeException($said['err']),
        default => throw made(ENDS[$said['then']], '__construct', rest($said)),
    };
}

/** Takes jobs, and does with each as the request says. */
function work(Worker $worker, array $saidOfAll, callable $perform): array
{
    $jobs = $worker->jobs();
    $seen = [];
    foreach ($saidOfAll as $said) {
        $job = $jobs->next();
        if ($job === null) {
            break;
        }
        [$docs, $isLost] = [[], false];
        $outcome = attempt(static function () use ($job, $said, $perform, &$docs, &$isLost): mixed {
            meanwhile($job, $said, $perform, $docs);
            $isLost = $job->isLost();

            return ended($job, $said);
        });
        $seen[] = ['task' => $job->task, 'docs' => $docs, 'is_lost' => $isLost, 'answer' => $outcome];
        unset($job);
    }

    return $seen;
}

/** The same by a handler. */
function run(Worker $worker, array $saidOfAll, callable $perform): array
{
    $seen = [];
    $worker->run(static function (Job $job) use ($saidOfAll, $perform, &$seen): ?Modification {
        $said = $saidOfAll[count($seen)] ?? throw new RetryTask('no such job');
        [$docs, $isLost, $failure] = [[], false, null];
        $outcome = attempt(static function () use ($job, $said, $perform, &$docs, &$isLost, &$failure): void {
            try {
                meanwhile($job, $said, $perform, $docs);
            } catch (\Throwable $failure) {
                throw $failure;
            }
            $isLost = $job->isLost();
        });
        $one = ['task' => $job->task, 'docs' => $docs, 'is_lost' => $isLost, 'answer' => $outcome];
        $seen[] = [...$one, 'told' => null];

        return $failure === null ? outcome($said) : throw $failure;
    }, static function (Job $job, MillpondException $error) use (&$seen): void {
        $seen[array_key_last($seen)]['told'] = $error->errorName;
    });

    return $seen;
}
