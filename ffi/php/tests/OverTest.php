<?php

declare(strict_types=1);

namespace Millpond\Tests;

use Millpond\BatchesInterface;
use Millpond\BorrowedClient;
use Millpond\BorrowedIck;
use Millpond\BorrowedVolatileHash;
use Millpond\DirtyListInterface;
use Millpond\Exception\ClosedException;
use Millpond\Exception\ConnectionFailedException;
use Millpond\Exception\ConnectionLostException;
use Millpond\Exception\CrossSlotException;
use Millpond\Exception\InternalException;
use Millpond\Exception\InvalidArgumentException;
use Millpond\Exception\LeaseLostException;
use Millpond\Exception\UnavailableException;
use Millpond\Exception\WrongTypeException;
use Millpond\ExpiringHashInterface;
use Millpond\HashField;
use Millpond\HashStats;
use Millpond\Millpond;
use Millpond\Reaped;
use Millpond\Retry;

/**
 * Steps over a connection that the program owns, whatever its options are.
 */
final class OverTest extends TestCase
{
    private function redis(): \Redis
    {
        return Servers::shared()->admin();
    }

    private function usesTheIck(BorrowedClient $client, string $name): void
    {
        $ick = $client->ick($name);
        $ick->add([[1, "a\0"], [1763691473.123456, 'i:5;']]);
        self::assertSame([["a\0", 1.0], ['i:5;', 1763691473.123456]], self::plain($ick->reserve(10)));
        self::assertSame(2, $ick->stats()->csetSize);
        self::assertSame(1, $ick->commit(["a\0"]));
        self::assertSame([], $ick->exchange(10, ['i:5;']));
        self::assertSame([], self::plain($ick->peek(10)));
    }

    private function usesTheHash(BorrowedClient $client, string $name): void
    {
        $hash = $client->volatileHash($name);
        $hash->setMany(["a\0" => 'i:5;', '7' => ''], 60);
        self::assertSame(['i:5;', '', null], $hash->getMany(["a\0", 7, 'none']));
        self::assertSame([true, false], [$hash->setIfAbsent('b', '1', 30), $hash->setIfPresent('none', '1', 30)]);
        self::assertSame(['b', '1'], \array_slice(\array_values((array) $hash->fields(limit: 1)->fields[0]), 0, 2));
        self::assertGreaterThan(0, $hash->acquire('b', 't', 60)->fence);
        self::assertGreaterThan(0, $hash->getOrAcquire('none', 't', 60)->fence);
        self::assertGreaterThan(0, $hash->getOrAcquire('none', 'other', 60)->remaining);
        $hash->setAndRelease('b', 't', '2', 60);
        self::assertSame(['2', null], [$hash->get('b'), $hash->get('none')]);
        self::assertSame(['t', null], [$hash->holder('none')->token, $hash->holder('b')]);
        self::assertEquals(new HashStats(3, 0, 1), $hash->stats());
        self::assertFalse($hash->reap()->more);
        self::assertSame([true, 3], [$hash->release('none', 't'), $hash->clear()]);
        self::assertEquals(new Reaped(0, 0, 0, false, null), $hash->reap());
        $hash->setMany(['a' => '1', 'b' => '2'], 0.001);
        self::waitFor(static fn (): bool => $hash->len() === 0);
        self::assertEquals(new Reaped(1, 0, 0, true, 0.0), $hash->reap(1));
        self::assertEquals(new Reaped(1, 0, 0, false, null), $hash->reap());
        $hash->set('c', '3', 60);
        self::assertGreaterThan(30, $hash->reap()->nextIn);
        self::assertSame(1, $hash->clear());
    }

