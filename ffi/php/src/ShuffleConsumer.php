<?php

declare(strict_types=1);

namespace Millpond;

use FFI;
use FFI\CData;
use Millpond\Internal\Arguments;
use Millpond\Internal\Handles;
use Millpond\Internal\Library;
use Millpond\Internal\Owns;
use Millpond\Internal\ShuffleConsumerCalls;
use Millpond\Internal\ShuffleResults;
use Millpond\Internal\Signals;
use Psr\Log\LoggerInterface;

/**
 * One consumer of a group of a queue; made by `ShuffleQueue::consumer()`. Any number of threads may use it
 * at a time.
 *
 * A delivered message belongs to its consumer until it is acknowledged; asking for the next one does not
 * acknowledge it. When a consumer is gone, any other one can take over its messages with reclaim(). This
 * includes messages that no caller received, because of ConnectionLostException, TimeoutException or an
 * interrupted call.
 *
 * Messages that arrive while a signal handler throws are returned by the next call of the same kind: read()
 * and readMany() return each other's messages, reclaim() returns only its own. The loop of messages() does
 * not return them. Calls throw what the calls of a `ShuffleQueue` throw, and an InvalidArgumentException for
 * an empty group or consumer.
 *
 *     $queue = Millpond::connect('memory:')->shuffleQueue('jobs');
 *     $queue->writeMany([['a', ['n' => '1']], ['b', ['n' => '2']], ['c', ['n' => '3']]]);
 *     $consumer = $queue->consumer('workers', 'worker-1');
 *     echo $consumer->ack($consumer->readMany(2)), "\n"; // 2
 *     $consumer->read(); // and then it dies
 *     $reclaimed = $queue->consumer('workers', 'worker-2')->reclaim(0, 100);
 *     echo $reclaimed->messages[0]->deliveries, " deliveries\n"; // 2 deliveries
 */
final class ShuffleConsumer implements ShuffleConsumerInterface
{
    use Owns, ShuffleConsumerCalls;

    /** @var list<Message> messages that arrived and that no read() has returned, because a signal handler threw */
    private array $read = [];

    /** @var list<Message> the same for reclaim() */
    private array $reclaimed = [];

    /** How many messages became dead letters in that reclaim(). */
    private int $dead = 0;

    /** The process in which these arrived. */
    private int $process = 0;

    /**
     * @internal made by `ShuffleQueue::consumer()`
     *
     * @param \Closure(string): self $named makes a consumer whose name also ends with this
     */
    public function __construct(
        private readonly Library $library,
        private readonly CData $handle,
        private readonly ShuffleQueue $queue,
        private readonly ?LoggerInterface $logger,
        private readonly \Closure $named,
    ) {
        Handles::keep($this, $library->ffi, 'millpond_shuffle_consumer_free', $handle);
    }

    public function read(?float $wait = null): ?Message
    {
        return $this->take(1, $wait)[0] ?? null;
    }

    public function readMany(int $max, ?float $wait = null): array
    {
        return $this->take($max, $wait);
    }

    public function worker(ShuffleWorkerOptions $options = new ShuffleWorkerOptions()): ShuffleWorker
    {
        Arguments::concurrency($options->concurrency);
        $settings = $this->library->options('millpond_shuffle_worker_options');
        $options->write($settings);
        // Each process is a separate consumer, since a lease distinguishes consumers.
        $open = function (\Closure $made, ?int $process) use ($settings): mixed {
            $consumer = $process === null ? $this : ($this->named)("/$process");
            $arguments = [$consumer->handle, FFI::addr($settings)];

            return $this->library->handle('millpond_shuffle_worker_new', $arguments, 'shuffle_worker', $made);
        };

        $job = fn (?CData $handle, ?Message $message = null): ShuffleJob => new ShuffleJob($this->library, $handle, $message);

        return new ShuffleWorker($this->library, 'shuffle', $open, $job, $this->logger);
    }

    public function messages(int $max = 100, ?float $wait = null): Messages
    {
        $arguments = [$this->handle, Arguments::size('max', $max), Arguments::wait('wait', $wait)];
        $made = fn (CData $handle): Messages => new Messages($this->library, $handle, $wait, $this);

        return $this->library->handle('millpond_shuffle_messages_new', $arguments, 'loop', $made);
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
            Signals::keeping($this->library->ffi, $wait, function () use ($size, $wait, $until, $milliseconds): void {
                // After a handler has run, it waits for the remaining time.
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

    /** Drops what a fork has copied: the parent returns it. */
    private function forgetParents(): void
    {
        $process = \getmypid();
        if ($this->process !== $process) {
            [$this->read, $this->reclaimed, $this->dead, $this->process] = [[], [], 0, $process];
        }
    }
}
