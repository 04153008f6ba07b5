<?php

/**
 * Values of the protocol as PHP has them, and what a request has for the parameters of a method.
 */

declare(strict_types=1);

use Millpond\Acquired;
use Millpond\Duty;
use Millpond\Entry;
use Millpond\EventConfig;
use Millpond\EventPosition;
use Millpond\EventReceipt;
use Millpond\FieldPosition;
use Millpond\LockHolder;
use Millpond\NewEvent;
use Millpond\Reaped;
use Millpond\Receipt;
use Millpond\Schedule;
use Millpond\ScheduleInfo;
use Millpond\Tasks\Doc;
use Millpond\Tasks\DocChange;
use Millpond\Tasks\DocId;
use Millpond\Tasks\DocPosition;
use Millpond\Tasks\Modification;
use Millpond\Tasks\Position;
use Millpond\Tasks\Task;
use Millpond\Tasks\TaskChange;
use Millpond\Tasks\TaskId;
use Millpond\Tasks\Value;
use Millpond\ValueOrLock;

/** PHP, or the package, cannot express this. */
final class Unsupported extends Exception
{
}

/** What a request has by its fields, and the package by a class. */
const RECORDS = [Receipt::class, TaskId::class, DocId::class, Position::class, DocPosition::class, EventReceipt::class,
    EventPosition::class, FieldPosition::class];

/** The records whose floats are times, which a response has in milliseconds. */
const TIMED = [EventConfig::class, ScheduleInfo::class, Acquired::class, ValueOrLock::class, LockHolder::class, Reaped::class,
    Duty::class];

function snake(string $name): string
{
    return strtolower(preg_replace('/[A-Z]/', '_$0', $name));
}

function camel(string $name): string
{
    return lcfirst(str_replace('_', '', ucwords($name, '_')));
}

/** A value of a request as PHP has it: strings are bytes. */
function decoded(mixed $value): mixed
{
    if (!is_array($value) || array_is_list($value)) {
        return is_array($value) ? array_map(decoded(...), $value) : $value;
    }
    if (count($value) > 1) {
        return recorded($value);
    }
    $text = current($value);

    return match (key($value)) {
        'b64' => base64_decode($text, true),
        'float' => ['inf' => INF, '-inf' => -INF, 'nan' => NAN][strtolower($text)],
        // A number that is too long for an int is a float, as in a program.
        'int' => $text + 0,
        // A text where a number belongs; where a text belongs it would be bytes.
        'string', 'utf8' => $text,
        default => throw new Unsupported('PHP has no ' . key($value)),
    };
}

/** The record that has just these fields. */
function recorded(array $fields): object
{
    foreach (RECORDS as $class) {
        $names = array_map(
            static fn (ReflectionParameter $one): string => snake($one->name),
            (new ReflectionMethod($class, '__construct'))->getParameters(),
        );
        if (count($names) === count($fields) && array_diff($names, array_keys($fields)) === []) {
            return new $class(...array_map(static fn (string $name): mixed => decoded($fields[$name]), $names));
        }
    }
    throw new Unsupported('no record has ' . implode(', ', array_keys($fields)));
}

/** Milliseconds as seconds, where they are a number. */
function seconds(mixed $milliseconds): mixed
{
    return is_int($milliseconds) || is_float($milliseconds) ? $milliseconds / 1000 : $milliseconds;
}

/** Seconds as milliseconds. */
function milliseconds(?float $seconds): ?int
{
    return $seconds === null ? null : (int) round($seconds * 1000);
}

