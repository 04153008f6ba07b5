<?php

declare(strict_types=1);

namespace Millpond\Tests;

use Millpond\FieldPosition;

final class VolatileArgumentsTest extends ArgumentsTestCase
{
    protected const ROW = 'volatile';

    protected function calls(): array
    {
        $long = \str_repeat('x', 65_537);

        return [
            'name' => static fn ($hash, $client) => $client->volatileHash('')->get('a'),
            'the field has 65537 bytes' => static fn ($hash) => $hash->get($long),
            'the value has 16777217 bytes' => static fn ($hash) => $hash->set('a', \str_repeat('x', (16 << 20) + 1), 60),
            'ttl is -1' => static fn ($hash) => $hash->set('a', '1', -1),
            'ttl is NAN' => static fn ($hash) => $hash->set('a', '1', \NAN),
            'between a millisecond' => static fn ($hash) => $hash->set('a', '1', 0),
            'and 100 years' => static fn ($hash) => $hash->set('a', '1', \INF),
            'names no field' => static fn ($hash) => $hash->setMany([], 60),
            'at most 10000 fields' => static fn ($hash) => $hash->setMany(\array_fill(0, 10_001, ''), 60),
            'fields["a"] must be string, not int' => static fn ($hash) => $hash->setMany(['a' => 7], 60),
            'fields[0] must be string, not null' => static fn ($hash) => $hash->setMany([null], 60),
            'fields[1] must be string or [field, value], not array' => static fn ($hash) => $hash->setMany(['a' => '', ['b']], 60),
            'fields[0] must be string or [field, value], not' => static fn ($hash) => $hash->setMany([['a' => '1', 'b' => '2']], 60),
            'fields[0][0] must be string, not float' => static fn ($hash) => $hash->setMany([[1.5, 'b']], 60),
            'fields[0][1] must be string, not int' => static fn ($hash) => $hash->setMany([['a', 1]], 60),
            'the key of fields[null] must be string, not null' => static fn ($hash) => $hash->setMany((static fn (): \Generator => yield null => 'a')(), 60),
            'call names no field' => static fn ($hash) => $hash->getMany([]),
            'a call takes at most 10000 fields' => static fn ($hash) => $hash->getMany(\array_fill(0, 10_001, '')),
            'fields[1] must be string, not array' => static fn ($hash) => $hash->delete(['a', ['b', 'c']]),
            'fields[0] must be string, not bool' => static fn ($hash) => $hash->delete([true]),
            'the token is empty' => static fn ($hash) => $hash->acquire('a', '', 60),
            'the token has 65 bytes' => static fn ($hash) => $hash->getOrAcquire('a', \str_repeat('x', 65), 60),
            'limit is -1' => static fn ($hash) => $hash->fields(limit: -1),
            'a page has 1 to 1000 fields, not 0' => static fn ($hash) => $hash->fields(limit: 0),
            'after.expiresUs is -1' => static fn ($hash) => $hash->fields(after: new FieldPosition(-1, 'a')),
            'field has 65537 bytes' => static fn ($hash) => $hash->fields(after: new FieldPosition(1, $long)),
            'not 1001' => static fn ($hash) => $hash->reap(1_001),
            'not 0' => static fn ($hash) => $hash->reap(0),
        ];
    }

    public function testWrongTypes(): void
    {
        $hash = $this->connect('memory')->volatileHash('h');
        $calls = [
            'must be of type string, int given' => static fn () => $hash->get(7),
            '($ttl) must be of type float, string given' => static fn () => $hash->set('a', '1', '60'),
            'must be of type string, null given' => static fn () => $hash->set('a', null, 60),
            'FieldPosition|Millpond\HashField|null' => static fn () => $hash->fields('a'),
            '($fields) must be of type' => static fn () => $hash->delete(7),
        ];
        foreach ($calls as $message => $call) {
            $thrown = self::thrown($call);
            self::assertInstanceOf(\Error::class, $thrown);
            self::assertStringContainsString($message, $thrown->getMessage());
        }
        self::assertSame(0, $hash->len());
    }
}
