{% for method in methods if not method.is_native %}
{{ "    @property\n" if method.is_property }}    {{ "async " if method.is_async -}}
def {{ method.name }}(self
{%- for param in method.params %}, {{ param.name }}: {{ param.annotation }}{% endfor -%}
) -> {{ method.returns|replace("dict[str, int]", "builtins.list[tuple[str, int]]") }}: ...
{% endfor %}