    public function testItIsTheSameHashForAllClients(): void
    {
        $clients = [
            [Millpond::over($this->redis()), Servers::shared()],
            [Millpond::over($this->predis()), Servers::shared()],
            [Millpond::over($this->redisCluster()), Servers::shared('cluster')],
        ];
        foreach ($clients as $number => [$client, $servers]) {
            $name = "$this->name$number";
            [$over, $own] = [$client->volatileHash($name), Millpond::connect($servers->url)->volatileHash($name)];
            // More than are on a page by default.
            $many = \array_map(static fn (int $number): array => ["f$number", "$number"], \range(1, 150));
            $over->setMany($many, 60);
            $own->set('last', '1', 120);
            $page = $over->fields();
            self::assertEquals($own->fields(), $page);
            self::assertCount(100, $page->fields);
            self::assertInstanceOf(HashField::class, $page->fields[0]);
            $rest = $over->fields(after: $page->next, omitValues: true);
            self::assertEquals($own->fields(after: $page->next, omitValues: true), $rest);
            self::assertEquals($rest, $over->fields(after: $page->fields[99], omitValues: true));
            self::assertSame(['last', null], [$rest->fields[50]->field, $rest->next]);
            self::assertSame($own->acquire('f', 't', 60)->fence, $over->acquire('f', 't', 60)->fence);
            self::assertNull($own->lock('f', 60));
            self::assertSame(151, $over->len());
        }
    }

    public function testItIsTheSameTrackerForAllClients(): void
    {
        $redis = $this->redis();
        $redis->setOption(\Redis::OPT_PREFIX, 'app:');
        $clients = [
            [Millpond::over($redis), Servers::shared()],
            [Millpond::over($this->predis(['prefix' => 'app:'])), Servers::shared()],
            [Millpond::over($this->redisCluster()), Servers::shared('cluster')],
        ];
        foreach ($clients as $number => [$client, $servers]) {
            $name = "$this->name$number";
            [$over, $own] = [$client->queueTracker($name), Millpond::connect($servers->url)->queueTracker($name)];
            $over->scan(static fn (): array => [[1, 'a'], [2, 'b'], [3, '']], 3);
            $own->add("c\0");
            self::assertEquals([$own->stats(), $own->ids()], [$over->stats(), $over->ids()]);
            self::assertSame(2, $over->prune(static fn (): array => ['a', 'b'])->removed);
            self::assertTrue($own->isQueued("c\0"));
        }
    }

    /** The names of hashes are Millpond's, and not the connection's. */
    public function testTheKeysOfAHashHaveNoPrefix(): void
    {
        // One that the keys begin with as well, one that decides about a slot, and one that nobody has to follow.
        foreach (['app:', 'vhash-', 'app:{a}'] as $prefix) {
            $redis = $this->redis();
            $cluster = $this->redisCluster();
            foreach ([$redis, $cluster] as $connection) {
                $connection->setOption(\Redis::OPT_PREFIX, $prefix);
            }
            $clients = [
                [Millpond::over($redis), Servers::shared()],
                [Millpond::over($this->predis(['prefix' => $prefix])), Servers::shared()],
                [Millpond::over($cluster), Servers::shared('cluster')],
            ];
            foreach ($clients as $number => [$client, $servers]) {
                $name = "$this->name$prefix$number";
                $this->usesTheHash($client, $name);
                $client->volatileHash($name)->set('f', '1', 60);
                self::assertSame('1', Millpond::connect($servers->url)->volatileHash($name)->get('f'));
            }
            foreach ([$redis, $cluster] as $connection) {
                self::assertSame($prefix, $connection->getOption(\Redis::OPT_PREFIX));
                self::assertSame("{$prefix}x", $connection->_prefix('x'));
            }
        }
    }

    /** A call that fails leaves the prefix as it was. */
    public function testThePrefixAfterAFailure(): void
    {
        $redis = $this->redis();
        $redis->set("vhash-map:{{$this->name}}", 'x');
        $redis->setOption(\Redis::OPT_PREFIX, 'app:');
        $hash = Millpond::over($redis)->volatileHash($this->name);
        self::assertInstanceOf(WrongTypeException::class, self::thrown($hash->clear(...)));
        self::assertSame('app:', $redis->getOption(\Redis::OPT_PREFIX));
    }

