<?php

declare(strict_types=1);

namespace Millpond\Internal;

use FFI;
use FFI\CData;
use Millpond\Exception\CancelledException;

/**
 * Runs the program's signal handlers while the library waits.
 *
 * PHP runs signal handlers between its own steps, and a call into C is one step, however long it takes. So the
 * signals that have a handler are blocked during the call. The library checks periodically whether one of them
 * has arrived, and if so it returns. The handlers then run outside the call, where they may throw, exit or
 * make calls as they like.
 *
 * @internal
 */
final class Signals
{
    /** SIGTERM and SIGINT; without pcntl PHP has no names for them. */
    public const STOP = [15, 2];

    /** SIGQUIT, with which `Processes` makes its children stop immediately. */
    public const QUIT = 3;

    /** Also SIGHUP, SIGUSR1 and SIGUSR2, but not SIGALRM: with that, a program limits the time of a job. */
    private const PROGRAM = [...self::STOP, self::QUIT, 1, 10, 12];

    /** What a handler of the program threw last. */
    private static ?\Throwable $thrown = null;

    /** How many noting() are in progress. */
    private static int $noting = 0;

    /** How many of the program's handlers are running: more than 0 at the end of the program if a handler ended it. */
    private static int $running = 0;

    /** The check whether a signal has arrived, as a C function. Created once: PHP frees those only when it ends. */
    private static ?CData $question = null;

    /** @var list<int> the signals that are blocked */
    private static array $held = [];

    /** @var list<array{int, array<string, mixed>}> the signals that have arrived, and their details */
    private static array $come = [];

    /**
     * Does work that no handler can throw out of: handlers run before it or after it. If a handler throws
     * after it, its return value is lost, so the work itself has to keep what must not be lost.
     *
     * @template Made
     *
     * @param callable(list<int>): Made $work gets the signals that are blocked for it
     *
     * @return Made
     */
    public static function held(callable $work): mixed
    {
        $signals = self::handled();
        if ($signals === []) {
            return $work([]);
        }
        $before = null;
        try {
            \pcntl_sigprocmask(\SIG_BLOCK, $signals, $before);
            // The handlers of signals that arrived before run now, where that is safe.
            \pcntl_signal_dispatch();
            // A signal that the program itself has blocked must not reach its handler yet.
            $held = \array_values(\array_diff($signals, $before));
            $made = $work($held);
        } finally {
            if ($before !== null) {
                \pcntl_sigprocmask(\SIG_SETMASK, $before);
            }
        }

        return $made;
    }

    /**
     * Makes a call that can take long: it ends early if a signal arrives that has a handler.
     *
     * @param callable(): void $call keeps the call's result, which may be that it was cancelled. It throws
     *                               nothing
     *
     * @return list<array{int, array<string, mixed>}> the signals that arrived, for handle()
     */
    public static function waiting(FFI $ffi, callable $call): array
    {
        return self::held(static function (array $held) use ($ffi, $call): array {
            if ($held === []) {
                $call();

                return [];
            }
            $outer = [self::$held, self::$come];
            [self::$held, self::$come] = [$held, []];
            $check = self::question($ffi);
            $ffi->millpond_on_interrupt($check);
            try {
                $call();
            } finally {
                $ffi->millpond_on_interrupt(null);
            }
            while (self::take()) {
            }
            $come = self::$come;
            [self::$held, self::$come] = $outer;

            return $come;
        });
    }

    /**
     * Makes a call that keeps its result, so that nothing is lost if a handler throws. If signals ended the call
     * and their handlers returned, it is made again.
     *
     * @param ?float           $wait how long the call may wait, in seconds; null if it does not take long. After
     *                               that time it is not made again: a wait ends no matter how often signals arrive
     * @param callable(): void $call may throw, as it does if it was cancelled
     *
     * @throws \Throwable what the call throws
     */
    public static function keeping(FFI $ffi, ?float $wait, callable $call): void
    {
        $until = \hrtime(true) / 1e9 + $wait;
        do {
            $failure = null;
            $try = static function () use ($call, &$failure): void {
                try {
                    $call();
                } catch (\Throwable $thrown) {
                    $failure = $thrown;
                }
            };
            $signals = [];
            if ($wait !== null) {
                $signals = self::waiting($ffi, $try);
                self::handle($signals);
            } else {
                self::held($try);
            }
            $isInterrupted = $failure instanceof CancelledException && $signals !== [];
        } while ($isInterrupted && \hrtime(true) / 1e9 < $until);
        if ($failure !== null && !$isInterrupted) {
            throw $failure;
        }
    }

