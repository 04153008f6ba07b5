<?php

declare(strict_types=1);

namespace Millpond\Tests;

use Millpond\ConsumerOptions;
use Millpond\DirtyListInterface;
use Millpond\EventConfig;
use Millpond\EventState;
use Millpond\IfExists;
use Millpond\Millpond;
use Millpond\NewEvent;
use Millpond\Schedule;
use Millpond\ShuffleOptions;
use Millpond\Tasks\Modification;
use Millpond\Tasks\NewDoc;
use Millpond\Tasks\NewTask;
use Millpond\Tasks\WorkerOptions;
use Millpond\TrackKeys;

/**
 * Nothing grows with the number of calls.
 */
final class MemoryTest extends TestCase
{
    private const GROWTH_BYTES_MAX = 8 * 1024 * 1024;

    /**
     * Two calls a round. `make test-all` makes ten times as many, and finds leaks a tenth as large.
     */
    public function testManyCalls(): void
    {
        $ick = Millpond::connect('memory:')->ick($this->name);
        $calls = static function (int $rounds) use ($ick): void {
            for ($round = 0; $round < $rounds; ++$round) {
                $ick->add([[1.0, 'a'], [2.0, 'b']]);
                $ick->exchange(2, ['a', 'b']);
            }
        };
        self::assertGrowth($calls, 20_000, \getenv('MILLPOND_DEEP') ? 500_000 : 50_000);
    }

    public function testEveryKindOfCall(): void
    {
        $client = Millpond::connect('memory:');
        $every = function (int $rounds) use ($client): void {
            for ($round = 0; $round < $rounds; ++$round) {
                self::useAll($client->ick($this->name));
                $lease = $client->ick($this->name)->lease(30);
                $lease->reserve(1);
                $lease->release();
                $channel = $client->ickChannel($this->name, 4)->draining(5);
                $channel->add(['a', 'b']);
                foreach ($channel->batches([0, 1, 2, 3], 10, wait: 0) as $batch) {
                    $channel->ickOf($batch[0]->member);
                }
                Millpond::connect('memory:')->ick('x')->add(['a']);
            }
        };
        self::assertGrowth($every, 1_000, 10_000);
    }

    public function testEveryKindOfCallOfAShuffleQueue(): void
    {
        $client = Millpond::connect('memory:');
        $every = static function (int $rounds) use ($client): void {
            for ($round = 0; $round < $rounds; ++$round) {
                $queue = $client->shuffleQueue('q', new ShuffleOptions(4, trackKeys: TrackKeys::Queue));
                $queue->writeMany([['a', ['n' => '1', 'm' => \str_repeat('x', 1_000)]], ['b', [['n', '2']]]]);
                $queue->writeTracked('c', ['n' => '3'], 'n', 1_000_000_000);
                $queue->consumer('g', 'dies')->readMany(3, 1);
                $consumer = $queue->consumer('g', 'c');
                $consumer->extend($consumer->reclaim(0, 10)->messages);
                $queue->stats('g');
                $queue->deleteTracked($queue->cordonDeadlineExceeded(10.0 ** 12)[0]);
                foreach ($queue->gc() as $values) {
                    continue;
                }
                self::thrown(static fn () => $consumer->readMany(0));
                self::thrown(static fn () => $queue->write('', ['n' => '1']));
                $consumer->ackAndDelete($consumer->reclaim(0, 10)->messages);
                foreach ($consumer->messages(10, 0) as $batch) {
                    $consumer->ackAndDelete($batch);
                }
            }
        };
        self::assertGrowth($every, 500, 3_000);
    }

