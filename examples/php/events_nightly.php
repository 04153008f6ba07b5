<?php

/**
 * A nightly job, by a cron expression, on a fleet of workers: one of them does it each night, once.
 *
 * php examples/php/events_nightly.php redis://localhost
 *
 * Any number of these may run. Seconds behind the URL stand for the night. With the default, memory:, the job is done
 * at once.
 */

declare(strict_types=1);

use Millpond\EventJob;
use Millpond\Millpond;
use Millpond\Schedule;

require __DIR__ . '/autoload.php';

function at(int $us): string
{
    return gmdate('Y-m-d H:i:s', intdiv($us, 1_000_000)) . ' UTC';
}

/**
 * Does the job. Which night's it is says the time at which the event was to fire.
 */
function cleanUp(EventJob $job): void
{
    $night = at($job->event->fireAtUs);
    echo "clean up for $night\n";
}

[, $url, $seconds] = $argv + [1 => 'memory:', 2 => null];
$client = Millpond::connect($url);
$queue = $client->events('examples/jobs');

// Every process puts it when it starts: one that is there just so stays as it is.
$night = $seconds === null ? ['cron' => '30 3 * * *', 'zone' => 'Europe/Berlin'] : ['every' => (float) $seconds];
$queue->putSchedule(new Schedule('nightly', ...$night));
$schedule = $queue->getSchedule('nightly');
echo 'next at ' . at($schedule->nextUs) . "\n";

$worker = $queue->worker();
if ($url === 'memory:') {
    $queue->triggerSchedule('nightly'); // now, and the night stays as it is
    assert($worker->drain(cleanUp(...))->done === 1);
    assert($queue->getSchedule('nightly') == $schedule);
} else {
    $worker->run(cleanUp(...), stopWithin: 25);
}

$client->close();
