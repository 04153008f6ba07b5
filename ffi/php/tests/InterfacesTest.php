<?php

declare(strict_types=1);

namespace Millpond\Tests;

use Millpond\ClientInterface;
use Millpond\Tasks\Job;
use Millpond\Tasks\JobInterface;
use Millpond\Tasks\Modification;
use Millpond\Tasks\NewTask;
use Millpond\Tasks\Task;
use Millpond\Tasks\TaskStoreInterface;

/**
 * A program can put something else in the place of what it uses: each class that is more than a value has
 * an interface.
 */
final class InterfacesTest extends TestCase
{
    /**
     * @return iterable<string, array{class-string}>
     */
    public function classes(): iterable
    {
        foreach (\glob(\dirname(__DIR__) . '/src/{*,Tasks/*}.php', \GLOB_BRACE) as $file) {
            $name = \strtr(\substr($file, \strlen(\dirname(__DIR__) . '/src/'), -4), '/', '\\');
            // A clock is for tests itself: nobody puts something else in its place.
            $isHandle = \method_exists("Millpond\\$name", '__destruct') && $name !== 'ManualClock';
            if ($isHandle || \in_array($name, ['Ick', 'Tasks\Worker', 'BorrowedIck', 'BorrowedClient', 'BorrowedVolatileHash', 'BorrowedQueueTracker'], true)) {
                yield $name => ["Millpond\\$name"];
            }
        }
    }

    /** @dataProvider classes */
    public function testEveryMethodIsInAnInterface(string $class): void
    {
        $class = new \ReflectionClass($class);
        $interfaces = \array_filter(
            $class->getInterfaces(),
            static fn (\ReflectionClass $of): bool => \str_starts_with($of->name, 'Millpond\\'),
        );
        self::assertNotSame([], $interfaces);
        foreach ($class->getMethods(\ReflectionMethod::IS_PUBLIC) as $method) {
            $isOwn = \str_starts_with($method->name, '__') || \str_contains((string) $method->getDocComment(), '@internal');
            if ($isOwn || $method->class === 'Millpond\BorrowedClient' && $method->name === 'close') {
                continue;
            }
            $has = \array_filter($interfaces, static fn (\ReflectionClass $of): bool => $of->hasMethod($method->name));
            self::assertNotSame([], $has, $method->name);
        }
        foreach ($interfaces as $interface) {
            self::assertInstanceOf($interface->name, $this->createMock($interface->name));
        }
    }

    public function testAServiceWithoutItsStore(): void
    {
        $service = static function (ClientInterface $client): string {
            return $client->tasks('shop')->insert(new NewTask('inbox', ['order' => 7]))->id;
        };
        $store = $this->createMock(TaskStoreInterface::class);
        $store->expects(self::once())->method('insert')
            ->with(self::callback(static fn (NewTask $task): bool => $task->json === '{"order":7}'))
            ->willReturn(new Task('t1', 0, 'inbox'));
        $client = $this->createMock(ClientInterface::class);
        $client->method('tasks')->with('shop')->willReturn($store);
        self::assertSame('t1', $service($client));
    }

    public function testAHandlerWithoutItsJob(): void
    {
        $handler = static fn (JobInterface $job): Modification => $job->delete();
        $job = $this->createMock(JobInterface::class);
        $job->expects(self::once())->method('delete')->willReturn(new Modification());
        self::assertInstanceOf(Modification::class, $handler($job));
        $store = $this->store('memory');
        $store->insert(new NewTask('q'));
        $store->worker('q')->drain($handler);
        self::assertSame([], $store->queues());
        self::assertTrue(\is_subclass_of(Job::class, JobInterface::class));
    }
}
