<?php

/**
 * What a volatile hash is for: sessions that expire, each at its own time, and pages that many ask for and
 * one computes.
 *
 * php examples/php/volatile.php [URL]
 */

declare(strict_types=1);

use Millpond\Exception\LeaseLostException;
use Millpond\Millpond;

require __DIR__ . '/autoload.php';

const MINUTE = 60;

$client = Millpond::connect($argv[1] ?? 'memory:');
// Hashes of their own for each run.
$sessions = $client->volatileHash('examples/sessions/' . getmypid());
$pages = $client->volatileHash('examples/pages/' . getmypid());

// A session lives for half an hour after it was last used.
assert($sessions->setIfAbsent('ann', 'cart 3', 30 * MINUTE));
assert(!$sessions->setIfAbsent('ann', 'cart 4', 30 * MINUTE));
$sessions->setMany(['bob' => 'cart 5', 'cy' => 'cart 6'], 10 * MINUTE);
assert($sessions->touch('bob', 30 * MINUTE));
assert($sessions->getMany(['ann', 'dee']) === ['cart 3', null]);

// Those first that expire first.
$first = $sessions->fields(limit: 1);
assert(array_column($first->fields, 'field') === ['cy']);
$rest = $sessions->fields(after: $first->next, omitValues: true);
assert(array_column($rest->fields, 'field') === ['ann', 'bob']);

// Two requests ask for a page that is not there: one of them computes it, the other one waits.
$fence = $pages->getOrAcquire('/', 'req-1', MINUTE)->fence;
assert($fence !== null);
assert($pages->getOrAcquire('/', 'req-2', MINUTE)->remaining > 0);
$pages->setAndRelease('/', 'req-1', '<h1>Shop</h1>', 10 * MINUTE);
$page = $pages->getOrAcquire('/', 'req-2', MINUTE)->value;
assert($page === '<h1>Shop</h1>');
echo "req-2 shows $page\n";

// One that was stopped for too long has lost its lock to another one, whose fence is higher.
$pages->acquire('/prices', 'req-1', 0.001);
while (($lock = $pages->lock('/prices', MINUTE)) === null) { // renewed until it is released
    usleep(1_000);
}
try {
    assert($lock->fence() > $fence);
    try {
        $pages->setAndRelease('/prices', 'req-1', 'old prices', 10 * MINUTE);
    } catch (LeaseLostException) {
        echo "req-1 sets no old prices\n";
    }
    $lock->set('new prices', 10 * MINUTE);
} finally {
    $lock->release();
}
assert($pages->get('/prices') === 'new prices');

// Nothing is left.
assert([$sessions->clear(), $pages->clear()] === [3, 2]);
$client->close();
