<?php

/**
 * What a request says of the functions that scans and prunes call.
 */

declare(strict_types=1);

use Millpond\QueueTrackerInterface;

/** What such a function fails with. */
final class Raised extends Exception
{
}

/** Makes a scan or a prune, and returns what its function got too. */
function tracked(QueueTrackerInterface $tracker, string $name, array $given): object
{
    $seen = null;
    $meanwhile = static function () use ($tracker, $given): void {
        isset($given['adds']) && $tracker->add(decoded($given['adds']));
        isset($given['raises']) && throw new Raised($given['raises']);
    };
    $rows = static function (?string $after, int $limit) use (&$seen, $meanwhile, $given): array {
        $seen = (object) ['after' => $after, 'limit' => $limit];
        $meanwhile();

        return array_map(static fn (array $row): array => [$row[0], decoded($row[1])], $given['rows']);
    };
    $done = static function (array $ids) use (&$seen, $meanwhile, $given): array {
        $seen = $ids;
        $meanwhile();

        return decoded($given['done']);
    };
    $rest = array_diff_key($given, array_flip(['rows', 'done', 'adds', 'raises']));
    try {
        $result = made($tracker, $name, $rest + ($name === 'scan' ? ['rows' => $rows] : ['done' => $done]));

        return (object) ['seen' => $seen, 'result' => $result];
    } catch (Raised $error) {
        return (object) ['seen' => $seen, 'raised' => $error->getMessage()];
    }
}
