<?php

declare(strict_types=1);

namespace Millpond;

use FFI;
use FFI\CData;
use Millpond\Internal\Arguments;
use Millpond\Internal\Handles;
use Millpond\Internal\Library;
use Millpond\Internal\Packed;
use Millpond\Internal\ShuffleResults;
use Millpond\Internal\ShuffleArguments;
use Millpond\Internal\Signals;
use Millpond\Internal\TracksMessages;

/**
 * A shuffle queue by its name, made by `Client::shuffleQueue()`: many tenants share it, and one
 * tenant's burst delays only itself.
 *
 * A queue is a number of streams, and each tenant writes to a few of them only, its shard: always to
 * the one of these with the least to do. Consumers read from all streams in turn. A tenant that
 * writes a thousand times more than the others fills its own streams, and the other tenants have
 * others.
 *
 *     $queue = Millpond::connect('memory:')->shuffleQueue('jobs', new ShuffleOptions(streams: 64, streamsPerShard: 4));
 *     $queue->write('tenant-7', ['task' => 'resize', 'image' => 'a.png']);
 *     $consumer = $queue->consumer('workers', 'worker-1');
 *     $message = $consumer->read();
 *     echo $message->field('image'), "\n"; // a.png
 *     $consumer->ackAndDelete($message);
 *     echo $queue->backlog(), "\n"; // 0
 *
 * Every call may throw what the connection throws, and an InvalidArgumentException for wrong
 * arguments, before anything is sent; a WrongTypeException if a key of the queue holds something
 * else, and then nothing has changed; and a CrossSlotException on a cluster if the name holds no
 * `{tag}` or, for tracked messages, if their records are in the global keys.
 */
final class ShuffleQueue implements ShuffleQueueInterface
{
    use TracksMessages;

    private readonly Library $library;

    private function __construct(
        private readonly Client $client,
        private readonly CData $handle,
    ) {
        $this->library = $client->library;
        Handles::keep($this, $client->library->ffi, 'millpond_shuffle_queue_free', $handle);
    }

    public function __destruct()
    {
        Handles::free($this->handle);
    }

    /** A copy would free what the original holds. */
    private function __clone(): void
    {
    }

    /** @internal what `Client::shuffleQueue()` does */
    public static function make(Client $client, string $name, ShuffleOptions $settings): self
    {
        $ffi = $client->library->ffi;
        $options = $ffi->new('millpond_shuffle_options');
        $pointer = FFI::addr($options);
        $size = FFI::sizeof($options);
        $ffi->millpond_shuffle_options_init($pointer, $size);
        $settings->write($options);
        $options->track_keys = $settings->trackKeys === TrackKeys::Global
            ? $ffi->MILLPOND_SHUFFLE_TRACK_GLOBAL : $ffi->MILLPOND_SHUFFLE_TRACK_QUEUE;

        return Signals::held(static function () use ($client, $ffi, $name, $pointer): self {
            $call = $client->library->made(
                'millpond_shuffle_queue_new',
                [$client->handle, $name, \strlen($name), $pointer],
                'queue',
            );

            return new self($client, $call->queue[0]);
        });
    }

    public function write(string $shardKey, iterable $fields): Receipt
    {
        $packed = Packed::fields($this->library->ffi, ShuffleArguments::fields('fields', $fields));
        $call = $this->library->made(
            'millpond_shuffle_write',
            [$this->handle, $shardKey, \strlen($shardKey), $packed->array, $packed->count],
            'receipt',
        );

        return ShuffleResults::receipt($call->receipt[0]);
    }

    public function writeMany(iterable $messages): array
    {
        $packed = Packed::messages($this->library->ffi, ...ShuffleArguments::messages($messages));
        $call = $this->library->call();
        $receipts = $this->library->ffi->new('millpond_shuffle_receipt[' . \max(1, $packed->count) . ']');
        $pointer = FFI::addr($receipts[0]);
        $status = $this->library->ffi->millpond_shuffle_write_many(
            $this->handle,
            $packed->array,
            $packed->count,
            $pointer,
            $call->error,
        );
        $this->library->check($status, $call);

        return ShuffleResults::receipts($this->library->ffi, $pointer, $packed->count);
    }

    /**
     * A consumer of a group. Each message goes to one consumer of each group; a group begins with
     * what the queue holds when it first reads. Makes no call.
     *
     *     $queue = Millpond::connect('memory:')->shuffleQueue('jobs');
     *     $consumer = $queue->consumer('workers', 'worker-1', new ConsumerOptions(maxDeliveries: 5));
     *     echo count($consumer->readMany(10)), " messages\n"; // 0 messages
     *
     * @param string $group    any bytes but none
     * @param string $consumer any bytes but none
     *
     * @throws Exception\InvalidArgumentException for a negative or huge number; empty names are
     *                                            refused by the step that needs them
     */
    public function consumer(
        string $group,
        string $consumer,
        ConsumerOptions $options = new ConsumerOptions(),
    ): ShuffleConsumer {
        return ShuffleConsumer::make($this->library, $this->handle, $group, $consumer, $options, $this);
    }

    public function len(): int
    {
        return $this->number('millpond_shuffle_len');
    }

    public function backlog(): int
    {
        return $this->number('millpond_shuffle_backlog');
    }

    public function pendingCount(string $group): int
    {
        $call = $this->library->made(
            'millpond_shuffle_pending_count',
            [$this->handle, $group, \strlen($group)],
            'number',
        );

        return $call->number[0];
    }

    public function stats(string $group): ShuffleStats
    {
        return Signals::held(function () use ($group): ShuffleStats {
            $call = $this->library->made(
                'millpond_shuffle_stats_read',
                [$this->handle, $group, \strlen($group)],
                'shuffle_stats',
            );

            return ShuffleResults::stats($this->library->ffi, $call->shuffle_stats[0]);
        });
    }

    public function deadLetters(int $max = 100): array
    {
        $size = Arguments::size('max', $max);

        return Signals::held(function () use ($size): array {
            $call = $this->library->made('millpond_shuffle_dead_letters_read', [$this->handle, $size], 'letters');

            return ShuffleResults::letters($this->library->ffi, $call->letters[0]);
        });
    }

    public function deleteDeadLetters(DeadLetter|string|iterable $letters): int
    {
        $packed = Packed::ids($this->library->ffi, ShuffleArguments::letterIds('letters', $letters));
        $call = $this->library->made(
            'millpond_shuffle_delete_dead_letters',
            [$this->handle, $packed->array, $packed->count],
            'number',
        );

        return $call->number[0];
    }

    public function resize(int $streams): int
    {
        $size = Arguments::smallSize('streams', $streams);
        $call = $this->library->made('millpond_shuffle_resize', [$this->handle, $size], 'small');

        return $call->small[0];
    }

    private function number(string $function): int
    {
        $call = $this->library->made($function, [$this->handle], 'number');

        return $call->number[0];
    }
}
