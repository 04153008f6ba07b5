<?php

declare(strict_types=1);

namespace Millpond\Tests;

use Millpond\ConsumerOptions;
use Millpond\Millpond;
use Millpond\Receipt;
use Millpond\ShuffleOptions;

final class ShuffleArgumentsTest extends ArgumentsTestCase
{
    protected const ROW = 'shuffle';

    protected function calls(): array
    {
        $with = static fn (mixed ...$options): \Closure
            => static fn ($queue, $client) => $client->shuffleQueue('q', new ShuffleOptions(...$options))->write('t', ['a' => 'b']);
        $calls = [
            'a queue has 1 to 65536 streams, not 0' => $with(streams: 0),
            'streams is -1' => $with(streams: -1),
            'streams is 4294967296' => $with(streams: 2 ** 32),
            'not 65537' => $with(streams: 65_537),
            'streamsPerShard is -1' => $with(streamsPerShard: -1),
            ', not 17' => $with(streams: 16, streamsPerShard: 17),
            'between a second' => $with(ttl: 0.5),
            'ttl is -1' => $with(ttl: -1),
            'and 100 years' => $with(ttl: \INF),
            'name' => static fn ($queue, $client) => $client->shuffleQueue('')->write('t', ['a' => 'b']),
            'fields[1] must be [field, value], not string' => static fn ($queue) => $queue->write('t', [['a', 'b'], 'c']),
            'fields[0] must be [field, value], not string' => static fn ($queue) => $queue->write('t', ['a', 'b']),
            'fields[0] must be [field, value], not array' => static fn ($queue) => $queue->write('t', [['a', 'b', 'c']]),
            'fields[0] must be [field, value], not int' => static fn ($queue) => $queue->write('t', [5]),
            'fields[0][1] must be string, not int' => static fn ($queue) => $queue->write('t', [['a', 5]]),
            'fields[1][0] must be string, not null' => static fn ($queue) => $queue->write('t', [['a', 'b'], [null, 'c']]),
            'fields["size"] must be string, not int' => static fn ($queue) => $queue->write('t', ['size' => 5]),
            'fields["pair"] must be string, not array' => static fn ($queue) => $queue->write('t', ['pair' => ['a', 'b']]),
            'has 0 fields' => static fn ($queue) => $queue->write('t', []),
            'fields has more than 32768 items' => static fn ($queue) => $queue->write('t', \array_fill(0, 32_769, ['a', 'b'])),
            'key is empty' => static fn ($queue) => $queue->write('', ['a' => 'b']),
            'messages[1] must be [shard key, fields], not string' => static fn ($queue) => $queue->writeMany([['t', ['a' => 'b']], 'x']),
            'messages[0] must be [shard key, fields], not array' => static fn ($queue) => $queue->writeMany([['key' => 't', 'fields' => []]]),
            'messages[0][0] must be string, not int' => static fn ($queue) => $queue->writeMany([[1, ['a' => 'b']]]),
            'messages[0][1] must be iterable, not string' => static fn ($queue) => $queue->writeMany([['t', 'a']]),
            'messages[1][1][0] must be [field, value], not string' => static fn ($queue) => $queue->writeMany([['t', ['a' => 'b']], ['t', ['a']]]),
            'message 1 has 0 fields' => static fn ($queue) => $queue->writeMany([['t', ['a' => 'b']], ['t', []]]),
            'track' => static fn ($queue) => $queue->writeTracked('t', ['a' => 'b'], ''),
            'deadline' => static fn ($queue) => $queue->writeTracked('t', ['a' => 'b'], 'a', \PHP_INT_MAX),
            'within is -1' => static fn ($queue) => $queue->cordonDeadlineExceeded(-1),
            'timeDigits is -1' => static fn ($queue) => $queue->gc(-1),
            'time_digits is 256' => static fn ($queue) => $queue->gc(256),
            'group' => static fn ($queue) => $queue->consumer('', 'c')->read(),
            'consumer' => static fn ($queue) => $queue->consumer('g', '')->read(),
            "the group's name is empty" => static fn ($queue) => $queue->stats(''),
            'preferStream is -1' => static fn ($queue) => $queue->consumer('g', 'c', new ConsumerOptions(preferStream: -1)),
            'maxDeliveries is -1' => static fn ($queue) => $queue->consumer('g', 'c', new ConsumerOptions(maxDeliveries: -1)),
            'most deliveries' => static fn ($queue) => $queue->consumer('g', 'c', new ConsumerOptions(maxDeliveries: \PHP_INT_MAX))->reclaim(0, 1),
            'not 0' => static fn ($queue) => $queue->consumer('g', 'c')->readMany(0),
            'not 10001' => static fn ($queue) => $queue->consumer('g', 'c')->readMany(10_001),
            'max is -1' => static fn ($queue) => $queue->consumer('g', 'c')->messages(-1),
            'not 20000' => static fn ($queue) => $queue->consumer('g', 'c')->messages(20_000, 5)->next(),
            'minIdle is -1' => static fn ($queue) => $queue->consumer('g', 'c')->reclaim(-1, 1),
            '100 years' => static fn ($queue) => $queue->consumer('g', 'c')->reclaim(\INF, 1),
            'shuffle.dead_letters' => static fn ($queue) => $queue->deadLetters(0),
            'messages[1] must be Message or Receipt, not string' =>
                static fn ($queue) => $queue->consumer('g', 'c')->ack([new Receipt(0, '1-1'), '2-2']),
            'messages.stream is -1' => static fn ($queue) => $queue->consumer('g', 'c')->ack(new Receipt(-1, '1-1')),
            'messages[1].stream is -2' =>
                static fn ($queue) => $queue->consumer('g', 'c')->ack([new Receipt(0, '1-1'), new Receipt(-2, '1-1')]),
            'messages[2].id is "x", which is no id' =>
                static fn ($queue) => $queue->consumer('g', 'c')->ack([new Receipt(0, '1-1'), new Receipt(0, '2-2'), new Receipt(0, 'x')]),
            'fields[1] must be [field, value] where names are whole numbers, not string' =>
                static fn ($queue) => $queue->write('t', \array_filter(['', 'x'])),
            'messages[0][1][7] must be [field, value] where names are whole numbers, not string' =>
                static fn ($queue) => $queue->writeMany([['t', ['7' => 'x', '8' => 'y']]]),
        ];
        foreach (['', '1', '1-', '-1', '1-1-1', '-1-1', ' 1-1', '1-x', '18446744073709551616-0', '1-99999999999999999999'] as $id) {
            $calls["messages.id is \"$id\", which is no id of a message"] =
                static fn ($queue) => $queue->consumer('g', 'c')->renew(new Receipt(0, $id));
        }

        return $calls;
    }

    public function testShard(): void
    {
        foreach ([[0, 1, 'a'], [1, 0, 'a'], [4, 5, 'a'], [-1, 1, 'a'], [65_537, 1, 'a'], [4, 1, ''], [4, 2 ** 32 - 1, 'a']] as $wrong) {
            self::assertRefused('', static fn () => Millpond::shard(...$wrong));
        }
    }
}
