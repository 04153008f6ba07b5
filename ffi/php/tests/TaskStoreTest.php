<?php

declare(strict_types=1);

namespace Millpond\Tests;

use Millpond\DeadReason;
use Millpond\Exception;
use Millpond\Exception\DependencyException;
use Millpond\Millpond;
use Millpond\Retry;
use Millpond\Tasks\Doc;
use Millpond\Tasks\DocId;
use Millpond\Tasks\Modification;
use Millpond\Tasks\NamespaceStats;
use Millpond\Tasks\NewDoc;
use Millpond\Tasks\NewTask;
use Millpond\Tasks\Position;
use Millpond\Tasks\QueueStats;
use Millpond\Tasks\Task;
use Millpond\Tasks\TaskId;
use Millpond\Tasks\Value;

/**
 * Stores of tasks, on each backend.
 */
final class TaskStoreTest extends TestCase
{
    /** @dataProvider ownKinds */
    public function testInsert(string $kind): void
    {
        $store = $this->store($kind);
        $before = $store->time();
        $task = $store->insert(new NewTask('inbox', ['a' => 1], id: 'x', delay: 60, attempt: 2, err: 'slow', priority: 3, ttl: 90.5));
        $now = $task->createdMs;
        self::assertTrue($before <= $now && $now <= $store->time());
        self::assertEquals(new Task('x', 0, 'inbox', $now + 60_000, $now, $now, 'ann', 0, 2, 'slow', '{"a":1}', 3, $now + 90_500), $task);
        self::assertEquals([$task], $store->fetch(['none', 'x']));
        $plain = $store->insert(new NewTask('inbox'));
        self::assertMatchesRegularExpression('/^[0-9a-f]{16}$/', $plain->id);
        self::assertEquals(new Task($plain->id, 0, 'inbox', $plain->createdMs, $plain->createdMs, $plain->createdMs, 'ann'), $plain);
        self::assertSame(1_000, $store->insert(new NewTask('inbox', atMs: 1_000))->atMs);
    }

    public function testAClaimantOfItsOwn(): void
    {
        $client = $this->connect('memory');
        [$store, $other] = [$client->tasks('t'), $client->tasks('t')];
        self::assertMatchesRegularExpression('/^[0-9a-f]{16}$/', $store->claimant);
        self::assertNotSame($store->claimant, $other->claimant);
        self::assertSame($store->claimant, $store->insert(new NewTask('q'))->claimant);
        self::assertSame([], $client->tasks("\xff")->queues(), 'the name of a store is bytes');
        self::assertSame('Jörg', $client->tasks('t', 'Jörg')->insert(new NewTask('q'))->claimant);
    }

    /**
     * @return array<string, array{mixed, string, mixed}> a value, its JSON text, and the value again
     */
    public function values(): array
    {
        return [
            'null' => [null, 'null', null],
            'object' => [['b' => 1, 'a' => []], '{"b":1,"a":[]}', ['b' => 1, 'a' => []]],
            'unicode' => ['Zoë/日本 😀', '"Zoë/日本 😀"', 'Zoë/日本 😀'],
            'a float' => [[1.0, 0.1, -0.0], '[1.0,0.1,-0.0]', [1.0, 0.1, -0.0]],
            'the largest int' => [\PHP_INT_MAX, '9223372036854775807', \PHP_INT_MAX],
            'the smallest int' => [\PHP_INT_MIN, '-9223372036854775808', \PHP_INT_MIN],
            'an empty object' => [new \stdClass(), '{}', []],
            'what says it itself' => [
                (object) ['a' => self::serializable(new \stdClass()), 'b' => [1, self::serializable([DeadReason::Crashed])]],
                '{"a":{},"b":[1,["crashed"]]}',
                ['a' => [], 'b' => [1, ['crashed']]],
            ],
            'an enum with values' => [DeadReason::Crashed, '"crashed"', 'crashed'],
            'a long text' => [\str_repeat('ä', 200_000), '"' . \str_repeat('ä', 200_000) . '"', \str_repeat('ä', 200_000)],
        ];
    }

