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
use Millpond\ConsumerOptions;
use Millpond\Exception\DependencyException;
use Millpond\Exception\InvalidArgumentException;
use Millpond\Exception\MillpondException;
use Millpond\IckSet;
use Millpond\Message;
use Millpond\Millpond;
use Millpond\Receipt;
use Millpond\ShuffleConsumer;
use Millpond\ShuffleOptions;
use Millpond\ShuffleQueue;
use Millpond\ShuffleStats;
use Millpond\Stats;
use Millpond\StreamStats;
use Millpond\TrackKeys;

require __DIR__ . '/php_tasks.php';

spl_autoload_register(static function (string $class): void {
    require __DIR__ . '/../../../ffi/php/src/' . strtr(substr($class, strlen('Millpond\\')), '\\', '/') . '.php';
});

/** PHP, or the package, cannot express this. */
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

/** A value of a response as JSON has it. */
function encoded(mixed $value): mixed
{
    return match (true) {
        is_string($value) && preg_match('//u', $value) !== 1 => ['b64' => base64_encode($value)],
        is_float($value) && !is_finite($value) => ['float' => is_nan($value) ? 'nan' : ($value > 0 ? 'inf' : '-inf')],
        is_array($value) => array_map(encoded(...), $value),
        $value instanceof Receipt => ['stream' => $value->stream, 'id' => $value->id],
        $value instanceof Message => message($value),
        default => $value,
    };
}

