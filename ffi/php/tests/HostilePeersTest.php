<?php

declare(strict_types=1);

namespace Millpond\Tests;

use Millpond\Exception\TimeoutException;
use Millpond\Millpond;

/**
 * A peer that sends a byte now and then holds no call beyond its timeout.
 */
final class HostilePeersTest extends TestCase
{
    private const TIMEOUT = 0.4;

    /** A call that takes more times its timeout than this one is late. */
    private const LATE = 1.9;

    /**
     * A machine that is busy may be late itself. A call that is late is made again with twice the time, so that
     * only what takes longer than it may on a machine of any speed is late each time.
     */
    private const ATTEMPTS = 6;

    public function testEveryCallEndsInTime(): void
    {
        $servers = new Servers('hostile');
        $took = [];
        do {
            $timeout = self::TIMEOUT * 2 ** \count($took);
            $took[] = self::elapsed($servers->url, $timeout);
            $isLate = \end($took) > $timeout * self::LATE;
        } while ($isLate && \count($took) < self::ATTEMPTS);
        self::assertFalse($isLate, \implode(' ', $took));
    }

    private static function elapsed(string $url, float $timeout): float
    {
        $ick = Millpond::connect($url, timeout: $timeout)->ick('k');
        $began = \hrtime(true);
        try {
            $ick->add([[1.0, 'x']]);
        } catch (TimeoutException) {
            return (\hrtime(true) - $began) / 1e9;
        }
        self::fail("$url returned");
    }
}
