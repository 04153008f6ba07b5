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
            $call = $client->library->call();
            $status = $ffi->millpond_shuffle_queue_new(
                $client->handle,
                $name,
                \strlen($name),
                $pointer,
                $call->queue,
                $call->error,
            );
            $client->library->check($status, $call);

            return new self($client, $call->queue[0]);
        });
    }

    /**
     * Writes one message of a tenant, to the stream of its shard that has the least to do, and
     * returns where it is.
     *
     * After a ConnectionLostException or a TimeoutException the message may or may not be written;
     * written again it may be there twice.
     *
     * @param string $shardKey the tenant, any bytes but none
     * @param iterable<string>|iterable<array{string, string}> $fields `['image' => 'a.png']`, or
     *        `[['image', 'a.png'], …]`, which may have a field several times; their order is kept.
     *        There are 1 to 32,768, each field and each value at most 64 MiB. Names that are whole
     *        numbers need pairs: PHP does not distinguish them from the indices of a list
     *
     * @throws Exception\InvalidArgumentException for anything else, before anything is sent, and for a
     *                                            queue that has another number of streams than this
     *                                            client set
     */
    public function write(string $shardKey, iterable $fields): Receipt
    {
        $packed = Packed::fields($this->library->ffi, ShuffleArguments::fields('fields', $fields));
        $call = $this->library->call();
        $status = $this->library->ffi->millpond_shuffle_write(
            $this->handle,
            $shardKey,
            \strlen($shardKey),
            $packed->array,
            $packed->count,
            $call->receipt,
            $call->error,
        );
        $this->library->check($status, $call);

        return ShuffleResults::receipt($call->receipt[0]);
    }

    /**
     * Writes many messages, each for its tenant, as write() would one after the other. Returns where
     * they are, in their order. A message that is refused refuses all.
     *
     * One atomic step for up to 10,000 messages and 16 MiB, several for more: after an exception the
     * first of these may be done.
     *
     * @param iterable<array{string, iterable<string>|iterable<array{string, string}>}> $messages
     *        `[shard key, fields]`, as for write()
     *
     * @return list<Receipt>
     *
     * @throws Exception\InvalidArgumentException for anything else, before anything is sent
     */
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

    /** How many entries the streams hold, finished ones that were not deleted included. */
    public function len(): int
    {
        return $this->number('millpond_shuffle_len');
    }

    /** How many messages are not yet delivered to some group, or not acknowledged by it. */
    public function backlog(): int
    {
        return $this->number('millpond_shuffle_backlog');
    }

    /**
     * How many messages were delivered to a group and are not acknowledged.
     *
     * @throws Exception\InvalidArgumentException for an empty group
     */
    public function pendingCount(string $group): int
    {
        $call = $this->library->call();
        $status = $this->library->ffi->millpond_shuffle_pending_count(
            $this->handle,
            $group,
            \strlen($group),
            $call->number,
            $call->error,
        );
        $this->library->check($status, $call);

        return $call->number[0];
    }

    /**
     * What each stream holds for a group, and the sums.
     *
     * @throws Exception\InvalidArgumentException for an empty group
     */
    public function stats(string $group): ShuffleStats
    {
        return Signals::held(function () use ($group): ShuffleStats {
            $call = $this->library->call();
            $status = $this->library->ffi->millpond_shuffle_stats_read(
                $this->handle,
                $group,
                \strlen($group),
                $call->shuffle_stats,
                $call->error,
            );
            $this->library->check($status, $call);

            return ShuffleResults::stats($this->library->ffi, $call->shuffle_stats[0]);
        });
    }

    /**
     * Messages that were delivered too often, the oldest first; see `ShuffleConsumer::reclaim()`.
     * They stay in the stream `<queue>:dead` until they are deleted or the queue's `deadTtl` is over.
     *
     * @param int $max how many, from 1 to 10,000
     *
     * @return list<DeadLetter>
     *
     * @throws Exception\InvalidArgumentException for another number
     */
    public function deadLetters(int $max = 100): array
    {
        $size = Arguments::size('max', $max);

        return Signals::held(function () use ($size): array {
            $call = $this->library->call();
            $status = $this->library->ffi->millpond_shuffle_dead_letters_read(
                $this->handle,
                $size,
                $call->letters,
                $call->error,
            );
            $this->library->check($status, $call);

            return ShuffleResults::letters($this->library->ffi, $call->letters[0]);
        });
    }

    /**
     * Deletes dead letters. Deleting twice is safe; above 10,000 letters it takes several steps.
     *
     * @param DeadLetter|string|iterable<DeadLetter|string> $letters as they were read, or their ids
     *
     * @return int how many of these there were
     *
     * @throws Exception\InvalidArgumentException for anything else
     */
    public function deleteDeadLetters(DeadLetter|string|iterable $letters): int
    {
        $packed = Packed::ids($this->library->ffi, ShuffleArguments::letterIds('letters', $letters));
        $call = $this->library->call();
        $status = $this->library->ffi->millpond_shuffle_delete_dead_letters(
            $this->handle,
            $packed->array,
            $packed->count,
            $call->number,
            $call->error,
        );
        $this->library->check($status, $call);

        return $call->number[0];
    }

    /**
     * Changes the number of streams: more at once, fewer as soon as those beyond have nothing left to
     * deliver or to acknowledge. Until then writers spread over the new number already and readers
     * still read from all; a later write or resize removes the others. A queue that was never written
     * to is created with this number. Clients with another number of streams are refused from then on.
     *
     *     $queue = Millpond::connect('memory:')->shuffleQueue('jobs');
     *     $queue->write('tenant-7', ['image' => 'a.png']);
     *     echo $queue->resize(64), "\n"; // 64
     *
     * @param int $streams from 1 to 65,536
     *
     * @return int how many streams the queue has now
     *
     * @throws Exception\InvalidArgumentException for another number
     */
    public function resize(int $streams): int
    {
        $size = Arguments::smallSize('streams', $streams);
        $call = $this->library->call();
        $status = $this->library->ffi->millpond_shuffle_resize(
            $this->handle,
            $size,
            $call->small,
            $call->error,
        );
        $this->library->check($status, $call);

        return $call->small[0];
    }

    private function number(string $function): int
    {
        $call = $this->library->call();
        $status = $this->library->ffi->$function(
            $this->handle,
            $call->number,
            $call->error,
        );
        $this->library->check($status, $call);

        return $call->number[0];
    }
}
