<?php

/**
 * Flags documents as dirty; run consumer.php with the same URL to work on them.
 *
 * php examples/php/producer.php redis://localhost
 *
 * Any number of producers may run. With the default, memory:, other programs do not see what is
 * flagged.
 */

declare(strict_types=1);

use Millpond\Millpond;

require __DIR__ . '/autoload.php';

$url = $argv[1] ?? 'memory:';
$client = Millpond::connect($url);
$ick = $client->ick('examples/documents');

// Three documents, with no score: the server's time, so the oldest flag comes first.
$ick->add([[null, 'a.txt'], [null, 'b.txt'], [null, 'c.txt']]);

// A busy document is flagged a thousand times and is one piece of work. It may be new, if a
// consumer took the first flag meanwhile; a later time never lowers its score.
$added = $ick->add(array_fill(0, 1_000, [null, 'busy.txt']));
assert($added->new <= 1);
assert($added->lowered === 0);

$stats = $ick->stats();
assert($stats->psetSize <= 4 || $url !== 'memory:');
echo "flagged; $stats->psetSize documents wait, $stats->csetSize are being worked on\n";
$client->close();
