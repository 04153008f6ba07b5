<?php

declare(strict_types=1);

namespace Millpond\Internal;

/**
 * Headers of tasks in one piece, as the library has them: name and value by turns, each behind its length.
 *
 * @internal
 */
final class Headers
{
    /**
     * @return array<string, string> the headers of a piece, by name
     */
    public static function of(string $piece): array
    {
        $parts = [];
        for ($at = 0, $end = \strlen($piece); $at < $end; $at += 2 + $length) {
            $length = \unpack('n', $piece, $at)[1];
            $parts[] = \substr($piece, $at + 2, $length);
        }
        $headers = [];
        foreach (\array_chunk($parts, 2) as [$name, $value]) {
            $headers[$name] = $value;
        }

        return $headers;
    }

    /**
     * @param array<string, string>|list<array{string, string}>|null $headers
     *
     * @return string|null the piece; null for null
     */
    public static function piece(?array $headers): ?string
    {
        $parts = $headers === null ? null : ShuffleArguments::fields('headers', $headers);
        // What does not fit is beyond the limit, and the library says so.
        $part = static fn (string $part): string => \pack('n', \min(\strlen($part), 0xffff)) . $part;

        return $parts === null ? null : \implode('', \array_map($part, $parts));
    }
}
