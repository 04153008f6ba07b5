<?php

declare(strict_types=1);

namespace Millpond\Tests;

/**
 * A test that hangs, in a suite of its own.
 */
final class LimitTest extends TestCase
{
    public function testWhatHangsIsNamedAndEnded(): void
    {
        $test = $this->folder() . '/HangingTest.php';
        \file_put_contents($test, <<<'PHP'
            <?php

            final class HangingTest extends \PHPUnit\Framework\TestCase
            {
                public function testInANativeCall(): void
                {
                    // A step of PHP's, however long: no handler runs.
                    Millpond\Millpond::connect('memory:')->ick('x')->batches(1, wait: INF)->next();
                }
            }
            PHP);
        $configuration = \dirname(__DIR__) . '/phpunit.xml.dist';
        $command = ['phpunit', '--configuration', $configuration, $test];
        $environment = ['MILLPOND_TEST_SECONDS_MAX' => '1'] + \getenv();
        $process = \proc_open($command, [1 => ['pipe', 'w'], 2 => ['redirect', 1]], $pipes, null, $environment);
        $printed = \stream_get_contents($pipes[1]);
        \proc_close($process);
        self::assertStringContainsString('HANGS: HangingTest::testInANativeCall did not end within 1 s', $printed);
    }
}
