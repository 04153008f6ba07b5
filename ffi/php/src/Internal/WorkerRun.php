<?php

declare(strict_types=1);

namespace Millpond\Internal;

use FFI\CData;
use Millpond\JobCounts;
use Millpond\Event;
use Millpond\EventJob;
use Millpond\Exception\CancelledException;
use Millpond\Exception\MillpondException;
use Millpond\Message;
use Millpond\Report;
use Millpond\ReportKind;
use Millpond\ShuffleJob;
use Millpond\Tasks\Job;
use Millpond\Tasks\Task;

/**
 * The run of a worker: its jobs, one after another, and what became of them.
 *
 * @internal
 */
final class WorkerRun
{
    /** @var array<int, self> the runs in progress: exit() unwinds the stack, and must not free them */
    private static array $open = [];

    /** What came last. It is kept here, so that nothing is lost if a signal handler throws. */
    private Job|ShuffleJob|EventJob|Report|null $event = null;

    /** The library's job, if what came last was a job. */
    private ?CData $job = null;

    private bool $isOver = false;

    private readonly CData $run;

    private readonly int $process;

    /**
     * @param string                           $queue the name of the kind of queue in the library's functions
     * @param \Closure(CData|null, Task|Message|Event|null): (Job|ShuffleJob|EventJob) $made makes a job from the
     *        library's job, or one that is over from the task, message or event that it was about
     */
    public function __construct(
        private readonly Library $library,
        private readonly string $queue,
        private readonly CData $worker,
        private readonly \Closure $made,
        bool $drains,
        bool $tellsAll,
        private readonly WorkerLog $log,
    ) {
        Handles::keep($this, $library->ffi, "millpond_{$queue}_worker_free", $worker);
        $this->run = $library->made("millpond_{$queue}_worker_start", [$worker, $drains, $tellsAll], "{$queue}_run")->{"{$queue}_run"}[0];
        Handles::keep($this, $library->ffi, "millpond_{$queue}_run_free", $this->run);
        $this->process = \getmypid();
        self::$open[\spl_object_id($this)] = $this;
    }

    public function stop(int $withinMs): void
    {
        $this->library->made("millpond_{$this->queue}_worker_stop", [$this->worker, $withinMs]);
    }

    /**
     * Waits for what comes next; null when the run is over.
     */
    public function next(): Job|ShuffleJob|EventJob|Report|null
    {
        $this->event = null;
        Signals::keeping($this->library->ffi, \INF, function (): void {
            Handles::sweep();
            try {
                [$job, $report] = ["{$this->queue}_job", "{$this->queue}_report"];
                $call = $this->library->made("millpond_{$this->queue}_run_next", [$this->run], $job, $report);
            } catch (MillpondException $failure) {
                $this->isOver = !$failure instanceof CancelledException;
                throw $failure;
            }
            [$this->job, $report] = [$call->$job[0], $call->$report[0]];
            $this->event = match (true) {
                $this->job !== null => ($this->made)($this->job),
                $report !== null => $this->report($report),
                default => null,
            };
            $this->isOver = $this->event === null;
        });

        return $this->event;
    }

    /**
     * Ends the job that came last; the outcome is reported.
     *
     * @param array{int, Packed|null, string|null, string|null, int} $outcome the fields of a millpond_task_outcome
     */
    public function end(array $outcome): void
    {
        [$end, $modification, $err, $queue, $delayMs] = $outcome;
        $cells = [$end, $modification->address ?? 0, $err, $queue, $delayMs];
        $packed = Packed::records($this->library->ffi, 'millpond_task_outcome *', [$cells]);
        $this->library->made("millpond_{$this->queue}_run_end", [$this->run, $this->job, $packed->array]);
    }

    /**
     * What became of the run's jobs so far.
     */
    public function counts(): JobCounts
    {
        // PHP frees a structure if it is part of something that is not referenced.
        $call = $this->library->made("millpond_{$this->queue}_run_counts", [$this->run], 'counts');
        $counts = $call->counts[0];

        return new JobCounts($counts->done, $counts->retried, $counts->dead, $counts->others);
    }

    public function tell(Report $report): void
    {
        $this->log->report($report, $report->of === null ? null : ($this->made)(null, $report->of));
    }

    /**
     * Gives back what the run holds, if it is not over, and frees the run.
     *
     * @param \Closure(Report): void $tell gets the reports about that
     */
    public function close(\Closure $tell): void
    {
        if (!$this->isOver) {
            $this->stop(0);
        }
        while (!$this->isOver) {
            $event = $this->next();
            if ($event instanceof Report) {
                $tell($event);
            }
        }
        unset(self::$open[\spl_object_id($this)]);
        Handles::free($this->run);
        Handles::free($this->worker);
    }

    /**
     * The program ends in the middle of a job. That is an attempt: otherwise one such job would end every program,
     * forever. If a signal handler ends the program, the job has not failed.
     *
     * @param string|null $failure the message of a fatal error; null for an exit
     */
    public static function atEnd(?string $failure): void
    {
        foreach (self::$open as $run) {
            if ($run->process === \getmypid()) {
                $job = $run->event instanceof Report || Signals::isHandling() ? null : $run->event;
                $err = $failure === null ? 'exit' : "Fatal error: $failure";
                if ($job !== null) {
                    $run->end(Outcome::failed($err));
                }
                $reports = [];
                $run->close(static function (Report $report) use (&$reports): void {
                    $reports[] = $report;
                });
                // A hook may end the program too, so nothing is held any more.
                if ($job !== null) {
                    $run->log->ended($job, $err);
                }
                \array_map($run->tell(...), $reports);
            }
        }
    }

    private function report(CData $handle): Report
    {
        $ffi = $this->library->ffi;
        Handles::keep($this, $ffi, "millpond_{$this->queue}_report_free", $handle);
        [$read, $readJob] = ["millpond_{$this->queue}_report_data", "millpond_{$this->queue}_report_job_data"];
        [$data, $job] = [$ffi->$read($handle)[0], $ffi->$readJob($handle)];
        $report = new Report(
            ReportKind::from($ffi->millpond_report_kind_name($data->kind)),
            $data->is_trouble,
            TaskResults::bytes($data->message),
            match ($job === null ? '' : $this->queue) {
                'tasks' => TaskResults::in($ffi, $job, 'tasks')[0],
                'shuffle' => ShuffleResults::message($job[0]),
                'events' => EventResults::in($ffi, $job, 'events')[0],
                default => null,
            },
            $data->error === null ? null : $this->library->exception($data->error),
        );
        Handles::free($handle);

        return $report;
    }
}
