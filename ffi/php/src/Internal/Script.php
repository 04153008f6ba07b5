<?php

declare(strict_types=1);

namespace Millpond\Internal;


/**
 * The Lua script of a step.
 *
 * @internal
 */
final class Script
{
    /** @var array<string, self> */
    private static array $found = [];

    private function __construct(
        public readonly string $operation,
        public readonly string $source,
        public readonly string $sha1,
    ) {
    }

    /**
     * The script of a step, such as `ick.add`.
     */
    public static function of(Library $library, string $operation): self
    {
        return self::$found[$operation] ??= self::find($library, $operation);
    }

    private static function find(Library $library, string $operation): self
    {
        $call = $library->made('millpond_script_find', [$operation], 'script');

        $script = $call->script[0][0];

        return new self($operation, $script->source, $script->sha1);
    }
}
