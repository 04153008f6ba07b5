<?php

declare(strict_types=1);

namespace Millpond\Tests;

use PHPUnit\Runner\AfterLastTestHook;
use PHPUnit\Runner\BeforeTestHook;

/**
 * Names a test that hangs and ends the suite. From another process, since PHP runs no handler during a
 * call into C.
 */
final class Limit implements BeforeTestHook, AfterLastTestHook
{
    /** @var resource|null */
    private $process;

    /** @var array<int, resource> where the names of tests go, as they begin */
    private array $pipes = [];

    public function executeBeforeTest(string $test): void
    {
        if ($this->process === null) {
            $program = \dirname(__DIR__, 3) . '/tests/limited';
            $seconds = \getenv('MILLPOND_TEST_SECONDS_MAX') ?: '180';
            $this->process = \proc_open([$program, $seconds, '--parent'], [['pipe', 'r']], $this->pipes);
        }
        \fwrite($this->pipes[0], \str_replace("\n", ' ', $test) . "\n");
    }

    public function executeAfterLastTest(): void
    {
        if ($this->process !== null) {
            \fwrite($this->pipes[0], "\n");
        }
    }
}
