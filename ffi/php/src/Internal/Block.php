<?php

declare(strict_types=1);

namespace Millpond\Internal;

use FFI;
use FFI\CData;

/**
 * Memory for lists, viewed as words, and its address.
 *
 * @internal
 */
final class Block
{
    private const BYTES_MIN = 4096;

    public readonly int $bytes;

    public readonly int $address;

    /** A word whose first byte is a C bool that is true. */
    public readonly int $true;

    public readonly CData $memory;

    public readonly CData $words;

    public readonly CData $doubles;

    /** @var array<string, CData> pointers of these types to it, each created when it is first needed */
    public array $views = [];

    private readonly CData $owned;

    public function __construct(FFI $ffi, int $needed)
    {
        // A little more than needed, so that lists of similar sizes allocate only once.
        $this->bytes = \max(self::BYTES_MIN, $needed + \intdiv($needed, 4));
        $this->owned = $ffi->new("char[$this->bytes]");
        $this->memory = FFI::addr($this->owned[0]);
        $this->address = FFI::cast('uintptr_t', $this->memory)->cdata;
        $this->true = \unpack('Q', "\1\0\0\0\0\0\0\0")[1];
        $this->words = $ffi->cast('uint64_t *', $this->memory);
        $this->doubles = $ffi->cast('double *', $this->memory);
    }

    /**
     * Writes bytes, starting at this byte. PHP would keep the type of `$memory + $start` until it ends,
     * again for each block.
     */
    public function write(int $start, string $bytes): void
    {
        $pointer = FFI::addr($this->owned[$start]);
        FFI::memcpy($pointer, $bytes, \strlen($bytes));
    }
}
