{{ docs }}
final class {{ class }}
{
{% if has_methods %}
    use {{ class }}Methods;

{% endif %}
{{ constructor_docs }}
    public function __construct(
{% for param in params %}
        {{ param.promoted }}{{ param.ty }} ${{ param.name }}{% if param.default %} = {{ param.default }}{% endif %},
{% endfor %}
    ) {
    }
}