    public function testEveryKindOfCallOfATaskStore(): void
    {
        $client = Millpond::connect('memory:');
        $every = static function (int $rounds) use ($client): void {
            for ($round = 0; $round < $rounds; ++$round) {
                $store = $client->tasks('t');
                $done = $store->modify((new Modification())->insert(new NewTask('q', \str_repeat('x', 1_000)))->insert(new NewTask('q', [1], id: 'x'))
                    ->insertDoc(new NewDoc('n', 'k', ['a' => 1])));
                self::thrown(static fn () => $store->insert(new NewTask('q', id: 'x')));
                self::thrown(static fn () => $store->insert(new NewTask('q', json: '{')));
                foreach ($store->claims('q', max: 2, wait: 0) as $tasks) {
                    $renewed = $store->renew($tasks, $store->claimDocs('n', 'k'), 60);
                    [$first, $second] = $store->fetch([$renewed->tasks[0]->id, $renewed->tasks[1]->id]);
                    $store->modify((new Modification())->change($first->change(queue: 'p')->retry('why'))
                        ->change($second->change(queue: 'p'))->deleteDoc($renewed->docs[0]));
                }
                $store->list('p', limit: 1);
                $store->listDocs('n', limit: 1);
                $store->fetchDocs('n', 'x');
                $store->queues(['p'], 'x');
                $store->areEmpty('p');
                $store->namespaceStats('n');
                $store->time();
                $jobs = $store->worker('p', new WorkerOptions(wait: 0, errorQueue: 'e'))->jobs();
                $job = $jobs->next();
                $job->claimDocs('n', 'k');
                $job->isLost();
                $job->finish($job->delete());
                self::thrown($job->done(...));
                $jobs->next()->moveTo('r', 'why');
                $store->worker('r')->drain(static fn () => null);
            }
        };
        self::assertGrowth($every, 500, 3_000);
    }

    public function testEveryKindOfCallOfAQueueOfEvents(): void
    {
        $client = Millpond::connect('memory:');
        $every = static function (int $rounds) use ($client): void {
            for ($round = 0; $round < $rounds; ++$round) {
                $queue = $client->events('e');
                $queue->configure(new EventConfig(backoffMin: 0, backoffMax: 0, dedupIdsMax: 10));
                $queue->publishMany([\str_repeat('x', 1_000), new NewEvent('k', key: 'k', headers: ['a' => 'b'])]);
                $later = $queue->publish(new NewEvent('later', delay: 60, dedupId: 'x', ifExists: IfExists::Replace));
                $queue->reschedule($later, 90);
                self::thrown(static fn () => $queue->publish(new NewEvent('y', dedupId: 'x', ifExists: IfExists::Error)));
                self::thrown(static fn () => $queue->receive(0));
                foreach ($queue->deliveries(max: 2, wait: 0) as $events) {
                    $queue->extend($events, 60);
                    $queue->ackWith($events[0], ['follows']);
                    $queue->deadLetter($events[1], 'why');
                    break;
                }
                $queue->redriveAll();
                $queue->fetch([$later, $events[0]]);
                $queue->list(EventState::Ready, after: $queue->list(EventState::Ready, limit: 1)->next);
                $queue->stats();
                $queue->config();
                $queue->cancel($later);
                $queue->putSchedule(new Schedule('a', cron: '@daily', payload: \str_repeat('x', 1_000)));
                self::thrown(static fn () => $queue->putSchedule(new Schedule('a')));
                $queue->syncSchedules('app', 1, [new Schedule('b', every: 60, headers: ['a' => 'b'])]);
                $queue->getSchedule('a');
                $queue->listSchedules();
                $queue->triggerSchedule('b');
                $queue->removeSchedule('a');
                $queue->worker()->drain(static fn ($job) => $job->isLost());
            }
        };
        self::assertGrowth($every, 500, 3_000);
    }

    /**
     * @return array<string, array{string}>
     */
    public function foreign(): array
    {
        return ['phpredis' => ['phpredis'], 'predis' => ['predis'], 'redis' => ['redis']];
    }

    /** @dataProvider foreign */
    public function testOverAConnection(string $kind): void
    {
        $ick = $this->connect($kind)->ick($this->name);
        $every = static function (int $rounds) use ($ick): void {
            for ($round = 0; $round < $rounds; ++$round) {
                self::useAll($ick);
            }
        };
        self::assertGrowth($every, 300, 3_000);
    }

    private static function useAll(DirtyListInterface $ick): void
    {
        $ick->add([[1, 'a'], [2, 'b'], 'c']);
        $ick->reserve(2);
        $ick->peek(10);
        $ick->stats();
        foreach ($ick->batches(2) as $batch) {
            $ick->add(['d']);
            break;
        }
        $ick->commit(['a']);
        self::thrown(static fn () => $ick->add([[\NAN, 'x']]));
        self::thrown(static fn () => $ick->reserve(10 ** 17));
        $ick->delete();
    }