/** A message. */
function message(Message $message): array
{
    $fields = encoded($message->fields);
    $shown = ['stream' => $message->stream, 'id' => $message->id, 'fields' => $fields];

    return $shown + ['deliveries' => $message->deliveries];
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

/** The settings that a request names, as arguments of a call. */
function settings(stdClass $request, array $names): array
{
    $settings = [];
    foreach ($names as $name => $argument) {
        if (property_exists($request, $name)) {
            $settings[$argument] = decoded($request->$name);
        }
    }

    return $settings;
}

/** The shuffle queue of a request. */
function shuffleQueue(stdClass $request, Client|BorrowedClient $client): ShuffleQueue
{
    if ($client instanceof BorrowedClient) {
        throw new Unsupported('a borrowed connection has no shuffle queues');
    }
    $names = ['streams' => 'streams', 'streams_per_shard' => 'streamsPerShard', 'ttl' => 'ttl',
        'dead_ttl' => 'deadTtl'];
    $settings = settings($request, $names);
    if (isset($request->track_keys)) {
        $settings['trackKeys'] = TrackKeys::tryFrom(decoded($request->track_keys))
            ?? throw new Unsupported('other track keys than an enum has');
    }

    return $client->shuffleQueue(decoded($request->name), new ShuffleOptions(...$settings));
}

/** The consumer of a request. */
function shuffleConsumer(stdClass $request, Client|BorrowedClient $client): ShuffleConsumer
{
    $names = ['prefer_stream' => 'preferStream', 'default_stream' => 'defaultStream',
        'max_deliveries' => 'maxDeliveries'];
    $settings = settings($request, $names);

    return shuffleQueue($request, $client)
        ->consumer(decoded($request->group), decoded($request->consumer), new ConsumerOptions(...$settings));
}

/** The counts of stats; how long a message lies there is nothing that a case can say. */
function counts(ShuffleStats|StreamStats $stats): array
{
    return ['len' => $stats->len, 'pending' => $stats->pending, 'lag' => $stats->lag];
}

/** Takes messages: one by read(), more by readMany(). */
function taken(stdClass $request, Client|BorrowedClient $client): array
{
    $consumer = shuffleConsumer($request, $client);
    [$max, $wait] = [decoded($request->max), decoded($request->block)];
    if ($max !== 1) {
        return $consumer->readMany($max, $wait);
    }
    $message = $consumer->read($wait);

    return $message === null ? [] : [$message];
}

function receipts(stdClass $request): array
{
    return array_map(
        static fn (stdClass $receipt): Receipt => new Receipt($receipt->stream, decoded($receipt->id)),
        $request->receipts,
    );
}

/** Makes the call of one request to a shuffle queue. */
function shuffleResult(stdClass $request, Client|BorrowedClient $client): mixed
{
    $queue = static fn (): ShuffleQueue => shuffleQueue($request, $client);
    $part = static fn (string $name): mixed => decoded($request->$name);

    return match ($request->call) {
        'shuffle_write' => $queue()->write($part('shard_key'), $part('fields')),
        'shuffle_write_many' => $queue()->writeMany($part('messages')),
        'shuffle_write_tracked' => $queue()
            ->writeTracked($part('shard_key'), $part('fields'), $part('track_field'), $part('deadline')),
        'shuffle_write_tracked_many' => $queue()
            ->writeTrackedMany($part('messages'), $part('track_field'), $part('deadline')),
        'shuffle_resize' => $queue()->resize($part('streams')),
        'shuffle_delete_dead_letters' => $queue()->deleteDeadLetters($request->ids),
        'shuffle_delete_tracked' => $queue()->deleteTracked($part('value')),
        'shuffle_cordon' => $queue()->cordonDeadlineExceeded($part('within')),
        'shuffle_gc' => (static function () use ($queue, $part): array {
            $garbage = $queue()->gc($part('time_digits'));
            $seen = array_merge(...iterator_to_array($garbage, false));

            return ['scanned' => $garbage->scanned(), 'deleted' => $garbage->deleted(), 'seen' => $seen];
        })(),
        'shuffle_read' => taken($request, $client),
        'shuffle_ack' => shuffleConsumer($request, $client)
            ->{$request->delete ? 'ackAndDelete' : 'ack'}(receipts($request)),
        'shuffle_extend' => shuffleConsumer($request, $client)->extend(receipts($request)),
        'shuffle_reclaim' => get_object_vars(
            shuffleConsumer($request, $client)->reclaim($part('min_idle'), $part('max')),
        ),
        'shuffle_len' => $queue()->len(),
        'shuffle_backlog' => $queue()->backlog(),
        'shuffle_pending_count' => $queue()->pendingCount($part('group')),
        'shuffle_stats' => (static function () use ($queue, $part): array {
            $stats = $queue()->stats($part('group'));

            return counts($stats) + ['streams' => array_map(counts(...), $stats->streams)];
        })(),
        'shuffle_dead_letters' => array_map(get_object_vars(...), $queue()->deadLetters($part('max'))),
        'shuffle_shard' => Millpond::shard($part('streams'), $part('streams_per_shard'), $part('key')),
        default => throw new Unsupported("the call $request->call is not known"),
    };
}

/** Makes the call of one request. */
function result(stdClass $request, Client|BorrowedClient|null &$client, callable $connect): mixed
{
    if ($request->call === 'open' || $request->call === 'close') {
        $client?->close();
        $client = $request->call === 'open' ? $connect($request->url) : null;

        return null;
    }
    if (str_starts_with($request->call, 'shuffle_')) {
        return shuffleResult($request, $client);
    }
    if (str_starts_with($request->call, 'tasks_')) {
        $perform = static fn (stdClass $request): array =>
            attempt(static fn (): mixed => result($request, $client, $connect));

        return tasksResult($request, $client, $perform);
    }
    if ($request->call === 'later') {
        throw new Unsupported('there is nothing beside what the program does');
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
    $request = json_decode($line, flags: JSON_THROW_ON_ERROR);
    $response = attempt(static function () use ($request, &$client, $connect): mixed {
        return result($request, $client, $connect);
    });
    $response['id'] = $request->id;
    $flags = JSON_THROW_ON_ERROR | JSON_PRESERVE_ZERO_FRACTION | JSON_INVALID_UTF8_SUBSTITUTE;
    fwrite(STDOUT, json_encode($response, $flags) . "\n");
}
$client?->close();
