<?php

declare(strict_types=1);

namespace Millpond\Internal;

use Millpond\Exception\InternalException;

/**
 * The steps of a queue over a connection that the program owns. Scripts, keys and the meaning of errors come from the
 * library; arguments and replies are as the comment in each script describes them. The keys have no prefix.
 *
 * @internal
 */
trait BorrowedSteps
{
    /** @var list<string> all that its scripts take */
    private array $keys = [];

    /**
     * Makes a step that returns a list of one of these lengths.
     *
     * @param list<string> $arguments
     *
     * @return list<int|string|false|null|array<mixed>>
     */
    private function list(string $operation, array $arguments, int $length, ?int $or = null, ?int $keys = null): array
    {
        $reply = $this->evaluate($operation, $arguments, $keys);
        if (!\is_array($reply) || !\in_array(\count($reply), [$length, $or], true)) {
            throw $this->badReply($operation);
        }

        return $reply;
    }

    /**
     * @param list<string> $arguments
     */
    private function number(string $operation, array $arguments, ?int $keys = null): int
    {
        $reply = $this->evaluate($operation, $arguments, $keys);

        return \is_int($reply) ? $reply : throw $this->badReply($operation);
    }

    /**
     * @param list<string> $arguments
     * @param int|null     $keys      how many of the keys the step takes; by default all
     *
     * @return int|string|array<mixed>|null
     */
    private function evaluate(string $operation, array $arguments, ?int $keys = null): int|string|array|null
    {
        Limits::checkBytes(\array_sum(\array_map(\strlen(...), $arguments)));

        return $this->client->evaluate($operation, fn (): array => \array_slice($this->keys(), 0, $keys), $arguments);
    }

    /**
     * @return list<string>
     */
    private function keys(): array
    {
        if ($this->keys === []) {
            $library = $this->client->library;
            $this->keys = $library->keys($library->made(self::KEYS, [$this->name, \strlen($this->name)], 'keys'));
        }

        return $this->keys;
    }

    private function badReply(string $operation): InternalException
    {
        return $this->client->badReply($operation);
    }
}