    public function testWhatAHashIsGivenIsChecked(): void
    {
        $client = Millpond::over($this->redis());
        $hash = $client->volatileHash($this->name);
        $long = \str_repeat('x', 65_537);
        $calls = [
            static fn () => $client->volatileHash('')->get('a'),
            static fn () => $client->volatileHash($long)->get('a'),
            static fn () => $hash->get($long),
            static fn () => $hash->getMany([]),
            static fn () => $hash->getMany(\array_fill(0, 10_001, '')),
            static fn () => $hash->delete([]),
            static fn () => $hash->delete($long),
            static fn () => $hash->holder($long),
            static fn () => $hash->setMany([], 60),
            static fn () => $hash->setMany(\array_fill(0, 10_001, ''), 60),
            static fn () => $hash->set('a', \str_repeat('x', (16 << 20) + 1), 60),
            static fn () => $hash->set($long, '1', 60),
            static fn () => $hash->set('a', '1', 0),
            static fn () => $hash->set('a', '1', -1),
            static fn () => $hash->set('a', '1', \NAN),
            static fn () => $hash->set('a', '1', \INF),
            static fn () => $hash->touch('a', 4e9),
            static fn () => $hash->acquire('a', '', 60),
            static fn () => $hash->getOrAcquire('a', \str_repeat('x', 65), 60),
            static fn () => $hash->fields(limit: 0),
            static fn () => $hash->fields(limit: 1_001),
            static fn () => $hash->reap(0),
            static fn () => $hash->reap(1_001),
        ];
        foreach ($calls as $number => $call) {
            self::assertInstanceOf(InvalidArgumentException::class, self::thrown($call), "call $number");
        }
        self::assertInstanceOf(LeaseLostException::class, self::thrown(static fn () => $hash->setLocked('a', 't', '1', 60)));
        self::assertEquals(new HashStats(0, 0, 0), $hash->stats());
        $client->close();
        self::assertInstanceOf(ClosedException::class, self::thrown($hash->len(...)));
    }

    public function testItIsTheSameIckForAllClients(): void
    {
        $over = Millpond::over($this->redis())->ick($this->name);
        $own = Millpond::connect(Servers::shared()->url)->ick($this->name);
        $over->add([[1, 'from PHP'], [2, 'b']]);
        self::assertSame([['from PHP', 1.0]], self::plain($own->reserve(1)));
        self::assertSame([['from PHP', 1.0], ['b', 2.0]], self::plain($over->reserve(2)));
        self::assertEquals($own->stats(), $over->stats());
    }

    /** What needs a thread or a connection of Millpond's own is not declared, and refused by name. */
    public function testItHasOnlyWhatWorks(): void
    {
        $methods = static fn (string $class): array => \array_values(\array_filter(
            \get_class_methods($class),
            static fn (string $name): bool => !\in_array($name, ['__construct', '__call', 'over', 'evaluate', 'badReply'], true),
        ));
        self::assertSame(['ick', 'volatileHash', 'queueTracker', 'close'], $methods(BorrowedClient::class));
        self::assertSame([], \array_diff($methods(BorrowedIck::class), $methods(DirtyListInterface::class)));
        self::assertSame([], \array_diff($methods(BorrowedVolatileHash::class), $methods(ExpiringHashInterface::class)));
        self::assertNotContains('lock', $methods(ExpiringHashInterface::class));
        $ick = Millpond::over($this->redis())->ick($this->name);
        self::assertInstanceOf(DirtyListInterface::class, $ick);
        self::assertInstanceOf(BatchesInterface::class, $ick->batches(1));
        $client = Millpond::over($this->redis());
        $calls = [
            'tasks()' => static fn () => $client->tasks('t'),
            'events()' => static fn () => $client->events('e', claimant: 'c'),
            'recruiter()' => static fn () => $client->recruiter('r'),
            'lease()' => static fn () => $ick->lease(30),
            'lock()' => fn () => $client->volatileHash($this->name)->lock('f', 10),
            'a loop that waits' => static fn () => $ick->batches(1, wait: 1),
        ];
        foreach ($calls + [static fn () => $ick->batches(1, 1.0)] as $what => $call) {
            $what = \is_int($what) ? 'a loop that waits' : $what;
            self::assertRefused("$what needs connections of Millpond's own: use Millpond::connect() in place of Millpond::over()", $call);
        }
        $unknown = 'Call to undefined method Millpond\BorrowedClient::nothing()';
        self::assertSame($unknown, self::thrown(static fn () => $client->nothing())->getMessage());
    }

