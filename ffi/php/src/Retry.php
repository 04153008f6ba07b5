<?php

declare(strict_types=1);

namespace Millpond;

/**
 * Whether the same call can help after an exception.
 */
enum Retry: string
{
    /** The same call fails again; something has to change first. */
    case Never = 'never';

    /** Nothing was done; the same call can succeed later. */
    case Later = 'later';

    /** The call may have been done: check before you repeat it. */
    case Unknown = 'unknown';
}
