{{ docs }}
final class DependencyException extends \RuntimeException implements MillpondException
{
    use ErrorDetails {
        __construct as private describe;
    }

    public const CODE = {{ code }};
    public const NAME = '{{ name }}';
    public const RETRY = Retry::{{ retry }};

    /** @internal of each property: the list in a millpond_tasks_dependency, its length, and whether it is of tasks */
    public const LISTS = [
{% for list in lists %}
        '{{ list.name }}' => ['{{ list.c }}', '{{ list.count }}', {{ list.is_tasks | lower }}],
{% endfor %}
    ];
{% for list in lists %}

    /** @var {{ list.doc }} {{ list.text }} */
    public readonly array ${{ list.name }};
{% endfor %}

    /**
     * @internal made by the calls that throw it
     *
     * @param array<string, list<TaskId>|list<DocId>> $lists by the name of the property
     * @param array<string, bool>                     $has   the library's flags, by the name of the method
     */
    public function __construct(
        string $message = '',
        string $operation = '',
        ?\Throwable $previous = null,
        array $lists = [],
        private readonly array $has = [],
    ) {
        $this->describe($message, $operation, $previous);
{% for list in lists %}
        $this->{{ list.name }} = $lists['{{ list.name }}'] ?? [];
{% endfor %}
    }
{% for method in methods %}

    /** {{ method.text }} */
    public function {{ method.name | camel }}(): bool
    {
        return $this->has['{{ method.name }}'] ?? false;
    }
{% endfor %}
}
