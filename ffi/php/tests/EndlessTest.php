<?php

declare(strict_types=1);

namespace Millpond\Tests;

use Millpond\Client;
use Millpond\Exception\InvalidArgumentException;
use Millpond\Receipt;
use Millpond\Tasks\TaskId;

/**
 * What may have no end is refused as it is read, before anything is sent.
 */
final class EndlessTest extends TestCase
{
    /** @dataProvider kinds */
    public function testIcks(string $kind): void
    {
        $ick = $this->connect($kind)->ick($this->name);
        self::assertRefused('pairs has more than 1000000 items', static fn () => $ick->add(self::endless('m')));
        self::assertRefused('members has more than 1000000 items', static fn () => $ick->commit(self::endless('m')));
        self::assertRefused('members has more than 250000', static fn () => $ick->exchange(1, self::endless('m')));
        self::assertNull($ick->stats());
    }

    /**
     * @return iterable<string, array{string, callable(Client): mixed}>
     */
    public function calls(): iterable
    {
        $calls = [
            'numbers has more than 65536 items' => static fn (Client $client)
                => $client->ickChannel('x', 2)->batches(self::endless(0), 1),
            'the strings of the call have more than 1073741824 bytes' => static fn (Client $client)
                => $client->ick('x')->commit(\array_fill(0, 1_025, \str_repeat('m', 1 << 20))),
            'fields has more than 32768 items' => static fn (Client $client)
                => $client->shuffleQueue('x')->write('t', self::endless(['f', 'v'])),
            'messages has more than 1000000 items' => static fn (Client $client)
                => $client->shuffleQueue('x')->consumer('g', 'c')->ack(self::endless(new Receipt(0, '1-1'))),
            'messages[0][1] has more than 32768 items' => static fn (Client $client)
                => $client->shuffleQueue('x')->writeMany([['t', self::endless(['f', 'v'])]]),
            'queues has more than 1000 items' => static fn (Client $client)
                => $client->tasks('x')->claim(self::endless('q')),
            'ids has more than 10000 items' => static fn (Client $client)
                => $client->tasks('x')->fetch(self::endless('t')),
            'tasks has more than 100000 items' => static fn (Client $client)
                => $client->tasks('x')->renew(self::endless(new TaskId('t', 0))),
            'prefixes has more than 10000 items' => static fn (Client $client)
                => $client->tasks('x')->queues(prefixes: self::endless('q')),
        ];
        foreach ($calls as $message => $call) {
            yield $message => [$message, $call];
        }
    }

    /** @dataProvider calls */
    public function testCalls(string $message, callable $call): void
    {
        self::assertRefused($message, fn () => $call($this->connect('memory')));
    }

    private static function assertRefused(string $message, callable $call): void
    {
        $thrown = self::thrown($call);
        self::assertInstanceOf(InvalidArgumentException::class, $thrown);
        self::assertStringContainsString($message, $thrown->getMessage());
    }

    private static function endless(mixed $value): \Generator
    {
        for (;;) {
            yield $value;
        }
    }
}
