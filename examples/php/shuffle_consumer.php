<?php

/**
 * Works on what shuffle_producer.php writes, until nothing has come for a second.
 *
 * php examples/php/shuffle_consumer.php redis://localhost
 *
 * Any number of consumers may run, each with a name of its own. With the default, memory:, it
 * writes a few messages for itself first.
 */

declare(strict_types=1);

use Millpond\ConsumerOptions;
use Millpond\Message;
use Millpond\Millpond;

require __DIR__ . '/autoload.php';

$url = $argv[1] ?? 'memory:';
$client = Millpond::connect($url);
$queue = $client->shuffleQueue('{examples/jobs}');
if ($url === 'memory:') {
    foreach (['ann', 'bob', 'cy'] as $tenant) {
        $queue->write($tenant, ['tenant' => $tenant, 'page' => '1']);
    }
}

$consumer = $queue->consumer('printers', 'printer-' . getmypid(), new ConsumerOptions(maxDeliveries: 5));

$printed = 0;
$print = static function (Message $message) use (&$printed): void {
    echo 'printing page ', $message->field('page'), ' for ', $message->field('tenant'), "\n";
    ++$printed;
};

// What was delivered to others a minute ago and is not finished comes first. A message that was
// tried five times becomes a dead letter.
$reclaimed = $consumer->reclaim(minIdle: 60, max: 100);
foreach ($reclaimed->messages as $message) {
    $print($message);
    $consumer->ackAndDelete($message);
}

// A message is done when it is acknowledged. An exception leaves the rest of the batch pending, and
// another consumer reclaims it: at least once.
foreach ($consumer->messages(10, wait: 1) as $batch) {
    foreach ($batch as $message) {
        $print($message);
        $consumer->ackAndDelete($message);
    }
}

assert($printed === 3 || $url !== 'memory:');
$pending = $queue->pendingCount('printers');
echo "$printed pages, $reclaimed->dead given up, $pending still with others\n";
$client->close();
