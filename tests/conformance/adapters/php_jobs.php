<?php

/**
 * Jobs of a worker, and what a request says of each; `perform` makes another request.
 */

declare(strict_types=1);

use Millpond\EventJob;
use Millpond\EventWorker;
use Millpond\MoveJob;
use Millpond\RejectJob;
use Millpond\ReleaseJob;
use Millpond\Report;
use Millpond\RetryJob;
use Millpond\ShuffleJob;
use Millpond\ShuffleWorker;
use Millpond\Tasks\Job;
use Millpond\Tasks\NewTask;
use Millpond\Tasks\Worker;

/** The errors with which a handler ends a job. */
const ENDS = ['retry' => RetryJob::class, 'move' => MoveJob::class, 'release' => ReleaseJob::class,
    'reject' => RejectJob::class];

/** What is done before the end of a job, whose arguments the rest are. */
const BEFORE = ['claim_docs', 'claim_wait_ms', 'run', 'sleep_ms', 'stop_ms', 'until_told_ms', 'then'];

/** The arguments of the end of a job. */
function rest(array $said): array
{
    return array_diff_key($said, array_flip(BEFORE));
}

/** What a job does before it ends; notes its documents. */
function meanwhile(Job|ShuffleJob|EventJob $job, array $said, callable $perform, array &$docs): void
{
    $wait = isset($said['claim_wait_ms']) ? ['wait' => seconds($said['claim_wait_ms'])] : [];
    foreach ($said['claim_docs'] ?? [] as [$namespace, $keys]) {
        $docs = [...$docs, ...$job->claimDocs($namespace, $keys, ...$wait)];
    }
    foreach ($said['run'] ?? [] as $request) {
        if ($request['calls'][0][0] === 'tasks') {
            $request['calls'][0][1]['claimant'] ??= $job->task->claimant;
        }
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
function outcome(array $said): mixed
{
    return match ($said['then']) {
        'done' => null,
        'value' => $said['value'] ?? null,
        'finish' => modification($said['modification']),
        'fail' => throw new RuntimeException($said['err']),
        'nearly' => match ($said['as']) {
            'plain' => $said['modification'],
            'builder' => new NewTask('out'),
            'unawaited' => (static fn (): Generator => yield)(),
        },
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

/** The same by a handler, until nothing is available. */
function drain(Worker|ShuffleWorker|EventWorker $worker, array $saidOfAll, callable $perform): object
{
    $drained = null;
    $jobs = handled($worker, $saidOfAll, $perform, static function (callable ...$how) use ($worker, &$drained): void {
        $drained = $worker->drain(...$how);
    });

    return (object) ['jobs' => $jobs, 'drained' => $drained];
}

/** The same until it is stopped. */
function run(Worker|ShuffleWorker|EventWorker $worker, array $saidOfAll, callable $perform): array
{
    return handled($worker, $saidOfAll, $perform, $worker->run(...));
}

/** What a handler sees, and what is reported of it. */
function handled(Worker|ShuffleWorker|EventWorker $worker, array $saidOfAll, callable $perform, callable $work): array
{
    $seen = $told = [];
    $key = static fn (object $of): string => json_encode(encoded($of));
    $work(static function (Job|ShuffleJob|EventJob $job) use ($worker, $saidOfAll, $perform, $key, &$seen): mixed {
        $said = $saidOfAll[count($seen)] ?? throw new RetryJob('no such job');
        [$docs, $failure] = [[], null];
        $isLate = static fn (): bool => $job->timeLeft() === 0.0;
        $answer = attempt(static function () use ($job, $said, $perform, $worker, $isLate, &$docs, &$failure): void {
            try {
                meanwhile($job, $said, $perform, $docs);
            } catch (\Throwable $failure) {
                throw $failure;
            }
            isset($said['stop_ms']) ? $worker->stop(seconds($said['stop_ms'])) : null;
            for ($left = $said['until_told_ms'] ?? 0; $left > 0 && !$job->isLost() && !$isLate(); $left -= 5) {
                usleep(5_000);
            }
        });
        // A language without threads has one handler at work.
        $taken = match (true) {
            $job instanceof Job => ['task' => $job->task],
            $job instanceof EventJob => ['event' => $job->event],
            default => ['message' => $job->message],
        };
        $seen[] = $taken + ['docs' => $docs, 'is_lost' => $job->isLost(), 'is_late' => $isLate()] + ['at_once' => 1, 'answer' => $answer];

        return $failure === null ? outcome($said) : throw $failure;
    }, static fn () => null, static function (Report $report) use ($key, &$told): void {
        if ($report->of !== null) {
            $told[$key($report->of)] = ['kind' => $report->kind->value, 'told' => $report->error?->errorName];
        }
    });
    $nothing = ['kind' => null, 'told' => null];

    return array_map(static fn (array $one): array => $one + ($told[$key(current($one))] ?? $nothing), $seen);
}
