<?php

declare(strict_types=1);

namespace Millpond\Tests;

/**
 * A signal handler throws during a call of a shuffle queue: what the call took is not lost.
 */
final class ShuffleInterruptedTest extends TestCase
{
    /**
     * The handler throws while the server is paused in the middle of a call: what the call takes
     * is returned by the next one.
     */
    public function testAHandlerThatThrowsDuringACallLosesNothing(): void
    {
        $printed = $this->interrupted(<<<'PHP'
            $interrupted(fn () => $consumer->readMany(3));
            echo $consumer->read()->field('n'), $names($consumer->readMany(9)), $names($consumer->readMany(1)), ' ';
            $interrupted(fn () => $consumer->readMany(1, 5));
            echo $names($consumer->readMany(1, 5)), ' ';
            $loop = $consumer->messages(1);
            $interrupted(fn () => $loop->next());
            echo $names($loop->next()), json_encode($loop->next()), ' ', $queue->pendingCount('g'), ' ';
            $garbage = $queue->gc();
            $interrupted(fn () => $garbage->next());
            echo count($garbage->next()), ' ', $garbage->deleted();
            PHP);
        self::assertSame('thrown abcd thrown e thrown fnull 6 thrown 6 0', $printed);
    }

    public function testAHandlerThatThrowsInALoopLosesNothing(): void
    {
        $printed = $this->interrupted(<<<'PHP'
            foreach ([null, 1] as $wait) {
                $loop = $consumer->messages(1, $wait);
                $interrupted(function () use ($loop) { foreach ($loop as $batch) { echo 'not kept'; } });
                foreach ($loop as $batch) {
                    echo $names($batch), ' ';
                    if ($names($batch) === 'b') { break; }
                }
            }
            $garbage = $queue->gc();
            $interrupted(function () use ($garbage) { foreach ($garbage as $values) { echo 'not kept'; } });
            foreach ($garbage as $values) { echo count($values), ' ', $garbage->deleted(), ' '; }
            echo $garbage->deleted();
            PHP);
        self::assertSame('thrown a b thrown c d e f thrown 6 0 6', $printed);
    }

    public function testWhatWasReclaimedWhileAHandlerThrewIsReturnedNext(): void
    {
        $printed = $this->interrupted(<<<'PHP'
            $consumer->readMany(5);
            $other = $queue->consumer('g', 'd', new ConsumerOptions(maxDeliveries: 3));
            $strict = $queue->consumer('g', 'd', new ConsumerOptions(maxDeliveries: 2));
            $show = function ($reclaimed) use ($names) {
                echo $names($reclaimed->messages), ' ', $reclaimed->messages[0]->deliveries ?? '-', ' ', $reclaimed->dead, ' ';
            };
            $interrupted(fn () => $other->reclaim(0, 4));
            $show($other->reclaim(60, 3));
            $show($other->reclaim(60, 3));
            $show($other->reclaim(60, 3));
            $interrupted(fn () => $strict->reclaim(0, 100));
            $show($strict->reclaim(60, 3));
            $show($strict->reclaim(60, 3));
            PHP);
        self::assertSame('thrown abc 2 0 d 2 0  - 0 thrown e 2 4  - 0', \rtrim($printed));
    }

    /** A call that found nothing is not returned by the next one. */
    public function testNothingIsNotKept(): void
    {
        $printed = $this->interrupted(<<<'PHP'
            $consumer->readMany(10);
            $interrupted(fn () => $consumer->read());
            $interrupted(fn () => $consumer->reclaim(60, 1));
            $queue->write('t', ['n' => 'new']);
            echo $consumer->read()->field('n'), ' ', $consumer->reclaim(0, 1)->messages[0]->field('n');
            PHP);
        self::assertSame('thrown thrown new a', $printed);
    }

    public function testWhatAHandlerLeftIsNotReturnedByAForkToo(): void
    {
        $printed = $this->interrupted(<<<'PHP'
            $ick = Millpond\Millpond::connect($argv[2])->ick('files');
            $ick->add(['x']);
            [$loop, $garbage, $batches] = [$consumer->messages(1), $queue->gc(), $ick->batches(1)];
            $interrupted(fn () => $consumer->readMany(2));
            $interrupted(fn () => $loop->next());
            $other = $queue->consumer('g', 'd');
            $interrupted(fn () => $other->reclaim(0, 1));
            $interrupted(fn () => $garbage->next());
            $interrupted(fn () => $batches->next());
            $show = function () use ($names, $consumer, $loop, $other, $garbage, $batches) {
                echo $names($consumer->readMany(9)), ' ', $names($loop->next() ?? []), ' ',
                    $names($other->reclaim(60, 1)->messages), ' ', count($garbage->next()), ' ',
                    $batches->next()[0]->member ?? '', "\n";
            };
            if (pcntl_fork() === 0) { $show(); exit; }
            pcntl_wait($status);
            $show();
            echo $batches->commit();
            PHP);
        self::assertSame("thrown thrown thrown thrown thrown def   6 x\nab c a 6 x\n1", $printed);
    }

    /**
     * Runs a program with a queue of six messages, in which `$interrupted` makes a call while the
     * server is paused and a handler throws.
     */
    private function interrupted(string $code): string
    {
        $program = <<<'PHP'
            use Millpond\{ConsumerOptions, ShuffleOptions};
            require $argv[1];
            pcntl_async_signals(true);
            pcntl_signal(SIGUSR1, function () { throw new DomainException(); });
            $queue = Millpond\Millpond::connect($argv[2])->shuffleQueue($argv[3], new ShuffleOptions(1));
            $server = new Millpond\Tests\PausedServer(parse_url($argv[2], PHP_URL_PORT));
            $interrupted = function ($take) use ($server) {
                try { $server->interrupt($take); } catch (DomainException) { echo 'thrown '; }
            };
            $names = fn ($messages) => implode('', array_map(fn ($message) => $message->field('n'), $messages));
            foreach (['a', 'b', 'c', 'd', 'e', 'f'] as $name) {
                $queue->writeTracked('t', ['n' => $name], 'n', 1_000_000_000);
            }
            $consumer = $queue->consumer('g', 'c');

            PHP;
        $server = new Servers();

        return self::program(
            [\PHP_BINARY, '-r', $program . $code, __DIR__ . '/bootstrap.php', $server->url, $this->name],
        );
    }
}
