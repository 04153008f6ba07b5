{{ docs }}
enum {{ name }}: string
{
{% for case in cases %}
{% if not loop.first %}

{% endif %}
{{ case.docs }}
    case {{ case.name }} = '{{ case.value }}';
{% endfor %}
}
