<?php

declare(strict_types=1);

namespace Millpond;

use Millpond\Internal\Works;

/**
 * Says how messages are worked on; made by `ShuffleConsumer::worker()`. run() works until it is stopped, and
 * drain() until nothing is left. The handler of both gets a `ShuffleJob`.
 *
 * Whatever it returns, the message is done: acknowledged, and deleted with `delete`. It may throw or return
 * a `RetryJob`, a `RejectJob` or a `ReleaseJob`; any other exception is a failure with its class and
 * message, and the message is delivered again, up to the consumer's `maxDeliveries`, and then a dead letter.
 * What the handler returns by mistake, `exit()` and fatal errors are as with `Tasks\Worker`.
 *
 * A message is the worker's while it is worked on. It takes over the messages of consumers that are gone,
 * twice a lease, and removes consumers that are gone for good. All workers of a group should have the same
 * lease.
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
