<?php

declare(strict_types=1);

namespace Millpond\Internal;

use FFI;
use FFI\CData;
use Millpond\Exception\CancelledException;

/**
 * The program's signal handlers, while the library waits.
 *
 * PHP runs handlers between two of its own steps, and a call into C is one step, however long. So
 * the signals that have a handler are held back during the call, the library checks now and then
 * whether one has come, and if so it returns. Handlers then run outside of it, where they may throw,
 * exit or make calls as they like.
 *
 * @internal
 */
final class Signals
{
    /** SIGTERM and SIGINT; without pcntl PHP has no names for them. */
    public const STOP = [15, 2];

    /** SIGQUIT, with which `Processes` hurries its children. */
    public const QUIT = 3;

    /** SIGHUP, SIGUSR1 and SIGUSR2 too: with SIGALRM a program limits the time of a job. */
    private const PROGRAM = [...self::STOP, self::QUIT, 1, 10, 12];

    /** What a handler of the program has thrown last. */
    private static ?\Throwable $thrown = null;

    /** How many noting() are under way. */
    private static int $noting = 0;

    /** How many of them are running: more than 0 at the end of the program if one of them has ended it. */
    private static int $running = 0;

    /** Whether a signal has come, as a C function. Made once: PHP frees those only at its end. */
    private static ?CData $question = null;

    /** @var list<int> the signals that are held back */
    private static array $held = [];

    /** @var list<array{int, array<string, mixed>}> those that have come, and what is known of them */
    private static array $come = [];

    /**
     * Does something that no handler can throw out of: handlers run before it or after it. After one
     * that throws its return value is lost, so it keeps itself what must not be lost.
     *
     * @template Made
     *
     * @param callable(list<int>): Made $work gets the signals that are held back for it
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
            // Those that came before run now, where that is safe.
            \pcntl_signal_dispatch();
            // What the program itself has blocked is not for its handlers yet.
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
     * Makes a call that can take long: it ends early if a signal comes that has a handler.
     *
     * @param callable(): void $call keeps the call's result; that may be that it was cancelled. It
     *                               throws nothing
     *
     * @return list<array{int, array<string, mixed>}> the signals that came, for handle()
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
     * Makes a call that keeps its result, so that a handler that throws loses nothing; once more if
     * signals have ended it and their handlers returned.
     *
     * @param ?float           $wait for how long it may wait, in seconds; null if it does not take long. When
     *                               that is over it is not made again: however often signals come, a wait ends
     * @param callable(): void $call may throw, as it does when it was cancelled
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
     * Does work, and calls this meanwhile for each of these signals; what handled them before is put back.
     *
     * @param list<int>           $signals
     * @param callable(int): void $handler throws nothing
     */
    public static function during(array $signals, callable $handler, callable $work): mixed
    {
        if ($signals === [] || !self::canHandle()) {
            return $work();
        }
        [$before, $isAsync] = [\array_map(\pcntl_signal_get_handler(...), $signals), \pcntl_async_signals(true)];
        try {
            \array_map(static fn (int $signal): bool => \pcntl_signal($signal, $handler), $signals);

            return $work();
        } finally {
            \array_map(\pcntl_signal(...), $signals, $before);
            \pcntl_async_signals($isAsync);
        }
    }

    /**
     * Does work, and notes what the program's handlers throw meanwhile, for isThrown().
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
            \array_map(\pcntl_signal(...), \array_keys($before), $before);
            // One in the handler of a job leaves it to that of the job.
            if (--self::$noting === 0) {
                self::$thrown = null;
            }
        }
    }

    /**
     * Whether a handler of the program has thrown this.
     */
    public static function isThrown(mixed $thrown): bool
    {
        return $thrown !== null && $thrown === self::$thrown;
    }

    /**
     * Whether such a handler is running, as it is at the end of a program that it ends.
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
        // An exit() does not come here.
        --self::$running;
        if (isset($thrown)) {
            throw $thrown;
        }
    }

    /**
     * Runs the handlers of signals that came: all of them, even if one throws.
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
     * The signals that have a handler: only in the CLI can they have one. PHP does not report those
     * of real-time signals, which therefore run after a call.
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
     * Takes a signal that has come, if there is one.
     */
    private static function take(): bool
    {
        $signal = @\pcntl_sigtimedwait(self::$held, $details, 0, 0);
        if ($signal > 0) {
            self::$come[] = [$signal, $details];
        }

        return $signal > 0;
    }
}
