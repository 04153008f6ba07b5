<?php

declare(strict_types=1);

namespace Millpond\Tasks;

use Millpond\Internal\Arguments;

/**
 * What becomes of a task: everything that a caller can set, as `Task::change()` fills it in.
 *
 * If retry(), retryOrQuarantine() and quarantine() are called several times, the last call applies.
 *
 *     $store = Millpond::connect('memory:')->tasks('shop');
 *     $store->insert(new NewTask('inbox', 'slow'));
 *     $task = $store->claim('inbox');
 *     $change = $task->change(delay: 60)->retryOrQuarantine('no answer', 'inbox/err', 3);
 *     $task = $store->modify((new Modification())->change($change))->changed[0];
 *     echo "$task->queue $task->attempt $task->err\n"; // inbox 1 no answer
 */
final class TaskChange
{
    /** The index of the first cell that says what failed. */
    private const RETRY = 9;

    /**
     * @internal made by `Task::change()`
     *
     * @param list<string|int|bool|null> $cells a millpond_task_change
     */
    public function __construct(private readonly array $cells)
    {
    }

    /**
     * Adds an attempt, and what went wrong in it as a new line after what went wrong before.
     *
     * @param string $err what went wrong
     */
    public function retry(string $err): self
    {
        return $this->failed($err, null, 0);
    }

    /**
     * `retry`, and a move to this queue when the attempt reaches `max`; never if `max` is 0 or the queue has
     * no name.
     *
     * @param string $err   what went wrong
     * @param string $queue the queue's name, 1 to 64 KiB
     * @param int    $max   the attempt with which the task moves; 0 is never
     */
    public function retryOrQuarantine(string $err, string $queue, int $max): self
    {
        return $this->failed($err, $queue, Arguments::size('max', $max));
    }

    /**
     * `retry`, and a move to this queue.
     *
     * @param string $err   what went wrong
     * @param string $queue the queue's name, 1 to 64 KiB
     */
    public function quarantine(string $err, string $queue): self
    {
        return $this->failed($err, $queue, 1);
    }

    private function failed(string $err, ?string $queue, int $max): self
    {
        $failed = [true, $err, $queue, $max];

        return new self(\array_replace($this->cells, \array_combine(\range(self::RETRY, self::RETRY + 3), $failed)));
    }

    /**
     * @internal
     *
     * @return list<string|int|bool|null>
     */
    public function cells(): array
    {
        return $this->cells;
    }
}