    /**
     * @return array<string, array{string}> what copies more than 30 MB
     */
    public function results(): array
    {
        return [
            'messages' => ['$queue->consumer("g", "c")->readMany(100)'],
            'loop' => ['$queue->consumer("g", "c")->messages()->next()'],
            'dead letters' => ['$queue->deadLetters()'],
            'keys' => ['$queue->cordonDeadlineExceeded(10 ** 12)'],
            'entries' => ['$ick->peek(100)'],
            'tasks' => ['$store->claimMany("q", 10)'],
            'a job' => ['$jobs->next()'],
            'documents' => ['$store->listDocs("n")'],
        ];
    }

    /**
     * A fatal error about memory comes while a result is copied, and calls no destructors; a worker
     * of php-fpm lives on.
     *
     * @dataProvider results
     */
    public function testAFatalErrorFreesTheResult(string $call): void
    {
        $program = <<<PHP
            use Millpond\{ConsumerOptions, ShuffleOptions};
            use Millpond\Tasks\{NewDoc, NewTask};
            require \$argv[1];
            \$libc = FFI::cdef('struct info { size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks,'
                . ' fordblks, keepcost; }; struct info mallinfo2(void);');
            \$used = function () use (\$libc) {
                \$info = \$libc->mallinfo2();
                return (\$info->hblkhd + \$info->uordblks) >> 20;
            };
            // All is freed at the end, what the client holds too.
            \$before = \$used();
            \$client = Millpond\Millpond::connect('memory:');
            [\$queue, \$ick] = [\$client->shuffleQueue('q', new ShuffleOptions(1)), \$client->ick('files')];
            \$queue->write('t', ['n' => str_repeat('x', 40_000_000)]);
            \$dies = \$queue->consumer('dying', 'c', new ConsumerOptions(maxDeliveries: 1));
            \$dies->readMany(1);
            \$dies->reclaim(0, 1);
            for (\$number = 0; \$number < 40; ++\$number) {
                \$long = str_repeat((string) \$number, 500_000);
                \$ick->add([\$long]);
                \$queue->writeTracked('u', ['job' => \$long], 'job', 1_000_000_000);
            }
            \$store = \$client->tasks('t');
            for (\$number = 0; \$number < 3; ++\$number) {
                \$long = '"' . str_repeat((string) \$number, 16_000_000) . '"';
                \$store->modify((new Millpond\Tasks\Modification())->insert(new NewTask('q', json: \$long))->insertDoc(new NewDoc('n', "k\$number", json: \$long)));
            }
            \$jobs = \$store->worker('q')->jobs();
            unset(\$long);
            gc_mem_caches();
            ini_set('memory_limit', '30M');
            register_shutdown_function(function () use (\$used, \$before) {
                \$kept = \$used() - \$before;
                echo \$kept < 10 ? 'freed' : "kept \$kept MiB";
                exit(0);
            });
            $call;
            echo 'no error';
            PHP;
        $command = [\PHP_BINARY, '-d', 'display_errors=0', '-d', 'log_errors=0', '-r', $program, __DIR__ . '/bootstrap.php'];
        self::assertSame('freed', self::program($command));
    }

    /**
     * @param callable(int): void $calls makes this many rounds of calls
     */
    private static function assertGrowth(callable $calls, int $warmUp, int $rounds): void
    {
        $calls($warmUp);
        [$php, $resident] = [\memory_get_usage(), self::residentBytes()];
        $calls($rounds);
        self::assertLessThan(self::GROWTH_BYTES_MAX, self::residentBytes() - $resident);
        self::assertLessThan(64 * 1024, \memory_get_usage() - $php);
    }

    private static function residentBytes(): int
    {
        \gc_collect_cycles();
        \preg_match('/^VmRSS:\s+(\d+) kB/m', \file_get_contents('/proc/self/status'), $found);

        return (int) $found[1] * 1024;
    }
}
