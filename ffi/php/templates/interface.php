{{ docs }}
interface {{ name }}{% if parent %} extends {{ parent }}{% endif %}

{
{% for method in methods %}
{% if not loop.first %}

{% endif %}
{{ method.docs }}
{{ method.text }};
{% endfor %}
}
