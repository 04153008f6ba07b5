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

    private const TOLERANCE = 0.1;

    /** A machine that is busy with other things may be late itself: one of this many calls is in time. */
    private const ATTEMPTS = 25;

    public function testEveryCallEndsInTime(): void
    {
        $servers = new Servers('hostile');
        $urls = \explode(' ', $servers->url);
        foreach ($urls as $url) {
            // The last one never reads: it takes only what the buffers hold.
            $member = \str_repeat('x', $url === \end($urls) ? 8 << 20 : 1);
            $took = [];
            do {
                $took[] = self::elapsed($url, $member);
            } while (\end($took) > self::TIMEOUT + self::TOLERANCE && \count($took) < self::ATTEMPTS);
            self::assertLessThan(self::TIMEOUT + self::TOLERANCE, \min($took), $url . ': ' . \implode(' ', $took));
        }
    }

    private static function elapsed(string $url, string $member): float
    {
        $ick = Millpond::connect($url, timeout: self::TIMEOUT)->ick('k');
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
