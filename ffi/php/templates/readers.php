/**
 * Reads records of task stores from memory of the library: arrays of structures, word by word, whose texts
 * are all in one piece.
 *
 * @internal
 */
trait ReadsRecords
{
    /** All texts of the result. */
    private readonly string $texts;

    /** Where these are in memory. */
    private readonly int $base;
{% for record in records %}

    /**
     * @param CData $words the first of them
     * @param int   $bytes from one to the next
     *
     * @return list<Tasks\{{ record.class }}>
     */
    private function read{{ record.class }}(CData $words, int $count, int $bytes): array
    {
        [$texts, $base, $stride, $found] = [$this->texts, $this->base, $bytes >> 3, []];
        for ($word = 0, $end = $stride * $count; $word < $end; $word += $stride) {
            $found[] = new Tasks\{{ record.class }}(
{% for value in record.values %}
                {{ value }},
{% endfor %}
            );
        }

        return $found;
    }
{% endfor %}
}
