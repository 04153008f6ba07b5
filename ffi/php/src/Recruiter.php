<?php

declare(strict_types=1);

namespace Millpond;

use FFI;
use FFI\CData;
use Millpond\Exception\InvalidArgumentException;
use Millpond\Exception\MillpondException;
use Millpond\Internal\AfterResponse;
use Millpond\Internal\Arguments;
use Millpond\Internal\Enlistment;
use Millpond\Internal\Handles;
use Millpond\Internal\Library;
use Millpond\Internal\Owns;
use Millpond\Internal\Packed;
use Millpond\Internal\RecruiterCalls;
use Millpond\Internal\Signals;
use Millpond\Internal\Slices;
use Millpond\Internal\WorkerLog;

/**
 * Background work in small slices, done by any process that has a moment to spare; made by
 * `Client::recruiter()`.
 *
 * Jobs are installed in this object. When the process asks the server next, and what it has to report, is
 * shared by all recruiters of the same name and servers in the process, over all requests that it serves; so
 * all of them should have the same jobs. A process that lives for less than five seconds asks seldom or
 * never: jobs by share are for those.
 *
 *     $recruiter = Millpond::connect('memory:')->recruiter('site');
 *     $recruiter->install('mail', function (Slice $slice): int {
 *         for ($sent = 0; $sent < 3 && !$slice->isOver(); ++$sent) {
 *             echo "one mail\n";
 *         }
 *         return $sent; // 0 says that there was nothing to do
 *     }, share: 1.0, budget: 0.02);
 *     echo $recruiter->enlist()->why->value, "\n"; // worked
 */
final class Recruiter implements RecruiterInterface
{
    use Owns, RecruiterCalls;

    /** @var array<int, Duty> of enlistments that did nothing, by the library's number of the reason */
    private static array $dismissed = [];

    /** @var array<string, \Closure(Slice): mixed> by the id of the job */
    private array $handlers = [];

    private WorkerLog $log;

    private ?Enlistment $spare = null;

    private ?AfterResponse $after = null;

    private readonly Library $library;

    /** @internal made by `Client::recruiter()` */
    public function __construct(
        private readonly Client $client,
        private readonly CData $handle,
    ) {
        $this->library = $client->library;
        $this->log = new WorkerLog($client->logger, null, null);
        Handles::keep($this, $this->library->ffi, 'millpond_recruiter_free', $handle);
    }

    public function install(
        string $id,
        callable $handler,
        ?float $perSecond = null,
        ?float $share = null,
        ?int $burst = null,
        ?float $budget = null,
        int $maxRunning = 0,
        ?float $lease = null,
        ?float $idleMax = null,
    ): void {
        $ids = Packed::members($this->library->ffi, [$id]);
        $job = $this->library->options('millpond_new_job');
        $job->id = $ids->array[0];
        $job->per_second = Arguments::optionalNumber('perSecond', $perSecond);
        $job->share = Arguments::optionalNumber('share', $share);
        $job->burst = Arguments::optionalSize('burst', $burst);
        $job->budget_ms = Arguments::optional('budget', $budget);
        $job->max_running = Arguments::size('maxRunning', $maxRunning);
        $job->lease_ms = Arguments::optional('lease', $lease);
        $job->idle_max_ms = Arguments::optional('idleMax', $idleMax);
        $pointer = FFI::addr($job);
        $this->library->made('millpond_recruiter_install', [$this->handle, $pointer]);
        $this->handlers[$id] = $handler(...);
    }

    public function uninstall(string $job): bool
    {
        unset($this->handlers[$job]);

        return $this->library->value('millpond_recruiter_uninstall', [$this->handle, $job, \strlen($job)], 'flag');
    }

    public function onError(callable $hook): void
    {
        $this->log = new WorkerLog(null, $hook, null);
    }

    public function enlist(?float $budget = null): Duty
    {
        $budgetMs = Arguments::optional('budget', $budget);
        $begun = Signals::areAsync() ? Signals::held(fn () => $this->begin($budgetMs)) : $this->begin($budgetMs);
        if ($begun instanceof Duty) {
            return $begun;
        }

        return Signals::noting(function () use ($begun): Duty {
            if ($begun instanceof Slice) {
                return $this->work($begun);
            }
            $this->unavailable($begun);

            return self::dismissed(Why::Unavailable);
        });
    }

    public function afterResponse(?float $budget = null, bool $force = false): void
    {
        Arguments::optional('budget', $budget);
        $this->after ??= new AfterResponse(
            // After a fatal error everything was freed already.
            fn (?float $budget): ?Duty => FFI::isNull($this->handle) ? null : $this->enlist($budget),
            fn (\Throwable $error) => $this->log->error('error', 'work after the response failed', $error),
        );
        [$this->after->budget, $this->after->force] = [$budget, $force];
    }

    public function run(bool $stopOnSignals = true): void
    {
        $made = fn (CData $handle): Slices => new Slices($this->library, $handle);
        $slices = $this->library->handle('millpond_recruiter_slices_new', [$this->handle, -1], 'slice_loop', $made);
        $work = fn () => Signals::noting(fn () => $this->workOn($slices));
        Signals::during($stopOnSignals ? Signals::STOP : [], fn () => $this->stop(), $work);
    }

    private function workOn(Slices $slices): void
    {
        while (true) {
            try {
                $slice = $slices->next();
            } catch (MillpondException $error) {
                if ($error->retry === Retry::Never || Signals::isThrown($error)) {
                    throw $error;
                }
                $this->unavailable($error);
                continue;
            }
            if ($slice === null) {
                return;
            }
            $this->work($slice);
        }
    }

    /**
     * Begins an enlistment: a slice to do, or what it did, or why the server could not decide.
     */
    private function begin(int $budgetMs): Slice|Duty|MillpondException
    {
        // Without a call in between: a signal handler that enlists must not take it too.
        $enlistment = $this->spare;
        $this->spare = null;
        $enlistment ??= new Enlistment($this->library);
        $begun = $enlistment->begin($this->handle, $budgetMs);
        $this->spare = $enlistment;

        return \is_int($begun) ? self::$dismissed[$begun] ??= self::dismissed(Why::cases()[$begun - 1]) : $begun;
    }

    private static function dismissed(Why $why): Duty
    {
        return new Duty(false, null, 0.0, $why);
    }

    /**
     * Does a slice.
     */
    private function work(Slice $slice): Duty
    {
        try {
            $handler = $this->handlers[$slice->job] ?? static fn (): bool => false;
            $items = self::items($handler($slice));
        } catch (\Throwable $failure) {
            $duty = $slice->end(null);
            if (Signals::isThrown($failure)) {
                throw $failure;
            }
            $this->log->error('error', 'the job {job} failed', $failure, $slice->job);

            return $duty;
        }

        return $slice->end($items);
    }

    /**
     * How many items a slice worked on, according to what its handler returned.
     */
    private static function items(mixed $done): int
    {
        return match (true) {
            $done === null, $done === true => 1,
            $done === false => 0,
            \is_int($done) && $done >= 0 => $done,
            default => throw new InvalidArgumentException('the handler must return a number of items, a bool or nothing, not '
                . (\is_int($done) ? $done : \get_debug_type($done))),
        };
    }

    private function unavailable(MillpondException $error): void
    {
        $this->log->error('error', "no slice: {$error->getMessage()}", $error);
    }
}
