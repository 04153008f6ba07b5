<?php

// Flags documents from PHP: its own, and those that both producers flag. polyglot.py runs it.

declare(strict_types=1);

require __DIR__ . '/../php/autoload.php';

[, $url, $own, $shared] = $argv;
$client = Millpond\Millpond::connect($url);
$channel = $client->ickChannel('polyglot', 4);
$documents = [];
for ($number = 0; $number < (int) $own; $number++) {
    $documents[] = "php-$number";
}
for ($number = 0; $number < (int) $shared; $number++) {
    $documents[] = "both-$number";
}
shuffle($documents);
foreach (array_chunk($documents, 25) as $some) {
    // No score: the server's time, so the oldest flag comes first.
    $channel->add(array_map(fn (string $document): array => [null, $document], $some));
}
