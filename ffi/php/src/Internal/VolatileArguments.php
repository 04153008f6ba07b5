<?php

declare(strict_types=1);

namespace Millpond\Internal;

use FFI;
use Millpond\FieldPosition;
use Millpond\HashField;

/**
 * Converts PHP values for volatile hashes to what the library takes; see `Arguments`.
 *
 * PHP makes an int of a key of an array like '7', so an int is a field too.
 *
 * @internal
 */
final class VolatileArguments
{
    /**
     * Fields with their values, by the field or as `[field, value]`.
     *
     * @param iterable<mixed> $fields
     *
     * @return list<string> field, value, field, value, …
     */
    public static function values(string $argument, iterable $fields): array
    {
        $found = [];
        foreach (Arguments::items($argument, $fields, Limits::get()->items) as $name => $value) {
            if (!\is_array($value)) {
                $path = "{$argument}[" . \json_encode($name, \JSON_INVALID_UTF8_SUBSTITUTE) . ']';
                $found[] = self::name("the key of $path", $name);
                $found[] = \is_string($value) ? $value : throw Arguments::wrong($path, 'be string', $value);
                continue;
            }
            $path = "{$argument}[" . (\count($found) >> 1) . ']';
            if (\count($value) !== 2 || !\array_is_list($value)) {
                throw Arguments::wrong($path, 'be string or [field, value]', $value);
            }
            $found[] = self::name("{$path}[0]", $value[0]);
            $found[] = \is_string($value[1]) ? $value[1] : throw Arguments::wrong("{$path}[1]", 'be string', $value[1]);
        }

        return $found;
    }

    /**
     * One field or many.
     *
     * @param string|iterable<mixed> $fields
     *
     * @return list<string>
     */
    public static function names(string $argument, string|iterable $fields): array
    {
        $name = static fn (mixed $field, string $path): string => self::name($path, $field);

        return Arguments::each($argument, $fields, Limits::get()->items, $name);
    }

    public static function position(FFI $ffi, FieldPosition|HashField|null $after): Packed
    {
        return Packed::records($ffi, 'millpond_field_position *', $after === null ? [] : [
            [Arguments::size('after.expiresUs', $after->expiresUs), $after->field],
        ]);
    }

    private static function name(string $path, mixed $field): string
    {
        return \is_string($field) || \is_int($field) ? (string) $field : throw Arguments::wrong($path, 'be string', $field);
    }
}
