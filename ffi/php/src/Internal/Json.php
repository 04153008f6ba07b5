<?php

declare(strict_types=1);

namespace Millpond\Internal;

use Millpond\Exception\InvalidArgumentException;
use Millpond\Tasks\Value;

/**
 * Converts PHP values to JSON texts, and back.
 *
 * @internal
 */
final class Json
{
    private const FLAGS = \JSON_THROW_ON_ERROR | \JSON_UNESCAPED_SLASHES | \JSON_UNESCAPED_UNICODE
        | \JSON_PRESERVE_ZERO_FRACTION;

    /**
     * The text of what a caller gives as a value or as a text; null if neither is given.
     *
     * @param string $argument the name of the value
     */
    public static function given(string $argument, mixed $value, ?string $json): ?string
    {
        if ($value instanceof Value) {
            return $json;
        }
        if ($json !== null) {
            throw new InvalidArgumentException("$argument and json cannot both be given");
        }
        $plain = JsonValue::plain($argument, $value);
        try {
            return \json_encode($plain, self::FLAGS);
        } catch (\JsonException $failure) {
            throw JsonValue::fault($argument, $plain) ?? new InvalidArgumentException(
                "$argument cannot be a JSON text: {$failure->getMessage()}",
                previous: $failure,
            );
        }
    }

    public static function decoded(?string $json, bool $associative): mixed
    {
        $flags = \JSON_THROW_ON_ERROR | \JSON_BIGINT_AS_STRING;

        return $json === null ? null : \json_decode($json, $associative, flags: $flags);
    }
}
