<?php

declare(strict_types=1);

namespace Millpond\Internal;

use FFI;
use Millpond\EventJob;
use Millpond\Exception\InvalidArgumentException;
use Millpond\MoveJob;
use Millpond\RejectJob;
use Millpond\ReleaseJob;
use Millpond\RetryJob;
use Millpond\ShuffleJob;
use Millpond\Tasks\DocChange;
use Millpond\Tasks\Job;
use Millpond\Tasks\Modification;
use Millpond\Tasks\NewDoc;
use Millpond\Tasks\NewTask;
use Millpond\Tasks\TaskChange;

/**
 * How a job ends, according to what its handler returned or threw.
 *
 * @internal
 */
final class Outcome
{
    /** A millpond_task_end. */
    private const DONE = 0, FINISH = 1, RETRY = 2, MOVE = 3, RELEASE = 4, FAIL = 5, REJECT = 6;

    /** The letters of a key that only a modification has, however it is spelled. */
    private const KEY = '/^(insert|change|delete|depend|doc(insert|put|change|delete|depend)'
        . '|(insert|put|change|delete|depend)doc|modification)s?$/D';

    /**
     * @return array{int, Packed|null, string|null, string|null, int} the fields of a millpond_task_outcome
     *
     * @throws InvalidArgumentException for a value that was plainly meant as something else
     */
    public static function of(FFI $ffi, mixed $done, Job|ShuffleJob|EventJob $job): array
    {
        $delay = static fn (): int => Arguments::optional('delay', $done->delay);

        return match (true) {
            $done instanceof Modification && $job instanceof Job => [self::FINISH, $done->packed($ffi), null, null, Arguments::NOT_SET],
            $done instanceof RetryJob => [self::RETRY, null, self::text($done->getMessage()), null, $delay()],
            $done instanceof MoveJob => [self::MOVE, null, self::text($done->getMessage()), $done->queue, Arguments::NOT_SET],
            $done instanceof RejectJob => [self::REJECT, null, self::text($done->getMessage()), null, Arguments::NOT_SET],
            $done instanceof ReleaseJob => [self::RELEASE, null, null, null, $delay()],
            $done instanceof \Throwable => self::failed(\get_debug_type($done) . ": {$done->getMessage()}"),
            default => self::refuse($done, $job) ?? [self::DONE, null, null, null, Arguments::NOT_SET],
        };
    }

    /**
     * @return array{int, null, string, null, int}
     */
    public static function failed(string $err): array
    {
        return [self::FAIL, null, self::text($err), null, Arguments::NOT_SET];
    }

    /**
     * Whether what a handler threw or returned is reported as a failure.
     */
    public static function isFailure(mixed $done): bool
    {
        return $done instanceof \Throwable && !$done instanceof RetryJob && !$done instanceof MoveJob
            && !$done instanceof RejectJob && !$done instanceof ReleaseJob;
    }

    /**
     * Bytes in a message may not be text.
     */
    private static function text(string $message): string
    {
        return \json_decode(\json_encode($message, \JSON_INVALID_UTF8_SUBSTITUTE));
    }

    /**
     * Refuses a value that was plainly meant as a modification, and work that nothing waits for.
     */
    private static function refuse(mixed $done, Job|ShuffleJob|EventJob $job): ?array
    {
        $meant = self::meant($done) ?? self::firstOfLists($done);
        foreach (\is_array($done) && self::plain($done) === [] ? $done : [] as $item) {
            $meant ??= self::meant($item);
        }
        $endsWithout = match (true) {
            $job instanceof ShuffleJob => ', and a message ends without one',
            $job instanceof EventJob => ', and an event ends without one',
            default => '',
        };
        $is = match (true) {
            $done instanceof \Generator => 'a generator, since it has a yield: nothing of it has run',
            $done instanceof \Fiber, \is_object($done) && \method_exists($done, 'then') =>
                \get_debug_type($done) . ', which nobody waits for',
            $done instanceof Modification => "a modification$endsWithout",
            $meant instanceof Modification => "a list with a modification$endsWithout: return "
                . ($endsWithout === '' ? 'the modification itself' : 'nothing'),
            \is_object($meant) => \get_debug_type($meant) . ' that is in no Modification',
            $meant !== null => "a value that looks like a modification, by its key \"$meant\"$endsWithout: return "
                . ($endsWithout === '' ? 'a Modification, such as $job->delete(), or nothing' : 'nothing'),
            default => null,
        };

        return $is === null ? null : throw new InvalidArgumentException("the handler returned $is");
    }

    /**
     * What shows that a value was meant as a modification: an object of one, or a key.
     */
    private static function meant(mixed $value): Modification|NewTask|TaskChange|NewDoc|DocChange|string|null
    {
        if ($value instanceof Modification || $value instanceof NewTask || $value instanceof TaskChange
            || $value instanceof NewDoc || $value instanceof DocChange) {
            return $value;
        }
        foreach (self::plain($value) as $key => $entry) {
            // The number of rows that a database changed is a result. Bytes outside ASCII are parts of letters.
            if ($entry !== null && !\is_scalar($entry) && \preg_match(self::KEY, \preg_replace('/[^a-z\x80-\xff]/', '', \strtolower((string) $key))) === 1) {
                return (string) $key;
            }
        }

        return null;
    }

    /**
     * The first key of a plain object that has only lists; such a value is no result.
     */
    private static function firstOfLists(mixed $value): ?string
    {
        $entries = self::plain($value);
        $lists = \array_filter($entries, static fn (mixed $entry): bool => \is_array($entry) && \array_is_list($entry));

        return $entries !== [] && \count($lists) === \count($entries) ? (string) \array_key_first($entries) : null;
    }

    /**
     * The entries of a plain object, which is a stdClass or an array with names; of anything else none.
     *
     * @return array<mixed>
     */
    private static function plain(mixed $value): array
    {
        $entries = $value instanceof \stdClass ? \get_object_vars($value) : $value;
        $isPlain = \is_array($entries) && \array_filter(\array_keys($entries), \is_string(...)) !== [];

        return $isPlain ? $entries : [];
    }
}
