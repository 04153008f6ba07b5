<?php

declare(strict_types=1);

namespace Millpond\Internal;

use FFI;
use Millpond\Exception\InvalidArgumentException;

/**
 * The most that a call takes, as the library has it.
 *
 * @internal
 */
final class Limits
{
    private static ?self $found = null;

    private function __construct(
        public readonly int $items,
        public readonly int $bytes,
        public readonly int $stepMembers,
        public readonly int $icks,
        public readonly int $fields,
        public readonly int $queues,
        public readonly int $ids,
        public readonly int $names,
        public readonly int $entries,
    ) {
    }

    public static function get(): self
    {
        return self::$found ??= self::read(Library::get()->ffi);
    }

    /**
     * Refuses strings that are too long together, before they are put together.
     *
     * @param int $bytes those of all strings so far
     */
    public static function checkBytes(int $bytes): void
    {
        $most = self::get()->bytes;
        if ($bytes > $most) {
            throw new InvalidArgumentException("the strings of the call have more than $most bytes");
        }
    }

    private static function read(FFI $ffi): self
    {
        $found = $ffi->millpond_limits_data()[0];

        return new self(
            $found->items,
            $found->bytes,
            $found->step_members,
            $found->icks,
            $found->fields,
            $found->queues,
            $found->ids,
            $found->names,
            $found->entries,
        );
    }
}