    public function testAPrefixIsAPartOfTheName(): void
    {
        $redis = $this->redis();
        $redis->setOption(\Redis::OPT_PREFIX, 'app:');
        $cluster = $this->redisCluster();
        $cluster->setOption(\Redis::OPT_PREFIX, 'app:');
        $clients = [
            [Millpond::over($redis), Servers::shared()],
            [Millpond::over($this->predis(['prefix' => 'app:'])), Servers::shared()],
            [Millpond::over($cluster), Servers::shared('cluster')],
        ];
        foreach ($clients as $number => [$client, $servers]) {
            $name = "$this->name$number";
            $this->usesTheIck($client, $name);
            $client->ick($name)->add([[1, 'a']]);
            $own = Millpond::connect($servers->url);
            self::assertSame('app:' . $name, $own->ick("app:$name")->stats()->key);
            self::assertEquals($own->ick("app:$name")->stats(), $client->ick($name)->stats());
            self::assertNull($own->ick($name)->stats());
            self::assertSame(2, $client->ick($name)->delete());
        }
    }

    public function testAPrefixMayChange(): void
    {
        $redis = $this->redis();
        $ick = Millpond::over($redis)->ick($this->name);
        foreach (['', 'one:', 'two:', ''] as $prefix) {
            $redis->setOption(\Redis::OPT_PREFIX, $prefix);
            $ick->add(['a']);
            self::assertSame("$prefix$this->name", $ick->stats()->key);
        }
    }

    /**
     * @return iterable<string, array{string, int, mixed}>
     */
    public function options(): iterable
    {
        foreach ([\Redis::SERIALIZER_PHP, \Redis::SERIALIZER_IGBINARY, \Redis::SERIALIZER_JSON] as $serializer) {
            yield "serializer $serializer" => ['redis', \Redis::OPT_SERIALIZER, $serializer];
            yield "serializer $serializer, cluster" => ['cluster', \Redis::OPT_SERIALIZER, $serializer];
        }
        foreach ([\Redis::COMPRESSION_LZF, \Redis::COMPRESSION_ZSTD, \Redis::COMPRESSION_LZ4] as $compression) {
            yield "compression $compression" => ['redis', \Redis::OPT_COMPRESSION, $compression];
        }
        yield 'reply literal' => ['redis', \Redis::OPT_REPLY_LITERAL, true];
        yield 'null multibulk' => ['redis', \Redis::OPT_NULL_MULTIBULK_AS_NULL, true];
        yield 'replicas serve reads' => ['cluster', \RedisCluster::OPT_SLAVE_FAILOVER, \RedisCluster::FAILOVER_DISTRIBUTE];
    }

    /** @dataProvider options */
    public function testAnOptionOfTheConnection(string $kind, int $option, mixed $value): void
    {
        $redis = $kind === 'redis' ? $this->redis() : $this->redisCluster();
        $redis->setOption($option, $value);
        $before = $redis->getOption($option);
        $client = Millpond::over($redis);
        self::assertNull($client->ick($this->name)->stats());
        // A read before it, so that whatever reads leave behind is there.
        $redis->get('nothing');
        $this->usesTheIck($client, $this->name);
        $this->usesTheHash($client, $this->name);
        self::assertSame($before, $redis->getOption($option));
    }

    public function testPrecisionInPhpIni(): void
    {
        $ick = Millpond::over($this->redis())->ick($this->name);
        foreach (['3', '14', '17', '-1'] as $precision) {
            $before = \ini_set('precision', $precision);
            try {
                $ick->add([[1763691473.123456, "precision $precision"]]);
            } finally {
                \ini_set('precision', $before);
            }
        }
        self::assertSame([1763691473.123456], \array_unique(\array_column($ick->peek(10), 'score')));
    }

