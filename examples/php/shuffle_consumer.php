<?php

/**
 * Works on what shuffle_producer.php writes, in two processes, until Ctrl-C or SIGTERM.
 *
 * php examples/php/shuffle_consumer.php redis://localhost
 *
 * Any number of consumers may run, each with a name of its own. With the default, memory:, it works
 * off a few messages of its own.
 */

declare(strict_types=1);

use Millpond\ConsumerOptions;
use Millpond\Millpond;
use Millpond\ShuffleJob;
use Millpond\ShuffleWorkerOptions;

require __DIR__ . '/autoload.php';

/**
 * The work, which must be safe to do twice: a message is delivered at least once.
 */
function printPage(ShuffleJob $job): void
{
    echo 'printing page ', $job->message->field('page'), ' for ', $job->message->field('tenant'), "\n";
}

$url = $argv[1] ?? 'memory:';
$client = Millpond::connect($url);
$queue = $client->shuffleQueue('{examples/jobs}');
$consumer = $queue->consumer('printers', 'printer-' . getmypid(), new ConsumerOptions(maxDeliveries: 5));

// A message is renewed while printPage() runs, and then acknowledged and deleted. If it throws, the
// message is delivered again, later; one that was tried five times becomes a dead letter. What a
// consumer left that is gone is taken over after the lease, which all workers share. What goes wrong
// is logged.
$worker = $consumer->worker(new ShuffleWorkerOptions(lease: 60, delete: true));

if ($url === 'memory:') {
    foreach (['ann', 'bob', 'cy'] as $tenant) {
        $queue->write($tenant, ['tenant' => $tenant, 'page' => '1']);
    }
    assert($worker->drain(printPage(...))->done === 3);
} else {
    // The first signal lets pages that are being printed be printed, for up to 25 s; a second one does not.
    $worker->run(printPage(...), processes: 2, stopWithin: 25);
}

$pending = $queue->pendingCount('printers');
echo "$pending still with others\n";
$client->close();
