<?php

declare(strict_types=1);

namespace Millpond\Tasks;

/**
 * What stands for a value or a content where there is none to give. null is one: the JSON text `null`.
 */
enum Value
{
    /** There is none. */
    case None;

    /** It stays as it is. */
    case Same;
}
