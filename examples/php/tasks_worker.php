<?php

/**
 * Works on what tasks_producer.php inserts, in two processes, until Ctrl-C or SIGTERM.
 *
 * php examples/php/tasks_worker.php redis://localhost
 *
 * Any number of workers may run. With the default, memory:, it works off a few tasks of its own.
 */

declare(strict_types=1);

use Millpond\Millpond;
use Millpond\ReleaseJob;
use Millpond\Tasks\Job;
use Millpond\Tasks\Modification;
use Millpond\Tasks\NewTask;
use Millpond\Tasks\WorkerOptions;

require __DIR__ . '/autoload.php';

/**
 * Sends a mail. What follows from it happens in the same step as the end of the task: here a note for
 * the archive.
 */
function send(Job $job): Modification
{
    if ($job->isLost()) {
        throw new ReleaseJob();
    }
    $mail = $job->task->value();
    echo "sending to {$mail['to']}\n";

    return $job->delete()->insert(new NewTask('archive', $mail));
}

$url = $argv[1] ?? 'memory:';
$client = Millpond::connect($url);
$store = $client->tasks('examples/mail');

// A task is leased and renewed while send() runs. If it fails it is retried, later each time; after
// five attempts, or if its workers died ten times while they worked on it, it goes to `mails/err`.
// What goes wrong is logged.
$worker = $store->worker('mails', new WorkerOptions(maxAttempts: 5, maxCrashes: 10));

if ($url === 'memory:') {
    foreach (['ann', 'bob', 'cy'] as $to) {
        $store->insert(new NewTask('mails', ['to' => $to]));
    }
    assert($worker->drain(send(...))->done === 3);
} else {
    // The first signal lets mails that are being sent be sent, for up to 25 s; a second one does not.
    $worker->run(send(...), processes: 2, stopWithin: 25);
}

$archived = $store->worker('archive')->drain(fn () => null)->done;
echo "$archived mails archived\n";
$client->close();
