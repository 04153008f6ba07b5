<?php

declare(strict_types=1);

namespace Millpond;

/**
 * One of the two sets of an Ick.
 */
enum IckSet: string
{
    /** Members that are flagged and not reserved. */
    case Producer = 'producer';

    /** Members that are reserved and not committed. */
    case Consumer = 'consumer';
}
