<?php

declare(strict_types=1);

namespace Millpond\Tests;

use Millpond\Client;

/**
 * Wrong arguments are refused before anything is sent, with the name, the index or the limit.
 */
abstract class ArgumentsTestCase extends TestCase
{
    /** The name of the queue in the table. */
    protected const ROW = '';

    /**
     * @return array<string, callable(object, Client): mixed> calls of a queue or of its client, by what the error says
     */
    abstract protected function calls(): array;

    /**
     * @return array<string, array{string}>
     */
    protected function argumentKinds(): array
    {
        return ['memory' => ['memory'], 'redis' => ['redis']];
    }

    /**
     * @return iterable<string, array{string, callable(object, Client): mixed, string}>
     */
    public function wrongCalls(): iterable
    {
        foreach ($this->argumentKinds() as [$kind]) {
            foreach ($this->calls() as $message => $call) {
                yield "$kind: $message" => [$kind, $call, $message];
            }
        }
    }

    /** @dataProvider wrongCalls */
    public function testCalls(string $kind, callable $call, string $message): void
    {
        $row = Queue::all()[static::ROW];
        $client = $this->connect($kind);
        $queue = ($row->open)($client, "{{$this->name}}");
        self::assertRefused($message, static fn () => $call($queue, $client));
        self::assertTrue(($row->isEmpty)($queue));
    }
}
