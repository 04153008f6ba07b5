/**
 * The methods of `{{ class }}` that are one call of the library each; they convert its arguments
 * and its result.
 *
 * @internal
 */
trait {{ class }}Calls
{
{% for call in calls %}
{% set pad = "    " if call.is_held else "" %}
{% if not loop.first %}

{% endif %}
    public function {{ call.name }}({{ call.params }}): {{ call.returns }}
    {
{% for line in call.setup %}
        {{ line }}
{% endfor %}
{% if call.is_held %}
{% if call.setup %}

{% endif %}
        return Signals::held(function (){% if call.locals %} use ({{ call.locals }}){% endif %}: {{ call.returns }} {
{% endif %}
{{ pad }}        $call = $this->library->call();
{{ pad }}        $status = $this->library->ffi->millpond_{{ call.function }}(
{% for argument in call.arguments %}
{{ pad }}            {{ argument }},
{% endfor %}
{{ pad }}        );
{{ pad }}        $this->library->check($status, $call);
{% if call.result %}

{{ pad }}        return {{ call.result }};
{% endif %}
{% if call.is_held %}
        });
{% endif %}
    }
{% endfor %}
}
