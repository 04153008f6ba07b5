<?php

declare(strict_types=1);

namespace Millpond\Tasks;

use Millpond\Exception\InvalidArgumentException;
use Millpond\Internal\Arguments;
use Millpond\Internal\Json;
use Millpond\Internal\TaskArguments;

/**
 * A task to insert, for `TaskStore::insert()` and `Modification::insert()`.
 *
 *     $store = Millpond::connect('memory:')->tasks('shop');
 *     $store->insert(new NewTask('mails', ['to' => 'ann'], delay: 60, priority: 5));
 *     echo $store->queueStats('mails')[0]->future, " for later\n"; // 1 for later
 */
final class NewTask
{
    /** The value as a JSON text; null if there is none. */
    public readonly ?string $json;

    /** @var array{int, int} the time and the delay in milliseconds, as the library takes them */
    private readonly array $when;

    /** In milliseconds. */
    private readonly int $ttlMs;

    /**
     * @param string      $queue    the queue, which need not be there; at most 64 KiB of UTF-8
     * @param mixed       $value    anything that JSON has, at most 16 MiB of it
     * @param string|null $json     the value as a JSON text, which is kept byte for byte
     * @param string|null $id       unique in the store, 1 to 64 characters; null is 16 random
     *                              hexadecimal digits
     * @param int|null    $atMs     from when on it can be claimed, in milliseconds since the Unix
     *                              epoch; a time in the past counts for its age
     * @param float|null  $delay    in how many seconds it can be claimed, by the engine's clock
     * @param int         $attempt  how often it was tried before
     * @param string      $err      what went wrong before
     * @param int         $priority 0 to 9: of the available tasks of a queue those with the highest
     *                              are claimed first
     * @param float|null  $ttl      after how many seconds it is deleted, done or not, leased or not
     *
     * @throws InvalidArgumentException for a value that JSON has not, for two values or two times, and for
     *                                  a number below 0
     */
    public function __construct(
        public readonly string $queue,
        mixed $value = Value::None,
        ?string $json = null,
        public readonly ?string $id = null,
        public readonly ?int $atMs = null,
        public readonly ?float $delay = null,
        public readonly int $attempt = 0,
        public readonly string $err = '',
        public readonly int $priority = 0,
        public readonly ?float $ttl = null,
    ) {
        $this->json = Json::given('value', $value, $json);
        $this->when = TaskArguments::when($atMs, $delay);
        $this->ttlMs = Arguments::optional('ttl', $ttl);
        Arguments::size('attempt', $attempt);
        Arguments::size('priority', $priority);
    }

    /**
     * @internal a millpond_new_task
     *
     * @return list<string|int|bool|null>
     */
    public function cells(bool $skipColliding): array
    {
        return [120, $this->queue, $this->id, $this->json, $this->err, ...$this->when, $this->ttlMs, $this->attempt,
            $this->priority, $skipColliding];
    }
}
