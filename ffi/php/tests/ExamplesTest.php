<?php

declare(strict_types=1);

namespace Millpond\Tests;

use Millpond\Millpond;
use Millpond\ShuffleOptions;
use Millpond\TrackKeys;

/**
 * The project's examples do what they say.
 */
final class ExamplesTest extends TestCase
{
    private static function example(string $name, string ...$arguments): string
    {
        $file = \dirname(__DIR__, 3) . "/examples/php/$name.php";

        return self::program([\PHP_BINARY, '-d', 'zend.assertions=1', $file, ...$arguments]);
    }

    /**
     * What a worker prints, which is told to stop when this is so.
     */
    private static function untilStopped(string $name, string $url, \Closure $isDone): string
    {
        $file = \dirname(__DIR__, 3) . "/examples/php/$name.php";
        $worker = \proc_open([\PHP_BINARY, $file, $url], [1 => ['pipe', 'w'], 2 => ['redirect', 1]], $pipes);
        try {
            self::waitFor($isDone);
        } catch (\Throwable $failure) {
            // Freeing it waits for its end.
            \proc_terminate($worker, \SIGKILL);
            self::fail($failure->getMessage() . "\nprinted until then:\n" . \stream_get_contents($pipes[1]));
        }
        \proc_terminate($worker);
        $printed = \stream_get_contents($pipes[1]);
        self::assertSame(0, \proc_close($worker), $printed);

        return $printed;
    }

    public function testAlone(): void
    {
        self::assertSame("a.txt changed while it was being worked on, and came again\n", self::example('first'));
        self::assertSame("flagged; 4 documents wait, 0 are being worked on\n", self::example('producer'));
        self::assertStringEndsWith("3 documents; nothing is left\n", self::example('consumer'));
        self::assertStringEndsWith("had taken that died was taken over\n", self::example('shuffle'));
        self::assertSame("9 messages written\n", self::example('shuffle_producer'));
        self::assertStringEndsWith("0 still with others\n", self::example('shuffle_consumer'));
        self::assertStringStartsWith('one order, one invoice: tasks.modify: task ', self::example('tasks'));
        self::assertSame("6 mails to send\n", self::example('tasks_producer'));
        self::assertStringEndsWith("3 mails archived\n", self::example('tasks_worker'));
        self::assertStringEndsWith("order 7 is sent (attempt 1)\n", self::example('events'));
        self::assertSame("9 webhooks to deliver\n", self::example('events_producer'));
        self::assertStringEndsWith("1 webhooks could not be delivered\n", self::example('events_worker'));
        self::assertMatchesRegularExpression('/^next at .*:30:00 UTC\nclean up for .*\n$/', self::example('events_nightly'));
        self::assertSame("req-2 shows <h1>Shop</h1>\nreq-1 sets no old prices\n", self::example('volatile'));
        self::assertSame("100 carts were removed and 20 mails sent, and no page failed\n", self::example('recruiter'));
        self::assertSame("7 of 11 customers have work queued, as the database says\n", self::example('tracker'));
    }

