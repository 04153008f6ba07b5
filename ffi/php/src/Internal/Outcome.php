<?php

declare(strict_types=1);

namespace Millpond\Internal;

use FFI;
use Millpond\Exception\InvalidArgumentException;
use Millpond\MoveJob;
use Millpond\RejectJob;
use Millpond\ReleaseJob;
use Millpond\RetryJob;
use Millpond\Tasks\DocChange;
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

    /**
     * @return array{int, Packed|null, string|null, string|null, int} the fields of a millpond_task_outcome
     *
     * @throws InvalidArgumentException for a value that was plainly meant as something else
     */
    public static function of(FFI $ffi, mixed $done): array
    {
        $delay = static fn (): int => Arguments::optional('delay', $done->delay);

        return match (true) {
            $done instanceof Modification => [self::FINISH, $done->packed($ffi), null, null, Arguments::NOT_SET],
            $done instanceof RetryJob => [self::RETRY, null, self::text($done->getMessage()), null, $delay()],
            $done instanceof MoveJob => [self::MOVE, null, self::text($done->getMessage()), $done->queue, Arguments::NOT_SET],
            $done instanceof RejectJob => [self::REJECT, null, self::text($done->getMessage()), null, Arguments::NOT_SET],
            $done instanceof ReleaseJob => [self::RELEASE, null, null, null, $delay()],
            $done instanceof \Throwable => self::failed(\get_debug_type($done) . ": {$done->getMessage()}"),
            default => self::mistake($done) ?? [self::DONE, null, null, null, Arguments::NOT_SET],
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
    private static function mistake(mixed $done): ?array
    {
        $first = \is_array($done) && \array_is_list($done) ? $done[0] ?? null : $done;
        $entries = $done instanceof \stdClass ? \get_object_vars($done) : $done;
        $named = static fn (array $of): array =>
            \array_map(static fn (string|int $name): string => \rtrim((string) $name, 's'), \array_keys($of));
        $names = \is_array($entries) ? $named($entries) : [];
        // A list with such a name, possibly among other entries.
        $lists = \is_array($entries) ? $named(\array_filter($entries, '\is_array')) : [];
        $is = match (true) {
            $done instanceof \Generator => 'a generator, since it has a yield: nothing of it has run',
            $done instanceof \Fiber, \is_object($done) && \method_exists($done, 'then') =>
                \get_debug_type($done) . ', which nobody waits for',
            $first instanceof NewTask, $first instanceof TaskChange, $first instanceof NewDoc, $first instanceof DocChange =>
                \get_debug_type($first) . ' that is in no Modification',
            $names !== [] && \array_diff($names, Modification::LISTS) === [], \array_intersect($lists, Modification::LISTS) !== [] =>
                'an array with the names of a Modification, which is none',
            default => null,
        };

        return $is === null ? null : throw new InvalidArgumentException("the handler returned $is");
    }
}
