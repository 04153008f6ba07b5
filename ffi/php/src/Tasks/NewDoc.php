<?php

declare(strict_types=1);

namespace Millpond\Tasks;

use Millpond\Exception\InvalidArgumentException;
use Millpond\Internal\Json;

/**
 * A document to insert or to put, for `TaskStore::putDoc()`, `Modification::insertDoc()` and
 * `Modification::putDoc()`.
 *
 *     $store = Millpond::connect('memory:')->tasks('shop');
 *     echo $store->putDoc(new NewDoc('accounts', 'ann', ['balance' => 7], secondaryKey: '2026'))->id, "\n"; // ann|2026
 */
final class NewDoc
{
    /** The content as a JSON text; null if there is none. */
    public readonly ?string $json;

    /**
     * @param string      $namespace    1 to 64 characters; it need not be there
     * @param string      $key          the primary key, at most 256 characters
     * @param mixed       $content      anything that JSON has, at most 16 MiB of it; a document that is put
     *                                  has to have one
     * @param string|null $json         the content as a JSON text, which is kept byte for byte
     * @param string|null $id           unique in its namespace, 1 to 1,025 characters. Null makes it of
     *                                  the keys: the primary key, followed by `|` and the secondary key
     *                                  if there is one. In the primary key `%` and `|` are
     *                                  percent-encoded, so that different keys never make the same id.
     *                                  Several documents of the same keys need ids of their own, and so
     *                                  does a document whose primary key is empty
     * @param string      $secondaryKey the order of documents with the same primary key, at most 256
     *                                  characters
     *
     * @throws InvalidArgumentException for a content that JSON has not, and for two contents
     */
    public function __construct(
        public readonly string $namespace,
        public readonly string $key,
        mixed $content = Value::None,
        ?string $json = null,
        public readonly ?string $id = null,
        public readonly string $secondaryKey = '',
    ) {
        $this->json = Json::given('content', $content, $json);
    }

    /**
     * @internal a millpond_new_doc
     *
     * @return list<string|bool|null>
     */
    public function cells(bool $skipColliding): array
    {
        return [96, $this->namespace, $this->key, $this->id, $this->secondaryKey, $this->json, $skipColliding];
    }
}
