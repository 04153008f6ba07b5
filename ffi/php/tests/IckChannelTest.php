<?php

declare(strict_types=1);

namespace Millpond\Tests;


/**
 * Channels of several Icks.
 */
final class IckChannelTest extends TestCase
{
    /** @dataProvider ownKinds */
    public function testMembersAreSpread(string $kind): void
    {
        $client = $this->connect($kind);
        $channel = $client->ickChannel($this->name, 4);
        self::assertSame([4, 4], [$channel->shards(), $channel->readable()]);
        $members = \array_map(static fn (int $number): string => "member\0$number", \range(1, 100));
        self::assertSame(100, $channel->add($members)->new);
        foreach ($members as $member) {
            self::assertContains($member, \array_column($channel->ick($channel->ickOf($member))->peek(100), 'member'));
        }
        $sizes = \array_map(fn (int $number): int => $client->ick("$this->name/$number")->stats()->psetSize, \range(0, 3));
        self::assertSame(100, \array_sum($sizes));
        self::assertGreaterThan(0, \min($sizes));
        $seen = [];
        foreach ($channel->batches([0, 1, 2, 3], 10) as $batch) {
            $seen = [...$seen, ...\array_column($batch, 'member')];
        }
        self::assertEqualsCanonicalizing($members, $seen);
        self::assertNull($channel->batches([0, 3], 10, wait: 0.05)->next());
    }

    public function testTheHashIsThePublishedOne(): void
    {
        $channel = $this->connect('memory')->ickChannel($this->name, 65_536);
        self::assertSame([0x2325, 0xec8c, 0x67e8], \array_map($channel->ickOf(...), ['', 'a', 'foobar']));
    }

    public function testDraining(): void
    {
        $client = $this->connect('memory');
        $client->ickChannel($this->name, 8)->add(\array_map(\strval(...), \range(1, 50)));
        $channel = $client->ickChannel($this->name, 3)->draining(8);
        self::assertSame([3, 8], [$channel->shards(), $channel->readable()]);
        $counts = \array_map(\count(...), \iterator_to_array($channel->batches(\range(0, 7), 100)));
        self::assertSame(50, \array_sum($counts));
    }

    public function testWrongArguments(): void
    {
        $client = $this->connect('memory');
        $channel = $client->ickChannel($this->name, 2);
        $calls = [
            'a channel has 1 to 65536' => static fn () => $client->ickChannel('x', 0),
            'shards is -1' => static fn () => $client->ickChannel('x', -1),
            'which is too large' => static fn () => $client->ickChannel('x', 2 ** 40),
            'there is no ick 2' => static fn () => $channel->batches([0, 2], 1),
            'at least one ick' => static fn () => $channel->batches([], 1),
            'numbers[1] must be int, not string' => static fn () => $channel->batches([0, '1'], 1),
            'pairs[0] must be [score, member] or a member, not int' => static fn () => $channel->add([1]),
            'number is -1' => static fn () => $channel->ick(-1),
            'max is -1' => static fn () => $channel->batches([0], -1),
        ];
        foreach ($calls as $message => $call) {
            self::assertRefused($message, $call);
        }
    }
}
