<?php

declare(strict_types=1);

namespace Millpond\Internal;

use FFI;
use FFI\CData;
use Millpond\Exception\MillpondException;
use Millpond\Slice;

/**
 * The out-parameters of an enlistment, for one at a time. They are reused, as nearly all enlistments do nothing, and
 * to make them takes longer than such a call.
 *
 * @internal
 */
final class Enlistment
{
    /** Where a millpond_duty has its `why`, and what that is if the server did not decide. */
    private const WHY = 4, UNAVAILABLE = 12;

    private readonly CData $duty;

    private readonly CData $words;

    private readonly CData $slice;

    private readonly CData $unavailable;

    private readonly CData $error;

    /** All of them are parts of it. */
    private readonly CData $memory;

    public function __construct(private readonly Library $library)
    {
        $this->memory = $call = $library->call();
        [$this->duty, $this->slice] = [$call->duty, $call->slice];
        [$this->unavailable, $this->error] = [$call->unavailable, $call->error];
        $this->words = $library->ffi->cast('uint64_t *', FFI::addr($call->duty[0]));
    }

    /**
     * Begins an enlistment: a slice to do, or the error of the server, or the library's number of a `Why`.
     */
    public function begin(CData $recruiter, int $budgetMs): Slice|MillpondException|int
    {
        $status = $this->library->ffi->millpond_recruiter_enlist(
            $recruiter,
            $budgetMs,
            $this->duty,
            $this->slice,
            $this->unavailable,
            $this->error,
        );
        if ($status !== 0) {
            throw $this->library->exception($this->error[0]);
        }
        $why = $this->words[self::WHY];
        if ($why === 0) {
            return new Slice($this->library, $this->slice[0]);
        }
        $error = $why === self::UNAVAILABLE ? $this->unavailable[0] : null;

        return $error === null ? $why : $this->library->exception($error);
    }
}
