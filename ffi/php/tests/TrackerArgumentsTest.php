<?php

declare(strict_types=1);

namespace Millpond\Tests;

final class TrackerArgumentsTest extends ArgumentsTestCase
{
    protected const ROW = 'tracker';

    protected function calls(): array
    {
        $never = static fn () => self::fail('the function is called');
        $long = \str_repeat('x', 513);

        return [
            'name' => static fn ($tracker, $client) => $client->queueTracker('')->len(),
            'the call names no id' => static fn ($tracker) => $tracker->add([]),
            'names no id' => static fn ($tracker) => $tracker->areQueued([]),
            'an id has 0 bytes; 1 to 512 are allowed' => static fn ($tracker) => $tracker->add(['a', '']),
            'an id has 0 bytes' => static fn ($tracker) => $tracker->isQueued(''),
            'an id has 513 bytes' => static fn ($tracker) => $tracker->areQueued($long),
            'a call takes at most 1000 ids' => static fn ($tracker) => $tracker->add(\array_fill(0, 1_001, 'a')),
            'ids has more than 10000 items' => static fn ($tracker) => $tracker->areQueued(\array_fill(0, 10_001, 'a')),
            'ids[1] must be string or int, not null' => static fn ($tracker) => $tracker->add(['a', null]),
            'ids[0] must be string or int, not array' => static fn ($tracker) => $tracker->areQueued([['a']]),
            'after is -1' => static fn ($tracker) => $tracker->ids(-1),
            'the limit is 0, not 1 to 1000' => static fn ($tracker) => $tracker->ids(limit: 0),
            'the limit is 1001' => static fn ($tracker) => $tracker->sample(1_001),
            'limit is 0, not' => static fn ($tracker) => $tracker->prune($never, 0),
            'limit is 1001, not' => static fn ($tracker) => $tracker->scan($never, 1_001),
            'limit is -1; it has to be 0 or more' => static fn ($tracker) => $tracker->scan($never, -1),
            'limit is -1' => static fn ($tracker) => $tracker->prune($never, limit: -1),
            'roundMin is -1' => static fn ($tracker) => $tracker->scan($never, roundMin: -1),
            'roundMin is NAN' => static fn ($tracker) => $tracker->beginScan(roundMin: \NAN),
            'more than 100 years' => static fn ($tracker) => $tracker->scan($never, roundMin: \INF),
            'than 100 years' => static fn ($tracker) => $tracker->advance('', [], [], roundMin: 3_155_760_000.001),
            'after' => static fn ($tracker) => $tracker->advance("\xff", ['1'], ['a']),
            'a row is not UTF-8' => static fn ($tracker) => $tracker->advance('', ["\xff"], ['a']),
            'a row has 0 bytes' => static fn ($tracker) => $tracker->advance('', [''], ['a']),
            'a row has 1025 bytes' => static fn ($tracker) => $tracker->advance('', \str_repeat('x', 1_025), ['a']),
            'rows[0] must be string or int, not float' => static fn ($tracker) => $tracker->advance('', [1.5], ['a']),
            'more rows than ids' => static fn ($tracker) => $tracker->advance('', ['1', '2'], ['a']),
            'more ids than rows' => static fn ($tracker) => $tracker->advance('', ['1'], ['a', 'b']),
            'the rows end where they began' => static fn ($tracker) => $tracker->advance('1', ['1'], ['a'], 1),
            'stamp is -1' => static fn ($tracker) => $tracker->remove('a', ['a'], -1),
            '1 of the ids to remove were not sampled' => static fn ($tracker) => $tracker->remove(['a', 'b'], ['a'], 1),
            'sampled[0] must be string or int, not bool' => static fn ($tracker) => $tracker->remove('a', [true], 1),
        ];
    }

    public function testWrongTypes(): void
    {
        $tracker = $this->connect('memory')->queueTracker('t');
        $calls = [
            'must be of type string, int given' => static fn () => $tracker->isQueued(7),
            '($ids) must be of type' => static fn () => $tracker->add(7),
            'must be of type callable, string given' => static fn () => $tracker->scan('no_function'),
            'must be of type callable, array given' => static fn () => $tracker->prune([]),
            '($limit) must be of type int, string given' => static fn () => $tracker->ids(limit: '1'),
            '($roundMin) must be of type float, string given' => static fn () => $tracker->beginScan(roundMin: '1'),
            'must be of type string, null given' => static fn () => $tracker->advance(null, [], []),
        ];
        foreach ($calls as $message => $call) {
            $thrown = self::thrown($call);
            self::assertInstanceOf(\TypeError::class, $thrown);
            self::assertStringContainsString($message, $thrown->getMessage());
        }
        self::assertSame(0, $tracker->len());
    }
}
