<?php

/**
 * Calls per second from PHP: ours, over a connection of Millpond's own and over one of phpredis, and
 * in turn with them phpredis calling EVALSHA by hand. Prints a list of rows as JSON.
 *
 * Arguments: the server's URL, the source of the script that an add calls. By hand means: the same
 * pairs go in and the same pairs come out, as a program that does it by hand has to.
 */

declare(strict_types=1);

use Millpond\DirtyListInterface;
use Millpond\Internal\Library;
use Millpond\Internal\Script;
use Millpond\Millpond;

spl_autoload_register(static function (string $class): void {
    require dirname(__DIR__, 3) . '/ffi/php/src' . strtr(substr($class, strlen('Millpond')), '\\', '/') . '.php';
});

const ROUNDS = 15;
const CALLS = [1 => 2000, 100 => 600, 1000 => 80];
const NAME = 'k';
const KEYS = ['k', 'k/ick/{k}/pset', 'k/ick/{k}/cset'];
/** Not more than 1.1 times as long. */
const AIM = 1 / 1.1;

/** Calls per second. */
function speed(callable $call, int $calls): float
{
    $start = hrtime(true);
    for ($number = 0; $number < $calls; ++$number) {
        $call();
    }

    return $calls / (hrtime(true) - $start) * 1e9;
}

function median(array $values): float
{
    sort($values);

    return $values[intdiv(count($values), 2)];
}

/** Measures in turn; the first round warms up. */
function rows(string $operation, int $size, array $ours, callable $theirs): array
{
    $speeds = [];
    for ($round = 0; $round <= ROUNDS; ++$round) {
        $order = $ours + ['by hand' => $theirs];
        foreach ($round % 2 === 0 ? $order : array_reverse($order, true) as $name => $call) {
            $speed = speed($call, CALLS[$size]);
            if ($round > 0) {
                $speeds[$name][] = $speed;
            }
        }
    }
    $rows = [];
    foreach (array_keys($ours) as $name) {
        $rows[] = [
            'name' => "$operation $size, $name",
            'concurrent' => 1,
            'peer' => 'phpredis',
            'aim' => AIM,
            'ours' => median($speeds[$name]),
            'theirs' => median($speeds['by hand']),
            'ratio' => median(array_map(
                static fn (float $ours, float $theirs): float => $ours / $theirs,
                $speeds[$name],
                $speeds['by hand'],
            )),
        ];
    }

    return $rows;
}

function addByHand(Redis $redis, string $sha, array $pairs): array
{
    $words = [...KEYS, '0'];
    foreach ($pairs as [$score, $member]) {
        $words[] = $score;
        $words[] = $member;
    }

    return $redis->evalSha($sha, $words, 3);
}

function reserveByHand(Redis $redis, string $sha, int $max): array
{
    $reply = $redis->evalSha($sha, [...KEYS, '', $max, '0'], 3);
    $pairs = [];
    for ($index = 0; $index < count($reply); $index += 2) {
        $pairs[] = [$reply[$index], (float) $reply[$index + 1]];
    }

    return $pairs;
}

[, $url, $source] = $argv;
$redis = new Redis();
$redis->connect(parse_url($url, PHP_URL_HOST), parse_url($url, PHP_URL_PORT));
$add = $redis->script('load', $source);
$reserve = $redis->script('load', Script::of(Library::get(), 'ick.reserve')->source);
$icks = ['own connection' => Millpond::connect($url)->ick(NAME), 'over phpredis' => Millpond::over($redis)->ick(NAME)];

$rows = [];
foreach (array_keys(CALLS) as $size) {
    $redis->del(KEYS);
    $pairs = [];
    for ($number = 0; $number < $size; ++$number) {
        $pairs[] = [1763691473.5 + $number, sprintf('document-%08d', $number)];
    }
    array_push($rows, ...rows(
        'add',
        $size,
        array_map(static fn (DirtyListInterface $ick): callable => static fn () => $ick->add($pairs), $icks),
        static fn () => addByHand($redis, $add, $pairs),
    ));
    array_push($rows, ...rows(
        'reserve',
        $size,
        array_map(static fn (DirtyListInterface $ick): callable => static fn () => $ick->reserve($size), $icks),
        static fn () => reserveByHand($redis, $reserve, $size),
    ));
}
echo json_encode($rows);
