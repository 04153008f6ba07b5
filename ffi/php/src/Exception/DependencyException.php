<?php

declare(strict_types=1);

namespace Millpond\Exception;

use Millpond\Internal\ErrorDetails;
use Millpond\Retry;
use Millpond\Tasks\DocId;
use Millpond\Tasks\TaskId;

/**
 * A task or a document is not as a modification says: nothing was done. The exception lists all that
 * is not.
 *
 *     $store = Millpond::connect('memory:')->tasks('shop');
 *     try {
 *         $store->modify((new Modification())->delete(new TaskId('t1', 3)));
 *     } catch (DependencyException $refused) {
 *         echo $refused->hasMissing() ? $refused->deletes[0]->id : 'none', " is missing\n"; // t1 is missing
 *     }
 */
final class DependencyException extends \RuntimeException implements MillpondException
{
    use ErrorDetails {
        __construct as private describe;
    }

    public const CODE = 22;
    public const NAME = 'DEPENDENCY';
    public const RETRY = Retry::Never;

    /** @var list<TaskId> tasks to insert whose id is taken, with the current version */
    public readonly array $inserts;

    /** @var list<TaskId> tasks to change that are missing at the given version */
    public readonly array $changes;

    /** @var list<TaskId> tasks to delete that are missing at the given version */
    public readonly array $deletes;

    /** @var list<TaskId> tasks to depend on that are missing at the given version */
    public readonly array $depends;

    /** @var list<TaskId> tasks to delete or to change that another claimant holds */
    public readonly array $claims;

    /** @var list<DocId> documents to insert whose id is taken, with the current version */
    public readonly array $docInserts;

    /** @var list<DocId> documents to change that are missing at the given version */
    public readonly array $docChanges;

    /** @var list<DocId> documents to delete that are missing at the given version */
    public readonly array $docDeletes;

    /** @var list<DocId> documents to depend on that are missing at the given version */
    public readonly array $docDepends;

    /** @var list<DocId> documents to delete, to change or to claim that another claimant holds */
    public readonly array $docClaims;

    /**
     * @internal made by the calls that throw it
     *
     * @param array<string, list<TaskId>|list<DocId>> $lists by the name of the property
     * @param array<string, bool>                     $has   what the library says of them
     */
    public function __construct(
        string $message = '',
        string $operation = '',
        ?\Throwable $previous = null,
        array $lists = [],
        private readonly array $has = [],
    ) {
        $this->describe($message, $operation, $previous);
        $this->inserts = $lists['inserts'] ?? [];
        $this->changes = $lists['changes'] ?? [];
        $this->deletes = $lists['deletes'] ?? [];
        $this->depends = $lists['depends'] ?? [];
        $this->claims = $lists['claims'] ?? [];
        $this->docInserts = $lists['docInserts'] ?? [];
        $this->docChanges = $lists['docChanges'] ?? [];
        $this->docDeletes = $lists['docDeletes'] ?? [];
        $this->docDepends = $lists['docDepends'] ?? [];
        $this->docClaims = $lists['docClaims'] ?? [];
    }

    /** Whether a task is missing at the given version. */
    public function hasMissing(): bool
    {
        return $this->has['has_missing'] ?? false;
    }

    /** Whether a document is missing at the given version. */
    public function hasMissingDocs(): bool
    {
        return $this->has['has_missing_docs'] ?? false;
    }

    /** Whether another claimant holds a task. */
    public function hasClaims(): bool
    {
        return $this->has['has_claims'] ?? false;
    }

    /** Whether another claimant holds a document. */
    public function hasClaimedDocs(): bool
    {
        return $this->has['has_claimed_docs'] ?? false;
    }

    /** Whether an id is taken. */
    public function hasCollisions(): bool
    {
        return $this->has['has_collisions'] ?? false;
    }

    /** Whether the only problem is that others hold something: the same can succeed later. */
    public function onlyClaims(): bool
    {
        return $this->has['only_claims'] ?? false;
    }
}
