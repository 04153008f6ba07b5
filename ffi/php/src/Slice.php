<?php

declare(strict_types=1);

namespace Millpond;

use FFI\CData;
use Millpond\Exception\ForkedException;
use Millpond\Internal\Handles;
use Millpond\Internal\Library;
use Millpond\Internal\Owns;
use Millpond\Internal\SliceCalls;
use Millpond\Internal\TaskResults;

/**
 * One slice of a job's work, for its handler.
 *
 * The handler stops when the slice is over; it is not interrupted. It ends the slice with the number of
 * items that it worked on, where 0 means that there was nothing to do: then a job per second runs less often
 * for a while. A job by share keeps its share, whatever the results of its slices.
 *
 *     $recruiter = Millpond::connect('memory:')->recruiter('site');
 *     $recruiter->install('mail', function (Slice $slice): int {
 *         echo $slice->budget(), " s\n"; // 0.01 s
 *         $slice->more(); // there is more to do: the job runs at its full rate
 *         return 1;
 *     }, share: 1.0, budget: 0.02);
 *     echo $recruiter->enlist(0.01)->job, "\n"; // mail
 */
final class Slice implements SliceInterface
{
    use Owns, SliceCalls;

    /** The id of the job. */
    public readonly string $job;

    /** @internal made by a recruiter */
    public function __construct(
        private readonly Library $library,
        private readonly CData $handle,
    ) {
        Handles::keep($this, $library->ffi, 'millpond_recruiter_slice_free', $handle);
        $call = $library->made('millpond_recruiter_slice_job', [$handle], 'text');
        $this->job = TaskResults::bytes($call->text[0]);
    }

    /**
     * @internal ends it, as its recruiter does
     *
     * @param int|null $items how many items it worked on; null if it failed
     */
    public function end(?int $items): Duty
    {
        $arguments = $items === null ? [$this->handle] : [$this->handle, $items];
        try {
            $call = $this->library->made('millpond_recruiter_slice_' . ($items === null ? 'fail' : 'end'), $arguments, 'duty');
        } catch (ForkedException) {
            // The handler has forked: the slice is its parent's.
            return new Duty(false, $this->job, 0.0, Why::Aborted);
        }
        $duty = $call->duty[0];

        return new Duty($duty->recruited === 1, $this->job, $duty->took_us / 1e6, Why::cases()[$duty->why - 1]);
    }
}