    /** @dataProvider values */
    public function testValues(mixed $value, string $json, mixed $again): void
    {
        foreach (['memory', 'redis'] as $kind) {
            $store = $this->store($kind);
            self::assertSame($json, $store->insert(new NewTask('inbox', $value))->json);
            $task = $store->claim('inbox');
            self::assertSame([$json, $again], [$task->json, $task->value()]);
            $docs = $store->modify((new Modification())->insertDoc(new NewDoc('n', 'k', $value)))->insertedDocs;
            self::assertSame([$json, $again], [$docs[0]->json, $docs[0]->content()]);
        }
    }

    public function testTheValueOfACallerStaysAsItIs(): void
    {
        $made = self::serializable([7]);
        $value = [&$made, (object) ['made' => $made]];
        $before = $value;
        self::assertSame('[[7],{"made":[7]}]', $this->store('memory')->insert(new NewTask('q', $value))->json);
        self::assertSame([$before, $before[0]], [$value, $made]);
    }

    /** @dataProvider ownKinds */
    public function testASeedThatRunsTwice(string $kind): void
    {
        $store = $this->store($kind);
        $seed = (new Modification())->insertDoc(new NewDoc('accounts', 'ann', ['balance' => 100]));
        self::assertSame('ann', $store->modify($seed)->insertedDocs[0]->id);
        try {
            $store->modify($seed);
            self::fail('the id is taken');
        } catch (DependencyException $refused) {
            self::assertEquals([new DocId('accounts', 'ann', 0)], $refused->docInserts);
        }
        self::assertCount(1, $store->claimDocs('accounts', 'ann'));
        $put = $store->putDoc(new NewDoc('accounts', 'ann', ['balance' => 70]));
        self::assertSame([2, '{"balance":70}', $store->claimant], [$put->version, $put->json, $put->claimant]);
        self::assertEquals($put, $store->getDoc('accounts', 'ann'));
        self::assertNull($store->getDoc('accounts', 'ann', '2026'));
        $second = $store->putDoc(new NewDoc('accounts', 'ann', json: '[ ]', secondaryKey: '2026'));
        self::assertSame(['ann|2026', '[ ]'], [$second->id, $second->json]);
        self::assertEquals($second, $store->getDoc('accounts', 'ann', '2026'));
        $done = $store->modify((new Modification())->putDoc(new NewDoc('accounts', 'bob', null))
            ->putDoc(new NewDoc('accounts', 'ann', 5))->insertDoc(new NewDoc('accounts', 'ann', id: 'own')));
        $found = array_map(static fn ($doc) => [$doc->id, $doc->version, $doc->json], $done->insertedDocs);
        self::assertSame([['own', 0, null], ['bob', 0, 'null'], ['ann', 3, '5']], $found);
    }

    /** @dataProvider ownKinds */
    public function testTextsAreKeptByteForByte(string $kind): void
    {
        $store = $this->store($kind);
        $json = " {\"n\" : 123456789012345678901234567890, \"n\":1.50E+300, \"u\":\"\\u00e4\", \"e\":{} }\n";
        $store->insert(new NewTask('inbox', json: $json));
        $task = $store->claim('inbox');
        self::assertSame($json, $task->json);
        $done = $store->modify((new Modification())->change($task->change(queue: 'other'))->insertDoc(new NewDoc('n', 'k', json: $json)));
        self::assertSame([$json, $json], [$done->changed[0]->json, $done->insertedDocs[0]->json]);
    }

    public function testNumbersThatAreTooLongAreTextsOfTheirDigits(): void
    {
        $task = $this->store('memory')->insert(new NewTask('inbox', json: '{"n":123456789012345678901,"e":{}}'));
        self::assertSame(['n' => '123456789012345678901', 'e' => []], $task->value());
        self::assertEquals((object) ['n' => '123456789012345678901', 'e' => new \stdClass()], $task->value(associative: false));
    }

