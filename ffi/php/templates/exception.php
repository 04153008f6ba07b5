{{ docs }}
final class {{ class }}Exception extends \{{ base }}Exception implements MillpondException
{
    use ErrorDetails;

    public const CODE = {{ code }};
    public const NAME = '{{ name }}';
    public const RETRY = Retry::{{ retry }};
}