    public function testProducerAndConsumerShareAServer(): void
    {
        $servers = new Servers();
        self::assertStringContainsString('4 documents wait', self::example('producer', $servers->url));
        self::assertStringContainsString('working on busy.txt', self::example('consumer', $servers->url));
        self::assertStringContainsString('came again', self::example('first', $servers->url));
        self::assertSame("9 messages written\n", self::example('shuffle_producer', $servers->url));
        $queue = Millpond::connect($servers->url)->shuffleQueue('{examples/jobs}');
        $printed = self::untilStopped('shuffle_consumer', $servers->url, static fn (): bool => $queue->len() === 0);
        self::assertSame(9, \substr_count($printed, 'printing page '));
        self::assertStringEndsWith("\n0 still with others\n", $printed);
        self::assertStringContainsString('was taken over', self::example('shuffle', $servers->url));
        self::assertSame("6 mails to send\n", self::example('tasks_producer', $servers->url));
        $store = Millpond::connect($servers->url)->tasks('examples/mail');
        $worked = self::untilStopped('tasks_worker', $servers->url, static fn (): bool => ($store->queues()['archive'] ?? 0) === 6);
        self::assertSame(6, \substr_count($worked, 'sending to '));
        self::assertStringEndsWith("6 mails archived\n", $worked);
        self::assertStringEndsWith('printed {"account":"7","price":30}' . "\n", self::example('tasks', $servers->url));
        self::assertStringContainsString('order 7 is paid (attempt 2)', self::example('events', $servers->url));
        self::assertSame("9 webhooks to deliver\n", self::example('events_producer', $servers->url));
        $events = Millpond::connect($servers->url)->events('examples/webhooks');
        $isDone = static fn (): bool => $events->stats()->events === $events->stats()->dead;
        $delivered = self::untilStopped('events_worker', $servers->url, $isDone);
        self::assertSame(8, \substr_count($delivered, 'deliver to '), $delivered);
        self::assertMatchesRegularExpression('/bob: paid.*bob: packed.*bob: sent/s', $delivered);
        self::assertStringEndsWith("\n1 webhooks could not be delivered\n", $delivered);
    }

    public function testANightlyJobIsDoneOnce(): void
    {
        $servers = new Servers();
        $command = [\PHP_BINARY, \dirname(__DIR__, 3) . '/examples/php/events_nightly.php', $servers->url, '1'];
        $printed = $this->folder() . '/printed';
        $start = static fn (): mixed => \proc_open($command, [1 => ['file', $printed, 'a'], 2 => ['redirect', 1]], $pipes);
        $both = [$start(), $start()];
        // A signal ends one that does not handle it yet.
        $handles = static fn (mixed $of): bool => (bool) \preg_match('/^SigCgt:.*[4-7c-f]...$/m', \file_get_contents('/proc/' . \proc_get_status($of)['pid'] . '/status'));
        $nights = static fn (): array => \preg_grep('/^clean up for /', \file($printed));
        try {
            self::waitFor(static fn (): bool => \count($nights()) >= 3 && $handles($both[0]) && $handles($both[1]));
        } finally {
            \array_map(\proc_terminate(...), $both);
            $ends = \array_map(\proc_close(...), $both);
        }
        self::assertSame([0, 0], $ends, \file_get_contents($printed));
        self::assertSame(\array_unique($nights()), $nights());
    }

    /** An interrupted run has left messages that its workers had read, and others. */
    public function testARunThatWasCutOffIsNotInTheWayOfTheNext(): void
    {
        $servers = new Servers();
        $queue = Millpond::connect($servers->url)->shuffleQueue('{examples/shuffle}', new ShuffleOptions(64, 4));
        $queue->writeMany(\array_fill(0, 50, ['busy', ['image' => 'many.png']]));
        $queue->consumer('workers', 'worker-1')->readMany(5);
        $queue->consumer('workers', 'worker-2')->readMany(5);
        self::assertStringContainsString('was taken over', self::example('shuffle', $servers->url));
    }

    /** Producers that run at the same time delete their own messages. */
    public function testProducersDoNotGetInEachOthersWay(): void
    {
        $servers = new Servers();
        self::example('shuffle_producer', $servers->url);
        $queue = Millpond::connect($servers->url)->shuffleQueue('{examples/jobs}', new ShuffleOptions(16, 4, trackKeys: TrackKeys::Queue));
        $queue->writeTracked('ann', ['job' => 'ann/4'], 'job');
        self::assertSame("9 messages written\n", self::example('shuffle_producer', $servers->url));
        self::assertNotNull($queue->deleteTracked('ann/4'));
        self::assertSame(18, $queue->backlog());
    }

    public function testTheirAssertionsAreOn(): void
    {
        $failed = self::thrown(static fn () => self::program([\PHP_BINARY, '-d', 'zend.assertions=1', '-r', 'assert(false);']));
        self::assertStringContainsString('AssertionError', $failed->getMessage());
    }
}
