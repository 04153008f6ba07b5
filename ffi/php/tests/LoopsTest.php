<?php

declare(strict_types=1);

namespace Millpond\Tests;

use Millpond\Exception\ClosedException;
use Millpond\Retry;

/**
 * What holds for every loop, and for the calls that wait: what ends them, and how they go on.
 */
final class LoopsTest extends TestCase
{
    /**
     * @return iterable<string, array{\Closure, string}>
     */
    public function waits(): iterable
    {
        return Queue::each(Queue::waits(), $this->ownKinds());
    }

    /** @dataProvider waits */
    public function testAWaitEndsWhenNothingComes(\Closure $open, string $kind): void
    {
        $loop = $open($this->connect($kind), "{{$this->name}}", wait: 0.15);
        $loop->put('a');
        self::assertSame(['a'], $loop->next());
        $start = \hrtime(true);
        self::assertSame([], $loop->next());
        self::assertGreaterThan(0.14e9, \hrtime(true) - $start);
    }

    /**
     * @return iterable<string, array{\Closure}>
     */
    public function woken(): iterable
    {
        return Queue::each(Queue::waits());
    }

    /** @dataProvider woken */
    public function testAWaitEndsWhenSomethingComes(\Closure $open): void
    {
        $loop = $open($this->connect('redis', self::ONLY_WOKEN), $this->name, wait: 60);
        $child = self::forked(function () use ($open): void {
            // Some time into the wait; what comes earlier is there.
            \usleep(150_000);
            $open($this->connect('redis'), $this->name)->put('late');
        });
        self::assertSame(['late'], $loop->next());
        self::joined($child);
    }

    /**
     * @return iterable<string, array{\Closure, string}>
     */
    public function loops(): iterable
    {
        return [...Queue::each(Queue::loops(), $this->ownKinds()), ...Queue::each(['batches' => Queue::loops()['batches']], $this->kinds())];
    }

    /** @dataProvider loops */
    public function testAnErrorThatARetryCannotFixEndsTheLoop(\Closure $open, string $kind): void
    {
        $client = $this->connect($kind);
        $loop = $open($client, "{{$this->name}}");
        $client->close();
        $thrown = self::thrown($loop->next(...));
        self::assertInstanceOf(ClosedException::class, $thrown);
        self::assertSame(Retry::Never, $thrown->retry);
        self::assertSame([], $loop->next());
    }

    /**
     * @return iterable<string, array{Queue, string}>
     */
    public function queues(): iterable
    {
        return [...Queue::each(Queue::all(), $this->ownKinds()), ...Queue::each(['ick' => Queue::all()['ick']], $this->kinds())];
    }

    /** @dataProvider queues */
    public function testAClientThatIsClosed(Queue $row, string $kind): void
    {
        $client = $this->connect($kind);
        $calls = ($row->calls)(($row->open)($client, "{{$this->name}}"));
        $client->close();
        $client->close();
        $calls[] = static fn () => ($row->calls)(($row->open)($client, '{other}'))[0]();
        foreach ($calls as $number => $call) {
            self::assertInstanceOf(ClosedException::class, self::thrown($call), "call $number");
        }
    }

    /** @dataProvider waits */
    public function testALoopThatIsLeftGoesOn(\Closure $open, string $kind): void
    {
        $loop = $open($this->connect($kind), "{{$this->name}}");
        $loop->put('a', 'b', 'c');
        $seen = $loop->first();
        $failed = self::thrown(static function () use ($loop, &$seen): void {
            foreach ($loop->of as $taken) {
                \array_push($seen, ...$loop->row->texts($taken));
                throw new \DomainException();
            }
        });
        self::assertInstanceOf(\DomainException::class, $failed);
        self::assertCount($loop->row->shares ? 1 : 2, \array_unique($seen), 'what is not done comes again where it can');
        self::assertEqualsCanonicalizing(['a', 'b', 'c'], \array_unique([...$seen, ...$loop->all()]));
        self::assertSame([], $loop->next());
        $loop->put('d');
        self::assertSame(['d'], $loop->next());
    }

    /** @dataProvider loops */
    public function testALoopKeepsItsClient(\Closure $open, string $kind): void
    {
        $loop = $open($this->connect($kind), "{{$this->name}}");
        $loop->put('a');
        [$row, $of] = [$loop->row, $loop->of];
        unset($loop);
        \gc_collect_cycles();
        self::assertSame(['a'], $row->texts($of->next()));
    }
}
