<?php

declare(strict_types=1);

namespace Millpond\Internal;

/**
 * Converts PHP values for queue trackers to what the library takes; see `Arguments`.
 *
 * PHP makes an int of a key of an array like '7', and databases return ints, so an int is an id too.
 *
 * @internal
 */
final class TrackerArguments
{
    /**
     * One id or row, or many.
     *
     * @param string|iterable<mixed> $names
     *
     * @return list<string>
     */
    public static function names(string $argument, string|iterable $names): array
    {
        return Arguments::each($argument, $names, Limits::get()->names, self::name(...));
    }

    /**
     * The ids that the function of a prune returned.
     *
     * @return list<string>
     */
    public static function ids(mixed $ids): array
    {
        return self::names('ids', self::returned($ids));
    }

    /**
     * Where the rows are that the function of a scan returned, and their ids, each empty for none.
     *
     * @return array{list<string>, list<string>}
     */
    public static function rows(mixed $rows): array
    {
        $places = $ids = [];
        foreach (Arguments::items('rows', self::returned($rows), Limits::get()->names) as $row) {
            $path = 'rows[' . \count($places) . ']';
            if (!\is_array($row) || !\array_is_list($row) || \count($row) !== 2) {
                throw Arguments::wrong($path, 'be a list of two, [row, id]', $row);
            }
            $places[] = self::name($row[0], "{$path}[0]");
            $ids[] = self::name($row[1] ?? '', "{$path}[1]");
        }

        return [$places, $ids];
    }

    /**
     * @return iterable<mixed>
     */
    private static function returned(mixed $found): iterable
    {
        return \is_iterable($found) ? $found : throw Arguments::wrong('what the function returned', 'be iterable', $found);
    }

    private static function name(mixed $name, string $path): string
    {
        return \is_string($name) || \is_int($name) ? (string) $name : throw Arguments::wrong($path, 'be string or int', $name);
    }
}
