<?php

declare(strict_types=1);

namespace Millpond;

use FFI\CData;
use Millpond\Internal\Arguments;
use Millpond\Internal\Handles;
use Millpond\Internal\IckChannelCalls;
use Millpond\Internal\Library;
use Millpond\Internal\Owns;
use Millpond\Internal\Packed;

/**
 * Several Icks that share the members of one dirty list, so that as many consumers can work at the same
 * time; made by `Client::ickChannel()`. A member lives in the Ick numbered FNV-1a-64(member) mod n, named
 * `<name>/<number>`.
 *
 * Resizing is safe at any time. Each producer and consumer can switch to the new number when it suits, and
 * consumers also drain the old Icks until they are empty. A member may be processed twice during the switch;
 * none is lost.
 *
 *     $channel = Millpond::connect('memory:')->ickChannel('files', 4);
 *     echo $channel->add([[1, 'a.txt'], [2, 'b.txt'], [3, 'c.txt']])->new, "\n"; // 3
 *     foreach ($channel->batches(range(0, 3), 100) as $batch) {
 *         echo count($batch), "\n";
 *     }
 */
final class IckChannel implements IckChannelInterface
{
    use IckChannelCalls, Owns;

    private readonly Library $library;

    private function __construct(
        private readonly Client $client,
        private readonly string $name,
        private readonly CData $handle,
    ) {
        $this->library = $client->library;
        Handles::keep($this, $client->library->ffi, 'millpond_ick_channel_free', $handle);
    }

    /** @internal called by `Client::ickChannel()` */
    public static function make(Client $client, string $name, int $shards, int $draining = 0): self
    {
        $shards = Arguments::smallSize('shards', $shards);
        $draining = Arguments::smallSize('earlier', $draining);
        $arguments = [$client->handle, $name, \strlen($name), $shards, $draining];
        $made = static fn (CData $handle): self => new self($client, $name, $handle);

        return $client->library->handle('millpond_ick_channel_new', $arguments, 'channel', $made);
    }

    public function draining(int $earlier): self
    {
        return self::make($this->client, $this->name, $this->shards(), $earlier);
    }

    public function ick(int $number): Ick
    {
        $number = Arguments::smallSize('number', $number);
        $call = $this->library->made('millpond_ick_channel_ick_name', [$this->handle, $number], 'keys');

        return $this->client->ick($this->library->keys($call)[0]);
    }

    public function batches(iterable $numbers, int $max, ?float $wait = null): Batches
    {
        $packed = Packed::numbers($this->library->ffi, Arguments::smallSizes('numbers', $numbers));
        $arguments = [$this->handle, $packed->array, $packed->count];

        return Batches::open($this->library, 'millpond_ick_channel_batches_new', $arguments, $max, $wait, [$this, $packed]);
    }
}