    /** Only as an object: a property of PHP cannot have such a name. */
    public function testATextThatPhpCannotHold(): void
    {
        $store = $this->store('memory');
        $json = '{"\u0000n":1}';
        $held = [$store->insert(new NewTask('inbox', json: $json)), $store->putDoc(new NewDoc('n', 'k', json: $json))];
        self::assertSame([$json, $json], \array_column($held, 'json'));
        self::assertSame(["\0n" => 1], $held[0]->value());
        self::assertSame(["\0n" => 1], $held[1]->content());
        self::assertInstanceOf(\JsonException::class, self::thrown(static fn () => $held[0]->value(associative: false)));
        self::assertInstanceOf(\JsonException::class, self::thrown(static fn () => $held[1]->content(associative: false)));
    }

    public function testATextThatSomeLanguageCannotReadIsRefused(): void
    {
        $store = $this->store('memory');
        $deepest = \str_repeat('[', 100) . \str_repeat(']', 100);
        $task = $store->insert(new NewTask('inbox', json: $deepest));
        self::assertSame([$deepest, $deepest], [$task->json, \json_encode($task->value())]);
        foreach (["[$deepest]", '1e400', '"\ud800"'] as $json) {
            $refused = self::thrown(static fn () => $store->insert(new NewTask('inbox', json: $json)));
            self::assertInstanceOf(Exception\InvalidArgumentException::class, $refused, $json);
            self::assertStringContainsString('not a JSON text that every language can read', $refused->getMessage());
        }
        self::assertInstanceOf(Exception\InvalidArgumentException::class,
            self::thrown(static fn () => $store->insert(new NewTask('inbox', \json_decode("[$deepest]")))));
        self::assertSame(['inbox' => 1], $store->queues());
    }

    /** @dataProvider ownKinds */
    public function testModify(string $kind): void
    {
        $store = $this->store($kind);
        [$a, $b, $c] = $store->modify((new Modification())
            ->insert(new NewTask('inbox', 1, id: 'a'))->insert(new NewTask('inbox', 2, id: 'b'))->insert(new NewTask('inbox', id: 'c'))
            ->insert(new NewTask('inbox', id: 'taken')))->inserted;
        $docs = $store->modify((new Modification())
            ->insertDoc(new NewDoc('n', 'k', 1, id: 'd'))->insertDoc(new NewDoc('n', 'k', 2, id: 'e', secondaryKey: 's'))
            ->insertDoc(new NewDoc('n', 'l', json: '[ ]', id: 'f'))->insertDoc(new NewDoc('n', 'z', id: 'taken')))->insertedDocs;
        self::assertEquals([new Doc('n', 'd', 0, 'k', '', '1', 0, '', $docs[0]->createdMs, $docs[0]->createdMs),
            new Doc('n', 'e', 0, 'k', 's', '2', 0, '', $docs[0]->createdMs, $docs[0]->createdMs),
            new Doc('n', 'f', 0, 'l', '', '[ ]', 0, '', $docs[0]->createdMs, $docs[0]->createdMs)], \array_slice($docs, 0, 3));
        $modification = new Modification();
        $same = $modification
            ->delete($a)
            ->change($b->change(value: 'new', queue: 'moved', attempt: 7, err: 'why'))
            ->depend(new TaskId('c', 0))
            ->insert(new NewTask('outbox', null, id: 'a2'))
            ->insert(new NewTask('outbox', id: 'taken'), skipColliding: true)
            ->insertDoc(new NewDoc('n', 'm', id: 'taken'), skipColliding: true)
            ->deleteDoc($docs[0])
            ->changeDoc($docs[1]->change(content: ['x' => 1], delay: 60))
            ->dependDoc(new DocId('n', 'f', 0));
        self::assertSame($modification, $same);
        $done = $store->modify($modification);
        self::assertSame(['a2'], \array_column($done->inserted, 'id'));
        self::assertSame('null', $done->inserted[0]->json);
        [$changed] = $done->changed;
        self::assertSame(['b', 1, 'moved', '"new"', 7, 'why', ''],
            [$changed->id, $changed->version, $changed->queue, $changed->json, $changed->attempt, $changed->err, $changed->claimant]);
        self::assertSame([], $done->insertedDocs);
        self::assertSame(['e', 1, '{"x":1}', 'ann'], [$done->changedDocs[0]->id, $done->changedDocs[0]->version,
            $done->changedDocs[0]->json, $done->changedDocs[0]->claimant]);
        self::assertSame(['inbox' => 2, 'moved' => 1, 'outbox' => 1], $store->queues());
        self::assertEquals([$c], $store->fetch('c'));
        self::assertSame(['e', 'f', 'taken'], \array_column($store->listDocs('n')->docs, 'id'));
        $nothing = $store->modify(new Modification());
        self::assertSame([[], [], [], []], \array_values((array) $nothing));
    }

