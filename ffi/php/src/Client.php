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
use Millpond\Tasks\TaskStore;
use Psr\Log\LoggerInterface;

/**
 * Gives access to the queues of a server or an embedded engine; created by `Millpond::connect()`. On Redis
 * it can also be used after a fork.
 */
final class Client implements ClientInterface
{
    use Owns;

    /** @internal made by `Millpond::connect()` */
    private function __construct(
        /** @internal */
        public readonly Library $library,
        /** @internal */
        public readonly CData $handle,
        /** @internal */
        public readonly ?LoggerInterface $logger,
    ) {
        Handles::keep($this, $library->ffi, 'millpond_client_free', $handle);
    }

    /**
     * @internal called by `Millpond::connect()`
     *
     * @param list<string|int|bool|null> $options the fields of a millpond_options
     */
    public static function make(
        Library $library,
        #[\SensitiveParameter] array $options,
        ?LoggerInterface $logger,
    ): self {
        $size = FFI::sizeof($library->ffi->type('millpond_options'));
        $packed = Packed::record($library->ffi, 'millpond_options *', [$size, ...$options]);
        $made = static fn (CData $handle): self => new self($library, $handle, $logger);

        return $library->handle('millpond_connect_with', [$packed->array], 'client', $made);
    }

    public function ick(string $name): Ick
    {
        return new Ick($this, $name);
    }

    public function ickChannel(string $name, int $shards): IckChannel
    {
        return IckChannel::make($this, $name, $shards);
    }

    public function shuffleQueue(string $name, ShuffleOptions $options = new ShuffleOptions()): ShuffleQueue
    {
        $ffi = $this->library->ffi;
        $settings = $this->library->options('millpond_shuffle_options');
        $options->write($settings);
        $settings->track_keys = $options->trackKeys === TrackKeys::Global
            ? $ffi->MILLPOND_SHUFFLE_TRACK_GLOBAL : $ffi->MILLPOND_SHUFFLE_TRACK_QUEUE;
        $pointer = FFI::addr($settings);
        $arguments = [$this->handle, $name, \strlen($name), $pointer];
        $made = fn (CData $handle): ShuffleQueue => new ShuffleQueue($this, $handle);

        return $this->library->handle('millpond_shuffle_queue_new', $arguments, 'queue', $made);
    }

    public function tasks(string $name, ?string $claimant = null): TaskStore
    {
        $arguments = [$this->handle, $name, \strlen($name), $claimant, \strlen($claimant ?? '')];
        $made = fn (CData $handle): TaskStore => new TaskStore($this, $handle);

        return $this->library->handle('millpond_tasks_store_new', $arguments, 'store', $made);
    }

    public function events(string $name): EventQueue
    {
        $made = fn (CData $handle): EventQueue => new EventQueue($this, $handle);

        return $this->library->handle('millpond_events_queue_new', [$this->handle, $name, \strlen($name)], 'events_queue', $made);
    }

    public function volatileHash(string $name): VolatileHash
    {
        $made = fn (CData $handle): VolatileHash => new VolatileHash($this, $handle);

        return $this->library->handle('millpond_volatile_hash_new', [$this->handle, $name, \strlen($name)], 'volatile_hash', $made);
    }

    public function volatileHashes(string $name, int $shards = 16): VolatileHashes
    {
        $arguments = [$this->handle, $name, \strlen($name), Arguments::smallSize('shards', $shards)];
        $made = fn (CData $handle): VolatileHashes => new VolatileHashes($this, $handle);

        return $this->library->handle('millpond_volatile_hashes_new', $arguments, 'volatile_hashes', $made);
    }

    public function queueTracker(string $name): QueueTracker
    {
        $made = fn (CData $handle): QueueTracker => new QueueTracker($this, $handle);

        return $this->library->handle('millpond_tracker_new', [$this->handle, $name, \strlen($name)], 'tracker', $made);
    }

    public function recruiter(string $name): Recruiter
    {
        $made = fn (CData $handle): Recruiter => new Recruiter($this, $handle);

        return $this->library->handle('millpond_recruiter_new', [$this->handle, $name, \strlen($name)], 'recruiter', $made);
    }

    public function taskStores(): array
    {
        return $this->library->keys($this->library->made('millpond_client_task_stores', [$this->handle], 'keys'));
    }

    public function recovery(): ?Recovery
    {
        $ffi = $this->library->ffi;
        $call = $this->library->made('millpond_recovery_read', [$this->handle], 'recovery');
        if (FFI::isNull($call->recovery[0])) {
            return null;
        }
        Handles::keep($call, $ffi, 'millpond_recovery_free', $call->recovery[0]);
        $found = $ffi->millpond_recovery_data($call->recovery[0]);
        $recovery = new Recovery(
            $found->records,
            $found->torn_bytes,
            $found->snapshot_bytes,
            $found->log_bytes,
            $found->closed,
            $found->suspicion,
            $found->warnings === null ? [] : \explode("\n", $found->warnings),
        );
        Handles::free($call->recovery[0]);

        return $recovery;
    }

    public function close(): void
    {
        $this->library->made('millpond_close', [$this->handle]);
    }
}
