<?php

/**
 * The worker of the deploy storm in PHP; mod.rs says what it does.
 */

declare(strict_types=1);

use Millpond\Event;
use Millpond\EventJob;
use Millpond\EventQueue;
use Millpond\EventWorkerOptions;
use Millpond\Millpond;
use Millpond\NewEvent;
use Millpond\RejectJob;
use Millpond\Report;
use Millpond\ShuffleJob;
use Millpond\ShuffleWorkerOptions;
use Millpond\Tasks\Job;
use Millpond\Tasks\Modification;
use Millpond\Tasks\NewTask;
use Millpond\Tasks\WorkerOptions;

require __DIR__ . '/../../../examples/php/autoload.php';

function say(string $line): void
{
    fwrite(STDOUT, hrtime(true) . " $line\n");
}

function workFor(string $name, int $ms, string $then, bool $isFirst): void
{
    say("begin $name");
    // A signal ends a sleep of PHP early.
    for ($end = microtime(true) + $ms / 1000; ($left = $end - microtime(true)) > 0;) {
        usleep((int) ($left * 1e6) + 1);
    }
    if ($then === 'retry' && $isFirst) {
        say("run $name retry");
        throw new RuntimeException('it fails the first time');
    }
    if ($then === 'reject') {
        say("run $name reject");
        throw new RejectJob('it is told so');
    }
    say("run $name done");
}

function follows(array $said): array
{
    return ['n' => $said['n'] + 1_000_000, 'ms' => $said['ms'], 'then' => 'done'];
}

function doTask(Job $job): Modification
{
    $said = $job->task->value();
    workFor("task-{$said['n']}", $said['ms'], $said['then'], $job->task->attempt === 0);
    $end = $job->delete()->insert(new NewTask('out', id: "out-{$said['n']}"));
    $value = follows($said);

    return $said['then'] === 'follow' ? $end->insert(new NewTask('jobs', $value, id: "j{$value['n']}")) : $end;
}

function doMessage(ShuffleJob $job): void
{
    [$n, $ms, $then] = array_map($job->message->field(...), ['n', 'ms', 'then']);
    workFor("message-$n", (int) $ms, $then, $job->message->deliveries === 1);
}

function doEvent(EventQueue $queue, Event $event): void
{
    $said = json_decode($event->payload, true);
    workFor("event-{$said['n']}", $said['ms'], $said['then'], $event->attempts === 1);
    if ($said['then'] === 'follow') {
        $queue->ackWith($event, [new NewEvent(json_encode(follows($said)), key: $event->key)]);
    }
}

function tell(Report $report): void
{
    if (!in_array($report->kind->value, ['done', 'released'], true)) {
        say("told {$report->kind->value} " . json_encode($report->message));
    }
}

[, $role, $url, $life] = $argv;
$client = Millpond::connect($url);
$options = ['lease' => 10.0, 'prefetch' => 1];
$backoff = ['backoff' => 0.1, 'backoffMax' => 0.2];
$events = $client->events('storm-events');
[$handler, $worker] = match ($role) {
    'tasks' => [doTask(...), $client->tasks('storm')->worker('jobs', new WorkerOptions(...$options, ...$backoff))],
    'messages' => [doMessage(...), $client->shuffleQueue('storm-messages')->consumer('workers', $life)
        ->worker(new ShuffleWorkerOptions(...$options, ...$backoff, ...['delete' => true]))],
    'events' => [
        fn (EventJob $job) => doEvent($events, $job->event),
        $events->worker(new EventWorkerOptions(...$options)),
    ],
};
pcntl_async_signals(true);
pcntl_signal(SIGTERM, fn () => $worker->stop(20.0)); // until run begins
fwrite(STDOUT, "ready\n");
$worker->run($handler, onError: fn () => null, onEvent: tell(...), processes: 4, stopWithin: 20.0);
