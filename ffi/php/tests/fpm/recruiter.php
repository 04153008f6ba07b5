<?php

declare(strict_types=1);

use Millpond\Millpond;
use Millpond\Slice;

require_once dirname(__DIR__) . '/bootstrap.php';

[$url, $name] = [$_SERVER['MILLPOND_URL'], $_SERVER['MILLPOND_NAME']];
parse_str($_SERVER['QUERY_STRING'], $query);
$redis = new Redis();
$redis->connect('127.0.0.1', (int) parse_url($url, PHP_URL_PORT));
set_error_handler(static fn (int $level, string $message) => throw new ErrorException($message));
if (isset($query['session'])) {
    session_id($query['session']);
    session_start(['use_cookies' => false]);
    $_SESSION['pages'] = ($_SESSION['pages'] ?? 0) + 1;
    echo $_SESSION['pages'], ' ';
}
$recruiter = Millpond::connect($url, clientName: $name)->recruiter($name);
$recruiter->setDutyMax(1.0);
$handlers = [
    'waits' => static function (Slice $slice) use ($redis, $name): void {
        $redis->set("$name-began", (string) $slice->budget());
        echo str_repeat('noise', 100_000);
        ob_end_flush();
        echo 'more noise';
        for ($tries = 0; $tries < 4_000 && !$redis->exists("$name-go"); ++$tries) {
            usleep(5_000);
        }
        $redis->set("$name-done", '1');
    },
    'aborts' => static fn (Slice $slice) => $slice->abort(),
    'TypeError' => static fn (int $slice) => null,
    'ErrorException' => static fn () => $undefined,
    'Error' => static fn () => no_function(),
    'hook' => static fn () => [],
    'exit' => static function () use ($recruiter): void {
        $recruiter->stop(); // what ends is reported then
        echo 'bye';
        exit(1);
    },
    'fatal' => static function () use ($recruiter): void {
        $recruiter->stop();
        set_time_limit(1);
        while (true);
    },
];
if ($query['handler'] === 'hook') {
    $recruiter->onError(static fn (int $job) => null);
}
$rate = isset($query['rate']) ? ['perSecond' => (float) $query['rate']] : ['share' => 1.0];
$recruiter->install($query['handler'], $handlers[$query['handler']], ...$rate, budget: 0.25);
$recruiter->afterResponse();
$recruiter->afterResponse(isset($query['budget']) ? (float) $query['budget'] : null);
register_shutdown_function(static fn () => print(' end'));
echo 'page';