    /** @dataProvider ownKinds */
    public function testChanges(string $kind): void
    {
        $store = $this->store($kind);
        $change = static fn ($change): Task => $store->modify((new Modification())->change($change))->changed[0];
        $task = $store->insert(new NewTask('inbox', ['a' => 1], err: 'first'));
        $task = $change($task->change(delay: 60));
        self::assertSame(['{"a":1}', 'ann', 'inbox', $task->modifiedMs + 60_000], [$task->json, $task->claimant, $task->queue, $task->atMs]);
        $task = $change($task->change(atMs: new \DateTimeImmutable('1970-01-01T00:00:01Z')));
        self::assertSame([1_000, ''], [$task->atMs, $task->claimant]);
        $task = $change($task->change(value: Value::None));
        self::assertNull($task->json);
        self::assertSame('null', ($task = $change($task->change(null)))->json);
        self::assertSame('[ 1]', ($task = $change($task->change(json: '[ 1]')))->json);
        $task = $change($task->change(queue: 'later')->retry('second'));
        self::assertSame(['later', 1, "first\nsecond"], [$task->queue, $task->attempt, $task->err]);
        $task = $change($task->change(err: '')->retryOrQuarantine('third', 'dead', 3));
        self::assertSame(['later', 2, 'third'], [$task->queue, $task->attempt, $task->err]);
        $task = $change($task->change(delay: 60)->retry('not this')->retryOrQuarantine('fourth', 'dead', 3));
        self::assertSame(['dead', 3, "third\nfourth"], [$task->queue, $task->attempt, $task->err]);
        $task = $change($task->change(attempt: 0, err: '')->quarantine('', 'deader'));
        self::assertSame(['deader', 1, '', '[ 1]'], [$task->queue, $task->attempt, $task->err, $task->json]);
    }

    /** @dataProvider ownKinds */
    public function testADependencyThatIsNotThere(string $kind): void
    {
        $store = $this->store($kind);
        $bob = $this->store($kind, 'bob', $store);
        $store->modify((new Modification())->insert(new NewTask('q', id: 'a'))->insertDoc(new NewDoc('n', 'k', id: 'd'))->insertDoc(new NewDoc('n', 'l', id: 'e')));
        $bobs = $bob->claim('q');
        [$bobsDoc] = $bob->claimDocs('n', 'l');
        $refused = self::thrown(static fn () => $store->modify((new Modification())
            ->insert(new NewTask('q', id: 'a'))
            ->change((new Task('b', 1, 'q'))->change())
            ->delete(new TaskId('c', 2))
            ->depend(new TaskId('f', 3))
            ->insertDoc(new NewDoc('n', 'k', id: 'd'))
            ->changeDoc((new Doc('n', 'g', 4))->change(1))
            ->deleteDoc(new DocId('n', 'h', 5))
            ->dependDoc(new DocId('ä', 'i', 6))));
        self::assertInstanceOf(DependencyException::class, $refused);
        self::assertSame([22, 'DEPENDENCY', Retry::Never, 'tasks.modify'],
            [$refused->getCode(), $refused->errorName, $refused->retry, $refused->operation]);
        self::assertEquals([[new TaskId('a', 1)], [new TaskId('b', 1)], [new TaskId('c', 2)], [new TaskId('f', 3)], []],
            [$refused->inserts, $refused->changes, $refused->deletes, $refused->depends, $refused->claims]);
        self::assertEquals([[new DocId('n', 'd', 0)], [new DocId('n', 'g', 4)], [new DocId('n', 'h', 5)], [new DocId('ä', 'i', 6)], []],
            [$refused->docInserts, $refused->docChanges, $refused->docDeletes, $refused->docDepends, $refused->docClaims]);
        self::assertSame([true, true, false, false, true, false], self::predicates($refused));
        $held = self::thrown(static fn () => $store->modify((new Modification())->delete($bobs)->changeDoc($bobsDoc->change(1))));
        self::assertEquals([[$bobs->handle()], [$bobsDoc->handle()], []], [$held->claims, $held->docClaims, $held->deletes]);
        self::assertSame([false, false, true, true, false, true], self::predicates($held));
        $held = self::thrown(static fn () => $store->claimDocs('n', 'l'));
        self::assertEquals([new DocId('n', 'e', 1)], $held->docClaims);
        $held = self::thrown(static fn () => $store->renew($bobs, $bobsDoc));
        self::assertTrue($held->onlyClaims());
        self::assertSame([], self::thrown(static fn () => $store->renew(new TaskId('x', 1)))->docClaims);
    }

