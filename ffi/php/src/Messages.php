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
 * A message is done when it is acknowledged and not before: asking for the next batch says nothing about the
 * last one. So a consumer may hand messages to others and go on, and a loop that is left early leaves the
 * group what was not done. Without `wait` the loop ends when there is nothing left, and in any case after an
 * error that trying again cannot mend.
 *
 * What was not done stays pending until a consumer reclaims it. A second `foreach` over the same object
 * continues with the next batch.
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
        private readonly bool $waits,
        private readonly ShuffleConsumer $consumer,
    ) {
        Handles::keep($this, $library->ffi, 'millpond_shuffle_messages_free', $handle);
    }

    private function fetch(): void
    {
        Signals::keeping($this->library->ffi, $this->waits, function (): void {
            $call = $this->library->made('millpond_shuffle_messages_next', [$this->handle], 'messages');
            if ($call->messages[0] !== null) {
                $batch = ShuffleResults::messages($this->library->ffi, $call->messages[0]);
                $this->keep($batch);
            }
        });
    }
}
