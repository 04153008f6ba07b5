<?php

declare(strict_types=1);

namespace Millpond\Tests;

use Millpond\ManualClock;
use Millpond\Tasks\Doc;
use Millpond\Tasks\DocId;
use Millpond\Tasks\DocPosition;
use Millpond\Tasks\Modification;
use Millpond\Tasks\NewDoc;
use Millpond\Tasks\NewTask;
use Millpond\Tasks\Position;
use Millpond\Tasks\Task;
use Millpond\Tasks\TaskId;
use Millpond\Tasks\TaskStore;
use Millpond\Tasks\Value;
use Millpond\Tasks\WorkerOptions;

final class TaskArgumentsTest extends ArgumentsTestCase
{
    protected const ROW = 'tasks';

    protected function calls(): array
    {
        $modify = static fn (\Closure $add): \Closure => static fn (TaskStore $store) => $store->modify($add(new Modification()));
        $long = static fn (int $length): string => \str_repeat('ä', $length);
        $calls = [
            'name' => static fn ($store, $client) => $client->tasks('')->claim('q'),
            'the claimant is empty' => static fn ($store, $client) => $client->tasks('t', '')->claim('q'),
            'the claimant has 65 characters' => static fn ($store, $client) => $client->tasks('t', $long(65))->claim('q'),
            'claimant is not UTF-8' => static fn ($store, $client) => $client->tasks('t', "\xff")->claim('q'),
            'value and json cannot both be given' => static fn ($store) => $store->insert(new NewTask('q', 1, json: '1')),
            'the value is not a JSON text' => static fn ($store) => $store->insert(new NewTask('q', json: '{a:1}')),
            'the value has 16777219 bytes; 16777216 are allowed' =>
                static fn ($store) => $store->insert(new NewTask('q', \str_repeat('x', (1 << 24) + 1))),
            "the queue's name is empty" => static fn ($store) => $store->insert(new NewTask('')),
            "the queue's name has 65537 bytes; 65536 are allowed" => static fn ($store) => $store->insert(new NewTask(\str_repeat('q', 65_537))),
            'queue' => static fn ($store) => $store->insert(new NewTask("\xff")),
            'the id is empty' => static fn ($store) => $store->insert(new NewTask('q', id: '')),
            'the id has 65 characters; 64 are allowed' => static fn ($store) => $store->insert(new NewTask('q', id: $long(65))),
            'the id holds a NUL character' => static fn ($store) => $store->insert(new NewTask('q', id: "a\0")),
            'atMs and delay are both given' => static fn ($store) => $store->insert(new NewTask('q', atMs: 1, delay: 1)),
            'atMs is -1' => static fn ($store) => $store->insert(new NewTask('q', atMs: -1)),
            'the time' => static fn ($store) => $store->insert(new NewTask('q', atMs: \PHP_INT_MAX)),
            'delay is -0.5' => static fn ($store) => $store->insert(new NewTask('q', delay: -0.5)),
            '100 years are allowed' => static fn ($store) => $store->insert(new NewTask('q', delay: \INF)),
            'attempt is -1' => static fn ($store) => $store->insert(new NewTask('q', attempt: -1)),
            'attempt' => static fn ($store) => $store->insert(new NewTask('q', attempt: 2 ** 32)),
            'err has 65537 bytes; 65536 are allowed' => static fn ($store) => $store->insert(new NewTask('q', err: \str_repeat('e', 65_537))),
            'err' => static fn ($store) => $store->insert(new NewTask('q', err: "\xff")),
            'priority is -1' => static fn ($store) => $store->insert(new NewTask('q', priority: -1)),
            'it goes from 0 to 9' => static fn ($store) => $store->insert(new NewTask('q', priority: 10)),
            'ttl is -1' => static fn ($store) => $store->insert(new NewTask('q', ttl: -1)),
            'the time to live has to be a millisecond or more' => static fn ($store) => $store->insert(new NewTask('q', ttl: 0)),
            'task x is named twice' => $modify(static fn ($made) => $made->insert(new NewTask('q', id: 'x'))->delete(new TaskId('x', 0))),
            'the modification has 100001 entries; 100000 are allowed' => $modify(static function ($made) {
                for ($number = 0; $number < 100_001; ++$number) {
                    $made->delete(new TaskId("t$number", 0));
                }

                return $made;
            }),
            'task.version is -1' => $modify(static fn ($made) => $made->delete(new TaskId('x', -1))),
            'the namespace is empty' => $modify(static fn ($made) => $made->insertDoc(new NewDoc('', 'k'))),
            'the namespace has 65 characters' => $modify(static fn ($made) => $made->insertDoc(new NewDoc($long(65), 'k'))),
            'a document without a key needs an id' => $modify(static fn ($made) => $made->insertDoc(new NewDoc('n', ''))),
            'a document that is put needs a content' => $modify(static fn ($made) => $made->putDoc(new NewDoc('n', 'k'))),
            'the key is empty' => static fn ($store) => $store->getDoc('n', ''),
            'the key has 257 characters; 256 are allowed' => $modify(static fn ($made) => $made->insertDoc(new NewDoc('n', $long(257)))),
            'the secondary key has 257 characters' => $modify(static fn ($made) => $made->insertDoc(new NewDoc('n', 'k', secondaryKey: $long(257)))),
            'content and json cannot both be given' => $modify(static fn ($made) => $made->insertDoc(new NewDoc('n', 'k', null, json: 'null'))),
            'the content is not a JSON text' => $modify(static fn ($made) => $made->insertDoc(new NewDoc('n', 'k', json: ''))),
            'doc.version is -1' => $modify(static fn ($made) => $made->dependDoc(new DocId('n', 'x', -1))),
            'Value::None, but a content cannot be taken away' =>
                $modify(static fn ($made) => $made->changeDoc((new Doc('n', 'x', 0))->change(Value::None))),
            'release and a time cannot both be given' =>
                $modify(static fn ($made) => $made->changeDoc((new Doc('n', 'x', 0))->change(delay: 1, release: true))),
            'max is -1' => $modify(static fn ($made) => $made->change((new Task('x', 0, 'q'))->change()->retryOrQuarantine('', 'e', -1))),
            'version is -1' => $modify(static fn ($made) => $made->change((new Task('x', -1, 'q'))->change())),
            'at least one queue' => static fn ($store) => $store->claim([]),
            'queues has more than 1000 items' => static fn ($store) => $store->claim(\array_map(static fn ($number) => "q$number", \range(1, 1_001))),
            'queues[1] must be string, not int' => static fn ($store) => $store->claim(['q', 5]),
            'lease is -1' => static fn ($store) => $store->claim('q', -1),
            'lease is NAN' => static fn ($store) => $store->claim('q', \NAN),
            'the lease' => static fn ($store) => $store->claim('q', \INF),
            'not 0' => static fn ($store) => $store->claimMany('q', 0),
            'not 1001' => static fn ($store) => $store->claimMany('q', 1_001),
            ', not 1002' => static fn ($store) => $store->claims('q', 1_002)->next(),
            'backoff is -1' => static fn ($store) => $store->worker('q', new WorkerOptions(backoff: -1)),
            'backoffMax is -1' => static fn ($store) => $store->worker('q', new WorkerOptions(backoffMax: -1)),
            'maxAttempts is 4294967296' => static fn ($store) => $store->worker('q', new WorkerOptions(maxAttempts: 2 ** 32)),
            'maxCrashes is -1' => static fn ($store) => $store->worker('q', new WorkerOptions(maxCrashes: -1)),
            'queues[0] must be string, not null' => static fn ($store) => $store->worker([null]),
            'error_queue' => static fn ($store) => $store->worker('q', new WorkerOptions(errorQueue: "\xff"))->jobs(),
            'nothing to renew' => static fn ($store) => $store->renew(),
            'tasks[0] must be Task or TaskId, not string' => static fn ($store) => $store->renew(['x']),
            'docs[1] must be Doc or DocId, not array' => static fn ($store) => $store->renew([], [new DocId('n', 'x', 1), []]),
            'tasks[0].version is -1' => static fn ($store) => $store->renew(new TaskId('x', -1)),
            'ids has more than 10000 items' => static fn ($store) => $store->fetch(\array_map(static fn ($number) => "i$number", \range(1, 10_001))),
            'ids[0] must be string, not float' => static fn ($store) => $store->fetchDocs('n', [1.5]),
            'limit is -1' => static fn ($store) => $store->list('q', limit: -1),
            'a page has 1 to 10000 entries, not 0' => static fn ($store) => $store->list('q', limit: 0),
            'not 10001' => static fn ($store) => $store->listDocs('n', limit: 10_001),
            'after.atMs is -1' => static fn ($store) => $store->list('q', new Position(-1, 'x')),
            'id is empty' => static fn ($store) => $store->listDocs('n', after: new DocPosition('k', '', '')),
            'claimant' => static fn ($store) => $store->list('q', claimant: ''),
            'the limit has to be 1 to 100000' => static fn ($store) => $store->queues(limit: 0),
            'exact[0] must be string, not int' => static fn ($store) => $store->queueStats([5]),
            'prefixes[0] must be string, not bool' => static fn ($store) => $store->namespaceStats(prefixes: [true]),
            'the filter names no queue' => static fn ($store) => $store->areEmpty(),
            'the key is empty' => static fn ($store) => $store->claimDocs('n', ['k', '']),
            'a claim names at least one key' => static fn ($store) => $store->claimDocs('n', []),
        ];
        foreach (self::wrongValues() as $message => $value) {
            $calls["value$message"] = static fn ($store) => $store->insert(new NewTask('q', $value));
            $calls["content$message"] = $modify(static fn ($made) => $made->insertDoc(new NewDoc('n', 'k', $value)));
        }

        return $calls;
    }