    /** @return list<bool> */
    private static function predicates(DependencyException $refused): array
    {
        return [$refused->hasMissing(), $refused->hasMissingDocs(), $refused->hasClaims(), $refused->hasClaimedDocs(),
            $refused->hasCollisions(), $refused->onlyClaims()];
    }

    /** @dataProvider ownKinds */
    public function testClaim(string $kind): void
    {
        $store = $this->store($kind);
        self::assertNull($store->claim('q'));
        self::assertSame([], $store->claimMany(['q', 'p'], 10));
        $store->modify((new Modification())->insert(new NewTask('q', id: 'a'))->insert(new NewTask('p', id: 'b'))->insert(new NewTask('q', delay: 60)));
        $task = $store->claim(['q'], lease: 5);
        self::assertSame(['a', 1, 1, 'ann', $task->modifiedMs + 5_000],
            [$task->id, $task->version, $task->claims, $task->claimant, $task->atMs]);
        self::assertNull($store->claim('q'));
        $task = $store->claimMany((static fn () => yield 'p')(), 10)[0];
        self::assertSame(['b', $task->modifiedMs + 30_000], [$task->id, $task->atMs]);
        self::assertNotNull($this->store($kind, 'bob', $store)->modify((new Modification())->insert(new NewTask('p'))));
        self::assertSame('p', $store->claim(['q', 'p'])->queue);
        $store->modify((new Modification())->insert(new NewTask('r'))->insert(new NewTask('r'))->insert(new NewTask('r')));
        self::assertSame([2, 1], [\count($store->claimMany('r', 2)), \count($store->claimMany('r', 2))]);
    }

    /** @dataProvider ownKinds */
    public function testRenew(string $kind): void
    {
        $store = $this->store($kind);
        $store->modify((new Modification())->insert(new NewTask('q'))->insert(new NewTask('q'))->insertDoc(new NewDoc('n', 'k'))
            ->insertDoc(new NewDoc('n', 'k', secondaryKey: 's')));
        [$tasks, $docs] = [$store->claimMany('q', 2, lease: 1), $store->claimDocs('n', 'k', lease: 1)];
        $renewed = $store->renew($tasks, $docs, lease: 100);
        $at = static fn ($of) => [$of->id, $of->version];
        self::assertSame([[$tasks[0]->id, 2], [$tasks[1]->id, 2]], \array_map($at, $renewed->tasks));
        self::assertSame([[$docs[0]->id, 2], [$docs[1]->id, 2]], \array_map($at, $renewed->docs));
        self::assertSame([$renewed->atMs], \array_unique(\array_column($store->list('q')->tasks, 'atMs')));
        self::assertGreaterThan(90_000, $renewed->atMs - $store->time());
        self::assertSame(3, $store->renew($renewed->tasks[0])->tasks[0]->version);
        self::assertSame(3, $store->renew(docs: $renewed->docs[0])->docs[0]->version);
    }

