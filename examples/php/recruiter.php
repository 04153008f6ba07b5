<?php

/**
 * What a recruiter is for: work in the background with no process of its own. The pages of a site remove expired
 * carts and send mails, a little after each page.
 *
 * php examples/php/recruiter.php [URL]
 */

declare(strict_types=1);

use Millpond\Millpond;
use Millpond\Slice;
use Millpond\Why;

require __DIR__ . '/autoload.php';

$client = Millpond::connect($argv[1] ?? 'memory:');
// Of its own for each run.
$carts = $client->volatileHashes('examples/carts/' . getmypid());
for ($number = 0; $number < 100; $number++) {
    $carts->hash("customer $number")->set('book', '1', 0.001);
}
$outbox = array_map(fn (int $number): string => "mail $number", range(0, 19));
$removed = 0;
$failures = [];

$recruiter = $client->recruiter('examples/site/' . getmypid());
$recruiter->setDutyMax(1); // the pages of this program do nothing else
// Without a job it is the server's error: it did not respond in time.
$recruiter->onError(function (?string $job, Throwable $error) use (&$failures): void {
    $failures[$job ?? ''] = $error->getMessage();
});

// 200 slices a second, in all processes of the site together. A slice takes up to 20 ms.
$recruiter->install('reap', function (Slice $slice) use ($carts, &$removed): int {
    $count = 0;
    while (!$slice->isOver()) {
        $reaped = $carts->reap(10);
        $count += $reaped->fields;
        if (!$reaped->more) {
            break;
        }
        $slice->more(); // so that the job does not slow down
    }
    $removed += $count;

    return $count; // 0 says that there was nothing to do: the job then runs less often
}, perSecond: 200, budget: 0.02);

// One page in two, by a lottery in the process.
$recruiter->install('mail', function () use (&$outbox): bool {
    return array_shift($outbox) !== null; // send it
}, share: 0.5);

// A job that fails, fails no page.
$recruiter->install('report', fn () => throw new RuntimeException('no database'), share: 0.1);

while ($removed < 100 || $outbox !== [] || !isset($failures['report'])) {
    // A page is sent to its visitor here; then, where a server ends it, afterResponse() in place of enlist():
    $duty = $recruiter->enlist();
    assert(!$duty->recruited || $duty->why === Why::Worked);
    usleep(1000);
}
$recruiter->stop();
assert($recruiter->enlist()->why === Why::Stopped);
assert($removed === 100 && $failures['report'] === 'no database');
echo "100 carts were removed and 20 mails sent, and no page failed\n";

// What the processes have reported, a moment later.
do {
    usleep(1000);
    $items = array_column($recruiter->stats()->jobs, 'items', 'job');
} while (($items['reap'] ?? 0) !== 100 || ($items['mail'] ?? 0) !== 20);
$client->close();
