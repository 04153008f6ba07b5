<?php

declare(strict_types=1);

namespace Millpond\Tests;

use Millpond\DirtyListInterface;
use Millpond\Exception\InvalidArgumentException;
use Millpond\Exception\InvalidUrlException;
use Millpond\IckInterface;
use Millpond\Millpond;

/**
 * Wrong arguments are refused before anything is sent, with the name and the index.
 */
final class ArgumentsTest extends TestCase
{
    /**
     * @return iterable<string, array{string, callable(DirtyListInterface): mixed, string}>
     */
    public function wrongCalls(): iterable
    {
        $calls = [
            'pairs[1][1] must be string, not int' => static fn (DirtyListInterface $ick) => $ick->add([[1, 'a'], [2, 3]]),
            'pairs[1] must be [score, member] or a member, not int' => static fn (DirtyListInterface $ick) => $ick->add(['a', 5]),
            'pairs[0] must be [score, member], not array' => static fn (DirtyListInterface $ick) => $ick->add([[1, 'a', 2]]),
            'pairs[1] must be [score, member], not array' => static fn (DirtyListInterface $ick) => $ick->add(['a', ['x' => 1, 'y' => 'a']]),
            'pairs[0][0] must be float, int or null, not bool' => static fn (DirtyListInterface $ick) => $ick->add([[true, 'a']]),
            'pairs[0][0] must be float, int or null, not string' => static fn (DirtyListInterface $ick) => $ick->add([['1', 'a']]),
            'pairs[0] must be [score, member] or a member, not float' => static fn (DirtyListInterface $ick) => $ick->add(['a' => 1.0]),
            'ick.add: score 1 is NaN' => static fn (DirtyListInterface $ick) => $ick->add([[1, 'a'], [\NAN, 'b']]),
            'members[1] must be string, not null' => static fn (DirtyListInterface $ick) => $ick->commit(['a', null]),
            'members[0] must be string, not int' => static fn (DirtyListInterface $ick) => $ick->exchange(1, [1]),
            'max is -1; it has to be 0 or more' => static fn (DirtyListInterface $ick) => $ick->reserve(-1),
            'ick.reserve: ' => static fn (DirtyListInterface $ick) => $ick->reserve(10 ** 17),
            'ick.exchange: ' => static fn (DirtyListInterface $ick) => $ick->exchange(10 ** 17, ['a']),
            'ick.peek: ' => static fn (DirtyListInterface $ick) => $ick->peek(10 ** 17),
            'max is -2' => static fn (DirtyListInterface $ick) => $ick->peek(-2),
            'max is -3' => static fn (DirtyListInterface $ick) => $ick->batches(-3),
        ];
        foreach ($this->kinds() as [$kind]) {
            foreach ($calls as $message => $call) {
                yield "$kind: $message" => [$kind, $call, $message];
            }
        }
        foreach ($this->ownKinds() as [$kind]) {
            yield "$kind: wait" => [$kind, static fn (IckInterface $ick) => $ick->batches(1, wait: -1), 'wait is -1'];
        }
    }

    /** @dataProvider wrongCalls */
    public function testCalls(string $kind, callable $call, string $message): void
    {
        $ick = $this->connect($kind)->ick($this->name);
        $thrown = self::thrown(static fn () => $call($ick));
        self::assertInstanceOf(InvalidArgumentException::class, $thrown);
        self::assertStringContainsString($message, $thrown->getMessage());
        self::assertNull($ick->stats());
    }

    /** @dataProvider kinds */
    public function testALongName(string $kind): void
    {
        $thrown = self::thrown(fn () => $this->connect($kind)->ick(\str_repeat('x', 100_000))->add(['a']));
        self::assertInstanceOf(InvalidArgumentException::class, $thrown);
        self::assertStringContainsString('65536 are allowed', $thrown->getMessage());
    }

    /** @dataProvider kinds */
    public function testAnIterableThatThrows(string $kind): void
    {
        $pairs = (static function (): \Generator {
            yield 'a';
            throw new \DomainException();
        })();
        $ick = $this->connect($kind)->ick($this->name);
        self::assertInstanceOf(\DomainException::class, self::thrown(static fn () => $ick->add($pairs)));
        self::assertNull($ick->stats());
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
            $thrown = self::thrown($call);
            self::assertInstanceOf(InvalidArgumentException::class, $thrown);
            self::assertStringContainsString($message, $thrown->getMessage());
            self::assertStringNotContainsString('MILLPOND_', $thrown->getMessage());
        }
    }

    /** @dataProvider kinds */
    public function testAPairWithKeys(string $kind): void
    {
        $ick = $this->connect($kind)->ick($this->name);
        foreach ([['score' => 5, 1 => 'm'], [1 => 'm', 0 => 5]] as $pair) {
            $thrown = self::thrown(static fn () => $ick->add([$pair]));
            self::assertStringContainsString('pairs[0] must be [score, member]', $thrown->getMessage());
        }
    }

    public function testACopyOfWhatHoldsSomething(): void
    {
        $client = $this->connect('memory');
        $ick = $client->ick($this->name);
        $queue = $client->shuffleQueue($this->name);
        $consumer = $queue->consumer('g', 'c');
        $originals = [$client, $ick->batches(1), $ick->lease(9), $client->ickChannel($this->name, 2)];
        foreach ([...$originals, $queue, $consumer, $consumer->messages(), $queue->gc()] as $original) {
            $thrown = self::thrown(static fn () => clone $original);
            self::assertStringContainsString('private', $thrown->getMessage());
        }
    }
}
