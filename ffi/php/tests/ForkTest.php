<?php

declare(strict_types=1);

namespace Millpond\Tests;

use Millpond\Exception\ForkedException;
use Millpond\Millpond;
use Millpond\ShuffleOptions;
use Millpond\Tasks\Modification;
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

    /** @dataProvider used */
    public function testAClientWorksInAChild(bool $used): void
    {
        $client = Millpond::connect(Servers::shared()->url, clientName: $this->name);
        $ick = $client->ick($this->name);
        if ($used) {
            $ick->add([[1, 'parent']]);
        }
        self::inChild(static function () use ($ick, $used): void {
            for ($number = 0; $number < 100; ++$number) {
                self::assertSame(1, $ick->add([[1, (string) $number]])->new);
            }
            $counts = \array_map(\count(...), \iterator_to_array($ick->batches(30, wait: 0.1)));
            self::assertSame(100 + (int) $used, \array_sum($counts));
        });
        self::assertSame(1, $ick->add([[1, 'after']])->new);
        self::assertSame([['after', 1.0]], self::plain($ick->reserve(10)));
    }

    /** @dataProvider used */
    public function testAShuffleQueueWorksInAChild(bool $used): void
    {
        $queue = Millpond::connect(Servers::shared()->url)->shuffleQueue($this->name, new ShuffleOptions(4));
        $consumer = $queue->consumer('g', 'c');
        $messages = $consumer->messages(30, wait: 0.1);
        if ($used) {
            $queue->write('t', ['n' => 'parent']);
            $consumer->read(0.05);
        }
        self::inChild(static function () use ($queue, $consumer, $messages): void {
            for ($number = 0; $number < 100; ++$number) {
                $queue->write("tenant $number", ['n' => (string) $number]);
            }
            self::assertSame(1, $consumer->ack($consumer->read(wait: 5)));
            $counts = \array_map($consumer->ackAndDelete(...), \iterator_to_array($messages));
            self::assertSame(99, \array_sum($counts));
        });
        self::assertNull($consumer->read(0.05));
        $queue->write('t', ['n' => 'after']);
        self::assertSame('after', $messages->next()[0]->field('n'));
        self::assertSame((int) $used + 1, $queue->pendingCount('g'));
    }

    /** @dataProvider used */
    public function testAQueueOfEventsWorksInAChild(bool $used): void
    {
        $queue = Millpond::connect(Servers::shared()->url)->events($this->name);
        $deliveries = $queue->deliveries(max: 30, wait: 0.1);
        if ($used) {
            $queue->publish('parent');
            $queue->ackMany($deliveries->next());
        }
        self::inChild(static function () use ($queue, $deliveries): void {
            $queue->publishMany(\array_fill(0, 100, 'child'));
            $counts = \array_map(static fn (array $events): int => \count($queue->ackMany($events)), \iterator_to_array($deliveries));
            self::assertSame(100, \array_sum($counts));
        });
        self::assertSame(0, $queue->stats()->events);
        $queue->publish('after');
        self::assertSame('after', $deliveries->next()[0]->payload);
    }

    /** @dataProvider used */
    public function testATaskStoreWorksInAChild(bool $used): void
    {
        $store = Millpond::connect(Servers::shared()->url)->tasks($this->name);
        [$claims, $jobs] = [$store->claims('q', wait: 0.1), $store->worker('q', new WorkerOptions(wait: 0.1))->jobs()];
        if ($used) {
            $store->insert(new NewTask('q'));
            $store->modify((new Modification())->delete($claims->next()[0]));
            $jobs->next();
        }
        self::inChild(static function () use ($store, $claims, $jobs): void {
            $modification = new Modification();
            \array_map(static fn (int $number) => $modification->insert(new NewTask('q', $number)), \range(1, 50));
            $store->modify($modification);
            $store->modify((new Modification())->delete($claims->next()[0]));
            $store->modify((new Modification())->delete($store->claim('q')));
            foreach ($jobs as $job) {
                $job->done();
            }
            self::assertSame([], $store->queues());
        });
        self::assertNull($claims->next());
        $store->insert(new NewTask('q', 'after'));
        $jobs->next()->done();
        self::assertNull($store->claim('q'));
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

    /**
     * @return array<string, array{string}>
     */
    public function embedded(): array
    {
        return ['memory' => ['memory'], 'file' => ['file']];
    }

    /** @dataProvider embedded */
    public function testAnEmbeddedClientBelongsToItsProcess(string $kind): void
    {
        $client = $this->connect($kind);
        $ick = $client->ick('x');
        $ick->add([[1, 'a']]);
        $batches = $ick->batches(1, wait: \INF);
        $queue = $client->shuffleQueue('q');
        $consumer = $queue->consumer('g', 'c');
        $messages = $consumer->messages(1, wait: \INF);
        $store = $client->tasks('t');
        $store->insert(new NewTask('q'));
        $job = $store->worker('q')->jobs()->next();
        [$claims, $jobs] = [$store->claims('q', wait: \INF), $store->worker('q', new WorkerOptions(wait: \INF))->jobs()];
        self::inChild(static function () use ($client, $ick, $batches, $queue, $consumer, $messages, $store, $claims, $jobs, $job): void {
            $calls = [
                $ick->stats(...),
                $batches->next(...),
                static fn () => $ick->add(['b']),
                $queue->len(...),
                static fn () => $queue->write('t', ['n' => '1']),
                static fn () => $consumer->read(\INF),
                $messages->next(...),
                $queue->gc()->next(...),
                static fn () => $store->insert(new NewTask('q')),
                static fn () => $store->claim('q'),
                $claims->next(...),
                $jobs->next(...),
                $job->done(...),
            ];
            foreach ($calls as $call) {
                self::assertInstanceOf(ForkedException::class, self::thrown($call));
            }
            $client->close();
            self::assertSame(1, Millpond::connect('memory:')->ick('x')->add(['a'])->new);
        });
        self::assertSame(1, $ick->add([[1, 'c']])->new);
        $queue->write('t', ['n' => '1']);
        self::assertCount(1, $messages->next());
        $job->done();
        $store->insert(new NewTask('q'));
        self::assertCount(1, $claims->next());
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
