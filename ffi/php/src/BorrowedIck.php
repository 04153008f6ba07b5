<?php

declare(strict_types=1);

namespace Millpond;

use Millpond\Exception\InternalException;
use Millpond\Exception\InvalidArgumentException;
use Millpond\Internal\Arguments;
use Millpond\Internal\BorrowedBatches;
use Millpond\Internal\Limits;
use Millpond\Internal\NeedsOwnConnection;

/**
 * An Ick over one of the program's own connections; created by `BorrowedClient::ick()`.
 */
final class BorrowedIck implements DirtyListInterface
{
    use NeedsOwnConnection;

    /** What it is over connections of Millpond's own. */
    private const OWN = IckInterface::class;

    /** The maximum number of members in one step, as everywhere. */
    private const STEP_MEMBERS_MAX = 250_000;

    /** Below this, each whole float is also an int. */
    private const WHOLE_MAX = 9e15;

    /** Below this, a score in millionths is an int that a float can hold. */
    private const MICROS_MAX = 9e9;

    private ?string $prefix = null;

    /** @var list<string> the keys with the prefix */
    private array $keys = [];

    // Scripts, keys and the meaning of errors come from the library; arguments and replies are as
    // the comment in each script describes them.

    /** @internal made by `BorrowedClient::ick()` */
    public function __construct(
        private readonly BorrowedClient $client,
        private readonly string $name,
    ) {
    }

    public function add(iterable $pairs): Added
    {
        $new = $lowered = 0;
        foreach (self::steps($pairs) as $arguments) {
            $counts = $this->evaluate('ick.add', $arguments);
            if (!\is_array($counts) || \count($counts) !== 2) {
                throw $this->badReply('ick.add');
            }
            $new += $counts[0];
            $lowered += $counts[1];
        }

        return new Added($new, $lowered);
    }

    public function reserve(int $max, bool $backwash = false): array
    {
        $arguments = ['', (string) Arguments::size('max', $max), $backwash ? '1' : '0'];

        return $this->entries('ick.reserve', $arguments);
    }

    public function commit(iterable $members): int
    {
        $committed = 0;
        $parts = \array_chunk(Arguments::members($members, Limits::get()->items), self::STEP_MEMBERS_MAX);
        foreach ($parts === [] ? [[]] : $parts as $part) {
            $committed += $this->number('ick.commit', ['', ...$part]);
        }

        return $committed;
    }

    public function exchange(int $max, iterable $members = [], bool $backwash = false): array
    {
        $members = Arguments::members($members);
        if (\count($members) > self::STEP_MEMBERS_MAX) {
            throw new InvalidArgumentException(
                'ick.exchange: a step takes at most ' . self::STEP_MEMBERS_MAX . ' members',
                'ick.exchange',
            );
        }
        $arguments = ['', (string) Arguments::size('max', $max), $backwash ? '1' : '0', ...$members];

        return $this->entries('ick.exchange', $arguments);
    }

    public function stats(): ?Stats
    {
        $reply = $this->evaluate('ick.stats', []);
        if ($reply === null) {
            return null;
        }
        if (!\is_array($reply) || \count($reply) !== 7) {
            throw $this->badReply('ick.stats');
        }
        [$version, $psetSize, $csetSize] = $reply;
        $scores = \array_map(
            static fn (string|false|null $text): ?float => \is_string($text) ? self::score($text) : null,
            \array_slice($reply, 3),
        );
        [$psetMin, $psetMax, $csetMin, $csetMax] = $scores;
        $known = \array_filter($scores, static fn (?float $score): bool => $score !== null);

        return new Stats(
            $version,
            ...$this->keys,
            psetSize: $psetSize,
            csetSize: $csetSize,
            totalSize: $psetSize + $csetSize,
            psetMin: $psetMin,
            psetMax: $psetMax,
            csetMin: $csetMin,
            csetMax: $csetMax,
            totalMin: $known === [] ? null : \min($known),
            totalMax: $known === [] ? null : \max($known),
        );
    }

    public function peek(int $max, IckSet $set = IckSet::Producer): array
    {
        return $this->entries('ick.peek', [$set->value, (string) Arguments::size('max', $max)]);
    }

    public function delete(): int
    {
        return $this->number('ick.delete', ['DEL', '0']);
    }

    public function unlink(): int
    {
        return $this->number('ick.delete', ['UNLINK', '0']);
    }

