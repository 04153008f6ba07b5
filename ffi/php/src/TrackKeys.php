<?php

declare(strict_types=1);

namespace Millpond;

/**
 * Where the records of tracked messages are. All programs that write, delete or collect tracked
 * messages of a queue have to set the same.
 */
enum TrackKeys: string
{
    /**
     * In three keys that all queues of a server share, where the Go package that introduced this
     * queue has them. A cluster refuses it with a CrossSlotException.
     */
    case Global = 'global';

    /** In three keys of the queue's own, `<queue>:meta:cancelation` and so on. */
    case Queue = 'queue';
}
