<?php

/**
 * What an Ick is for: a document that changes while it is being worked on is processed again.
 *
 * php examples/php/first.php [URL]
 */

declare(strict_types=1);

use Millpond\Millpond;

require __DIR__ . '/autoload.php';

$client = Millpond::connect($argv[1] ?? 'memory:');
$ick = $client->ick('examples/first');
$ick->delete();

// Flag two documents. The score says how urgent: the lowest comes first.
$added = $ick->add([[2.0, 'b.txt'], [1.0, 'a.txt']]);
assert([$added->new, $added->lowered] === [2, 0]);

// Flag one of them again: it is merged into the existing flag, which keeps its score.
$added = $ick->add([[3.0, 'a.txt']]);
assert([$added->new, $added->lowered] === [0, 0]);

// Take a batch. It stays reserved until it is committed.
$batch = $ick->reserve(10);
assert(array_column($batch, 'member') === ['a.txt', 'b.txt']);

// While we work, a.txt changes again. The commit does not remove that flag.
$ick->add([[4.0, 'a.txt']]);
assert($ick->commit(['a.txt', 'b.txt']) === 2);

[$entry] = $ick->reserve(10);
assert([$entry->member, $entry->score] === ['a.txt', 4.0]);
echo "a.txt changed while it was being worked on, and came again\n";

$ick->delete();
$client->close();
