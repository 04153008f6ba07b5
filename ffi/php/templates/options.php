{{ docs }}
final class {{ class }}
{
{% if json %}
    /** The {{ json }} as a JSON text; null if there is none. */
    public readonly ?string $json;

{% endif %}
{{ constructor_docs }}
    public function __construct(
{% for param in params %}
        {{ param.promoted }}{{ param.ty }} ${{ param.name }}{% if param.default %} = {{ param.default }}{% endif %},
{% endfor %}
    ) {
{% if json %}
        $this->json = Json::given('{{ json }}', ${{ json }}, $json);
{% endif %}
    }

{% if is_packed %}
    /**
     * @internal a millpond_{{ structure }}
     *
     * @return list<string|int|bool|null>
     *
     * @throws InvalidArgumentException for two times and for a negative number
     */
    public function cells({% if json %}bool $skipColliding{% endif %}): array
    {
        return [
{% for line in lines %}
            {{ line }},
{% endfor %}
        ];
    }
{% else %}
    /** @internal fills a millpond_{{ structure }} */
    public function write(CData $options): void
    {
{% for line in lines %}
        {{ line }};
{% endfor %}
    }
{% endif %}
}
