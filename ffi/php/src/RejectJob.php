<?php

declare(strict_types=1);

namespace Millpond;

/**
 * Thrown by a handler of a worker to put the job aside immediately, into the error queue or among the dead letters,
 * since another attempt would not help.
 */
final class RejectJob extends \Exception
{
    /**
     * @param string $err the reason
     */
    public function __construct(string $err = '', ?\Throwable $previous = null)
    {
        parent::__construct($err, 0, $previous);
    }
}
