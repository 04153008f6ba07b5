<?php

declare(strict_types=1);

namespace Millpond\Tasks;

use Millpond\Exception\InvalidArgumentException;
use Millpond\Internal\Json;
use Millpond\Internal\TaskArguments;

/**
 * What becomes of a document; made by `Doc::change()`.
 */
final class DocChange
{
    /** @param list<string|int|null> $cells a millpond_doc_change */
    private function __construct(private readonly array $cells)
    {
    }

    /** @internal what `Doc::change()` does */
    public static function of(
        Doc $doc,
        mixed $content,
        ?string $json,
        ?int $atMs,
        ?float $delay,
        bool $release,
    ): self {
        if ($content === Value::None) {
            throw new InvalidArgumentException('content is Value::None, but a content cannot be taken away');
        }
        $text = $content === Value::Same ? $json : Json::given('content', $content, $json);
        if ($release && ($atMs !== null || $delay !== null)) {
            throw new InvalidArgumentException('release and a time cannot both be given');
        }
        [$at, $after] = TaskArguments::when($atMs, $release ? 0 : $delay);

        return new self([80, ...TaskArguments::doc('doc', $doc), $text, $at, $after]);
    }

    /**
     * @internal
     *
     * @return list<string|int|null>
     */
    public function cells(): array
    {
        return $this->cells;
    }
}
