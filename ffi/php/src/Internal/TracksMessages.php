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
    public function writeTracked(
        string $shardKey,
        iterable $fields,
        string $trackField,
        ?int $deadline = null,
    ): Receipt {
        $packed = Packed::fields($this->library->ffi, ShuffleArguments::fields('fields', $fields));
        $deadline ??= 0;
        $call = $this->library->made(
            'millpond_shuffle_write_tracked',
            [$this->handle, $shardKey, \strlen($shardKey), $packed->array, $packed->count, $trackField, \strlen($trackField), $deadline],
            'receipt',
        );

        return ShuffleResults::receipt($call->receipt[0]);
    }

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

    public function deleteTracked(string $value): ?Receipt
    {
        $call = $this->library->made(
            'millpond_shuffle_delete_tracked',
            [$this->handle, $value, \strlen($value)],
            'flag',
            'receipt',
        );

        return $call->flag[0] ? ShuffleResults::receipt($call->receipt[0]) : null;
    }

    public function cordonDeadlineExceeded(float $within): array
    {
        $milliseconds = Arguments::milliseconds('within', $within);

        return Signals::held(function () use ($milliseconds): array {
            $call = $this->library->made(
                'millpond_shuffle_cordon_deadline_exceeded',
                [$this->handle, $milliseconds],
                'keys',
            );

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
