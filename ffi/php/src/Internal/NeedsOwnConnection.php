<?php

declare(strict_types=1);

namespace Millpond\Internal;

use Millpond\Exception\InvalidArgumentException;

/**
 * Refuses the methods that need connections and threads of Millpond's own. They are not declared, so that nothing
 * offers them.
 *
 * @internal
 */
trait NeedsOwnConnection
{
    public function __call(string $method, array $arguments): never
    {
        throw \method_exists(self::OWN, $method) ? self::needsOwnConnection("$method()")
            : new \Error('Call to undefined method ' . self::class . "::$method()");
    }

    private static function needsOwnConnection(string $what): InvalidArgumentException
    {
        return new InvalidArgumentException(
            "$what needs connections of Millpond's own: use Millpond::connect() in place of Millpond::over()",
        );
    }
}
