<?php

/**
 * A page, after which a recruiter drains a task store and reaps a family of hashes, if `MILLPOND_URL` names a server.
 * With `MILLPOND_ENLIST=no` it is loaded, connected and installed, but never enlists.
 */

declare(strict_types=1);

use Millpond\Millpond;
use Millpond\Slice;
use Millpond\Tasks\Job;
use Millpond\Tasks\WorkerOptions;

spl_autoload_register(static function (string $class): void {
    require dirname(__DIR__, 3) . '/ffi/php/src' . strtr(substr($class, strlen('Millpond')), '\\', '/') . '.php';
});

$url = (string) getenv('MILLPOND_URL');
if ($url !== '') {
    $client = Millpond::connect("$url?persist=60s");
    $site = $client->recruiter('site');
    $site->setDutyMax(1.0);
    $site->install('orders', static function (Slice $slice) use ($client): int {
        $worker = $client->tasks('store')->worker('orders', new WorkerOptions(budget: $slice->remaining()));
        $done = $worker->drain(static fn (Job $job) => usleep(1_000))->done;
        $slice->isOver() && $slice->more();
        echo 'noise'; // nothing of it reaches the page

        return $done;
    }, perSecond: 10, budget: 0.01);
    $site->install('reap', static function (Slice $slice) use ($client): int {
        $reaped = $client->volatileHashes('carts')->reap(20);
        $reaped->more && $slice->more();

        return $reaped->fields;
    }, perSecond: 20);
    getenv('MILLPOND_ENLIST') === 'no' || $site->afterResponse();
}
header('Content-Type: text/plain');
echo str_repeat('a page of the site ', 100);
