<?php

/**
 * Works on what producer.php flags, until nothing has come for a second.
 *
 * php examples/php/consumer.php redis://localhost
 *
 * One consumer an Ick. With the default, memory:, it flags a few documents for itself first.
 */

declare(strict_types=1);

use Millpond\Millpond;

require __DIR__ . '/autoload.php';

$url = $argv[1] ?? 'memory:';
$client = Millpond::connect($url);
$ick = $client->ick('examples/documents');
if ($url === 'memory:') {
    $ick->add([[null, 'a.txt'], [null, 'b.txt'], [null, 'c.txt']]);
}

$worked = 0;
// A batch is committed when its turn of the loop is over. An exception leaves it reserved, and
// the next consumer gets it again: at least once.
foreach ($ick->batches(100, wait: 1) as $batch) {
    foreach ($batch as $entry) {
        echo "working on $entry->member\n";
        $worked++;
    }
}

assert($ick->stats()->csetSize === 0, 'what was worked on is committed');
assert($worked === 3 || $url !== 'memory:');
echo "$worked documents; nothing is left\n";
$client->close();
