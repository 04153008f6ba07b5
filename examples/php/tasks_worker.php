<?php

/**
 * Works on what tasks_producer.php inserts, until nothing has come for a second.
 *
 * php examples/php/tasks_worker.php redis://localhost
 *
 * Any number of workers may run. With the default, memory:, it inserts a few tasks for itself first.
 */

declare(strict_types=1);

use Millpond\Millpond;
use Millpond\Tasks\Job;
use Millpond\Tasks\Modification;
use Millpond\Tasks\NewTask;
use Millpond\Tasks\ReleaseTask;
use Millpond\Tasks\WorkerOptions;

require __DIR__ . '/autoload.php';

/**
 * Sends a mail. What follows from it happens in the same step as the end of the task: here a note for
 * the archive.
 */
function send(Job $job): Modification
{
    if ($job->isLost()) {
        throw new ReleaseTask();
    }
    $mail = $job->task->value();
    echo "sending to {$mail['to']}\n";

    return $job->delete()->insert(new NewTask('archive', $mail));
}

$url = $argv[1] ?? 'memory:';
$client = Millpond::connect($url);
$store = $client->tasks('examples/mail');
if ($url === 'memory:') {
    foreach (['ann', 'bob', 'cy'] as $to) {
        $store->insert(new NewTask('mails', ['to' => $to]));
    }
}

// A task is leased and renewed while send() runs. If it fails it is retried, later each time; after
// five attempts, or if its workers died ten times while they worked on it, it goes to `mails/err`.
$store->worker('mails', new WorkerOptions(wait: 1, maxAttempts: 5, maxClaims: 10))->run(send(...));

$archived = 0;
foreach ($store->claims('archive', max: 100) as $batch) {
    $done = new Modification();
    array_map($done->delete(...), $batch);
    $store->modify($done);
    $archived += count($batch);
}

assert($archived === 3 || $url !== 'memory:');
echo "$archived mails archived\n";
$client->close();
