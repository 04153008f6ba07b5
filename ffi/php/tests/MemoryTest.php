<?php

declare(strict_types=1);

namespace Millpond\Tests;

use Millpond\Millpond;

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

    /**
     * @return iterable<string, array{Queue}>
     */
    public function queues(): iterable
    {
        return Queue::each(Queue::all());
    }

    /** @dataProvider queues */
    public function testEveryKindOfCall(Queue $row): void
    {
        $client = Millpond::connect('memory:');
        self::assertGrowth(static function (int $rounds) use ($row, $client): void {
            for ($round = 0; $round < $rounds; ++$round) {
                ($row->use)($client, 'q');
            }
        }, 500, 5_000);
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
        self::assertGrowth(static function (int $rounds) use ($ick): void {
            for ($round = 0; $round < $rounds; ++$round) {
                Queue::useIck($ick);
            }
        }, 300, 3_000);
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
