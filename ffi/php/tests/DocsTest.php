<?php

declare(strict_types=1);

namespace Millpond\Tests;

/**
 * Every example that is shown runs.
 */
final class DocsTest extends TestCase
{
    private const AUTOLOAD = 'require $argv[1]; ';

    public function testReadme(): void
    {
        $readme = \file_get_contents(\dirname(__DIR__) . '/README.md');
        \preg_match_all('/^```(php|output)\n(.*?)^```$/ms', $readme, $blocks, \PREG_SET_ORDER);
        $code = $expected = '';
        $imports = [];
        foreach ($blocks as [, $language, $text]) {
            if ($language === 'output') {
                $expected .= $text;
                continue;
            }
            \preg_match_all('/^use .*;$/m', $text, $used);
            $imports = [...$imports, ...$used[0]];
            $code .= \preg_replace('/^use .*;$/m', '', $text);
        }
        self::assertGreaterThan(8, \count($blocks));
        $imports = \implode(' ', \array_unique($imports));
        $port = Servers::shared()->ports[0];
        $program = "$imports const REDIS_PORT = $port; " . self::AUTOLOAD . $code;
        self::assertSame($expected, self::program([\PHP_BINARY, '-r', $program, __DIR__ . '/bootstrap.php']));
        Servers::shared()->admin()->del('files', 'files/ick/{files}/pset', 'files/ick/{files}/cset');
    }

    /**
     * @return iterable<string, array{string}>
     */
    public function shown(): iterable
    {
        foreach (\glob(\dirname(__DIR__) . '/src/{*,Exception/*,Internal/*,Tasks/*}.php', \GLOB_BRACE) as $file) {
            \preg_match_all('~^ *+/\*\*\n(.*?)^ *+\*/~ms', \file_get_contents($file), $comments);
            foreach ($comments[1] as $number => $comment) {
                // Behind a tag such as @param text is indented too.
                $text = \preg_split('/^ *+\* @/m', $comment)[0];
                \preg_match_all('/^ *+\*     (.*)$/m', $text, $lines);
                if ($lines[1] !== []) {
                    yield \basename($file) . ", comment $number" => [\implode("\n", $lines[1])];
                }
            }
        }
    }

    /** @dataProvider shown */
    public function testInTheSource(string $code): void
    {
        $imports = 'use Millpond\Millpond; use Millpond\Exception\{DependencyException, MillpondException}; '
            . 'use Millpond\Tasks\{Job, Modification, NewDoc, NewTask, TaskId, WorkerOptions}; '
            . 'use Millpond\{ConsumerOptions, EventConfigChange, EventJob, EventReceipt, EventState, ManualClock, NewEvent, RejectJob, RetryJob, Schedule, ShuffleJob, ShuffleOptions, ShuffleWorkerOptions, Slice}; ';
        $printed = self::program([\PHP_BINARY, '-r', $imports . self::AUTOLOAD . $code, __DIR__ . '/bootstrap.php']);
        $printed = \explode("\n", \rtrim($printed));
        // What a line prints stands behind it, or below the last.
        \preg_match_all('~^\s*(?:echo .*?|)// ([^,:\n]+)~m', $code, $expected);
        foreach ($expected[1] as $line) {
            self::assertContains($line, $printed, $code);
        }
        self::assertNotSame([''], $printed);
    }

    public function testTheseWereFound(): void
    {
        $files = \array_map(
            static fn (string $name): string => \strtok($name, ','),
            \array_keys(\iterator_to_array($this->shown())),
        );
        self::assertSame(['Batches.php', 'ClientInterface.php', 'ClientInterface.php', 'ConsumerLease.php',
            'Deliveries.php', 'DirtyListInterface.php', 'EventQueue.php', 'EventQueueInterface.php', 'EventQueueInterface.php', 'EventQueueInterface.php',
            'EventQueueInterface.php', 'EventQueueInterface.php', 'EventReceipt.php', 'EventWorker.php', 'ExpiringHashInterface.php', 'ExpiringHashInterface.php',
            'ExpiringHashInterface.php', 'ExpiringHashInterface.php', 'FieldLock.php', 'Garbage.php',
            'IckChannel.php', 'ManualClock.php', 'Messages.php', 'Millpond.php', 'Millpond.php', 'NewEvent.php',
            'QueueTracker.php', 'QueueTrackerInterface.php', 'Recruiter.php', 'Schedule.php', 'ShuffleConsumer.php', 'ShuffleQueue.php', 'ShuffleQueueInterface.php',
            'ShuffleQueueInterface.php', 'ShuffleQueueInterface.php', 'ShuffleQueueInterface.php', 'ShuffleWorker.php',
            'Slice.php', 'VolatileHash.php', 'VolatileHashes.php',
            'DependencyException.php', 'MillpondException.php', 'TaskMethods.php', 'Claims.php', 'Doc.php',
            'Job.php', 'Jobs.php', 'Modification.php', 'NewDoc.php', 'NewTask.php', 'Task.php', 'TaskChange.php',
            'TaskStore.php', 'TaskStoreInterface.php', 'TaskStoreInterface.php', 'Worker.php', 'WorkerInterface.php', 'WorkerOptions.php'], $files);
    }
}
