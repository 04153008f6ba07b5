<?php

declare(strict_types=1);

namespace Millpond\Internal;

use Millpond\Exception\ConnectionFailedException;
use Millpond\Exception\ConnectionLostException;
use Millpond\Exception\CrossSlotException;
use Millpond\Exception\InvalidArgumentException;
use Millpond\Exception\MillpondException;
use Millpond\Exception\UnavailableException;

/**
 * A connection of phpredis, to one server or to a cluster.
 *
 * phpredis reconnects by itself, but only before it sends. It neither serializes nor compresses the
 * arguments and the result of a script.
 *
 * @internal
 */
final class PhpRedisConnection implements Connection
{
    /** An address where no server can listen. */
    private const NOWHERE = '/dev/null/closed';

    public function __construct(private readonly \Redis|\RedisCluster $redis)
    {
    }

    public function prefix(): string
    {
        try {
            return $this->redis->_prefix('');
        } catch (\RedisException $failure) {
            throw new ConnectionFailedException($failure->getMessage(), '', $failure);
        }
    }

    public function evaluate(Script $script, bool $bySource, array $keys, array $arguments): int|string|array|null
    {
        $redis = $this->redis;
        if ($redis->getMode() !== \Redis::ATOMIC) {
            throw new InvalidArgumentException(
                "$script->operation: the connection is inside of multi() or pipeline(), where a call has no reply",
                $script->operation,
            );
        }
        $redis->clearLastError();
        $refused = false;
        $words = [...$keys, ...$arguments];
        if ($redis instanceof \RedisCluster) {
            \set_error_handler(static function (int $level, string $message) use (&$refused): bool {
                return $refused = \str_contains($message, 'slot');
            }, \E_WARNING);
        }
        try {
            $reply = $this->withoutPrefix(static fn (): mixed => $bySource
                ? $redis->eval($script->source, $words, \count($keys))
                : $redis->evalSha($script->sha1, $words, \count($keys)));
        } catch (\RedisException | \RedisClusterException $failure) {
            throw $this->failure($script, $failure);
        } finally {
            if ($redis instanceof \RedisCluster) {
                \restore_error_handler();
            }
        }
        if ($reply !== false) {
            return $reply;
        }
        $error = $redis->getLastError();
        if ($error !== null) {
            throw new ServerError($error);
        }
        if ($refused) {
            // The only case in which RedisCluster just warns, without sending anything.
            throw new CrossSlotException(
                "$script->operation: the keys of \"{$keys[0]}\" lie in different slots of the cluster, because of the"
                . ' braces in its name or because it is empty; give it a name without braces, or with one {tag}',
                $script->operation,
            );
        }

        return null;
    }

    /**
     * Makes a call whose keys are as they are in Redis. rawCommand() puts no prefix before keys, but in a cluster it
     * fails when a slot has moved.
     */
    private function withoutPrefix(callable $call): mixed
    {
        $prefix = $this->prefix();
        if ($prefix === '') {
            return $call();
        }

        // A signal handler of the program that uses the connection must find its prefix.
        return Signals::held(function () use ($prefix, $call): mixed {
            $this->redis->setOption(\Redis::OPT_PREFIX, '');
            try {
                return $call();
            } finally {
                $this->redis->setOption(\Redis::OPT_PREFIX, $prefix);
            }
        });
    }

    public function abandon(): void
    {
        if ($this->redis instanceof \RedisCluster) {
            return;
        }
        try {
            $database = $this->redis->getDbNum();
            $this->redis->close();
        } catch (\RedisException) {
            return;
        }
        // It is false if phpredis has already dropped the connection.
        if ($database === 0 || $database === false) {
            return;
        }
        try {
            $this->redis->select($database);
        } catch (\RedisException) {
            // phpredis before version 6 would reconnect by itself, to database 0.
            try {
                @$this->redis->connect(self::NOWHERE);
            } catch (\RedisException) {
            }
        }
    }

    private function failure(Script $script, \Exception $failure): MillpondException|ServerError
    {
        // phpredis throws some of a server's errors; errors of the connection have other texts.
        if ($this->redis->getLastError() === $failure->getMessage()) {
            return new ServerError($failure->getMessage());
        }
        $message = "$script->operation: " . $failure->getMessage();
        foreach (['went away', "Can't communicate with any node", "Couldn't map cluster keyspace"] as $unsent) {
            if (\str_contains($message, $unsent)) {
                return new ConnectionFailedException($message, $script->operation, $failure);
            }
        }
        if (\str_contains($message, 'CLUSTERDOWN')) {
            return new UnavailableException($message, $script->operation, $failure);
        }
        $this->abandon();

        return new ConnectionLostException($message, $script->operation, $failure);
    }
}
