<?php

declare(strict_types=1);

namespace Millpond;

use FFI\CData;
use Millpond\Internal\Arguments;
use Millpond\Internal\Handles;
use Millpond\Internal\Packed;
use Millpond\Internal\Signals;

/**
 * Several Icks that share the members of one dirty list, so that as many consumers can work at
 * once; made by `Client::ickChannel()`. The Icks are named `name/0`, `name/1` and so on; a member
 * always lives in the same one.
 *
 *     $channel = Millpond::connect('memory:')->ickChannel('files', 4);
 *     echo $channel->add([[1, 'a.txt'], [2, 'b.txt'], [3, 'c.txt']])->new, "\n"; // 3
 *     foreach ($channel->batches(range(0, 3), 100) as $batch) {
 *         echo count($batch), "\n";
 *     }
 */
final class IckChannel implements IckChannelInterface
{
    private function __construct(
        private readonly Client $client,
        private readonly string $name,
        private readonly CData $handle,
    ) {
        Handles::keep($this, $client->library->ffi, 'millpond_ick_channel_free', $handle);
    }

    public function __destruct()
    {
        Handles::free($this->handle);
    }

    /** A copy would free what the original holds. */
    private function __clone(): void
    {
    }

    /** @internal what `Client::ickChannel()` does */
    public static function make(Client $client, string $name, int $shards, int $draining = 0): self
    {
        $shards = Arguments::smallSize('shards', $shards);
        $draining = Arguments::smallSize('earlier', $draining);

        return Signals::held(static function () use ($client, $name, $shards, $draining): self {
            $library = $client->library;
            $call = $library->made(
                'millpond_ick_channel_new',
                [$client->handle, $name, \strlen($name), $shards, $draining],
                'channel',
            );

            return new self($client, $name, $call->channel[0]);
        });
    }

    public function shards(): int
    {
        return $this->small('millpond_ick_channel_shards');
    }

    public function readable(): int
    {
        return $this->small('millpond_ick_channel_readable');
    }

    /**
     * The same channel for a consumer that also reads the Icks of an earlier, larger size.
     * Resizing is safe at any time: a member may be processed twice on the way; none is lost.
     *
     * @throws Exception\InvalidArgumentException for a negative or huge number
     */
    public function draining(int $earlier): self
    {
        return self::make($this->client, $this->name, $this->shards(), $earlier);
    }

    /**
     * The Ick with this number.
     *
     * @throws Exception\InvalidArgumentException for a negative or huge number
     */
    public function ick(int $number): Ick
    {
        $number = Arguments::smallSize('number', $number);
        $library = $this->client->library;
        $call = $library->made('millpond_ick_channel_ick_name', [$this->handle, $number], 'keys');

        return $this->client->ick($library->keys($call)[0]);
    }

    public function ickOf(string $member): int
    {
        $library = $this->client->library;
        $call = $library->made('millpond_ick_channel_ick_of', [$this->handle, $member, \strlen($member)], 'small');

        return $call->small[0];
    }

    public function add(iterable $pairs): Added
    {
        $library = $this->client->library;
        $packed = Packed::pairs($library->ffi, ...Arguments::pairs($pairs));
        $call = $library->made(
            'millpond_ick_channel_add',
            [$this->handle, $packed->array, $packed->count],
            'added',
        );

        return new Added($call->added[0]->new_members, $call->added[0]->lowered_members);
    }

    /**
     * The loop of a consumer of the Icks with these numbers: reserves from each in turn.
     *
     * @param iterable<int> $numbers at least one, each below readable()
     * @param int           $max     as for `Ick::batches()`
     * @param float|null    $wait    as for `Ick::batches()`
     *
     * @throws Exception\InvalidArgumentException for a number that the channel does not have
     */
    public function batches(iterable $numbers, int $max, ?float $wait = null): Batches
    {
        $library = $this->client->library;
        $packed = Packed::numbers($library->ffi, Arguments::smallSizes('numbers', $numbers));
        $size = Arguments::size('max', $max);
        $milliseconds = Arguments::wait('wait', $wait);
        $open = fn (CData $call): int => $library->ffi->millpond_ick_channel_batches(
            $this->handle,
            $packed->array,
            $packed->count,
            $size,
            $milliseconds,
            $call->batches,
            $call->error,
        );

        return Batches::open($library, $open, $wait !== null, $this);
    }

    private function small(string $function): int
    {
        $library = $this->client->library;
        $call = $library->made($function, [$this->handle], 'small');

        return $call->small[0];
    }
}
