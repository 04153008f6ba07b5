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
    /** So long that no machine holds a call up for as long again. */
    private const TIMEOUT = 10.0;

    /** A call that takes more times its timeout than this one is late. */
    private const LATE = 1.9;

    public function testEveryCallEndsInTime(): void
    {
        $servers = new Servers('hostile');
        $ick = Millpond::connect($servers->url, timeout: self::TIMEOUT)->ick('k');
        $began = \hrtime(true);
        try {
            $ick->add([[1.0, 'x']]);
            self::fail("$servers->url returned");
        } catch (TimeoutException) {
            self::assertLessThan(self::TIMEOUT * self::LATE, (\hrtime(true) - $began) / 1e9);
        }
    }
}
