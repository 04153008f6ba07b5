/**
 * The offsets of the fields of structures, and the sizes of the structures, for code that reads and writes
 * them word by word.
 */
final class Layouts
{
    public const ALL = [
{% for layout in layouts %}
        'millpond_{{ layout.name }}' => [
{% for field in layout.fields %}
            '{{ field[0] }}' => {{ field[1] }},
{% endfor %}
        ],
{% endfor %}
    ];
}
