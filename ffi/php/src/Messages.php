<?php

declare(strict_types=1);

namespace Millpond;

use FFI\CData;
use Millpond\Internal\Arguments;
use Millpond\Internal\Handles;
use Millpond\Internal\Library;
use Millpond\Internal\ShuffleResults;
use Millpond\Internal\Signals;
use Millpond\Internal\YieldsBatches;

/**
 * A consumer's loop over batches of messages, made by `ShuffleConsumer::messages()`. A message is
 * done when it is acknowledged and not before: asking for the next batch says nothing about the last
 * one.
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
 * So a loop that is left by an exception or by `break` leaves the group what was not done; it stays
 * pending until a consumer reclaims it. A second `foreach` over the same object continues with the
 * next batch.
 *
 * @implements \IteratorAggregate<int, list<Message>>
 */
final class Messages implements MessagesInterface
{
    use YieldsBatches;

    private function __construct(
        private readonly Library $library,
        private readonly CData $handle,
        private readonly bool $waits,
        private readonly ShuffleConsumer $consumer,
    ) {
        Handles::keep($this, $library->ffi, 'millpond_shuffle_messages_free', $handle);
    }

    public function __destruct()
    {
        Handles::free($this->handle);
    }

    /** A copy would free what the original holds. */
    private function __clone(): void
    {
    }

    /** @internal what `ShuffleConsumer::messages()` does */
    public static function open(
        Library $library,
        CData $consumerHandle,
        int $max,
        ?float $wait,
        ShuffleConsumer $consumer,
    ): self {
        $size = Arguments::size('max', $max);
        $milliseconds = Arguments::wait('wait', $wait);
        $waits = $wait !== null;

        return Signals::held(static function () use ($library, $consumerHandle, $size, $milliseconds, $waits, $consumer): self {
            $call = $library->made(
                'millpond_shuffle_messages_new',
                [$consumerHandle, $size, $milliseconds],
                'loop',
            );

            return new self($library, $call->loop[0], $waits, $consumer);
        });
    }

    /**
     * Takes the next batch; null when the loop is over. What `foreach` does.
     *
     * After an exception that says Retry::Later or Retry::Unknown the loop can be continued. While it
     * waits, signal handlers run (in the CLI, with the extension pcntl): one that throws ends the
     * wait, and after one that returns the wait continues. A batch that came meanwhile is returned by
     * the next call.
     *
     * @return list<Message>|null
     *
     * @throws Exception\MillpondException what `ShuffleConsumer::readMany()` throws
     */
    public function next(): ?array
    {
        if (!$this->fill()) {
            return null;
        }

        return $this->take();
    }

    private function fill(): bool
    {
        if ($this->isKept()) {
            return true;
        }
        Signals::keeping($this->library->ffi, $this->waits, function (): void {
            $call = $this->library->made('millpond_shuffle_messages_next', [$this->handle], 'messages');
            if ($call->messages[0] !== null) {
                $batch = ShuffleResults::messages($this->library->ffi, $call->messages[0]);
                $this->keep($batch);
            }
        });

        return $this->unseen !== null;
    }

    /** Nothing is delivered again by itself: what is not acknowledged is pending. */
    private function forget(): void
    {
        $this->atWork = false;
    }
}
