<?php

declare(strict_types=1);

namespace Millpond\Tests;

use Millpond\Exception\InvalidUrlException;
use Millpond\Millpond;

/**
 * Arguments that every queue has, and those of a client.
 */
final class ArgumentsTest extends TestCase
{
    /**
     * @return iterable<string, array{\Closure, string}>
     */
    public function waits(): iterable
    {
        return Queue::each(Queue::waits(), $this->ownKinds());
    }

    /** @dataProvider waits */
    public function testAWait(\Closure $open, string $kind): void
    {
        $client = $this->connect($kind);
        foreach (['-1' => -1.0, '-0.5' => -0.5, 'NAN' => \NAN] as $shown => $wait) {
            self::assertRefused("wait is $shown", fn () => $open($client, $this->name, wait: $wait)->next());
        }
    }

    /**
     * @return iterable<string, array{Queue, string}>
     */
    public function queues(): iterable
    {
        return [...Queue::each(Queue::all(), $this->ownKinds()), ...Queue::each(['ick' => Queue::all()['ick']], $this->kinds())];
    }

    /** @dataProvider queues */
    public function testALongName(Queue $row, string $kind): void
    {
        $name = \str_repeat('x', 100_000);
        self::assertRefused('65536 are allowed', fn () => ($row->put)(($row->open)($this->connect($kind), $name), ['a']));
    }

    public function testACopyOfWhatHoldsSomething(): void
    {
        $client = $this->connect('memory');
        foreach (Queue::all() as $row) {
            foreach ([$client, ...($row->holders)(($row->open)($client, 'q'))] as $original) {
                $thrown = self::thrown(static fn () => clone $original);
                self::assertStringContainsString('private', $thrown->getMessage());
            }
        }
    }

    public function testConnect(): void
    {
        $calls = [
            'names no host' => static fn () => Millpond::connect('redis://:secret@'),
            'the option colour is not known' => static fn () => Millpond::connect('memory:?colour=red'),
        ];
        foreach ($calls as $message => $call) {
            $thrown = self::thrown($call);
            self::assertInstanceOf(InvalidUrlException::class, $thrown);
            self::assertStringContainsString($message, $thrown->getMessage());
            self::assertStringNotContainsString('secret', (string) $thrown);
        }
        $calls = [
            'timeout has to be longer than 0 seconds' => static fn () => Millpond::connect('memory:', timeout: 0),
            'timeout is -1' => static fn () => Millpond::connect('memory:', timeout: -1),
            'connectTimeout is NAN' => static fn () => Millpond::connect('memory:', connectTimeout: \NAN),
            'retries is -1' => static fn () => Millpond::connect('memory:', retries: -1),
            'connectTimeout has to be longer than 0 seconds' =>
                static fn () => Millpond::connect('memory:', connectTimeout: 0),
            'username goes with a password' => static fn () => Millpond::connect('memory:', username: 'me'),
            'clientName is not UTF-8' => static fn () => Millpond::connect('memory:', clientName: "\xff"),
            'url is not UTF-8' => static fn () => Millpond::connect("memory:\xff"),
            'must be Redis, RedisCluster or Predis\ClientInterface, not stdClass' =>
                static fn () => Millpond::over(new \stdClass()),
        ];
        foreach ($calls as $message => $call) {
            self::assertRefused($message, $call);
        }
    }
}
