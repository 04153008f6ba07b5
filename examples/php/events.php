<?php

/**
 * What events are for: things that happen at their time, in order for each customer, until somebody has
 * done them.
 *
 * php examples/php/events.php [URL]
 */

declare(strict_types=1);

use Millpond\Cancelled;
use Millpond\Millpond;
use Millpond\NewEvent;
use Millpond\PublishStatus;
use Millpond\Rescheduled;

require __DIR__ . '/autoload.php';

const DAY = 24 * 60 * 60;

$client = Millpond::connect($argv[1] ?? 'memory:');
// A queue of its own for each run.
$queue = $client->events('examples/shop/' . getmypid());

// A cart is left: a reminder tomorrow, once, however often the page says so.
$reminder = new NewEvent('remind ann', delay: DAY, dedupId: 'cart-of-ann');
[$first, $again] = [$queue->publish($reminder), $queue->publish($reminder)];
assert([$again->status, $again->id] === [PublishStatus::Duplicate, $first->id]);

// She looks at it again: a day later. She buys: no reminder.
assert($queue->reschedule($first, 2 * DAY) === [Rescheduled::Rescheduled]);
assert($queue->cancel($first) === [Cancelled::Removed]);

// What happens to one order happens in order; other orders do not wait for it.
$queue->publishMany([
    new NewEvent('order 7 is paid', key: 'order-7'),
    new NewEvent('order 7 is sent', key: 'order-7'),
    new NewEvent('order 8 is paid', key: 'order-8'),
]);
[$paid, $other] = $queue->receive(10);
assert([$paid->payload, $other->payload] === ['order 7 is paid', 'order 8 is paid']);

// The printer is out of paper: this one comes again at once, and before what follows in its order.
$queue->nack($paid, 'out of paper', after: 0);
$queue->ack($other);
foreach (['order 7 is paid', 'order 7 is sent'] as $text) {
    [$event] = $queue->receive(10);
    assert($event->payload === $text);
    echo "$text (attempt $event->attempts)\n";
    $queue->ack($event);
}
assert($queue->stats()->events === 0);
$queue->delete();
$client->close();
