{{ head }}
{{ comment|docstring(8) }}
{% set names = signature.params|map(attribute="name")|list %}
{% set few = "(" ~ names|join(", ") ~ ")" %}
{% set many = "(\n            " ~ names|join(",\n            ") ~ ",\n        )" %}
{% set arguments = "" if signature.is_property else few if names|length < 5 else many %}
{% set call = ("await " if signature.is_async else "") ~ "self._native." ~ signature.name ~ arguments %}
{% if not wrapper %}
        return {{ call }}
{% elif is_optional or arguments == many %}
        native = {{ call }}
        return {{ "None if native is None else " if is_optional }}{{ wrapper }}(native)
{% else %}
        return {{ wrapper }}({{ call }})
{% endif %}
