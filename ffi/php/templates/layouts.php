/**
 * Where the fields of structures are for those that read and write them word by word, and how long they are.
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
