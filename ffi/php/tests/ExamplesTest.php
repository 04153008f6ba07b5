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

    public function testAlone(): void
    {
        self::assertSame("a.txt changed while it was being worked on, and came again\n", self::example('first'));
        self::assertSame("flagged; 4 documents wait, 0 are being worked on\n", self::example('producer'));
        self::assertStringEndsWith("3 documents; nothing is left\n", self::example('consumer'));
        self::assertStringEndsWith("had taken that died was taken over\n", self::example('shuffle'));
        self::assertSame("9 messages written\n", self::example('shuffle_producer'));
        self::assertStringEndsWith("3 pages, 0 given up, 0 still with others\n", self::example('shuffle_consumer'));
        self::assertStringStartsWith('one order, one invoice: tasks.modify: tasks to delete that are not there: ', self::example('tasks'));
        self::assertSame("6 mails to send\n", self::example('tasks_producer'));
        self::assertStringEndsWith("3 mails archived\n", self::example('tasks_worker'));
    }

    public function testProducerAndConsumerShareAServer(): void
    {
        $servers = new Servers();
        self::assertStringContainsString('4 documents wait', self::example('producer', $servers->url));
        self::assertStringContainsString('working on busy.txt', self::example('consumer', $servers->url));
        self::assertStringContainsString('came again', self::example('first', $servers->url));
        self::assertSame("9 messages written\n", self::example('shuffle_producer', $servers->url));
        self::assertStringEndsWith("9 pages, 0 given up, 0 still with others\n", self::example('shuffle_consumer', $servers->url));
        self::assertStringContainsString('was taken over', self::example('shuffle', $servers->url));
        self::assertSame("6 mails to send\n", self::example('tasks_producer', $servers->url));
        $worked = self::example('tasks_worker', $servers->url);
        self::assertStringStartsWith("sending to dee\n", $worked);
        self::assertStringEndsWith("sending to eve\n6 mails archived\n", $worked);
        self::assertStringEndsWith('printed {"account":"7","price":30}' . "\n", self::example('tasks', $servers->url));
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
