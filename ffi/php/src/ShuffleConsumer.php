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

/**
 * One consumer of a group of a queue's consumers; made by `ShuffleQueue::consumer()`.
 *
 * Delivery is at least once: a delivered message belongs to its consumer until it is acknowledged;
 * asking for the next one does not acknowledge it. After a ConnectionLostException or a
 * TimeoutException messages may be pending that the consumer never received. reclaim() returns them,
 * and what a dead consumer left.
 *
 *     $queue = Millpond::connect('memory:')->shuffleQueue('jobs');
 *     $queue->writeMany([['a', ['n' => '1']], ['b', ['n' => '2']], ['c', ['n' => '3']]]);
 *     $consumer = $queue->consumer('workers', 'worker-1');
 *     echo $consumer->ack($consumer->readMany(2)), "\n"; // 2
 *     $consumer->read(); // and then it dies
 *     $reclaimed = $queue->consumer('workers', 'worker-2')->reclaim(0, 100);
 *     echo $reclaimed->messages[0]->deliveries, " deliveries\n"; // 2 deliveries
 *
 * Messages that come while a signal handler throws are returned by the next such call: read() and
 * readMany() return those of either, reclaim() its own. The loop of messages() does not return
 * them.
 *
 * Calls throw what those of a `ShuffleQueue` throw, and an InvalidArgumentException for an empty
 * group or consumer.
 */
final class ShuffleConsumer implements ShuffleConsumerInterface
{
    /** @var list<Message> what came and no read() has returned, because a signal handler threw */
    private array $read = [];

    /** @var list<Message> the same of reclaim() */
    private array $reclaimed = [];

    /** How many became dead letters meanwhile. */
    private int $dead = 0;

    /** The process that these came to. */
    private int $process = 0;

    private function __construct(
        private readonly Library $library,
        private readonly CData $handle,
        private readonly ShuffleQueue $queue,
    ) {
        Handles::keep($this, $library->ffi, 'millpond_shuffle_consumer_free', $handle);
    }

    public function __destruct()
    {
        Handles::free($this->handle);
    }

    /** A copy would free what the original holds. */
    private function __clone(): void
    {
    }

    /** @internal what `ShuffleQueue::consumer()` does */
    public static function make(
        Library $library,
        CData $queueHandle,
        string $group,
        string $consumer,
        ConsumerOptions $settings,
        ShuffleQueue $queue,
    ): self {
        $options = $library->ffi->new('millpond_shuffle_consumer_options');
        $pointer = FFI::addr($options);
        $size = FFI::sizeof($options);
        $library->ffi->millpond_shuffle_consumer_options_init($pointer, $size);
        $settings->write($options);

        return Signals::held(static function () use ($library, $queueHandle, $group, $consumer, $pointer, $queue): self {
            $call = $library->made(
                'millpond_shuffle_consumer_new',
                [$queueHandle, $group, \strlen($group), $consumer, \strlen($consumer), $pointer],
                'consumer',
            );

            return new self($library, $call->consumer[0], $queue);
        });
    }

    /**
     * Reads the next message; null if there is none.
     *
     * While it waits, signal handlers run (in the CLI, with the extension pcntl): one that throws
     * ends the wait, and after one that returns the wait continues. What came meanwhile is
     * returned by the next call.
     *
     * @param float|null $wait seconds to wait for a message; INF waits without limit, null does not wait
     *
     * @throws Exception\InvalidArgumentException for a time below 0
     */
    public function read(?float $wait = null): ?Message
    {
        return $this->take(1, $wait)[0] ?? null;
    }

    /**
     * Reads messages in one step: the same ones that as many calls of read() would return.
     *
     * @param int        $max  how many at most, from 1 to 10,000
     * @param float|null $wait as for read(); it waits only if there is none
     *
     * @return list<Message>
     *
     * @throws Exception\InvalidArgumentException for wrong arguments, before anything is sent
     */
    public function readMany(int $max, ?float $wait = null): array
    {
        return $this->take($max, $wait);
    }

    /**
     * The consumer's loop over batches of messages.
     *
     * @param int        $max  how many a batch has at most, from 1 to 10,000
     * @param float|null $wait seconds to wait for a message, again for each batch; INF waits
     *                         without limit, null ends the loop when there is nothing left
     *
     * @throws Exception\InvalidArgumentException for wrong arguments, now or with the first batch
     */
    public function messages(int $max = 100, ?float $wait = null): Messages
    {
        return Messages::open($this->library, $this->handle, $max, $wait, $this);
    }

    public function ack(Message|Receipt|iterable $messages): int
    {
        return $this->finish('millpond_shuffle_ack', $messages);
    }

    public function ackAndDelete(Message|Receipt|iterable $messages): int
    {
        return $this->finish('millpond_shuffle_ack_and_delete', $messages);
    }

    public function extend(Message|Receipt|iterable $messages): int
    {
        return $this->finish('millpond_shuffle_extend', $messages);
    }

    public function reclaim(float $minIdle, int $max): Reclaimed
    {
        $milliseconds = Arguments::milliseconds('minIdle', $minIdle);
        $size = Arguments::size('max', $max);
        $this->forgetParents();
        if ($this->reclaimed === [] && $this->dead === 0) {
            Signals::held(function () use ($milliseconds, $size): void {
                $call = $this->library->made(
                    'millpond_shuffle_reclaim',
                    [$this->handle, $milliseconds, $size],
                    'messages',
                    'number',
                );
                $this->reclaimed = ShuffleResults::messages($this->library->ffi, $call->messages[0]);
                $this->dead = $call->number[0];
            });
        }
        $taken = new Reclaimed(\array_slice($this->reclaimed, 0, $size), $this->dead);
        $rest = \array_slice($this->reclaimed, $size);
        [$this->reclaimed, $this->dead] = [$rest, 0];

        return $taken;
    }

    /** @return list<Message> */
    private function take(int $max, ?float $wait): array
    {
        $size = Arguments::size('max', $max);
        $milliseconds = Arguments::wait('wait', $wait);
        $this->forgetParents();
        if ($this->read === []) {
            $until = \hrtime(true) / 1e9 + $wait;
            Signals::keeping($this->library->ffi, $wait !== null, function () use ($size, $wait, $until, $milliseconds): void {
                // After a handler it waits for the rest of the time.
                $rest = $wait === null ? $milliseconds : Arguments::wait('wait', \max(0, $until - \hrtime(true) / 1e9));
                $call = $this->library->made('millpond_shuffle_read', [$this->handle, $size, $rest], 'messages');
                $this->read = ShuffleResults::messages($this->library->ffi, $call->messages[0]);
            });
        }
        $taken = \array_slice($this->read, 0, $size);
        $rest = \array_slice($this->read, $size);
        $this->read = $rest;

        return $taken;
    }

    /** Drops what a fork has copied: the parent returns that. */
    private function forgetParents(): void
    {
        $process = \getmypid();
        if ($this->process !== $process) {
            [$this->read, $this->reclaimed, $this->dead, $this->process] = [[], [], 0, $process];
        }
    }

    /** @param Message|Receipt|iterable<mixed> $messages */
    private function finish(string $function, Message|Receipt|iterable $messages): int
    {
        $receipts = ShuffleArguments::receipts('messages', $messages);
        $packed = Packed::receipts($this->library->ffi, $receipts);
        $call = $this->library->made($function, [$this->handle, $packed->array, $packed->count], 'number');

        return $call->number[0];
    }
}