    /**
     * What JSON does not have, by what the error says after the name of the argument.
     *
     * @return array<string, mixed>
     */
    private static function wrongValues(): array
    {
        $closure = static fn (): int => 1;
        $circle = [];
        $circle['a'] = &$circle;
        $circle['b'] = &$circle;

        return [
            ' is a Closure, which JSON does not have' => $closure,
            '.items[3] is a Closure' => ['items' => [1, 2, 3, $closure]],
            '.items[0].run is a Closure' => (object) ['items' => [['run' => $closure]]],
            '["a b"] is a DateTimeImmutable' => ['a b' => new \DateTimeImmutable()],
            '["�"] is an ArrayObject' => ["\xff" => new \ArrayObject()],
            ' is a Millpond\ManualClock' => new ManualClock(),
            '[0] is a class@anonymous' => [new class () {
                public int $shown = 1;
            }],
            '[1] is a stdClass@anonymous' => [1, new class () extends \stdClass {
            }],
            '.is is a Millpond\Tasks\Value' => ['is' => Value::None],
            '.made[0] is a Closure' => ['made' => self::serializable([$closure])],
            ' is a resource (stream)' => \STDIN,
            ' is NaN, which JSON does not have' => \NAN,
            '.price is NaN' => ['price' => \NAN],
            '[0] is Infinity' => [\INF],
            '.made is -Infinity' => self::serializable(['made' => -\INF]),
            ' is not UTF-8' => "\xff",
            '.names[1] is not UTF-8' => ['names' => ['é', "\xff"]],
            '.names has a key that is not UTF-8' => ['names' => ["\xff" => 1]],
            ' is nested more than 100 deep' => $circle,
        ];
    }

    public function testAValueThatThrows(): void
    {
        $store = $this->store('redis');
        $value = new class () implements \JsonSerializable {
            public function jsonSerialize(): never
            {
                throw new \DomainException();
            }
        };
        self::assertInstanceOf(\DomainException::class, self::thrown(static fn () => $store->insert(new NewTask('q', $value))));
        self::assertSame([], $store->queues());
    }
}
