<?php

declare(strict_types=1);

namespace Millpond\Internal;

/**
 * The error that a server returned instead of a result, in the server's words. The library
 * translates it.
 *
 * @internal
 */
final class ServerError extends \RuntimeException
{
}
