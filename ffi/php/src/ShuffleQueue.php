<?php

declare(strict_types=1);

namespace Millpond;

use FFI;
use FFI\CData;
use Millpond\Internal\Arguments;
use Millpond\Internal\Handles;
use Millpond\Internal\Library;
use Millpond\Internal\Owns;
use Millpond\Internal\Packed;
use Millpond\Internal\ShuffleArguments;
use Millpond\Internal\ShuffleQueueCalls;
use Millpond\Internal\ShuffleResults;
use Millpond\Internal\Signals;

/**
 * A queue that many tenants share, in which one tenant's burst delays only itself; made by
 * `Client::shuffleQueue()`.
 *
 * A queue consists of a number of streams. Each tenant writes only to a few of them, its shard, and always
 * to the stream of the shard with the smallest backlog. Consumers read from all streams in turn. A tenant
 * that writes a thousand times more than the others fills only its own streams, and the other tenants have
 * streams that it does not fill.
 *
 * Every call may throw the connection's exceptions, and an InvalidArgumentException for wrong arguments,
 * before anything is sent; a WrongTypeException if a key of the queue holds something else, in which case
 * nothing has changed; and on a cluster a CrossSlotException if the name holds no `{tag}` or, for tracked
 * messages, if the records are in the global keys.
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

    /** @internal made by `Client::shuffleQueue()` */
    public function __construct(
        private readonly Client $client,
        private readonly CData $handle,
    ) {
        $this->library = $client->library;
        Handles::keep($this, $client->library->ffi, 'millpond_shuffle_queue_free', $handle);
    }

    public function consumer(
        string $group,
        string $consumer,
        ConsumerOptions $options = new ConsumerOptions(),
    ): ShuffleConsumer {
        $settings = $this->library->options('millpond_shuffle_consumer_options');
        $options->write($settings);
        $pointer = FFI::addr($settings);
        $arguments = [$this->handle, $group, \strlen($group), $consumer, \strlen($consumer), $pointer];
        $logger = $this->client->logger;
        $named = fn (string $end): ShuffleConsumer => $this->consumer($group, $consumer . $end, $options);
        $made = fn (CData $handle): ShuffleConsumer => new ShuffleConsumer($this->library, $handle, $this, $logger, $named);

        return $this->library->handle('millpond_shuffle_consumer_new', $arguments, 'consumer', $made);
    }

    public function deadLetters(int $max = 100, DeadLetter|string|null $after = null): array
    {
        $size = Arguments::size('max', $max);
        $id = $after === null ? null : Packed::ids($this->library->ffi, ShuffleArguments::letterIds('after', $after));

        return Signals::held(function () use ($size, $id): array {
            $call = $id === null
                ? $this->library->made('millpond_shuffle_dead_letters_read', [$this->handle, $size], 'letters')
                : $this->library->made('millpond_shuffle_dead_letters_after', [$this->handle, $size, $id->array], 'letters');

            return ShuffleResults::letters($this->library->ffi, $call->letters[0]);
        });
    }

    public function gc(?int $timeDigits = null): Garbage
    {
        $arguments = [$this->handle, Arguments::optionalSize('timeDigits', $timeDigits)];
        $make = fn (): CData => $this->library->value('millpond_shuffle_garbage_new', $arguments, 'garbage');

        return Signals::held(fn (): Garbage => new Garbage($this->library, $make, $make(), $this));
    }
}
