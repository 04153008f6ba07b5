<?php

declare(strict_types=1);

namespace Millpond\Tasks;

use Millpond\Exception\InvalidArgumentException;
use Millpond\Internal\Json;

/**
 * A task as the store holds it.
 *
 * `atMs` has two uses: a task is available from that time on, and a claim moves it to the end of the
 * lease. `id` and `version` are an optimistic lock: each claim, renewal and change adds 1 to
 * `version`, and a modification with a stale version is refused.
 *
 *     $store = Millpond::connect('memory:')->tasks('shop');
 *     $task = $store->insert(new NewTask('inbox', ['cup', 'hat']));
 *     echo implode(' and ', $task->value()), "\n"; // cup and hat
 *     echo strlen($task->json), " bytes\n"; // 13 bytes
 */
final class Task
{
    /**
     * @param string      $id         unique in the store, over all queues
     * @param int         $version    from 0; 1 more with each claim, renewal and change
     * @param string      $queue      the queue that it is in
     * @param int         $atMs       from when on it can be claimed, in milliseconds since the Unix epoch
     * @param int         $createdMs  when it was inserted
     * @param int         $modifiedMs when it was inserted, claimed, renewed or changed last
     * @param string      $claimant   the claimant that holds it until `atMs`, or that set `atMs`; empty
     *   if there is none
     * @param int         $claims     how often it was claimed; renewals do not count
     * @param int         $attempt    how often it was tried, as its workers recorded
     * @param string      $err        what went wrong, as its workers recorded
     * @param string|null $json       its value: the JSON text, byte for byte as it was written; null if
     *                                it has none, or if a listing left it out
     * @param int         $priority   0 to 9: of the available tasks of a queue those with the highest are
     *                                claimed first
     * @param int|null    $expiresMs  when it is deleted, leased or not; null for never
     */
    public function __construct(
        public readonly string $id,
        public readonly int $version,
        public readonly string $queue,
        public readonly int $atMs = 0,
        public readonly int $createdMs = 0,
        public readonly int $modifiedMs = 0,
        public readonly string $claimant = '',
        public readonly int $claims = 0,
        public readonly int $attempt = 0,
        public readonly string $err = '',
        public readonly ?string $json = null,
        public readonly int $priority = 0,
        public readonly ?int $expiresMs = null,
    ) {
    }

    /**
     * The value as PHP has it; null also if there is none. Parsed by each call. A whole number that is
     * too long for an int is a string of its digits.
     *
     * @param bool $associative whether objects become arrays; without it an empty one stays an object
     *                          when the value is written to a store again
     *
     * @throws \JsonException for a text that `stdClass` cannot hold: one with a name that begins with NUL
     */
    public function value(bool $associative = true): mixed
    {
        return Json::decoded($this->json, $associative);
    }

    /**
     * What a modification needs to delete this task or to depend on it.
     */
    public function handle(): TaskId
    {
        return new TaskId($this->id, $this->version);
    }

    /**
     * A change of this task, for `Modification::change()`: what is not given stays as it is, but
     * the time. Without `$atMs` and `$delay` the task is released.
     *
     *     $store = Millpond::connect('memory:')->tasks('shop');
     *     $task = $store->insert(new NewTask('inbox', 'slow'));
     *     $change = $task->change(queue: 'later', delay: 60);
     *     echo $store->modify((new Modification())->change($change))->changed[0]->queue, "\n"; // later
     *
     * @param mixed       $value   anything that JSON has; `Value::None` removes the value
     * @param string|null $json    the value as a JSON text, which is kept byte for byte
     * @param string|null $queue   moves the task to this queue; it keeps its id
     * @param int|null    $atMs    from when on it can be claimed, in milliseconds since the Unix epoch;
     *                             until a time in the future the claimant that changes it holds it
     * @param float|null  $delay   in how many seconds it can be claimed, by the engine's clock; until
     *                             then the claimant that changes it holds it
     * @param int|null    $attempt how often it was tried
     * @param string|null $err     what went wrong
     *
     * @throws InvalidArgumentException for a value that JSON has not, for two values or two times, and for
     *                                  a number below 0
     */
    public function change(
        mixed $value = Value::Same,
        ?string $json = null,
        ?string $queue = null,
        ?int $atMs = null,
        ?float $delay = null,
        ?int $attempt = null,
        ?string $err = null,
    ): TaskChange {
        return TaskChange::of($this, $value, $json, $queue, $atMs, $delay, $attempt, $err);
    }
}
