<?php

declare(strict_types=1);

namespace Millpond\Internal;

use Millpond\Exception\InvalidArgumentException;
use Millpond\Tasks\TaskChange;
use Millpond\Tasks\TaskId;
use Millpond\Tasks\Value;

/**
 * The methods of a task.
 *
 * @internal
 */
trait TaskMethods
{
    /**
     * The value as a PHP value; null also if there is none. Each call parses it again. A whole number that is
     * too large for an int is a string of its digits.
     *
     * @param bool $associative whether objects become arrays; without it, an empty object stays an object
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
     * A change of this task, for `Modification::change()`. Fields that are not given stay as they are, but without a
     * time, `$atMs` or `$delay`, the task is released.
     *
     *     $store = Millpond::connect('memory:')->tasks('shop');
     *     $task = $store->insert(new NewTask('inbox', 'slow'));
     *     $change = $task->change(queue: 'later', delay: 60);
     *     echo $store->modify((new Modification())->change($change))->changed[0]->queue, "\n"; // later
     *
     * @param mixed       $value   any JSON value; `Value::None` removes the value
     * @param string|null $json    the value as a JSON text, which is kept byte for byte
     * @param string|null $queue   moves the task to this queue; it keeps its id
     * @param int|\DateTimeInterface|null $atMs    the time from which it can be claimed, in milliseconds since
     *                             the Unix epoch; if that is in the future, the claimant that makes the change holds
     *                             it until then
     * @param float|null  $delay   how many seconds until it can be claimed, by the engine's clock; until
     *                             then the claimant that makes the change holds it
     * @param int|null    $attempt how often it was tried
     * @param string|null $err     what went wrong
     * @param array<string, string>|list<array{string, string}>|null $headers replaces all headers with these
     *
     * @throws InvalidArgumentException for a value that JSON cannot represent, for two values or two times,
     *                                  and for a negative number
     */
    public function change(
        mixed $value = Value::Same,
        ?string $json = null,
        ?string $queue = null,
        int|\DateTimeInterface|null $atMs = null,
        ?float $delay = null,
        ?int $attempt = null,
        ?string $err = null,
        ?array $headers = null,
    ): TaskChange {
        $keeps = $value === Value::Same && $json === null;
        $text = $keeps ? $this->json : Json::given('value', $value, $json);
        [$at, $after] = TaskArguments::when($atMs, $delay);
        $tried = Arguments::size('attempt', $attempt ?? $this->attempt);
        $version = Arguments::size('version', $this->version);
        $cells = [168, $this->id, $queue ?? $this->queue, $text, $err ?? $this->err, $version, $tried, $at, $after];

        return new TaskChange([...$cells, false, null, null, 0, Headers::piece($headers)]);
    }
}
