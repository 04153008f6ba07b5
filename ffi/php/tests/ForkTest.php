<?php

declare(strict_types=1);

namespace Millpond\Tests;

use Millpond\Exception\ForkedException;
use Millpond\Millpond;
use Millpond\Tasks\NewTask;
use Millpond\Tasks\WorkerOptions;

/**
 * Fork is normal: a client on Redis works in every child, whatever the parent did before.
 */
final class ForkTest extends TestCase
{
    /**
     * @return array<string, array{bool}>
     */
    public function used(): array
    {
        return ['before first use' => [false], 'after first use' => [true]];
    }

    /**
     * @return iterable<string, array{\Closure, bool}>
     */
    public function loops(): iterable
    {
        return Queue::each(Queue::waits(), $this->used());
    }

    /** @dataProvider loops */
    public function testALoopWorksInAChild(\Closure $open, bool $used): void
    {
        $loop = $open(Millpond::connect(Servers::shared()->url), $this->name, max: 30, wait: 0.1);
        if ($used) {
            $loop->put('parent');
            self::assertSame(['parent'], $loop->next());
        }
        self::inChild(static function () use ($loop): void {
            $texts = \array_map(static fn (int $number): string => "child $number", \range(1, 100));
            foreach ($texts as $text) {
                $loop->put($text);
            }
            self::assertEqualsCanonicalizing($texts, \array_diff($loop->all(), $loop->row->shares ? ['parent'] : []));
        });
        self::assertSame([], $loop->next());
        $loop->put('after');
        self::assertSame(['after'], $loop->next());
    }

    public function testAJobIsItsParents(): void
    {
        $store = $this->store('redis', options: self::RENEWING);
        $store->insert(new NewTask('q'));
        $held = [$store->worker('q', new WorkerOptions(lease: 60))->jobs()->next()];
        $version = static fn (): int => $store->list('q')->tasks[0]->version;
        self::inChild(static function () use ($version, &$held): void {
            // The parent renews it meanwhile; this copy renews nothing and gives nothing back.
            $before = $version();
            self::waitFor(static fn (): bool => $version() > $before + 2);
            $held = [];
        });
        self::assertFalse($held[0]->isLost());
        // What the parent knows is what the store has: nobody else renewed it.
        self::waitFor(static fn (): bool => $held[0]->handle()->version === $version());
        self::assertNull($store->claim('q'));
        $held[0]->done();
        self::assertSame([], $store->queues());
    }

    public function testAChildsJobRenewsItself(): void
    {
        $store = $this->store('redis', options: self::RENEWING);
        $store->worker('q', new WorkerOptions(lease: 0.6))->jobs()->next();
        $store->insert(new NewTask('q'));
        self::inChild(static function () use ($store): void {
            $job = $store->worker('q', new WorkerOptions(lease: 60))->jobs()->next();
            self::waitForRenewals($job, 2);
            $job->done();
        });
        self::assertSame([], $store->queues());
    }

    /** @dataProvider used */
    public function testNoSocketIsShared(bool $used): void
    {
        $servers = new Servers();
        $client = Millpond::connect($servers->url, clientName: $this->name);
        $ick = $client->ick($this->name);
        if ($used) {
            $ick->stats();
        }
        $children = [];
        $ready = \stream_socket_pair(\STREAM_PF_UNIX, \STREAM_SOCK_STREAM, 0);
        for ($child = 0; $child < 4; ++$child) {
            $children[] = $pid = \pcntl_fork();
            if ($pid === 0) {
                for ($number = 0; $number < 50; ++$number) {
                    $ick->add([[1, "$child-$number"]]);
                }
                \fwrite($ready[1], 'r');
                // Its parent ends it, after it has seen its connection.
                \sleep(60);
            }
        }
        for ($child = 0; $child < 4; ++$child) {
            self::assertSame('r', \fread($ready[0], 1));
        }
        $ick->add([[1, 'parent']]);
        $ids = $servers->clients($this->name);
        self::assertCount(5, \array_unique($ids), 'one connection a process');
        foreach ($children as $pid) {
            \posix_kill($pid, \SIGKILL);
            \pcntl_waitpid($pid, $status);
        }
        self::assertSame(201, $ick->stats()->psetSize);
    }

    public function testManyForks(): void
    {
        $client = Millpond::connect(Servers::shared()->url);
        $ick = $client->ick($this->name);
        for ($turn = 0; $turn < 50; ++$turn) {
            $ick->add([[1, "parent-$turn"]]);
            self::inChild(function () use ($client, $turn): void {
                $ick = $client->ick("$this->name-$turn");
                for ($number = 0; $number < 20; ++$number) {
                    self::assertSame(1, $ick->add([[1, (string) $number]])->new);
                }
                self::assertCount(20, $ick->reserve(100));
            });
        }
        self::assertSame(50, $ick->stats()->psetSize);
    }

