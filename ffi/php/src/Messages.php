<?php

declare(strict_types=1);

namespace Millpond;

use FFI\CData;
use Millpond\Internal\Handles;
use Millpond\Internal\Library;
use Millpond\Internal\Owns;
use Millpond\Internal\ShuffleResults;
use Millpond\Internal\Signals;
use Millpond\Internal\YieldsBatches;

/**
 * The loop of a consumer: batches of messages. Made by `ShuffleConsumer::messages()`.
 *
 * A message is done only when it is acknowledged; asking for the next batch does not affect the one before.
 * So a consumer may pass messages on and continue, and if a loop is left early, the unfinished messages stay
 * with the group. Without `wait` the loop ends when nothing is left. A non-retryable error always ends the
 * loop.
 *
 * Messages that were not finished stay pending until a consumer reclaims them. A second `foreach` over the
 * same object continues with the next batch.
 *
 *     $queue = Millpond::connect('memory:')->shuffleQueue('jobs');
 *     $queue->writeMany([['b', ['image' => '1.png']], ['b', ['image' => '2.png']]]);
 *     $consumer = $queue->consumer('workers', 'worker-1');
 *     foreach ($consumer->messages() as $batch) {
 *         foreach ($batch as $message) {
 *             echo $message->field('image'), "\n"; // 1.png, then 2.png
 *         }
 *         $consumer->ackAndDelete($batch);
 *     }
 *
 * @implements \IteratorAggregate<int, list<Message>>
 */
final class Messages implements MessagesInterface
{
    use Owns, YieldsBatches;

    /** @internal made by `ShuffleConsumer::messages()` */
    public function __construct(
        private readonly Library $library,
        private readonly CData $handle,
        private readonly ?float $wait,
        private readonly ShuffleConsumer $consumer,
    ) {
        Handles::keep($this, $library->ffi, 'millpond_shuffle_messages_free', $handle);
    }

    private function fetch(): void
    {
        Signals::keeping($this->library->ffi, $this->wait, function (): void {
            $call = $this->library->made('millpond_shuffle_messages_next', [$this->handle], 'messages');
            if ($call->messages[0] !== null) {
                $batch = ShuffleResults::messages($this->library->ffi, $call->messages[0]);
                $this->keep($batch);
            }
        });
    }
}
