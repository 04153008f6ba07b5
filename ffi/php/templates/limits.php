/**
 * The most that a call takes, as the library defines it.
 *
 * @internal
 */
final class Limits
{
    private static ?self $found = null;

    private function __construct(
{% for name in names %}
        public readonly int ${{ name | camel }},
{% endfor %}
    ) {
    }

    public static function get(): self
    {
        return self::$found ??= self::read(Library::get()->ffi->millpond_limits_data()[0]);
    }

    /**
     * Refuses strings that are too long in total, before they are concatenated.
     *
     * @param int $bytes the bytes of all strings so far
     */
    public static function checkBytes(int $bytes): void
    {
        $most = self::get()->bytes;
        if ($bytes > $most) {
            throw new InvalidArgumentException("the strings of the call have more than $most bytes");
        }
    }

    private static function read(CData $found): self
    {
        return new self(
{% for name in names %}
            $found->{{ name }},
{% endfor %}
        );
    }
}
