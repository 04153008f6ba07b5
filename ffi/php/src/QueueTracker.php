<?php

declare(strict_types=1);

namespace Millpond;

use FFI\CData;
use Millpond\Internal\Handles;
use Millpond\Internal\Library;
use Millpond\Internal\Owns;
use Millpond\Internal\QueueTrackerCalls;
use Millpond\Internal\Scans;

/**
 * The set of ids that have work queued in a database of your own; made by `Client::queueTracker()`.
 *
 * A scan adds the ids of rows, a prune removes those that have no work any more. Both are meant as slices of
 * a recruiter, or to be called regularly in any other way.
 *
 * Ids are bytes. PHP makes an int of a key of an array that is a whole number, and databases return ints, so
 * wherever a list of ids or rows is taken, it may have ints.
 *
 *     $work = [[1, 'ann'], [2, 'bob'], [3, 'ann']]; // a table of a database: the number of each row, and its id
 *     $tracker = Millpond::connect('memory:')->queueTracker('orders');
 *     $scanned = $tracker->scan(function (?string $after, int $limit) use ($work): array {
 *         $rest = array_filter($work, fn (array $row): bool => $row[0] > (int) $after);
 *         return array_slice($rest, 0, $limit); // select … where number > … order by number limit …
 *     });
 *     echo "$scanned->added added\n"; // 2 added
 *     unset($work[1]); // the work is done
 *     $tracker->prune(fn (array $ids): array => array_diff($ids, array_column($work, 1)));
 *     echo json_encode($tracker->isQueued('bob')), "\n"; // false
 */
final class QueueTracker implements QueueTrackerInterface
{
    use Owns, QueueTrackerCalls, Scans;

    private readonly Library $library;

    /** @internal made by `Client::queueTracker()` */
    public function __construct(
        private readonly Client $client,
        private readonly CData $handle,
    ) {
        $this->library = $client->library;
        Handles::keep($this, $this->library->ffi, 'millpond_tracker_free', $handle);
    }
}
