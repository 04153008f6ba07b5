<?php

declare(strict_types=1);

namespace Millpond\Tests;

/**
 * A server that holds a call until a signal has been sent.
 */
final class PausedServer
{
    /** Waits until the server holds a script of the caller, whatever the machine's load. */
    private const SENDER = <<<'PHP'
        $redis = new Redis();
        $redis->connect('127.0.0.1', (int) $argv[1]);
        while (!preg_match('/ flags=b .* cmd=evalsha /', $redis->rawCommand('CLIENT', 'LIST'))) { usleep(1_000); }
        posix_kill((int) $argv[2], SIGUSR1);
        // A call that waits may end here because of the signal, and not with what the server returns.
        usleep(100_000);
        $redis->rawCommand('CLIENT', 'UNPAUSE');
        PHP;

    /** One for all tests, which nothing else uses. */
    private static ?Servers $servers = null;

    public function __construct()
    {
        self::$servers ??= new Servers();
    }

    public function url(): string
    {
        return self::$servers->url;
    }

    /**
     * Makes a call that gets SIGUSR1 while the server holds it.
     */
    public function interrupt(callable $call): void
    {
        // WRITE and not ALL, which would hold UNPAUSE too. It holds every script.
        self::$servers->admin()->rawCommand('CLIENT', 'PAUSE', '60000', 'WRITE');
        $sender = \proc_open([\PHP_BINARY, '-r', self::SENDER, (string) self::$servers->ports[0], (string) \getmypid()], [], $pipes);
        try {
            $call();
        } finally {
            \proc_close($sender);
        }
    }
}
