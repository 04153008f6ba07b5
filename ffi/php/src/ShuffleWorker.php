<?php

declare(strict_types=1);

namespace Millpond;

use Millpond\Internal\Works;

/**
 * Says how messages are processed; created by `ShuffleConsumer::worker()`. run() works until it is stopped,
 * and drain() until nothing is left. The handler of both gets a `ShuffleJob`.
 *
 * If the handler returns anything but a modification, the message is done: it is acknowledged, and with
 * `delete` it is also deleted. The handler may throw or return a `RetryJob`, a `RejectJob` or a
 * `ReleaseJob`; any other exception is a failure with its class and message: the message is redelivered, up
 * to the consumer's `maxDeliveries`, and then becomes a dead letter. Wrong return values, `exit()` and fatal
 * errors are handled as by `Tasks\Worker`.
 *
 * A message belongs to the worker during processing. Twice per lease, the worker takes over the messages of
 * consumers that are gone; it also removes consumers that are gone for good. All workers of a group should
 * have the same lease.
 *
 *     $queue = Millpond::connect('memory:')->shuffleQueue('jobs');
 *     $queue->writeMany([['a', ['image' => '1.png']], ['b', ['image' => '2.txt']]]);
 *     $worker = $queue->consumer('workers', 'worker-1')->worker(new ShuffleWorkerOptions(delete: true));
 *     $drained = $worker->drain(function (ShuffleJob $job) {
 *         if (!str_ends_with($job->message->field('image'), '.png')) {
 *             throw new RejectJob('no image');
 *         }
 *     }, onError: fn ($job, $error) => null);
 *     echo $drained->done, " done\n"; // 1 done
 *     echo count($queue->deadLetters(10)), " put aside\n"; // 1 put aside
 */
final class ShuffleWorker implements ShuffleWorkerInterface
{
    use Works;
}