    public function testInsideOfMultiOrPipelineThereIsNoReply(): void
    {
        foreach ([\Redis::MULTI, \Redis::PIPELINE] as $mode) {
            $redis = $this->redis();
            $ick = Millpond::over($redis)->ick($this->name);
            $redis->multi($mode)->set("$this->name-other", '1');
            self::assertRefused('inside of multi() or pipeline()', static fn () => $ick->add(['a']));
            self::assertRefused('inside of multi() or pipeline()', fn () => Millpond::over($redis)->volatileHash($this->name)->len());
            self::assertSame([true], $redis->exec(), 'the transaction is as it was');
            self::assertNull($ick->stats());
        }
        $cluster = $this->redisCluster();
        $cluster->multi();
        self::assertRefused('inside of multi()', fn () => Millpond::over($cluster)->ick($this->name)->add(['a']));
        $cluster->discard();
    }

    public function testPredisWithoutExceptions(): void
    {
        $this->usesTheIck(Millpond::over($this->predis(['exceptions' => false])), $this->name);
        $this->usesTheHash(Millpond::over($this->predis(['exceptions' => false])), $this->name);
    }

    public function testScriptsThatTheServerForgets(): void
    {
        foreach (['phpredis', 'predis', 'phpredis-cluster'] as $kind) {
            $servers = Servers::shared($kind === 'phpredis-cluster' ? 'cluster' : 'redis');
            $client = $this->connect($kind);
            for ($turn = 0; $turn < 3; ++$turn) {
                foreach ($servers->ports as $port) {
                    $node = new \Redis();
                    $node->connect('127.0.0.1', $port);
                    $node->script('flush');
                }
                $this->usesTheIck($client, $this->name . $kind);
                $this->usesTheHash($client, $this->name . $kind);
            }
        }
    }

    public function testNamesWhoseSlotsDiffer(): void
    {
        $client = Millpond::over($this->redisCluster());
        foreach (['{}abc', 'a{b', '}{', ''] as $name) {
            $thrown = self::thrown(static fn () => $client->ick($name)->add(['a']));
            self::assertInstanceOf(CrossSlotException::class, $thrown);
            self::assertSame('ick.add', $thrown->operation);
        }
        $this->usesTheIck($client, "a{{$this->name}}b");
    }

    /**
     * A server for one client, which takes a call of each connection and closes that without a reply. Returns its
     * port, its standard input, whose end ends it, and its output: a line for each call.
     *
     * @return array{int, resource, resource}
     */
    private function mute(): array
    {
        $program = <<<'PHP'
            $server = stream_socket_server('tcp://127.0.0.1:0');
            echo explode(':', stream_socket_get_name($server, false))[1], "\n";
            [$ends, $open, $taken, $none] = [[STDIN], [], 0, null];
            while (true) {
                $ready = [...$ends, $server, ...$open];
                if (stream_select($ready, $none, $none, 0, 100_000) === 0 && $taken > 0) {
                    // What phpredis opens anew, only to wait there for the reply.
                    array_map(fclose(...), $open);
                    $open = [];
                }
                if ($ready === $ends) {
                    break;
                }
                foreach ($ready as $stream) {
                    if ($stream === $server) {
                        $open[] = stream_socket_accept($server);
                    } elseif ($stream !== STDIN) {
                        $call = (string) fread($stream, 100_000);
                        $open = array_filter($open, fn ($other) => $other !== $stream);
                        fclose($stream);
                        if ($call !== '') {
                            ++$taken;
                            echo substr(strtr($call, "\r\n", '  '), 0, 20), "\n";
                        }
                    }
                }
            }
            PHP;
        $process = \proc_open([\PHP_BINARY, '-r', $program], [['pipe', 'r'], ['pipe', 'w']], $pipes);
        $this->mutes[] = $process;

        return [(int) \fgets($pipes[1]), ...$pipes];
    }

    /** @var list<resource> */
    private array $mutes = [];

    protected function tearDown(): void
    {
        foreach ($this->mutes as $mute) {
            \proc_terminate($mute);
        }
        parent::tearDown();
    }

