<?php

declare(strict_types=1);

namespace Millpond\Internal;

use Millpond\Event;
use Millpond\EventJob;
use Millpond\Exception\DeadLetterException;
use Millpond\Exception\DependencyException;
use Millpond\Exception\MillpondException;
use Millpond\Message;
use Millpond\RejectJob;
use Millpond\Report;
use Millpond\ShuffleJob;
use Millpond\Tasks\Job;
use Millpond\Tasks\Task;
use Psr\Log\LoggerInterface;

/**
 * What a worker or a recruiter reports: to the program's callbacks, or else to its log.
 *
 * @internal
 */
final class WorkerLog
{
    private readonly ?\Closure $onError;

    private readonly ?\Closure $onEvent;

    /** @var array<string, array{Job|ShuffleJob|EventJob, \Throwable}> the failures of last attempts */
    private array $causes = [];

    public function __construct(
        private readonly ?LoggerInterface $logger,
        ?callable $onError,
        ?callable $onEvent,
    ) {
        $this->onError = $onError === null ? null : $onError(...);
        $this->onEvent = $onEvent === null ? null : $onEvent(...);
    }

    /**
     * Reports that a handler has failed. Finding documents held by others is not a failure. The failure of a last
     * attempt waits for the report that the job was put aside, of which it is the cause.
     */
    public function failed(Job|ShuffleJob|EventJob $job, \Throwable $failure): void
    {
        if ($failure instanceof DependencyException && $failure->onlyClaims()) {
            $this->log('debug', self::name($job) . ' is given back', $failure, $job);
        } elseif ($job->isLastAttempt()) {
            $this->causes[self::key($job)] = [$job, $failure];
        } else {
            $this->error('error', self::name($job) . ' failed', $failure, $job);
        }
    }

    /**
     * Reports that a handler has ended its process.
     */
    public function ended(Job|ShuffleJob|EventJob $job, string $how): void
    {
        $this->error('error', self::name($job) . " ended its process: $how", null, $job);
    }

    public function report(Report $report, Job|ShuffleJob|EventJob|null $job): void
    {
        if ($this->onEvent !== null) {
            $this->tell(fn () => ($this->onEvent)($report));
        }
        if ($report->isTrouble) {
            $level = $report->kind->value === 'back' ? 'info' : 'error';
            $this->error($level, $report->message, $this->caused($report, $job), $job);
        }
    }

    /**
     * Notes that a handler has rejected its job.
     */
    public function rejected(Job|ShuffleJob|EventJob $job, RejectJob $rejection): void
    {
        $this->causes[self::key($job)] = [$job, $rejection];
    }

    /**
     * Reports the failures that put no job aside in the end. The run is over.
     */
    public function close(): void
    {
        [$causes, $this->causes] = [$this->causes, []];
        foreach ($causes as [$job, $failure]) {
            if (!$failure instanceof RejectJob) {
                $this->error('error', self::name($job) . ' failed', $failure, $job);
            }
        }
    }

    /**
     * The error of a report; that of a job that was put aside has its cause.
     */
    private function caused(Report $report, Job|ShuffleJob|EventJob|null $job): ?\Throwable
    {
        $key = $job === null ? '' : self::key($job);
        $cause = $this->causes[$key][1] ?? null;
        if ($report->kind->value !== 'dead' || $cause === null) {
            return $report->error;
        }
        unset($this->causes[$key]);

        return new DeadLetterException($report->message, '', $cause);
    }

    private static function key(Job|ShuffleJob|EventJob $job): string
    {
        return self::text(self::name($job), self::context($job));
    }

    /**
     * @param Job|ShuffleJob|EventJob|string|null $job the job, of a recruiter its id
     */
    public function error(string $level, string $message, ?\Throwable $error = null, Job|ShuffleJob|EventJob|string|null $job = null): void
    {
        if ($this->onError !== null) {
            $this->tell(fn () => ($this->onError)($job, $error ?? new \RuntimeException(self::text($message, self::context($job)))));
        } else {
            $this->log($level, $message, $error, $job);
        }
    }

    private function log(string $level, string $message, ?\Throwable $error, Job|ShuffleJob|EventJob|string|null $job): void
    {
        $context = self::context($job);
        if ($this->logger !== null) {
            $context += $error === null ? [] : ['exception' => $error];
            $this->tell(fn () => $this->logger->log($level, "millpond: $message", $context));
        } elseif ($level !== 'debug') {
            // The message of the library's report already says why, but not where it was thrown.
            $says = $error === null || $error instanceof MillpondException && \str_contains($message, $error->getMessage());
            $cause = $error instanceof DeadLetterException && !$error->getPrevious() instanceof RejectJob ? $error->getPrevious() : null;
            $why = ($says ? '' : ": $error") . ($cause === null ? '' : ": $cause");
            \error_log('millpond: ' . self::text($message, $context) . $why);
        }
    }

    private static function name(Job|ShuffleJob|EventJob $job): string
    {
        return match (true) {
            $job instanceof Job => 'task {task} of queue {queue}',
            $job instanceof EventJob => 'event {event} (attempt {attempts})',
            default => 'message {message}',
        };
    }

    /**
     * What a message names, as a logger takes it.
     *
     * @return array<string, mixed>
     */
    private static function context(Job|ShuffleJob|EventJob|string|null $job): array
    {
        $of = $job?->task ?? $job?->message ?? $job?->event ?? null;

        return match (true) {
            $of instanceof Task => ['task' => $of->id, 'queue' => $of->queue, 'attempt' => $of->attempt],
            $of instanceof Message => ['message' => $of->id, 'stream' => $of->stream, 'deliveries' => $of->deliveries],
            \is_string($job) => ['job' => $job],
            $of instanceof Event => ['event' => $of->id, 'key' => $of->key, 'attempts' => $of->attempts],
            default => [],
        };
    }

    /**
     * @param array<string, mixed> $context
     */
    private static function text(string $message, array $context): string
    {
        $names = \array_map(static fn (string $name): string => "{{$name}}", \array_keys($context));

        return \str_replace($names, $context, $message);
    }

    /**
     * Calls a callback or the logger. An exception that it throws ends nothing.
     */
    private function tell(\Closure $how): void
    {
        try {
            $how();
        } catch (\Throwable $thrown) {
            if (Signals::isThrown($thrown)) {
                throw $thrown;
            }
            \error_log("millpond: a hook or the logger has thrown $thrown");
        }
    }
}
