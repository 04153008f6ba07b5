<?php

declare(strict_types=1);

namespace Millpond\Internal;

use Millpond\Exception\ConnectionFailedException;
use Millpond\Exception\ConnectionLostException;
use Millpond\Exception\InvalidArgumentException;
use Predis\ClientInterface;
use Predis\Connection\NodeConnectionInterface;
use Predis\PredisException;

/**
 * A connection of Predis, to one server.
 *
 * @internal
 */
final class PredisConnection implements Connection
{
    private function __construct(
        private readonly ClientInterface $client,
        private readonly NodeConnectionInterface $node,
    ) {
    }

    /**
     * Takes a Predis client that sends each call at most once.
     */
    public static function of(ClientInterface $client): self
    {
        $node = $client->getConnection();
        if (!$node instanceof NodeConnectionInterface) {
            throw new InvalidArgumentException(
                'connection is a Predis client of a cluster or of replicas, which sends a call again by itself after'
                . ' a dropped connection: a step that runs twice can lose a member. Give the client of one server,'
                . ' or a RedisCluster of phpredis',
            );
        }
        $parameters = $node->getParameters();
        if (\method_exists($parameters, 'isDisabledRetry') && !$parameters->isDisabledRetry()) {
            throw new InvalidArgumentException(
                'connection is a Predis client that sends a call again by itself after a dropped connection: a step'
                . ' that runs twice can lose a member. Leave out its parameter "retry"',
            );
        }

        return new self($client, $node);
    }

    public function prefix(): string
    {
        return $this->client->getOptions()->prefix?->getPrefix() ?? '';
    }

    public function evaluate(Script $script, bool $bySource, array $keys, array $arguments): int|string|array|null
    {
        $call = $bySource ? ['EVAL', $script->source] : ['EVALSHA', $script->sha1];
        try {
            $this->node->connect();
        } catch (PredisException $failure) {
            // An open connection is not opened again.
            if (!$this->node->isConnected()) {
                throw new ConnectionFailedException(
                    "$script->operation: " . $failure->getMessage(),
                    $script->operation,
                    $failure,
                );
            }
        }
        try {
            // This call neither puts a prefix before keys nor throws a server's errors.
            $reply = $this->client->executeRaw([...$call, \count($keys), ...$keys, ...$arguments], $isError);
        } catch (PredisException $failure) {
            $this->abandon();
            throw new ConnectionLostException(
                "$script->operation: " . $failure->getMessage(),
                $script->operation,
                $failure,
            );
        }
        if ($isError) {
            throw new ServerError($reply);
        }

        return $reply;
    }

    public function abandon(): void
    {
        $this->node->disconnect();
    }
}
