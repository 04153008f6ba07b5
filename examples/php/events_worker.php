<?php

/**
 * Delivers what events_producer.php publishes, in two processes, until Ctrl-C or SIGTERM.
 *
 * php examples/php/events_worker.php redis://localhost
 *
 * Any number of workers may run. With the default, memory:, it delivers a few webhooks of its own.
 */

declare(strict_types=1);

use Millpond\EventJob;
use Millpond\Millpond;
use Millpond\NewEvent;
use Millpond\RejectJob;
use Millpond\ReleaseJob;
use Millpond\RetryJob;

require __DIR__ . '/autoload.php';

/**
 * Delivers a webhook. The customer's next one comes when this one has ended.
 */
function deliver(EventJob $job): void
{
    if ($job->isLost()) {
        throw new ReleaseJob();
    }
    $event = $job->event;
    if ($event->key === 'nobody') {
        throw new RejectJob('no such address');
    }
    // A server that is busy is asked again: what fails is put off, each time longer, and holds up its own
    // customer only.
    if ($event->key === 'bob' && $event->attempts === 1) {
        throw new RetryJob("bob's server is busy", delay: 0.02);
    }
    ['to' => $to, 'what' => $what] = json_decode($event->payload, true);
    echo "deliver to $to: $what\n";
}

$url = $argv[1] ?? 'memory:';
$client = Millpond::connect($url);
$queue = $client->events('examples/webhooks');
$worker = $queue->worker();

if ($url === 'memory:') {
    foreach (['ann', 'bob', 'nobody'] as $to) {
        $queue->publish(new NewEvent(json_encode(['to' => $to, 'what' => 'paid']), key: $to));
    }
    $drained = $worker->drain(deliver(...));
    assert([$drained->done, $drained->dead] === [1, 1]);
    usleep(30_000);
    assert($worker->drain(deliver(...))->done === 1);
} else {
    // The first signal lets webhooks that are being delivered be delivered, for up to 25 s; a second one does not.
    $worker->run(deliver(...), processes: 2, stopWithin: 25);
}

echo $queue->stats()->dead, " webhooks could not be delivered\n";
$client->close();
