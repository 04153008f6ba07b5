<?php

declare(strict_types=1);

namespace Millpond\Internal;

use FFI\CData;
use Millpond\JobCounts;
use Millpond\Event;
use Millpond\EventJob;
use Millpond\Exception\InvalidArgumentException;
use Millpond\Message;
use Millpond\RejectJob;
use Millpond\Report;
use Millpond\ShuffleJob;
use Millpond\Tasks\Job;
use Millpond\Tasks\Task;
use Psr\Log\LoggerInterface;

/**
 * How a worker works: a loop over what its run returns.
 *
 * @internal
 */
trait Works
{
    /** When the time of a stop is over, by the machine's clock in seconds; null before the first stop. */
    private ?float $stopAt = null;

    /** The number of this process, if it is one of several. */
    private ?int $process = null;

    /** @var array<int, WorkerRun> the runs in progress */
    private array $runs = [];

    /**
     * @internal made by the worker() of a queue
     *
     * @param string $queue the kind of queue in the library's functions
     * @param \Closure(\Closure(CData): mixed, int|null): mixed $open makes an object from a worker of the library
     * @param \Closure(CData|null, Task|Message|Event|null): (Job|ShuffleJob|EventJob) $job makes a job from the
     *        library's job, or one that is over from the task, message or event that it was about
     */
    public function __construct(
        private readonly Library $library,
        private readonly string $queue,
        private readonly \Closure $open,
        private readonly \Closure $job,
        private readonly ?LoggerInterface $logger,
    ) {
    }

    public function run(
        callable $handler,
        ?callable $onError = null,
        ?callable $onEvent = null,
        ?int $processes = null,
        float $stopWithin = 25.0,
        bool $stopOnSignals = true,
    ): ?JobCounts {
        Arguments::wait('stopWithin', $stopWithin);
        $log = new WorkerLog($this->logger, $onError, $onEvent);
        $work = fn () => $this->work($this->start(false, $onEvent !== null, $log), $handler, $log);
        if ($processes !== null) {
            $stop = fn (int $signal) => $this->stop($signal === Signals::QUIT ? 0.0 : $stopWithin);
            $child = function (int $number) use ($stop, $work): void {
                $this->process = $number;
                Signals::during([...Signals::STOP, Signals::QUIT], $stop, $work, isForked: true);
            };
            $work = (new Processes($processes, $child, fn () => $this->stopAt, $log))->run(...);
        }
        $come = 0;
        $stop = function () use ($stopWithin, &$come): void {
            $this->stop($come++ === 0 ? $stopWithin : 0.0);
        };

        return Signals::during($stopOnSignals ? Signals::STOP : [], $stop, $work);
    }

    public function drain(callable $handler, ?callable $onError = null, ?callable $onEvent = null): JobCounts
    {
        $log = new WorkerLog($this->logger, $onError, $onEvent);

        return $this->work($this->start(true, true, $log), $handler, $log);
    }

    public function stop(float $within = 25.0): void
    {
        $withinMs = Arguments::wait('within', $within);
        $this->stopAt = \min($this->stopAt ?? \INF, \hrtime(true) / 1e9 + $within);
        foreach ($this->runs as $run) {
            $run->stop($withinMs);
        }
    }

    /**
     * Each call has a separate run, since an exception that ends the run does not stop the worker.
     */
    private function start(bool $drains, bool $tellsAll, WorkerLog $log): WorkerRun
    {
        $made = fn (CData $worker): WorkerRun
            => new WorkerRun($this->library, $this->queue, $worker, $this->job, $drains, $tellsAll, $log);

        return ($this->open)($made, $this->process);
    }

    private function work(WorkerRun $run, callable $handler, WorkerLog $log): JobCounts
    {
        $this->runs[\spl_object_id($run)] = $run;
        try {
            if ($this->stopAt !== null) {
                $this->stop(\max(0.0, $this->stopAt - \hrtime(true) / 1e9));
            }

            return Signals::noting(fn (): JobCounts => $this->workOn($run, $handler, $log));
        } finally {
            // If the run is not over, a signal handler has thrown.
            $run->close($run->tell(...));
            $log->close();
            unset($this->runs[\spl_object_id($run)]);
        }
    }

    private function workOn(WorkerRun $run, callable $handler, WorkerLog $log): JobCounts
    {
        while (($event = $run->next()) !== null) {
            if ($event instanceof Report) {
                $run->tell($event);
            } else {
                $this->perform($event, $run, $handler, $log);
            }
        }

        return $run->counts();
    }

    private function perform(Job|ShuffleJob|EventJob $job, WorkerRun $run, callable $handler, WorkerLog $log): void
    {
        try {
            $done = $handler($job);
        } catch (\Throwable $done) {
            if (Signals::isThrown($done)) {
                throw $done;
            }
        }
        try {
            if (Outcome::isFailure($done)) {
                $log->failed($job, $done);
            } elseif ($done instanceof RejectJob) {
                $log->rejected($job, $done);
            }
            $outcome = Outcome::of($this->library->ffi, $done, $job);
            $run->end($outcome);
        } catch (InvalidArgumentException $invalid) {
            $log->failed($job, $invalid);
            $run->end(Outcome::of($this->library->ffi, $invalid, $job));
        }
    }
}