    /** @dataProvider ownKinds */
    public function testListings(string $kind): void
    {
        $store = $this->store($kind);
        $bob = $this->store($kind, 'bob', $store);
        $modification = new Modification();
        foreach (['c' => 3, 'a' => 1, 'b' => 1, 'd' => 4] as $id => $atMs) {
            $modification->insert(new NewTask('q', $id, id: $id, atMs: $atMs));
            $modification->insertDoc(new NewDoc('n', "k$atMs", $id, id: $id, secondaryKey: "s$id"));
        }
        $store->modify($modification);
        $first = $store->list('q', limit: 3);
        self::assertSame(['a', 'b', 'c'], \array_column($first->tasks, 'id'));
        self::assertEquals(new Position(3, 'c'), $first->next);
        $rest = $store->list('q', after: $first->next);
        self::assertSame(['d'], \array_column($rest->tasks, 'id'));
        self::assertNull($rest->next);
        self::assertSame(['c', 'd'], \array_column($store->list('q', $first->tasks[1], omitValues: true)->tasks, 'id'));
        self::assertNull($store->list('q', omitValues: true)->tasks[0]->json);
        $task = $bob->claim('q');
        self::assertNotContains($task->id, \array_column($store->list('q', claimant: 'ann')->tasks, 'id'));
        self::assertContains($task->id, \array_column($store->list('q', claimant: 'bob')->tasks, 'id'));
        self::assertSame([], $store->list('none')->tasks);

        $docs = $store->listDocs('n', limit: 2);
        self::assertSame(['a', 'b'], \array_column($docs->docs, 'id'));
        self::assertSame(['k1', 'sb', 'b'], \array_values((array) $docs->next));
        self::assertSame(['c', 'd'], \array_column($store->listDocs('n', after: $docs->next)->docs, 'id'));
        self::assertSame(['b', 'c', 'd'], \array_column($store->listDocs('n', after: $docs->docs[0])->docs, 'id'));
        self::assertSame(['c'], \array_column($store->listDocs('n', start: 'k2', end: 'k4')->docs, 'id'));
        self::assertNull($store->listDocs('n', omitContents: true)->docs[0]->json);
        self::assertSame(['d', 'a'], \array_column($store->fetchDocs('n', ['d', 'x', 'a']), 'id'));
        self::assertSame(['d', 'a'], \array_column($store->fetch(['d', 'x', 'a']), 'id'));
    }

    /** @dataProvider ownKinds */
    public function testStatistics(string $kind): void
    {
        $store = $this->store($kind);
        $store->modify((new Modification())->insert(new NewTask('7'))->insert(new NewTask('mail/ä'))->insert(new NewTask('mail/out'))->insert(new NewTask('mail/out'))
            ->insert(new NewTask('mail/out', delay: 60))->insertDoc(new NewDoc('n', 'k'))->insertDoc(new NewDoc('n', 'l'))->insertDoc(new NewDoc('m', 'k')));
        $store->claim('mail/out');
        self::assertSame([7 => 1, 'mail/out' => 3, 'mail/ä' => 1], $store->queues());
        self::assertSame(['mail/out' => 3], $store->queues('mail/out'));
        self::assertSame([7 => 1, 'mail/out' => 3], $store->queues(['7', 'none'], 'mail/o'));
        self::assertSame(['mail/out' => 3], $store->queues(prefixes: ['mail/'], limit: 1));
        $store->pause('mail/ä');
        [$held, $ready] = [$store->fetch($store->claim('7')->id)[0], $store->list('mail/ä')->tasks[0]];
        self::assertEquals([
            new QueueStats('7', 1, 0, 1, 0, 1, false, null, $held->atMs, 0),
            new QueueStats('mail/ä', 1, 1, 0, 0, 0, true, $ready->atMs, null, 0),
        ], $store->queueStats(['7', 'mail/ä']));
        $store->resume('mail/ä');
        self::assertSame([true, false, false],
            [$store->areEmpty(['none'], 'x'), $store->areEmpty(prefixes: 'mail'), $store->areEmpty(['none', '7'])]);
        $store->claimDocs('n', 'k');
        self::assertEquals([new NamespaceStats('m', 1, 0), new NamespaceStats('n', 2, 1)], $store->namespaceStats());
        self::assertEquals([new NamespaceStats('n', 2, 1)], $store->namespaceStats('n'));
        self::assertSame([], $store->namespaceStats(prefixes: ['x', 'y'], limit: 5));
    }

