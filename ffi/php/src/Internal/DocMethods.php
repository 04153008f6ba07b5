<?php

declare(strict_types=1);

namespace Millpond\Internal;

use Millpond\Exception\InvalidArgumentException;
use Millpond\Tasks\DocChange;
use Millpond\Tasks\DocId;
use Millpond\Tasks\Value;

/**
 * The methods of a document.
 *
 * @internal
 */
trait DocMethods
{
    /**
     * The content as a PHP value, converted as by `Task::value()`.
     *
     * @throws \JsonException for a text that `stdClass` cannot hold: one with a name that begins with NUL
     */
    public function content(bool $associative = true): mixed
    {
        return Json::decoded($this->json, $associative);
    }

    /**
     * What a modification needs to delete this document or to depend on it.
     */
    public function handle(): DocId
    {
        return new DocId($this->namespace, $this->id, $this->version);
    }

    /**
     * A change of this document, for `Modification::changeDoc()`. Fields that are not given stay as they are,
     * including its claimant.
     *
     * @param mixed       $content any JSON value
     * @param string|null $json    the content as a JSON text, which is kept byte for byte
     * @param int|\DateTimeInterface|null $atMs    until when the claimant that makes the change holds it, in
     *                             milliseconds since the Unix epoch; a time in the past releases it
     * @param float|null  $delay   how many seconds the claimant that makes the change holds it, by the
     *   engine's clock
     * @param bool        $release whether to release it
     *
     * @throws InvalidArgumentException for a content that JSON cannot represent, for two contents or two
     *                                  times, and for a negative time
     */
    public function change(
        mixed $content = Value::Same,
        ?string $json = null,
        int|\DateTimeInterface|null $atMs = null,
        ?float $delay = null,
        bool $release = false,
    ): DocChange {
        if ($content === Value::None) {
            throw new InvalidArgumentException('content is Value::None, but a content cannot be taken away');
        }
        $text = $content === Value::Same ? $json : Json::given('content', $content, $json);
        if ($release && ($atMs !== null || $delay !== null)) {
            throw new InvalidArgumentException('release and a time cannot both be given');
        }
        [$at, $after] = TaskArguments::when($atMs, $release ? 0 : $delay);

        return new DocChange([80, ...TaskArguments::doc('doc', $this), $text, $at, $after]);
    }
}
