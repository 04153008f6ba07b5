<?php

declare(strict_types=1);

namespace Millpond\Tests;

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
    }

    public function testTheirAssertionsAreOn(): void
    {
        $failed = self::thrown(static fn () => self::program([\PHP_BINARY, '-d', 'zend.assertions=1', '-r', 'assert(false);']));
        self::assertStringContainsString('AssertionError', $failed->getMessage());
    }
}