    /** @dataProvider ownKinds */
    public function testDocuments(string $kind): void
    {
        $store = $this->store($kind);
        $bob = $this->store($kind, 'bob', $store);
        $store->modify((new Modification())->insertDoc(new NewDoc('n', 'k', 1, secondaryKey: 'b'))->insertDoc(new NewDoc('n', 'k', 2, secondaryKey: 'a')));
        $docs = $store->claimDocs('n', 'k', lease: 60);
        self::assertSame([['a', '2', 1, 'ann'], ['b', '1', 1, 'ann']],
            \array_map(static fn (Doc $doc): array => [$doc->secondaryKey, $doc->json, $doc->version, $doc->claimant], $docs));
        $changed = $store->modify((new Modification())
            ->changeDoc($docs[0]->change(null))
            ->changeDoc($docs[1]->change(json: '[ ]', release: true)))->changedDocs;
        self::assertSame([['null', 'ann'], ['[ ]', '']],
            \array_map(static fn (Doc $doc): array => [$doc->json, $doc->claimant], $changed));
        $changed = $store->modify((new Modification())->changeDoc($changed[0]->change(atMs: 1_000)))->changedDocs;
        self::assertSame(['null', ''], [$changed[0]->json, $changed[0]->claimant]);
        self::assertCount(2, $bob->claimDocs('n', 'k'));
        self::assertSame([], $bob->claimDocs('n', 'none'));
    }

    /** @dataProvider ownKinds */
    public function testTheLoop(string $kind): void
    {
        $store = $this->store($kind);
        $store->modify((new Modification())->insert(new NewTask('q'))->insert(new NewTask('p'))->insert(new NewTask('q')));
        $sizes = [];
        foreach ($store->claims(['q', 'p'], max: 2) as $turn => $tasks) {
            $sizes[$turn] = \count($tasks);
            $done = new Modification();
            \array_map($done->delete(...), $tasks);
            $store->modify($done);
        }
        self::assertSame([2, 1], $sizes);
        self::assertSame([], $store->queues());
    }

    /** @dataProvider ownKinds */
    public function testTheLoopWaits(string $kind): void
    {
        $store = $this->store($kind);
        $store->insert(new NewTask('q', delay: 0.3));
        $claims = $store->claims('q', wait: 60, lease: 60);
        $start = \hrtime(true);
        self::assertCount(1, $claims->next());
        self::assertLessThan(20e9, \hrtime(true) - $start);
    }

    public function testAKeyThatHoldsSomethingElse(): void
    {
        $admin = Servers::shared()->admin();
        $admin->set("{{$this->name}}:tasks", 'x');
        $thrown = self::thrown(fn () => $this->store('redis')->insert(new NewTask('q')));
        self::assertInstanceOf(Exception\WrongTypeException::class, $thrown);
        $admin->del("{{$this->name}}:tasks");
        $admin->hSet("{{$this->name}}:tasks:meta", 'version', 'tasks.v9');
        $thrown = self::thrown(fn () => $this->store('redis')->insert(new NewTask('q')));
        self::assertInstanceOf(Exception\IncompatibleVersionException::class, $thrown);
    }

    public function testADirectoryKeepsTasks(): void
    {
        $url = 'file:' . $this->folder() . '/data';
        $client = Millpond::connect($url);
        $task = $client->tasks('shop')->insert(new NewTask('q', ['ä' => 1]));
        $client->close();
        unset($client);
        self::assertEquals([$task], Millpond::connect($url)->tasks('shop')->fetch($task->id));
    }
}
