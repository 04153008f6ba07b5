<?php

declare(strict_types=1);

namespace Millpond\Tests;

use Millpond\Exception\CorruptException;
use Millpond\Millpond;

/** What opening a directory found is returned by the client and reported as warnings. */
final class RecoveryTest extends TestCase
{
    private const LOG = '/00000000000000000001.log';

    public function testATornEndAndACut(): void
    {
        $folder = $this->folder();
        [$data, $copy] = ["$folder/data", "$folder/copy"];
        $client = Millpond::connect("file:$data?sync=never");
        $empty = $client->recovery();
        self::assertSame([0, 0, true, null, []], [
            $empty->records, $empty->tornBytes, $empty->closed, $empty->suspicion, $empty->warnings,
        ]);
        $client->ick('files')->add([[1.0, 'a']]);
        $client->ick('files')->add([[2.0, 'b']]);
        // What a kill would leave, and less.
        \mkdir($copy, 0o700);
        self::cut($data . self::LOG, $copy . self::LOG);
        $client->close();

        [$found, $told] = self::open("file:$copy");
        self::assertSame([1, 0, false], [$found->records, $found->snapshotBytes, $found->closed]);
        self::assertGreaterThan(40, $found->tornBytes);
        self::assertGreaterThan(1000, $found->logBytes);
        self::assertStringContainsString("$found->tornBytes bytes", $found->suspicion);
        self::assertSame([$found->suspicion], $found->warnings);
        self::assertSame(["millpond: $found->suspicion"], $told);

        self::cut($copy . self::LOG, $copy . self::LOG);
        try {
            Millpond::connect("file:$copy");
            self::fail('it opened');
        } catch (CorruptException $error) {
            self::assertStringContainsString('the file ends here', $error->getMessage());
        }
        [, $told] = self::open("file:$copy?repair");
        self::assertStringStartsWith('millpond: repaired, ', $told[0]);
    }

    public function testOtherClientsHaveNone(): void
    {
        self::assertNull(Millpond::connect('memory:')->recovery());
    }

    /** @return array{\Millpond\Recovery, list<string>} what was found, and the warnings */
    private static function open(string $url): array
    {
        $told = [];
        \set_error_handler(static function (int $level, string $message) use (&$told): bool {
            self::assertSame(\E_USER_WARNING, $level);
            $told[] = $message;

            return true;
        });
        try {
            $client = Millpond::connect($url);
        } finally {
            \restore_error_handler();
        }
        $found = $client->recovery();
        $client->close();

        return [$found, $told];
    }

    private static function cut(string $from, string $to): void
    {
        \file_put_contents($to, \substr(\file_get_contents($from), 0, -5));
    }
}
