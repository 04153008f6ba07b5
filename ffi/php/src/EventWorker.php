<?php

declare(strict_types=1);

namespace Millpond;

use Millpond\Internal\Works;

/**
 * Says how events are processed; created by `EventQueue::worker()`. run() works until it is stopped, and
 * drain() until nothing is ready. The handler of both gets an `EventJob`.
 *
 * If the handler returns anything but a modification, the event is done and is deleted. The handler may
 * throw or return a `RetryJob`, a `RejectJob` or a `ReleaseJob`; any other exception is a failure with its
 * class and message: the event is redelivered as the queue's `EventConfig` says, and then becomes a dead
 * letter. Wrong return values, `exit()` and fatal errors are handled as by `Tasks\Worker`.
 *
 * An event belongs to the worker during processing: a native thread renews its lease three times per lease.
 *
 *     $queue = Millpond::connect('memory:')->events('orders');
 *     $queue->publishMany([new NewEvent('paid', key: '7'), new NewEvent('?', key: '8')]);
 *     $drained = $queue->worker()->drain(function (EventJob $job) {
 *         if ($job->event->payload !== 'paid') {
 *             throw new RejectJob('no event of ours');
 *         }
 *     }, onError: fn ($job, $error) => null);
 *     echo $drained->done, " done\n"; // 1 done
 *     echo $queue->list(EventState::Dead)->events[0]->err, "\n"; // no event of ours
 */
final class EventWorker implements EventWorkerInterface
{
    use Works;
}
