<?php

/**
 * The adapter for PHP: one JSON request per line in, one JSON response per line out.
 *
 * With --phpredis it sends through a connection of phpredis instead of Millpond's own; everything
 * else is the same.
 */

declare(strict_types=1);

use Millpond\BorrowedClient;
use Millpond\Client;
use Millpond\Exception\DependencyException;
use Millpond\Exception\InvalidArgumentException;
use Millpond\Exception\MillpondException;
use Millpond\Millpond;
use Millpond\Tasks\DocId;
use Millpond\Tasks\TaskId;

require __DIR__ . '/php_values.php';
require __DIR__ . '/php_jobs.php';
require __DIR__ . '/php_recruiter.php';
require __DIR__ . '/php_tracker.php';

spl_autoload_register(static function (string $class): void {
    require __DIR__ . '/../../../ffi/php/src/' . strtr(substr($class, strlen('Millpond\\')), '\\', '/') . '.php';
});

/** A client over a connection of phpredis to what the URL names. */
function over(string $url): BorrowedClient
{
    if (preg_match('~^redis\+cluster://(.+)$~', $url, $found)) {
        return Millpond::over(new RedisCluster(null, explode(',', $found[1]), 5.0, 5.0));
    }
    $redis = new Redis();
    if (preg_match('~^redis://([^:/]+):(\d+)$~', $url, $found)) {
        $redis->connect($found[1], (int) $found[2]);
    } elseif (preg_match('~^redis\+unix://(/.+)$~', $url, $found)) {
        $redis->connect($found[1]);
    } else {
        throw new Unsupported("phpredis cannot reach $url");
    }

    return Millpond::over($redis);
}

/** What a call returns; of a loop the first batch, of a collection of garbage all, the sizes of queues as pairs, and a time. */
function gathered(mixed $found): mixed
{
    if (is_object($found) && method_exists($found, 'scanned')) {
        $seen = array_merge(...iterator_to_array($found, false));

        return (object) ['scanned' => $found->scanned(), 'deleted' => $found->deleted(), 'seen' => $seen];
    }
    if ($found instanceof Traversable) {
        return $found->next() ?? [];
    }
    if (is_float($found)) {
        return milliseconds($found);
    }

    return is_array($found) && !array_is_list($found)
        ? array_map(null, array_map(strval(...), array_keys($found)), array_values($found))
        : $found;
}

/** Makes one call. */
function called(mixed $on, string $name, array $given, callable $perform): mixed
{
    if ($on instanceof Noted && method_exists($on, $name)) {
        return $on->$name($given, $perform);
    }
    $on = $on instanceof Noted ? $on->recruiter : $on;
    if (in_array($name, ['work', 'drain', 'run'], true)) {
        return $name($on, $given['jobs'], $perform);
    }
    if (in_array($name, ['scan', 'prune'], true)) {
        return tracked($on, $name, $given);
    }
    if ($name === 'are_empty') {
        unset($given['limit']);
    }
    $on = is_object($on) && method_exists($on, camel($name)) ? $on : Millpond::class;
    if (!method_exists($on, camel($name))) {
        throw new Unsupported("the call $name is not known");
    }

    return made($on, camel($name), $given);
}

/** Makes the calls of one request, each on what the one before it returned. */
function result(array $request, Client|BorrowedClient|null &$client, callable $connect): mixed
{
    if (isset($request['calls'])) {
        $perform = static fn (array $request): array =>
            attempt(static fn (): mixed => result($request, $client, $connect));
        $found = $client;
        foreach ($request['calls'] as [$name, $given]) {
            $found = $name === 'recruiter' ? Noted::named($client, $given) : called($found, $name, $given, $perform);
        }

        return gathered($found);
    }
    switch ($request['call']) {
        case 'open':
        case 'close':
            Noted::forget();
            $client?->close();
            $client = $request['call'] === 'open' ? $connect($request['url']) : null;

            return null;
        case 'later':
            throw new Unsupported('there is nothing beside what the program does');
        default:
            throw new Unsupported("the call {$request['call']} is not known");
    }
}

/** What a modification met, as a response has it. */
function dependency(DependencyException $error): array
{
    $handle = static fn (TaskId|DocId $of): array => array_values(get_object_vars($of));
    $found = [];
    foreach (['inserts', 'changes', 'deletes', 'depends', 'claims'] as $list) {
        $found[$list] = array_map($handle, $error->$list);
        $found["doc_$list"] = array_map($handle, $error->{'doc' . ucfirst($list)});
    }

    return $found;
}

/** What a call returns, as the protocol has it. */
function attempt(callable $call): array
{
    try {
        return ['result' => encoded($call())];
    } catch (Unsupported $why) {
        return ['unsupported' => $why->getMessage()];
    } catch (MillpondException $error) {
        $found = $error instanceof DependencyException ? ['dependency' => dependency($error)] : [];

        return ['error' => [
            'code' => $error->getCode(),
            'name' => $error->errorName,
            'message' => $error->getMessage(),
        ] + $found];
    } catch (TypeError $error) {
        // PHP's own error for a wrong argument before it reaches the library.
        return ['error' => [
            'code' => InvalidArgumentException::CODE,
            'name' => InvalidArgumentException::NAME,
            'message' => $error->getMessage(),
        ]];
    }
}

ini_set('memory_limit', '-1');
$connect = in_array('--phpredis', $argv, true) ? over(...) : Millpond::connect(...);
$client = null;
while (($line = fgets(STDIN)) !== false) {
    $request = json_decode($line, true, flags: JSON_THROW_ON_ERROR);
    $response = attempt(static function () use ($request, &$client, $connect): mixed {
        return result($request, $client, $connect);
    });
    $response['id'] = $request['id'];
    $flags = JSON_THROW_ON_ERROR | JSON_PRESERVE_ZERO_FRACTION | JSON_INVALID_UTF8_SUBSTITUTE;
    fwrite(STDOUT, json_encode($response, $flags) . "\n");
}
$client?->close();
