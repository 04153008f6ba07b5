<?php

declare(strict_types=1);

namespace Millpond\Internal;

use FFI;
use Millpond\Exception;
use Millpond\Garbage;
use Millpond\Receipt;

/**
 * What a shuffle queue does with messages that can be found by a value.
 *
 * @internal
 */
trait TracksMessages
{
    /**
     * Writes one message of a tenant, as write(), and remembers where it is by the value of its
     * field `$trackField`, so that deleteTracked() finds it. Of two messages with the same value the
     * later one is tracked; one without that field, or with nothing in it, is written and not
     * tracked.
     *
     *     $queue = Millpond::connect('memory:')->shuffleQueue('jobs');
     *     $queue->writeTracked('tenant-7', ['job' => 'j-1', 'task' => 'resize'], 'job');
     *     $queue->deleteTracked('j-1');
     *     echo $queue->len(), "\n"; // 0
     *
     * @param string   $shardKey   as for write()
     * @param iterable<string>|iterable<array{string, string}> $fields as for write()
     * @param string   $trackField the field that has the value
     * @param int|null $deadline   in seconds since the Unix epoch, at most 2^53; null, or 0, is the
     *                             server's time plus the queue's `ttl`, or a day without one. The record stays until the
     *                             message is deleted by its value, or gc() collects it
     *
     * @throws Exception\InvalidArgumentException for anything else, before anything is sent
     */
    public function writeTracked(
        string $shardKey,
        iterable $fields,
        string $trackField,
        ?int $deadline = null,
    ): Receipt {
        $packed = Packed::fields($this->library->ffi, ShuffleArguments::fields('fields', $fields));
        $deadline ??= 0;
        $call = $this->library->call();
        $status = $this->library->ffi->millpond_shuffle_write_tracked(
            $this->handle,
            $shardKey,
            \strlen($shardKey),
            $packed->array,
            $packed->count,
            $trackField,
            \strlen($trackField),
            $deadline,
            $call->receipt,
            $call->error,
        );
        $this->library->check($status, $call);

        return ShuffleResults::receipt($call->receipt[0]);
    }

    /**
     * Writes many messages, each for its tenant, and remembers where they are, as writeTracked() would
     * one after the other with the same field and deadline. Returns where they are, in their order. In
     * steps as writeMany().
     *
     *     $queue = Millpond::connect('memory:')->shuffleQueue('jobs');
     *     $queue->writeTrackedMany([['a', ['job' => 'j-1']], ['b', ['job' => 'j-2']]], 'job');
     *     $queue->deleteTracked('j-2');
     *     echo $queue->len(), "\n"; // 1
     *
     * @param iterable<array{string, iterable<string>|iterable<array{string, string}>}> $messages
     *        as for writeMany()
     * @param string   $trackField as for writeTracked()
     * @param int|null $deadline   as for writeTracked()
     *
     * @return list<Receipt>
     *
     * @throws Exception\InvalidArgumentException for anything else, before anything is sent
     */
    public function writeTrackedMany(iterable $messages, string $trackField, ?int $deadline = null): array
    {
        $packed = Packed::messages($this->library->ffi, ...ShuffleArguments::messages($messages));
        $deadline ??= 0;
        $call = $this->library->call();
        $receipts = $this->library->ffi->new('millpond_shuffle_receipt[' . \max(1, $packed->count) . ']');
        $pointer = FFI::addr($receipts[0]);
        $status = $this->library->ffi->millpond_shuffle_write_tracked_many(
            $this->handle,
            $packed->array,
            $packed->count,
            $trackField,
            \strlen($trackField),
            $deadline,
            $pointer,
            $call->error,
        );
        $this->library->check($status, $call);

        return ShuffleResults::receipts($this->library->ffi, $pointer, $packed->count);
    }

    /**
     * Deletes the message that is tracked by this value, for all groups, delivered or not. With the
     * global keys it is found in any queue. A consumer that works on the message is not stopped.
     *
     * After a ConnectionLostException or a TimeoutException it may be done; repeated, it returns
     * null then.
     *
     * @return Receipt|null where it was; null if there is none (any more)
     *
     * @throws Exception\CorruptException if the record of this value names no message; it is left as it
     *                                    is
     */
    public function deleteTracked(string $value): ?Receipt
    {
        $call = $this->library->call();
        $status = $this->library->ffi->millpond_shuffle_delete_tracked(
            $this->handle,
            $value,
            \strlen($value),
            $call->flag,
            $call->receipt,
            $call->error,
        );
        $this->library->check($status, $call);

        return $call->flag[0] ? ShuffleResults::receipt($call->receipt[0]) : null;
    }

    /**
     * Takes the values whose deadline passed not longer ago than `$within` out of the deadlines, in
     * one step, so that of several callers one gets each. They are garbage from then on; their
     * messages stay until they are deleted.
     *
     * After a ConnectionLostException or a TimeoutException, or if a signal handler throws meanwhile,
     * values may be cordoned that no caller received; gc() returns them again.
     *
     * @param float $within whole seconds; a part of one counts as one
     *
     * @return list<string> the values, by deadline
     *
     * @throws Exception\InvalidArgumentException for a time below 0
     */
    public function cordonDeadlineExceeded(float $within): array
    {
        $milliseconds = Arguments::milliseconds('within', $within);

        return Signals::held(function () use ($milliseconds): array {
            $call = $this->library->call();
            $status = $this->library->ffi->millpond_shuffle_cordon_deadline_exceeded(
                $this->handle,
                $milliseconds,
                $call->keys,
                $call->error,
            );
            $this->library->check($status, $call);

            return $this->library->keys($call);
        });
    }

    /**
     * Collects what is recorded of tracked messages whose deadline has passed, those that were
     * cordoned first. Makes no call yet.
     *
     * @param int|null $timeDigits 1 to 10: scans only deadlines that begin with as many of the
     *                             first digits of the time, with 6 those of the same 10,000
     *                             seconds; null is for all. What was cordoned is scanned in any
     *                             case
     *
     * @throws Exception\InvalidArgumentException for another number, now or with the first batch
     */
    public function gc(?int $timeDigits = null): Garbage
    {
        return Garbage::open($this->library, $this->handle, $timeDigits, $this);
    }
}