    public function batches(int $max, mixed ...$refused): BatchesInterface
    {
        if (\array_filter($refused, static fn (mixed $wait): bool => $wait !== null) !== []) {
            throw self::needsOwnConnection('a loop that waits');
        }

        return new BorrowedBatches($this, \min(Arguments::size('max', $max), self::STEP_MEMBERS_MAX));
    }

    /**
     * The arguments of an add, one list per step.
     *
     * @param iterable<mixed> $pairs
     *
     * @return list<list<string>>
     */
    private static function steps(iterable $pairs): array
    {
        $steps = [];
        $arguments = ['0'];
        $index = $bytes = 0;
        foreach (Arguments::items('pairs', $pairs, Limits::get()->items) as $pair) {
            if (\is_array($pair) && \count($pair) === 2 && \array_is_list($pair)) {
                [$score, $member] = $pair;
            } else {
                $score = null;
                $member = $pair;
            }
            if (\is_float($score)) {
                // Most scores are times. Parsing this text rounds in the same way as the division
                // of floats, so the text is exact if the quotient is; and no other conversion is as
                // fast.
                $text = $score >= 1 && $score < self::MICROS_MAX
                    && ($micros = (int) ($score * 1e6 + 0.5)) / 1e6 === $score
                    ? $micros . 'e-6' : self::text($score, $index);
            } elseif ($score === null) {
                $text = '';
                $arguments[0] = '1';
            } elseif (\is_int($score)) {
                $text = (string) $score;
            } else {
                throw Arguments::wrongPair($index, $pair);
            }
            if (!\is_string($member)) {
                throw Arguments::wrongPair($index, $pair);
            }
            Limits::checkBytes($bytes += \strlen($member));
            $arguments[] = $text;
            $arguments[] = $member;
            if (++$index % self::STEP_MEMBERS_MAX === 0) {
                $steps[] = $arguments;
                $arguments = ['0'];
            }
        }
        if ($steps === [] || \count($arguments) > 1) {
            $steps[] = $arguments;
        }

        return $steps;
    }

    /**
     * A text that reads back as exactly this score. PHP's own conversion has as many digits as
     * php.ini says, and loses some digits of a time.
     */
    private static function text(float $score, int $index): string
    {
        if (\abs($score) < self::WHOLE_MAX && ($whole = (int) $score) == $score) {
            return (string) $whole;
        }
        if (\is_nan($score)) {
            throw new InvalidArgumentException(
                "ick.add: score $index is NaN; a score can be any number but NaN",
                'ick.add',
            );
        }
        if (\is_infinite($score)) {
            return $score > 0 ? 'inf' : '-inf';
        }

        return \sprintf('%.*H', -1, $score);
    }

    private static function score(string $text): float
    {
        return match ($text) {
            'inf' => \INF,
            '-inf' => -\INF,
            default => (float) $text,
        };
    }

    /**
     * @param list<string> $arguments
     *
     * @return list<Entry>
     */
    private function entries(string $operation, array $arguments): array
    {
        $reply = $this->evaluate($operation, $arguments);
        if (!\is_array($reply) || \count($reply) % 2 !== 0) {
            throw $this->badReply($operation);
        }
        $entries = [];
        for ($index = 0, $end = \count($reply); $index < $end; $index += 2) {
            $text = $reply[$index + 1];
            // PHP reads a text that it cannot parse, such as an infinity, as 0.
            $entries[] = new Entry($reply[$index], (float) $text ?: self::score($text));
        }

        return $entries;
    }

    /**
     * @param list<string> $arguments
     */
    private function number(string $operation, array $arguments): int
    {
        $reply = $this->evaluate($operation, $arguments);

        return \is_int($reply) ? $reply : throw $this->badReply($operation);
    }

    /**
     * @param list<string> $arguments
     *
     * @return int|string|array<mixed>|null
     */
    private function evaluate(string $operation, array $arguments): int|string|array|null
    {
        return $this->client->evaluate($operation, $this->keys(...), $arguments);
    }

    /**
     * @return list<string>
     */
    private function keys(string $prefix): array
    {
        if ($prefix !== $this->prefix) {
            $keys = $this->client->library->ickKeys($prefix . $this->name);
            [$this->keys, $this->prefix] = [$keys, $prefix];
        }

        return $this->keys;
    }

    private function badReply(string $operation): InternalException
    {
        return $this->client->badReply($operation);
    }
}
