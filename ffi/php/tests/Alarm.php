<?php

declare(strict_types=1);

namespace Millpond\Tests;

/**
 * For the programs of tests: SIGALRM again and again. The kernel's timer counts while the program
 * runs, and a process that sends signals may not run at all on a machine with load.
 */
final class Alarm
{
    /** Kept: PHP remembers fields by the address of their type, which a second one could have. */
    private static ?\FFI $libc = null;

    /**
     * @param int $microseconds between two signals; 0 for no more
     */
    public static function every(int $microseconds): void
    {
        $libc = self::$libc ??= \FFI::cdef(
            'struct timer { long every_seconds, every_microseconds, first_seconds, first_microseconds; };'
            . ' int setitimer(int which, const struct timer *new, struct timer *old);',
        );
        $timer = $libc->new('struct timer');
        [$timer->every_microseconds, $timer->first_microseconds] = [$microseconds, $microseconds];
        [$address, $real] = [\FFI::addr($timer), 0];
        if ($libc->setitimer($real, $address, null) !== 0) {
            throw new \RuntimeException('the timer cannot be set');
        }
    }
}