    public function testACallIsSentOnce(): void
    {
        $kinds = [
            static function (int $port): \Redis {
                $redis = new \Redis();
                $redis->connect('127.0.0.1', $port);

                return $redis;
            },
            static fn (int $port): \Predis\Client => new \Predis\Client(['host' => '127.0.0.1', 'port' => $port]),
        ];
        foreach ($kinds as $connect) {
            [$port, $end, $calls] = $this->mute();
            $connection = $connect($port);
            $thrown = self::thrown(static fn () => Millpond::over($connection)->ick('x')->add(['a']));
            self::assertInstanceOf(ConnectionLostException::class, $thrown);
            self::assertSame(['ick.add', Retry::Unknown], [$thrown->operation, $thrown->retry]);
            self::assertNotNull($thrown->getPrevious());
            // It takes all that was sent before it ends.
            \fclose($end);
            self::assertSame("*9  $7  EVALSHA  $40\n", \stream_get_contents($calls), 'one call and no more');
        }
    }

    public function testACommitThatMayHaveBeenDoneIsNotSentAgain(): void
    {
        $server = new Servers();
        $redis = $server->admin();
        $ick = Millpond::over($redis)->ick($this->name);
        $ick->add([[1, 'a'], [2, 'b']]);
        $batches = $ick->batches(1);
        self::assertCount(1, $batches->next());
        $redis->setOption(\Redis::OPT_READ_TIMEOUT, 0.1);
        self::whileItHangs($server, static function () use ($batches): void {
            self::assertInstanceOf(ConnectionLostException::class, self::thrown($batches->next(...)));
        });
        $redis->setOption(\Redis::OPT_READ_TIMEOUT, 60);
        self::assertSame(0, $batches->commit());
        $left = \array_merge(...\array_map(null, \iterator_to_array($batches)));
        self::assertContains('b', \array_column($left, 'member'));
        self::assertSame(0, $ick->stats()->totalSize);
    }

    /**
     * Does it while the server replies to nothing. What was sent meanwhile has its replies afterwards.
     */
    private static function whileItHangs(Servers $server, callable $work): void
    {
        $server->run('stop');
        $work();
        $server->run('cont');
        // The first reply may come before the others, in the same turn of the server; the second one does not.
        $admin = $server->admin();
        $admin->ping();
        $admin->ping();
    }

    /**
     * @return array<string, array{bool, int}>
     */
    public function connections(): array
    {
        return ['of its own' => [false, 0], 'persistent' => [true, 0], 'in another database' => [false, 3]];
    }

    /** @dataProvider connections */
    public function testALateReplyIsNotTakenForAnother(bool $persistent, int $database): void
    {
        $server = new Servers();
        $port = $server->ports[0];
        $connect = function () use ($port, $persistent): \Redis {
            $redis = new \Redis();
            $persistent ? $redis->pconnect('127.0.0.1', $port, 0, $this->name) : $redis->connect('127.0.0.1', $port);

            return $redis;
        };
        $redis = $connect();
        $redis->select($database);
        $redis->set($this->name . 'mine', 'mine');
        $ick = Millpond::over($redis)->ick($this->name);
        $ick->add([[1, 'a']]);
        $redis->setOption(\Redis::OPT_READ_TIMEOUT, 0.1);
        self::whileItHangs($server, static function () use ($ick): void {
            $thrown = self::thrown(static fn () => $ick->add([[2, 'b']]));
            self::assertInstanceOf(ConnectionLostException::class, $thrown);
        });
        if ($database !== 0) {
            // The server did not reply to the SELECT either, so nothing may continue as if it had.
            self::assertInstanceOf(\RedisException::class, self::thrown(fn () => $redis->get($this->name . 'mine')));
            $redis->connect('127.0.0.1', $port);
            $redis->select($database);
        }
        $redis->setOption(\Redis::OPT_READ_TIMEOUT, 60);
        self::assertSame('mine', $redis->get($this->name . 'mine'));
        self::assertSame('mine', $connect()->select($database) ? $redis->get($this->name . 'mine') : null);
        self::assertContains('a', \array_column($ick->peek(10), 'member'));
    }

