<?php

/**
 * What a queue tracker is for: a page asks which customers have work queued, and the work is in a database, where nobody
 * could ask that quickly. The pages themselves keep the tracker up to date, in small slices.
 *
 * php examples/php/tracker.php [URL]
 */

declare(strict_types=1);

use Millpond\Millpond;
use Millpond\Slice;

require __DIR__ . '/autoload.php';

$client = Millpond::connect($argv[1] ?? 'memory:');
// Of its own for each run.
$tracker = $client->queueTracker('examples/customers/' . getmypid());

$database = new PDO('sqlite::memory:');
$database->exec('create table work(number integer primary key, customer text not null)');
$insert = $database->prepare('insert into work(customer) values (?)');
for ($number = 0; $number < 100; $number++) {
    $insert->execute(['customer ' . $number % 10]);
}

$recruiter = $client->recruiter('examples/shop/' . getmypid());
$recruiter->setDutyMax(1); // the pages of this program do nothing else
$failure = null;
// Without a job it is the server's error: it did not respond in time.
$recruiter->onError(function (?string $job, Throwable $error) use (&$failure): void {
    $failure = $job === null ? $failure : $error;
});

// One scan and one prune at a time, in all processes of the shop together.
$recruiter->install('scan', function (Slice $slice) use ($tracker, $database): int {
    $scanned = $tracker->scan(function (?string $after, int $limit) use ($database): array {
        $page = $database->prepare('select number, customer from work where number > ? order by number limit ?');
        $page->execute([$after ?? 0, $limit]);

        return $page->fetchAll(PDO::FETCH_NUM);
    });
    if ($scanned->more) {
        $slice->more(); // so that the job does not slow down
    }

    return $scanned->rows;
}, perSecond: 200, maxRunning: 1);

$recruiter->install('prune', function (Slice $slice) use ($tracker, $database): int {
    $pruned = $tracker->prune(function (array $ids) use ($database): array {
        $places = implode(', ', array_fill(0, count($ids), '?'));
        $queued = $database->prepare("select distinct customer from work where customer in ($places)");
        $queued->execute($ids);

        return array_diff($ids, $queued->fetchAll(PDO::FETCH_COLUMN)); // those without a row
    });
    if ($pruned->removed > 0) {
        $slice->more();
    }

    return $pruned->removed;
}, perSecond: 200, maxRunning: 1);

$customers = array_map(fn (int $number): string => "customer $number", range(0, 10));
$enlistUntil = function (array $expected) use ($recruiter, $tracker, $customers, &$failure): void {
    while (array_keys(array_filter($tracker->areQueued($customers))) !== $expected) {
        $failure === null || throw $failure;
        // A page is sent to its visitor here; then, where a server ends it, afterResponse() in place of enlist():
        $recruiter->enlist();
        usleep(1000);
    }
};
$enlistUntil(range(0, 9));

// The work of four customers is done, and there is work for another one. Its row first, and then its id.
$database->exec("delete from work where customer in ('customer 1', 'customer 3', 'customer 5', 'customer 7')");
$insert->execute(['customer 10']);
$tracker->add('customer 10');
assert($tracker->isQueued('customer 10'));
$enlistUntil([0, 2, 4, 6, 8, 9, 10]);
assert($tracker->len() === 7);
$recruiter->stop();
echo "7 of 11 customers have work queued, as the database says\n";
$client->close();
