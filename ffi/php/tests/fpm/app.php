<?php

declare(strict_types=1);

use Millpond\Exception\LibraryException;
use Millpond\Internal\Library;
use Millpond\Millpond;
use Millpond\Tasks\NewTask;
use Millpond\Tasks\WorkerOptions;

require_once dirname(__DIR__) . '/bootstrap.php';

[$url, $name] = [$_SERVER['MILLPOND_URL'], $_SERVER['MILLPOND_NAME']];
parse_str($_SERVER['QUERY_STRING'], $query);
try {
    $client = Millpond::connect($url, clientName: $name);
    $new = $client->ick($name)->add([[1, $query['member']]])->new;
    if (isset($query['hold'])) {
        $client->ick($name)->batches(1, wait: 0.01);
        $queue = $client->shuffleQueue("$name-jobs");
        $queue->write($query['member'], ['n' => $query['member']]);
        $consumer = $queue->consumer('workers', (string) getmypid());
        foreach ($consumer->messages(1) as $batch) {
            $done = $consumer->ack($batch);
            break;
        }
        // Until the test has seen all workers at once.
        $redis = new Redis();
        $redis->connect('127.0.0.1', (int) parse_url($url, PHP_URL_PORT));
        for ($tries = 0; $tries < 2000 && !$redis->exists("$name-go"); ++$tries) {
            usleep(5_000);
        }
    }
    if (isset($query['fatal'])) {
        $lease = $client->ick($name)->lease(1) ?? throw new LogicException('no lease');
        $store = $client->tasks("$name-tasks");
        $store->insert(new NewTask('q'));
        $job = $store->worker('q', new WorkerOptions(lease: 1))->jobs()->next() ?? throw new LogicException('no job');
        ini_set('memory_limit', '4M');
        str_repeat('x', 10_000_000);
    }
    $preloaded = (new ReflectionMethod(Library::class, 'preloaded'))->invoke(null) !== null;
    echo json_encode(['pid' => getmypid(), 'new' => $new, 'scope' => $preloaded, 'done' => $done ?? null]);
} catch (LibraryException $refused) {
    echo json_encode(['refused' => $refused->getMessage()]);
}
