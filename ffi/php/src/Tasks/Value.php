<?php

declare(strict_types=1);

namespace Millpond\Tasks;

/**
 * Markers for "no value" and "unchanged", since null is a value: the JSON text `null`.
 */
enum Value
{
    /** There is no value. */
    case None;

    /** It stays unchanged. */
    case Same;
}
