<?php

/**
 * Publishes webhooks, in order for each customer, and one for later; run events_worker.php with the same
 * URL to deliver them.
 *
 * php examples/php/events_producer.php redis://localhost
 *
 * Any number of producers may run. With the default, memory:, other programs do not see what is
 * published.
 */

declare(strict_types=1);

use Millpond\Millpond;
use Millpond\NewEvent;
use Millpond\Published;
use Millpond\PublishStatus;

require __DIR__ . '/autoload.php';

$url = $argv[1] ?? 'memory:';
$client = Millpond::connect($url);
$queue = $client->events('examples/webhooks');

// Those of a customer are delivered one after the other, in this order.
$events = [];
foreach (['ann', 'bob'] as $to) {
    foreach (['paid', 'packed', 'sent'] as $what) {
        $events[] = new NewEvent(json_encode(['to' => $to, 'what' => $what]), key: $to, headers: ['version' => '1']);
    }
}
// One whose address does not exist, one for later, and one that is published once, however often this runs.
$events[] = new NewEvent(json_encode(['to' => 'nobody', 'what' => 'paid']), key: 'nobody');
$events[] = new NewEvent(json_encode(['to' => 'ann', 'what' => 'reviewed?']), key: 'ann', delay: 0.5);
$events[] = new NewEvent(json_encode(['to' => 'all', 'what' => 'welcome']), dedupId: 'welcome');

$isCreated = fn (Published $published): bool => $published->status === PublishStatus::Created;
$created = count(array_filter($queue->publishMany($events), $isCreated));
assert($created === 9 || $url !== 'memory:');
echo "$created webhooks to deliver\n";
$client->close();
