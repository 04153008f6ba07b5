<?php

declare(strict_types=1);

namespace Millpond\Internal;

use Millpond\Pruned;
use Millpond\Scanned;

/**
 * The calls of a queue tracker that call a function of the program between two steps.
 *
 * @internal
 */
trait Scans
{
    public function scan(callable $rows, int $limit = 25, float $roundMin = 60.0): Scanned
    {
        $after = $this->beginScan($limit, $roundMin)->row;
        [$places, $ids] = TrackerArguments::rows($rows($after, $limit));

        return $this->advance($after ?? '', $places, $ids, $limit, $roundMin);
    }

    public function prune(callable $done, int $limit = 25): Pruned
    {
        $sample = $this->sample($limit);
        if ($sample->ids === []) {
            return new Pruned(0, 0);
        }

        return $this->remove(TrackerArguments::ids($done($sample->ids)), $sample->ids, $sample->stamp);
    }
}