    public function testABusyServerInAnotherDatabase(): void
    {
        $redis = $this->redis();
        $redis->select(3);
        $redis->set($this->name, 'three');
        $ick = Millpond::over($redis)->ick("$this->name-ick");
        $ick->add(['a']);
        // The connection is closed under it; phpredis opens it again, in the database it was in.
        Servers::shared()->admin()->rawCommand('CLIENT', 'KILL', 'ID', (string) $redis->client('ID'));
        self::assertSame(1, $ick->add(['b'])->new);
        self::assertSame('three', $redis->get($this->name));
    }

    public function testAReplyOfAnotherCall(): void
    {
        $server = new Servers();
        $redis = $server->admin();
        $ick = Millpond::over($redis)->ick($this->name);
        $ick->add(['a']);
        $redis->setOption(\Redis::OPT_READ_TIMEOUT, 0.1);
        // Its owner stops waiting, and phpredis before 6 gives its reply to the next caller.
        self::whileItHangs($server, static function () use ($redis): void {
            self::assertInstanceOf(\RedisException::class, self::thrown(static fn () => $redis->echo('late')));
        });
        $redis->setOption(\Redis::OPT_READ_TIMEOUT, 60);
        try {
            self::assertNotNull($ick->stats());
        } catch (InternalException $unexpected) {
            self::assertStringContainsString('does not have the form', $unexpected->getMessage());
        }
        self::assertSame(1, $ick->stats()->psetSize);
    }

    public function testNoServerListens(): void
    {
        $unconnected = Millpond::over(new \Redis())->ick('x');
        self::assertInstanceOf(ConnectionFailedException::class, self::thrown($unconnected->stats(...)));
        $server = new Servers();
        $predis = new \Predis\Client(['host' => '127.0.0.1', 'port' => $server->ports[0]]);
        $redis = $server->admin();
        foreach ([$redis, $predis] as $connection) {
            Millpond::over($connection)->ick('x')->add(['a']);
        }
        $server->run('kill');
        foreach ([$redis, $predis] as $connection) {
            $add = static fn () => Millpond::over($connection)->ick('x')->add(['a']);
            // That it is closed is noticed when sending; from then on there is nothing to send to.
            self::assertInstanceOf(ConnectionLostException::class, self::thrown($add));
            $thrown = self::thrown($add);
            self::assertInstanceOf(ConnectionFailedException::class, $thrown);
            self::assertSame(Retry::Later, $thrown->retry);
        }
        $server->run('restart');
        self::assertSame(1, Millpond::over($predis)->ick('x')->add(['b'])->new);
    }

    public function testAServerThatCannotNow(): void
    {
        $server = new Servers();
        $admin = $server->admin();
        $admin->rawCommand('REPLICAOF', '127.0.0.1', '1');
        $thrown = self::thrown(static fn () => Millpond::over($server->admin())->ick('x')->add(['a']));
        self::assertInstanceOf(UnavailableException::class, $thrown);
        self::assertSame('ick.add', $thrown->operation);
    }

    public function testPredisThatSendsAgain(): void
    {
        $parameters = \array_map(static fn (int $port): string => "tcp://127.0.0.1:$port", Servers::shared('cluster')->ports);
        $refused = [
            new \Predis\Client($parameters, ['cluster' => 'redis']),
            new \Predis\Client([$parameters[0] . '?alias=master', $parameters[1]], ['replication' => true]),
        ];
        foreach ($refused as $client) {
            self::assertRefused('sends a call again by itself', static fn () => Millpond::over($client));
        }
        $pipeline = $this->predis()->pipeline();
        self::assertRefused('', static fn () => Millpond::over($pipeline));
    }

    public function testClosingLeavesTheConnectionOpen(): void
    {
        $redis = $this->redis();
        $id = $redis->client('ID');
        $client = Millpond::over($redis);
        $client->ick($this->name)->add(['a']);
        $client->close();
        unset($client);
        self::assertSame($id, $redis->client('ID'));
    }
}
