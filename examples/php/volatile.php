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

// Two servers are asked for a page that is not there: one of them computes it, the other one waits.
$fence = $pages->getOrAcquire('/', 'web-1', MINUTE)->fence;
assert($fence !== null);
assert($pages->getOrAcquire('/', 'web-2', MINUTE)->remaining > 0);
$pages->setAndRelease('/', 'web-1', '<h1>Shop</h1>', 10 * MINUTE);
$page = $pages->getOrAcquire('/', 'web-2', MINUTE)->value;
assert($page === '<h1>Shop</h1>');
echo "web-2 shows $page\n";

// One that was stopped for too long has lost its lock to another one, whose fence is higher.
$pages->acquire('/prices', 'web-1', 0.001);
while (($second = $pages->acquire('/prices', 'web-2', MINUTE)->fence) === null) {
    usleep(1_000);
}
assert($second > $fence);
try {
    $pages->setAndRelease('/prices', 'web-1', 'old prices', 10 * MINUTE);
} catch (LeaseLostException) {
    echo "web-1 sets no old prices\n";
}
$pages->setAndRelease('/prices', 'web-2', 'new prices', 10 * MINUTE);
assert($pages->get('/prices') === 'new prices');

// Nothing is left.
assert([$sessions->clear(), $pages->clear()] === [3, 2]);
$client->close();
