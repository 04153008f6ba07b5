<?php

declare(strict_types=1);

namespace Millpond\Internal;

/**
 * Task headers in one piece, as the library has them: names and values alternate, each after its length.
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
        // A length that does not fit exceeds the limit, and the library reports that.
        $part = static fn (string $part): string => \pack('n', \min(\strlen($part), 0xffff)) . $part;

        return $parts === null ? null : \implode('', \array_map($part, $parts));
    }
}
