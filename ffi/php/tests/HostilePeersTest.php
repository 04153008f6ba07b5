<?php

declare(strict_types=1);

namespace Millpond\Tests;

use Millpond\Exception\MillpondException;
use Millpond\Millpond;

/**
 * A peer that sends a byte now and then, or reads nothing, holds no call beyond its timeout.
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
        $urls = \explode(' ', $servers->url);
        foreach ($urls as $url) {
            // The last one never reads: it takes only what the buffers hold.
            $member = \str_repeat('x', $url === \end($urls) ? 8 << 20 : 1);
            $took = [];
            do {
                $timeout = self::TIMEOUT * 2 ** \count($took);
                $took[] = self::elapsed($url, $member, $timeout);
                $isLate = \end($took) > $timeout * self::LATE;
            } while ($isLate && \count($took) < self::ATTEMPTS);
            self::assertFalse($isLate, $url . ': ' . \implode(' ', $took));
        }
    }

    private static function elapsed(string $url, string $member, float $timeout): float
    {
        $ick = Millpond::connect($url, timeout: $timeout)->ick('k');
        $began = \hrtime(true);
        try {
            $ick->add([[1.0, $member]]);
        } catch (MillpondException $error) {
            self::assertContains($error->errorName, ['TIMEOUT', 'CONNECTION_FAILED', 'UNAVAILABLE'], $url);

            return (\hrtime(true) - $began) / 1e9;
        }
        self::fail("$url returned");
    }
}