    /**
     * Does work, and for each of these signals that arrives during it calls the handler, and then the program's own.
     * Restores the program's handlers.
     *
     * @param list<int>           $signals
     * @param callable(int): void $handler  throws nothing
     * @param bool                $isForked whether this is a child, whose parent calls the program's handlers
     */
    public static function during(array $signals, callable $handler, callable $work, bool $isForked = false): mixed
    {
        if ($signals === [] || !self::canHandle()) {
            return $work();
        }
        [$before, $isAsync] = [\array_map(\pcntl_signal_get_handler(...), $signals), \pcntl_async_signals(true)];
        $both = static fn (callable|int $own): \Closure => static function (int $signal, mixed $details) use ($handler, $own): void {
            $handler($signal);
            if (!\is_int($own)) {
                $own($signal, $details);
            }
        };
        try {
            foreach ($signals as $index => $signal) {
                \pcntl_signal($signal, $isForked ? $handler : $both($before[$index]));
            }

            return $work();
        } finally {
            \array_map(\pcntl_signal(...), $signals, $before);
            \pcntl_async_signals($isAsync);
        }
    }

    /**
     * Does work, and records what the program's handlers throw during it, for isThrown().
     *
     * @template Made
     *
     * @param callable(): Made $work
     *
     * @return Made
     */
    public static function noting(callable $work): mixed
    {
        $before = [];
        foreach (self::canHandle() ? self::PROGRAM : [] as $signal) {
            $handler = \pcntl_signal_get_handler($signal);
            if (!\is_int($handler)) {
                $before[$signal] = $handler;
                \pcntl_signal($signal, static fn (int $signal, mixed $details) => self::call($handler, $signal, $details));
            }
        }
        ++self::$noting;
        try {
            return $work();
        } finally {
            foreach ($before as $signal => $handler) {
                \pcntl_signal($signal, $handler);
            }
            // A noting() inside the handler of a job leaves this to the noting() of that job.
            if (--self::$noting === 0) {
                self::$thrown = null;
            }
        }
    }

    /**
     * Whether a handler of the program threw this.
     */
    public static function isThrown(mixed $thrown): bool
    {
        return $thrown !== null && $thrown === self::$thrown;
    }

    /**
     * Whether such a handler is running. At the end of a program that means that the handler has ended it.
     */
    public static function isHandling(): bool
    {
        return self::$running > 0;
    }

    private static function call(callable $handler, int $signal, mixed $details): void
    {
        ++self::$running;
        try {
            $handler($signal, $details);
        } catch (\Throwable $thrown) {
            self::$thrown = $thrown;
        }
        // Not reached after an exit().
        --self::$running;
        if (isset($thrown)) {
            throw $thrown;
        }
    }

    /**
     * Runs the handlers of signals that arrived: all of them, even if one throws.
     *
     * @param list<array{int, array<string, mixed>}> $signals
     */
    public static function handle(array $signals): void
    {
        if ($signals === []) {
            return;
        }
        [$signal, $details] = \array_shift($signals);
        try {
            $handler = \pcntl_signal_get_handler($signal);
            if (!\is_int($handler)) {
                $handler($signal, $details);
            }
        } finally {
            self::handle($signals);
        }
    }

    /**
     * The signals that have a handler, which is possible only in the CLI. PHP does not report the handlers of
     * real-time signals, so these run after a call.
     *
     * @return list<int>
     */
    private static function handled(): array
    {
        $handled = [];
        if (!self::canHandle()) {
            return $handled;
        }
        for ($signal = 1; $signal < 32; ++$signal) {
            if (!\is_int(\pcntl_signal_get_handler($signal))) {
                $handled[] = $signal;
            }
        }

        return $handled;
    }

    /**
     * Whether handlers run between any two steps of PHP, and not only where the program or a wait lets them.
     */
    public static function areAsync(): bool
    {
        return self::canHandle() && \pcntl_async_signals();
    }

    private static function canHandle(): bool
    {
        return \PHP_SAPI === 'cli' && \function_exists('pcntl_sigtimedwait');
    }

    private static function question(FFI $ffi): CData
    {
        if (self::$question === null) {
            self::$question = $ffi->new('struct { bool (*check)(void); }');
            self::$question->check = self::take(...);
        }

        return self::$question->check;
    }

    /**
     * Takes one signal that has arrived, if there is one.
     */
    private static function take(): bool
    {
        // PHP 8.4 refuses no time at all.
        $signal = @\pcntl_sigtimedwait(self::$held, $details, 0, 1);
        if ($signal > 0) {
            self::$come[] = [$signal, $details];
        }

        return $signal > 0;
    }
}