    public function testAChildHasNoMoreThreadsThanItStarts(): void
    {
        $client = Millpond::connect(Servers::shared()->url);
        $ick = $client->ick($this->name);
        $lease = $ick->lease(30);
        $ick->batches(1, wait: 0.05)->next();
        self::assertGreaterThan(1, self::threads(), 'the parent has some: a lease is renewed');
        self::inChild(static function () use ($ick): void {
            self::assertSame(1, self::threads());
            $ick->add([[1, 'a']]);
            $ick->stats();
            self::assertSame(1, self::threads(), 'a call that blocks needs none');
        });
        self::assertTrue($lease->release());
    }

    private static function threads(): int
    {
        return \count(\glob('/proc/self/task/*'));
    }

    public function testAChildDoesNotReleaseItsParentsLease(): void
    {
        $ick = Millpond::connect(Servers::shared()->url)->ick($this->name);
        $held = [$ick->lease(30)];
        self::inChild(static function () use ($ick, &$held): void {
            $ick->stats();
            $held = [];
            \usleep(200_000);
        });
        self::assertNull($ick->lease(30));
        self::assertTrue($held[0]->release());
    }

    public function testAChildDoesNotReleaseItsParentsLock(): void
    {
        $hash = Millpond::connect(Servers::shared()->url . self::RENEWING)->volatileHash($this->name);
        $held = [$hash->lock('f', 60), $hash->lock('g', 60)];
        self::inChild(static function () use ($hash, &$held): void {
            self::assertFalse($held[1]->release());
            $held = [];
            self::assertNotNull($hash->holder('f'));
            // The parent renews it meanwhile.
            $token = $hash->holder('f')->token;
            $hash->renew('f', $token, 50);
            self::waitFor(static fn (): bool => $hash->holder('f')->remaining > 50);
        });
        self::assertSame([null, null], [$hash->lock('f', 30), $hash->lock('g', 30)]);
        $held[0]->set('1', 60);
        self::assertSame([true, true], [$held[0]->release(), $held[1]->release()]);
    }

    /**
     * @return array<string, array{string}>
     */
    public function embedded(): array
    {
        return ['memory' => ['memory'], 'file' => ['file']];
    }

    /**
     * @return iterable<string, array{Queue, string}>
     */
    public function embeddedQueues(): iterable
    {
        return Queue::each(Queue::all(), $this->embedded());
    }

    /** @dataProvider embeddedQueues */
    public function testAnEmbeddedClientBelongsToItsProcess(Queue $row, string $kind): void
    {
        $client = $this->connect($kind);
        $queue = ($row->open)($client, 'q');
        $calls = ($row->calls)($queue);
        self::inChild(static function () use ($row, $client, $calls): void {
            foreach ($calls as $number => $call) {
                self::assertInstanceOf(ForkedException::class, self::thrown($call), "call $number");
            }
            $client->close();
            ($row->use)(Millpond::connect('memory:'), 'q');
        });
        ($row->put)($queue, ['a']);
        self::assertFalse(($row->isEmpty)($queue));
    }

    /**
     * @return iterable<string, array{\Closure, string}>
     */
    public function embeddedLoops(): iterable
    {
        return Queue::each(Queue::loops() + Queue::waits(), $this->embedded());
    }

    /** @dataProvider embeddedLoops */
    public function testAnEmbeddedLoopBelongsToItsProcess(\Closure $open, string $kind): void
    {
        $loop = $open($this->connect($kind), 'q', wait: \INF);
        self::inChild(static function () use ($loop): void {
            self::assertInstanceOf(ForkedException::class, self::thrown($loop->next(...)));
            self::assertInstanceOf(ForkedException::class, self::thrown(static fn () => $loop->put('child')));
        });
        $loop->put('parent');
        self::assertSame(['parent'], $loop->next());
    }

    public function testAChildThatEndsByItself(): void
    {
        $program = <<<'PHP'
            require $argv[1];
            $clients = array_map(Millpond\Millpond::connect(...), [$argv[2], 'memory:', 'file:data']);
            $icks = array_map(fn ($client) => $client->ick($argv[3]), $clients);
            foreach ($icks as $ick) {
                $ick->add([[1, 'a']]);
            }
            $kept = [$icks[0]->batches(1, wait: INF), $icks[0]->lease(30), $icks[2]->batches(1, wait: 1)];
            $kept[0]->next();
            if (pcntl_fork() === 0) {
                $icks[0]->stats();
                exit(7);
            }
            pcntl_wait($status);
            $icks[2]->add([[1, 'b']]);
            echo pcntl_wexitstatus($status);
            PHP;
        for ($turn = 0; $turn < 5; ++$turn) {
            $command = [\PHP_BINARY, '-r', $program, __DIR__ . '/bootstrap.php', Servers::shared()->url, "$this->name$turn"];
            self::assertSame('7', self::program($command, folder: $this->folder()));
        }
    }
}
