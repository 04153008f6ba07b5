<?php

declare(strict_types=1);

namespace Millpond\Internal;

use Millpond\RecruiterStats;

/**
 * Reads what the library returns about recruiters.
 *
 * @internal
 */
final class RecruiterResults
{
    use ReadsRecords;

    /** The prefix of the names of its functions. */
    private const RESULT = 'millpond_recruiter_result';

    /**
     * Reads the result of a call.
     */
    private function read(string $what): RecruiterStats
    {
        return $this->one('readRecruiterStats', $this->data[0]->stats);
    }
}
