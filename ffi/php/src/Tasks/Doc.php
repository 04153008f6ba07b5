<?php

declare(strict_types=1);

namespace Millpond\Tasks;

use Millpond\Exception\InvalidArgumentException;
use Millpond\Internal\Json;

/**
 * A document as the store holds it: found by its namespace and id, sorted by its keys, leased for
 * a time as tasks are, but never consumed.
 *
 *     $store = Millpond::connect('memory:')->tasks('shop');
 *     $store->putDoc(new NewDoc('accounts', 'ann', ['balance' => 7]));
 *     [$account] = $store->claimDocs('accounts', 'ann');
 *     $change = $account->change(['balance' => $account->content()['balance'] - 2], release: true);
 *     [$account] = $store->modify((new Modification())->changeDoc($change))->changedDocs;
 *     echo $account->content()['balance'], "\n"; // 5
 */
final class Doc
{
    /**
     * @param string      $namespace    the namespace that it is in
     * @param string      $id           unique in its namespace
     * @param int         $version      from 0; 1 more with each claim, renewal and change
     * @param string      $key          its primary key; several documents can have the same. Never changes
     * @param string      $secondaryKey its secondary key. Never changes
     * @param string|null $json         its content: the JSON text, byte for byte as it was written; null
     *                                  if it has none, or if a listing left it out
     * @param int         $atMs         until when its claimant holds it, in milliseconds since the Unix
     *                                  epoch
     * @param string      $claimant     the claimant that holds it until `atMs`; empty if there is none
     * @param int         $createdMs    when it was inserted
     * @param int         $modifiedMs   when it was inserted, claimed, renewed or changed last
     */
    public function __construct(
        public readonly string $namespace,
        public readonly string $id,
        public readonly int $version,
        public readonly string $key = '',
        public readonly string $secondaryKey = '',
        public readonly ?string $json = null,
        public readonly int $atMs = 0,
        public readonly string $claimant = '',
        public readonly int $createdMs = 0,
        public readonly int $modifiedMs = 0,
    ) {
    }

    /**
     * The content as PHP has it, as `Task::value()` has a value.
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
     * A change of this document, for `Modification::changeDoc()`: what is not given stays as it
     * is, its claimant included.
     *
     * @param mixed       $content anything that JSON has
     * @param string|null $json    the content as a JSON text, which is kept byte for byte
     * @param int|null    $atMs    until when the claimant that changes it holds it, in milliseconds
     *                             since the Unix epoch; a time in the past releases it
     * @param float|null  $delay   for how many seconds the claimant that changes it holds it, by the
     *   engine's clock
     * @param bool        $release whether to release it
     *
     * @throws InvalidArgumentException for a content that JSON has not, for two contents or two times, and
     *                                  for a time below 0
     */
    public function change(
        mixed $content = Value::Same,
        ?string $json = null,
        ?int $atMs = null,
        ?float $delay = null,
        bool $release = false,
    ): DocChange {
        return DocChange::of($this, $content, $json, $atMs, $delay, $release);
    }
}
