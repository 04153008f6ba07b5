<?php

declare(strict_types=1);

namespace Millpond\Internal;

/**
 * What a server answered in place of a result, in its own words. The library says what it means.
 *
 * @internal
 */
final class ServerError extends \RuntimeException
{
}