/** Takes from what is given the arguments of these parameters; those of options and of what is new too. */
function arguments(ReflectionMethod $method, array &$given): array
{
    $arguments = [];
    $names = array_column($method->getParameters(), 'name');
    foreach ($method->getParameters() as $parameter) {
        $name = snake($parameter->name);
        $type = $parameter->getType();
        $class = $type instanceof ReflectionNamedType && !$type->isBuiltin() ? $type->getName() : null;
        $class = $name === 'event' ? NewEvent::class : $class;
        $keys = match ($name) {
            'value', 'content' => in_array('json', $names, true) ? [] : [$name],
            'json' => ['json', 'value', 'content'],
            'delay' => ['after_ms', 'delay_ms'],
            // What the core calls a shard key.
            'key' => [$name, 'shard_key'],
            default => [$name, "{$name}_ms"],
        };
        $key = current(array_filter($keys, static fn (string $key): bool => array_key_exists($key, $given)));
        if ($key === false) {
            if ($class !== null && class_exists($class) && !enum_exists($class)) {
                $constructor = new ReflectionMethod($class, '__construct');
                $arguments[$parameter->name] = new $class(...arguments($constructor, $given));
            }
            continue;
        }
        $value = match (true) {
            $class === Modification::class => modification($given[$key]),
            $key === 'pairs' => pairs($given[$key]),
            $key === 'events' => array_map(static fn (array $one): NewEvent => made(NewEvent::class, '__construct', $one), $given[$key]),
            $key === 'schedules' => array_map(static fn (array $one): Schedule => made(Schedule::class, '__construct', $one), $given[$key]),
            default => decoded($given[$key]),
        };
        unset($given[$key]);
        if ($class !== null && enum_exists($class)) {
            $value = $class::tryFrom($value) ?? throw new Unsupported("other $name than an enum has");
        }
        $arguments[$parameter->name] = str_ends_with($key, '_ms') && $key !== $name ? seconds($value) : $value;
    }

    return $arguments;
}

/** The pairs of an add, [score, member]. */
function pairs(array $pairs): array
{
    if (in_array(null, array_column($pairs, 0), true)) {
        throw new Unsupported('a score of null is the server\'s time');
    }

    return decoded($pairs);
}

/** Calls a method of an object or of a class, or makes an object of a class, with what is given. */
function made(object|string $on, string $name, array $given): mixed
{
    $arguments = arguments(new ReflectionMethod($on, $name), $given);
    foreach ($given as $unknown => $value) {
        throw new Unsupported("the call $name takes no $unknown");
    }

    return match (true) {
        $name === '__construct' => new $on(...$arguments),
        is_string($on) => $on::$name(...$arguments),
        default => $on->$name(...$arguments),
    };
}

function change(array $said): TaskChange
{
    $task = made(Task::class, '__construct', $said['task'] + ['version' => 0, 'queue' => '']);
    $set = $said['set'] ?? [];
    $none = isset($set['no_value']) ? ['value' => Value::None] : [];
    unset($set['no_value']);
    $change = $task->change(...arguments(new ReflectionMethod($task, 'change'), $set), ...$none);
    foreach (['retry', 'retry_or_quarantine', 'quarantine'] as $end) {
        $change = isset($said[$end]) ? $change->{camel($end)}(...(array) $said[$end]) : $change;
    }

    return $change;
}

function docChange(array $said): DocChange
{
    return made(made(Doc::class, '__construct', $said['doc']), 'change', $said['set'] ?? []);
}

/** The modification of these lists. */
function modification(array $lists): Modification
{
    $made = new Modification();
    foreach ($lists as $list => $entries) {
        $ofDoc = str_starts_with($list, 'doc_');
        $verb = rtrim($ofDoc ? substr($list, 4) : $list, 's');
        $method = $ofDoc ? "{$verb}Doc" : $verb;
        foreach ($entries as $entry) {
            match ($verb) {
                'change' => $made->$method($ofDoc ? docChange($entry) : change($entry)),
                'delete', 'depend' => $made->$method(decoded($entry)),
                default => made($made, $method, $entry),
            };
        }
    }

    return $made;
}

/** A value of a response as JSON has it. */
function encoded(mixed $value): mixed
{
    return match (true) {
        is_string($value) && preg_match('//u', $value) !== 1 => ['b64' => base64_encode($value)],
        is_float($value) && !is_finite($value) => ['float' => is_nan($value) ? 'nan' : ($value > 0 ? 'inf' : '-inf')],
        is_array($value) => array_map(encoded(...), $value),
        $value instanceof BackedEnum => $value->value,
        $value instanceof Entry => [encoded($value->member), encoded($value->score)],
        is_object($value) => fields($value),
        default => $value,
    };
}

/** The fields of a record, by their names in the protocol. */
function fields(object $of): array
{
    $shown = [];
    foreach (get_object_vars($of) as $name => $value) {
        $json = $of instanceof Doc ? 'content' : 'value';
        $table = is_array($value) && !array_is_list($value);
        $pairs = $table ? array_map(null, array_map(strval(...), array_keys($value)), array_values($value)) : $value;
        $isTime = in_array($of::class, TIMED, true) && ltrim((string) (new ReflectionProperty($of, $name))->getType(), '?') === 'float';
        $shown[$name === 'json' ? $json : snake($name) . ($isTime ? '_ms' : '')] = encoded($isTime ? milliseconds($value) : $pairs);
    }

    return $shown;
}
