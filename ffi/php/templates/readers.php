/**
 * Reads what the library returns about tasks, events and volatile hashes, as PHP values. All texts of a result are in
 * one piece and are copied in one step, and the arrays are read word by word: see `ShuffleResults`.
 *
 * @internal
 */
trait ReadsRecords
{
    /** The type of an address, since looking it up by name takes as long as a small call. */
    private static ?CType $address = null;

    /** All texts of the result. */
    private readonly string $texts;

    /** Where the texts are in memory. */
    private readonly int $base;

    private function __construct(
        private readonly FFI $ffi,
        private readonly CData $data,
    ) {
        $size = $data[0]->text_length;
        $start = $data[0]->text;
        self::$address ??= $ffi->type('uintptr_t');
        $this->texts = $size === 0 ? '' : FFI::string($start, $size);
        $this->base = $size === 0 ? 0 : $ffi->cast(self::$address, $start)->cdata;
    }

    /**
     * Reads what a result holds, and frees the result; null if there is none.
     *
     * @param string $what the kind of result: see read()
     */
    public static function of(FFI $ffi, ?CData $result, string $what): mixed
    {
        if ($result === null) {
            return null;
        }
        [$free, $data] = [self::RESULT . '_free', self::RESULT . '_data'];
        Handles::keep($ffi, $ffi, $free, $result);
        $found = self::in($ffi, $ffi->$data($result), $what);
        Handles::free($result);

        return $found;
    }

    /**
     * Reads data that the library keeps.
     */
    public static function in(FFI $ffi, CData $data, string $what): mixed
    {
        return (new self($ffi, $data))->read($what);
    }

    /**
     * Reads an array of the result.
     *
     * @param string $read  the method that reads it
     * @param string $array the field of the result with the array; `$size` is the field with the size of an element
     *
     * @return list<mixed>
     */
    private function all(string $read, int $count, CData $data, string $array, string $size): array
    {
        return $count === 0 ? [] : $this->$read($this->ffi->cast('int64_t *', $data->$array), $count, $data->$size);
    }

    /**
     * Reads one record, if there is one.
     */
    private function one(string $read, ?CData $record): mixed
    {
        return $record === null ? null : $this->$read($this->ffi->cast('int64_t *', $record), 1, 8)[0];
    }
{% for record in records %}

    /**
     * @param CData $words the first word
     * @param int   $bytes the bytes from one record to the next
     *
     * @return list<{% if record.of_tasks %}Tasks\{% endif %}{{ record.class }}>
     */
    private function read{{ record.class }}(CData $words, int $count, int $bytes): array
    {
        [$texts, $base, $stride, $found] = [$this->texts, $this->base, $bytes >> 3, []];
        for ($word = 0, $end = $stride * $count; $word < $end; $word += $stride) {
            $found[] = new {% if record.of_tasks %}Tasks\{% endif %}{{ record.class }}(
{% for value in record.values %}
                {{ value }},
{% endfor %}
            );
        }

        return $found;
    }
{% endfor %}
}
