<?php

declare(strict_types=1);

namespace Millpond\Internal;

use Millpond\Exception\InvalidArgumentException;
use Millpond\Exception\MillpondException;
use Millpond\Retry;

/**
 * The processes of a worker: children that are restarted when they die, and stopped together.
 *
 * @internal
 */
final class Processes
{
    /** A child that lived for less than this is restarted after a pause, which doubles each time; in seconds. */
    private const SHORT = 10.0, PAUSE = 0.1, PAUSE_MAX = 30.0;

    /** How long after the end of a stop a child that still runs is killed, in seconds. */
    private const GRACE = 2.0;

    /** How long to wait for a signal, in seconds. */
    private const LOOK = 60.0, LOOK_AT_STOP = 0.1;

    /** @var array<int, array{int, float}> the number of a child and when it was started, by its process */
    private array $running = [];

    /** @var array<int, float> when a child is to be started, by its number */
    private array $due;

    /** @var array<int, int> how many times in a row it died early, by its number */
    private array $deaths;

    /** The last signal that was sent to the children. */
    private int $sent = 0;

    /** @var array{resource, resource} on which a child reports a non-retryable error */
    private readonly array $pipe;

    private ?MillpondException $failure = null;

    /** Since when the children have to end although the worker was not stopped. */
    private ?float $givenUp = null;

    /**
     * @param \Closure(int): void    $work   what the child with this number does
     * @param \Closure(): float|null $stopAt when the time of a stop is over; null before a stop
     */
    public function __construct(
        int $count,
        private readonly \Closure $work,
        private readonly \Closure $stopAt,
        private readonly WorkerLog $log,
    ) {
        if ($count < 1) {
            throw new InvalidArgumentException("processes is $count; it has to be 1 or more");
        }
        if (\PHP_SAPI !== 'cli' || !\function_exists('pcntl_sigtimedwait') || !\function_exists('posix_kill')) {
            throw new InvalidArgumentException('processes takes the CLI with the extensions pcntl and posix');
        }
        [$this->due, $this->deaths] = [\array_fill(0, $count, 0.0), \array_fill(0, $count, 0)];
        $this->pipe = \stream_socket_pair(\STREAM_PF_UNIX, \STREAM_SOCK_DGRAM, 0);
        \stream_set_blocking($this->pipe[0], false);
    }

    /**
     * Keeps the children at work until a stop.
     *
     * @throws MillpondException a non-retryable error of a child
     */
    public function run(): void
    {
        \pcntl_sigprocmask(\SIG_BLOCK, [\SIGCHLD], $mask);
        try {
            while ($this->stopAt() === null) {
                $this->begin($mask);
                $this->wait();
            }
        } finally {
            // It ends because of a stop, or because a signal handler has thrown.
            $this->givenUp = $this->stopAt() ?? self::now();
            while ($this->running !== []) {
                $this->wait();
            }
            \pcntl_sigprocmask(\SIG_SETMASK, $mask);
        }
        if ($this->failure !== null) {
            throw $this->failure;
        }
    }

    /**
     * Starts the children that are due.
     *
     * @param list<int> $mask the signals that a child blocks
     */
    private function begin(array $mask): void
    {
        $now = self::now();
        foreach (\array_filter($this->due, static fn (float $due): bool => $due <= $now) as $number => $_) {
            $parent = \getmypid();
            $process = \pcntl_fork();
            if ($process === 0) {
                \pcntl_sigprocmask(\SIG_SETMASK, $mask);
                exit($this->child($parent, $number));
            }
            if ($process === -1) {
                $this->died($number, $now, 'cannot begin: ' . \pcntl_strerror(\pcntl_get_last_error()));
                continue;
            }
            $this->running[$process] = [$number, $now];
            unset($this->due[$number]);
        }
    }

    /**
     * Does the work of a child; returns its exit status.
     */
    private function child(int $parent, int $number): int
    {
        try {
            try {
                // PR_SET_PDEATHSIG: when the parent is killed, the child stops.
                \FFI::cdef('int prctl(int option, ...);')->prctl(1, \SIGTERM);
            } catch (\FFI\Exception) {
                // Only Linux has it.
            }
            if (\posix_getppid() === $parent) {
                ($this->work)($number);
            }

            return 0;
        } catch (\Throwable $failure) {
            if ($failure instanceof MillpondException && $failure->retry === Retry::Never) {
                $said = [$failure::class, $failure->getMessage(), $failure->operation];
                \fwrite($this->pipe[1], \json_encode($said, \JSON_INVALID_UTF8_SUBSTITUTE));
            } else {
                $this->log->error('error', 'a process of the worker failed', $failure);
            }

            return 1;
        }
    }

    /**
     * Waits until there is something to do, and does it; this includes signal handlers.
     */
    private function wait(): void
    {
        $come = Signals::held(function (array $held): array {
            $due = \min([\INF, ...$this->due]) - self::now();
            $seconds = $this->stopAt() === null ? \max(0.0, \min($due, self::LOOK)) : self::LOOK_AT_STOP;
            $signals = \array_unique([\SIGCHLD, ...$held]);
            $nanoseconds = (int) (\fmod($seconds, 1) * 1e9);
            $signal = @\pcntl_sigtimedwait($signals, $details, (int) $seconds, $nanoseconds);

            return $signal > 0 ? [[$signal, $details]] : [];
        });
        $this->reap();
        Signals::handle($come);
        $this->send();
    }

    /**
     * Sends the signal that a stop calls for: to stop, to stop immediately, or to kill.
     */
    private function send(): void
    {
        $stopAt = $this->stopAt();
        $over = self::now() - ($stopAt ?? \INF);
        $signal = match (true) {
            $stopAt === null => 0,
            $over >= self::GRACE => \SIGKILL,
            $over >= 0 => \SIGQUIT,
            default => \SIGTERM,
        };
        if ($signal !== $this->sent) {
            foreach ($this->running as $process => $_) {
                \posix_kill($process, $signal);
            }
            $this->sent = $signal;
        }
    }

    /**
     * Handles the end of children.
     */
    private function reap(): void
    {
        foreach ($this->running as $process => [$number, $since]) {
            $ended = \pcntl_waitpid($process, $status, \WNOHANG);
            if ($ended === 0) {
                continue;
            }
            unset($this->running[$process]);
            $said = \fread($this->pipe[0], 65_536);
            if (\is_string($said) && $said !== '') {
                [$class, $message, $operation] = \json_decode($said);
                $this->failure = new $class($message, $operation);
                $this->givenUp = self::now();
            } elseif ($this->stopAt() === null) {
                $how = \pcntl_wifsignaled($status) ? 'signal ' . \pcntl_wtermsig($status) : 'status ' . \pcntl_wexitstatus($status);
                $this->died($number, $since, "$process ended with $how");
            }
        }
    }

    private function died(int $number, float $since, string $how): void
    {
        $now = self::now();
        $deaths = $this->deaths[$number] = $now - $since < self::SHORT ? $this->deaths[$number] + 1 : 0;
        $pause = $deaths === 0 ? 0.0 : \min(self::PAUSE * 2 ** ($deaths - 1), self::PAUSE_MAX);
        $this->due[$number] = $now + $pause;
        $this->log->error('error', "a process of the worker, $how; another begins in $pause s");
    }

    private function stopAt(): ?float
    {
        $stopAt = ($this->stopAt)();

        return $this->givenUp === null ? $stopAt : \min($this->givenUp, $stopAt ?? \INF);
    }

    private static function now(): float
    {
        return \hrtime(true) / 1e9;
    }
}
