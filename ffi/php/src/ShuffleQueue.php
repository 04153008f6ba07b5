<?php

declare(strict_types=1);

namespace Millpond;

use FFI;
use FFI\CData;
use Millpond\Internal\Arguments;
use Millpond\Internal\Handles;
use Millpond\Internal\Library;
use Millpond\Internal\Owns;
use Millpond\Internal\ShuffleQueueCalls;
use Millpond\Internal\ShuffleResults;
use Millpond\Internal\Signals;

/**
 * A queue that many tenants share, and one tenant's burst delays only itself; made by
 * `Client::shuffleQueue()`.
 *
 * It is a number of streams, and each tenant writes to a few of them only, its shard: always to the one of
 * these with the least to do. Consumers read from all streams in turn. A tenant that writes a thousand times
 * more than the others fills its own streams, and the other tenants have others.
 *
 * Every call may throw what the connection throws, and an InvalidArgumentException for wrong arguments,
 * before anything is sent; a WrongTypeException if a key of the queue holds something else, and then nothing
 * has changed; and a CrossSlotException on a cluster if the name holds no `{tag}` or, for tracked messages,
 * if their records are in the global keys.
 *
 *     $queue = Millpond::connect('memory:')->shuffleQueue('jobs', new ShuffleOptions(streams: 64, streamsPerShard: 4));
 *     $queue->write('tenant-7', ['task' => 'resize', 'image' => 'a.png']);
 *     $consumer = $queue->consumer('workers', 'worker-1');
 *     $message = $consumer->read();
 *     echo $message->field('image'), "\n"; // a.png
 *     $consumer->ackAndDelete($message);
 *     echo $queue->backlog(), "\n"; // 0
 */
final class ShuffleQueue implements ShuffleQueueInterface
{
    use Owns, ShuffleQueueCalls;

    private readonly Library $library;

    private function __construct(
        private readonly Client $client,
        private readonly CData $handle,
    ) {
        $this->library = $client->library;
        Handles::keep($this, $client->library->ffi, 'millpond_shuffle_queue_free', $handle);
    }

    /** @internal what `Client::shuffleQueue()` does */
    public static function make(Client $client, string $name, ShuffleOptions $settings): self
    {
        $options = $client->library->options('millpond_shuffle_options');
        $settings->write($options);
        $options->track_keys = $settings->trackKeys === TrackKeys::Global
            ? $client->library->ffi->MILLPOND_SHUFFLE_TRACK_GLOBAL : $client->library->ffi->MILLPOND_SHUFFLE_TRACK_QUEUE;
        $pointer = FFI::addr($options);
        $arguments = [$client->handle, $name, \strlen($name), $pointer];
        $made = static fn (CData $handle): self => new self($client, $handle);

        return $client->library->handle('millpond_shuffle_queue_new', $arguments, 'queue', $made);
    }

    public function consumer(
        string $group,
        string $consumer,
        ConsumerOptions $options = new ConsumerOptions(),
    ): ShuffleConsumer {
        return ShuffleConsumer::make($this->library, $this->handle, $group, $consumer, $options, $this);
    }

    public function deadLetters(int $max = 100): array
    {
        $size = Arguments::size('max', $max);

        return Signals::held(function () use ($size): array {
            $call = $this->library->made('millpond_shuffle_dead_letters_read', [$this->handle, $size], 'letters');

            return ShuffleResults::letters($this->library->ffi, $call->letters[0]);
        });
    }

    public function gc(?int $timeDigits = null): Garbage
    {
        return Garbage::open($this->library, $this->handle, $timeDigits, $this);
    }
}
