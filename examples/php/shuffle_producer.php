<?php

/**
 * Writes messages of several tenants; run shuffle_consumer.php with the same URL to work on them.
 *
 * php examples/php/shuffle_producer.php redis://localhost
 *
 * Any number of producers may run. With the default, memory:, other programs do not see what is
 * written.
 */

declare(strict_types=1);

use Millpond\Millpond;
use Millpond\ShuffleOptions;
use Millpond\TrackKeys;

require __DIR__ . '/autoload.php';

$url = $argv[1] ?? 'memory:';
$client = Millpond::connect($url);
// The braces tie all keys of the queue to one slot, for a cluster.
$queue = $client->shuffleQueue('{examples/jobs}', new ShuffleOptions(streams: 16, streamsPerShard: 4, trackKeys: TrackKeys::Queue));

// Many messages in one step, each for its tenant.
$jobs = [];
foreach (['ann', 'bob', 'cy'] as $tenant) {
    foreach (['1', '2', '3'] as $page) {
        $jobs[] = [$tenant, ['tenant' => $tenant, 'page' => $page]];
    }
}
$receipts = $queue->writeMany($jobs);
assert(count($receipts) === 9);

// One that can be deleted by its number, which no other producer has.
$job = 'ann/4/' . getmypid();
$queue->writeTracked('ann', ['tenant' => 'ann', 'page' => '4', 'job' => $job], 'job');
assert($queue->deleteTracked($job) !== null || $url !== 'memory:');

assert($queue->backlog() >= 9 || $url !== 'memory:');
echo count($receipts), " messages written\n";
$client->close();
