<?php

/**
 * Inserts tasks, now and for later; run tasks_worker.php with the same URL to work on them.
 *
 * php examples/php/tasks_producer.php redis://localhost
 *
 * Any number of producers may run. With the default, memory:, other programs do not see what is
 * inserted.
 */

declare(strict_types=1);

use Millpond\Millpond;
use Millpond\Tasks\Modification;
use Millpond\Tasks\NewTask;

require __DIR__ . '/autoload.php';

$url = $argv[1] ?? 'memory:';
$client = Millpond::connect($url);
$store = $client->tasks('examples/mail');

// Many tasks in one step: all of them or none.
$mails = new Modification();
foreach (['ann', 'bob', 'cy'] as $to) {
    $mails->insert(new NewTask('mails', ['to' => $to]));
}
// One that has to go first, one for later, and one that is sent once, however often this runs
// within a day of it.
$mails
    ->insert(new NewTask('mails', ['to' => 'dee'], priority: 9))
    ->insert(new NewTask('mails', ['to' => 'eve'], delay: 0.5))
    ->insert(new NewTask('mails', ['to' => 'all'], id: 'welcome', dedupWindow: 86_400), skipColliding: true);
$inserted = count($store->modify($mails)->inserted);

assert($inserted === 6 || $url !== 'memory:');
echo "$inserted mails to send\n";
$client->close();
