<?php

/**
 * The adapter for PHP: one JSON request a line in, one JSON answer a line out.
 *
 * With --phpredis it sends through a connection of phpredis in place of Millpond's own; everything
 * else is the same.
 */

declare(strict_types=1);

use Millpond\Client;
use Millpond\Exception\InvalidArgumentException;
use Millpond\Exception\MillpondException;
use Millpond\IckSet;
use Millpond\Millpond;
use Millpond\Stats;

spl_autoload_register(static function (string $class): void {
    require __DIR__ . '/../../../ffi/php/src/' . strtr(substr($class, strlen('Millpond\\')), '\\', '/') . '.php';
});

/** PHP, or the package, has no way to say this. */
final class Unsupported extends Exception
{
}

/** A value of a request as PHP has it: strings are bytes. */
function decoded(mixed $value): mixed
{
    if ($value instanceof stdClass) {
        foreach (get_object_vars($value) as $label => $text) {
            return match ($label) {
                'b64' => base64_decode($text, true),
                'float' => ['inf' => INF, '-inf' => -INF, 'nan' => NAN][strtolower($text)],
                // A number that is too long for an int is a float, as in a program.
                'int' => $text + 0,
                // A text where a number belongs; where a text belongs it would be bytes.
                'string' => $text,
                default => throw new Unsupported("PHP has no $label"),
            };
        }
    }

    return is_array($value) ? array_map(decoded(...), $value) : $value;
}

/** A value of an answer as JSON has it. */
function encoded(mixed $value): mixed
{
    return match (true) {
        is_string($value) && preg_match('//u', $value) !== 1 => ['b64' => base64_encode($value)],
        is_float($value) && !is_finite($value) => ['float' => is_nan($value) ? 'nan' : ($value > 0 ? 'inf' : '-inf')],
        is_array($value) => array_map(encoded(...), $value),
        default => $value,
    };
}

/** The pairs of an add, [score, member]. */
function pairs(array $pairs): array
{
    foreach ($pairs as [$score, $member]) {
        if ($score === null) {
            throw new Unsupported('a score of null is the server\'s time');
        }
    }

    return decoded($pairs);
}

function entries(array $entries): array
{
    return array_map(static fn ($entry): array => [$entry->member, $entry->score], $entries);
}

function fields(?Stats $stats): ?array
{
    return $stats === null ? null : [
        'ver' => $stats->ver,
        'key' => $stats->key,
        'pset_key' => $stats->psetKey,
        'cset_key' => $stats->csetKey,
        'pset_size' => $stats->psetSize,
        'cset_size' => $stats->csetSize,
        'total_size' => $stats->totalSize,
        'pset_min' => $stats->psetMin,
        'pset_max' => $stats->psetMax,
        'cset_min' => $stats->csetMin,
        'cset_max' => $stats->csetMax,
        'total_min' => $stats->totalMin,
        'total_max' => $stats->totalMax,
    ];
}

/** A client over a connection of phpredis to what the URL names. */
function over(string $url): Client
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

/** Makes the call of one request. */
function result(stdClass $request, ?Client &$client, callable $connect): mixed
{
    if ($request->call === 'open' || $request->call === 'close') {
        $client?->close();
        $client = $request->call === 'open' ? $connect($request->url) : null;

        return null;
    }
    $ick = $client->ick(decoded($request->name));

    return match ($request->call) {
        'add' => (static function () use ($ick, $request): array {
            $added = $ick->add(pairs($request->pairs));

            return [$added->new, $added->lowered];
        })(),
        'reserve' => entries($ick->reserve(decoded($request->max), $request->backwash)),
        'commit' => $ick->commit(decoded($request->members)),
        'exchange' => entries(
            $ick->exchange(decoded($request->max), decoded($request->members), $request->backwash),
        ),
        'stats' => fields($ick->stats()),
        'delete' => $request->unlink ? $ick->unlink() : $ick->delete(),
        'peek' => entries($ick->peek($request->max, IckSet::from($request->set))),
        default => throw new Unsupported("the call $request->call is not known"),
    };
}

ini_set('memory_limit', '-1');
$connect = in_array('--phpredis', $argv, true) ? over(...) : Millpond::connect(...);
$client = null;
while (($line = fgets(STDIN)) !== false) {
    $request = json_decode($line, flags: JSON_THROW_ON_ERROR);
    try {
        $answer = ['result' => encoded(result($request, $client, $connect))];
    } catch (Unsupported $why) {
        $answer = ['unsupported' => $why->getMessage()];
    } catch (MillpondException $error) {
        $answer = ['error' => [
            'code' => $error->getCode(),
            'name' => $error->errorName,
            'message' => $error->getMessage(),
        ]];
    } catch (TypeError $error) {
        // What PHP itself says of a wrong argument before it reaches the library.
        $answer = ['error' => [
            'code' => InvalidArgumentException::CODE,
            'name' => InvalidArgumentException::NAME,
            'message' => $error->getMessage(),
        ]];
    }
    $answer['id'] = $request->id;
    $flags = JSON_THROW_ON_ERROR | JSON_PRESERVE_ZERO_FRACTION | JSON_INVALID_UTF8_SUBSTITUTE;
    fwrite(STDOUT, json_encode($answer, $flags) . "\n");
}
$client?->close();
