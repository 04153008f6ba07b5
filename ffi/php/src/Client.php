<?php

declare(strict_types=1);

namespace Millpond;

use FFI;
use FFI\CData;
use Millpond\Internal\Arguments;
use Millpond\Internal\Handles;
use Millpond\Internal\Library;
use Millpond\Internal\Signals;
use Millpond\Tasks\TaskStore;
use Psr\Log\LoggerInterface;

/**
 * A server or an embedded engine, made by `Millpond::connect()`.
 */
final class Client implements ClientInterface
{
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

    public function __destruct()
    {
        Handles::free($this->handle);
    }

    /** A copy would free what the original holds. */
    private function __clone(): void
    {
    }

    /** @internal what `Millpond::connect()` does */
    public static function connect(
        Library $library,
        #[\SensitiveParameter] string $url,
        ?float $timeout,
        ?float $connectTimeout,
        ?int $retries,
        ?string $username,
        #[\SensitiveParameter] ?string $password,
        ?string $clientName,
        ?LoggerInterface $logger,
    ): self {
        $ffi = $library->ffi;
        $options = $ffi->new('millpond_options');
        $pointer = FFI::addr($options);
        $size = FFI::sizeof($options);
        $ffi->millpond_options_init($pointer, $size);
        $kept = [];
        $texts = ['url' => $url, 'username' => $username, 'password' => $password, 'client_name' => $clientName];
        foreach ($texts as $option => $text) {
            if ($text !== null) {
                $kept[] = $copy = $ffi->new('char[' . \strlen($text) + 1 . ']');
                FFI::memcpy($copy, $text, \strlen($text));
                $options->$option->data = FFI::addr($copy[0]);
                $options->$option->length = \strlen($text);
            }
        }
        if ($timeout !== null) {
            $options->timeout_ms = Arguments::milliseconds('timeout', $timeout);
        }
        if ($connectTimeout !== null) {
            $options->connect_timeout_ms = Arguments::milliseconds('connectTimeout', $connectTimeout);
        }
        if ($retries !== null) {
            $options->retries = Arguments::smallSize('retries', $retries);
        }

        $options->quiet = true;

        return Signals::held(static function () use ($library, $ffi, $pointer, $logger): self {
            Handles::sweep();
            $call = $library->made('millpond_connect_with', [$pointer], 'client');

            return new self($library, $call->client[0], $logger);
        });
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
        return ShuffleQueue::make($this, $name, $options);
    }

    public function tasks(string $name, ?string $claimant = null): TaskStore
    {
        return TaskStore::make($this, $name, $claimant);
    }

    public function recovery(): ?Recovery
    {
        $call = $this->library->call();
        $ffi = $this->library->ffi;
        $this->library->check($ffi->millpond_recovery_read($this->handle, $call->recovery, $call->error), $call);
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
