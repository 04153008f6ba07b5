<?php

/**
 * Recruiters, and what a request says of their handlers.
 */

declare(strict_types=1);

use Millpond\BorrowedClient;
use Millpond\Client;
use Millpond\Exception\MillpondException;
use Millpond\Recruiter;
use Millpond\SliceInterface;

/** A recruiter, and what its handlers and its hook have noted during the calls that are made. */
final class Noted
{
    /** @var array<string, self> by their names as JSON, until the client is closed */
    private static array $all = [];

    private array $slices = [];

    private array $errors = [];

    private function __construct(public readonly Recruiter $recruiter)
    {
        $recruiter->onError(function (?string $job, Throwable $error): void {
            $name = $error instanceof MillpondException ? $error->errorName : null;
            $this->errors[] = ['job' => $job, 'name' => $name, 'message' => $error->getMessage()];
        });
    }

    /** The recruiter with a name. */
    public static function named(Client|BorrowedClient $client, array $given): self
    {
        return self::$all[json_encode($given['name'])] ??= new self(made($client, 'recruiter', $given));
    }

    public static function forget(): void
    {
        self::$all = [];
    }

    public function install(array $given, callable $perform): void
    {
        [$turns, $count] = [$given['handler'], 0];
        $given['handler'] = function (SliceInterface $slice) use ($turns, $perform, &$count): mixed {
            return $this->takeTurn($slice, $turns[min($count++, count($turns) - 1)], $perform);
        };
        made($this->recruiter, 'install', $given);
    }

    public function enlist(array $given): object
    {
        $times = $given['times'] ?? 1;
        unset($given['times']);
        $begin = [count($this->slices), count($this->errors)];
        for ($duties = []; count($duties) < $times;) {
            $duties[] = made($this->recruiter, 'enlist', $given);
        }

        return (object) ['duties' => $duties, ...$this->taken($begin)];
    }

    public function run(array $given): object
    {
        $begin = [count($this->slices), count($this->errors)];
        made($this->recruiter, 'run', $given);

        return (object) $this->taken($begin);
    }

    /** Does a slice. */
    private function takeTurn(SliceInterface $slice, array $turn, callable $perform): mixed
    {
        usleep(($turn['sleep_ms'] ?? 0) * 1000);
        $ran = array_map($perform, $turn['run'] ?? []);
        if ($turn['more'] ?? false) {
            $slice->more();
        }
        if ($turn['abort'] ?? false) {
            $slice->abort();
        }
        $this->slices[] = [
            'job' => $slice->job,
            'budget_ms' => milliseconds($slice->budget()),
            'remaining_ms' => milliseconds($slice->remaining()),
            'is_over' => $slice->isOver(),
            'fence' => $slice->fence(),
            'is_lost' => $slice->isLost(),
            'ran' => $ran,
        ];

        return isset($turn['raises']) ? throw new RuntimeException($turn['raises']) : $turn['returns'] ?? null;
    }

    /** What was noted since then: a call in a slice leaves what was noted before it. */
    private function taken(array $begin): array
    {
        return ['slices' => array_splice($this->slices, $begin[0]), 'errors' => array_splice($this->errors, $begin[1])];
    }
}
