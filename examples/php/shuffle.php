<?php

/**
 * What a shuffle queue is for: one tenant's burst does not delay the others, and what a worker that
 * dies has taken is not lost.
 *
 * php examples/php/shuffle.php [URL]
 */

declare(strict_types=1);

use Millpond\ConsumerOptions;
use Millpond\Message;
use Millpond\Millpond;
use Millpond\ShuffleOptions;

require __DIR__ . '/autoload.php';

$client = Millpond::connect($argv[1] ?? 'memory:');
$queue = $client->shuffleQueue('{examples/shuffle}', new ShuffleOptions(streams: 64, streamsPerShard: 4));
$consumer = $queue->consumer('workers', 'worker-1');
// What an interrupted earlier run left: what its workers had read, and the rest.
while (($left = $consumer->reclaim(minIdle: 0, max: 1_000)->messages) !== []) {
    $consumer->ackAndDelete($left);
}
foreach ($consumer->messages() as $batch) {
    $consumer->ackAndDelete($batch);
}

// One tenant writes a thousand messages, and then another one writes one.
$queue->writeMany(array_fill(0, 1_000, ['busy', ['image' => 'many.png']]));
$queue->write('quiet', ['image' => 'one.png', 'size' => '40x40']);

// The busy one has four of the streams, and consumers read from all that have messages, in turn:
// the quiet one's message is among the first five.
$first = $consumer->readMany(5);
$quiet = array_filter($first, static fn (Message $message): bool => $message->field('image') === 'one.png');
assert(array_column($quiet, 'fields') === [[['image', 'one.png'], ['size', '40x40']]]);
echo "the message of the quiet tenant had not to wait for a thousand others\n";

// worker-1 dies here, with five messages that it has not acknowledged. Another one reclaims them.
// In production the idle time is much longer than the longest job, not 0.
$other = $queue->consumer('workers', 'worker-2', new ConsumerOptions(maxDeliveries: 5));
$reclaimed = $other->reclaim(minIdle: 0, max: 100);
assert(count($reclaimed->messages) === 5);
assert($reclaimed->messages[0]->deliveries === 2);
assert($other->ackAndDelete($reclaimed->messages) === 5);
echo "what a worker had taken that died was taken over\n";

// Done is what is acknowledged.
foreach ($other->messages(500) as $batch) {
    $other->ackAndDelete($batch);
}
assert($queue->backlog() === 0);
$client->close();
