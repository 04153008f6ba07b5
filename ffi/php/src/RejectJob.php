<?php

declare(strict_types=1);

namespace Millpond;

/**
 * Thrown by a handler of a worker: put the job aside at once, into the error queue or among the dead letters, as no
 * other attempt would do better.
 */
final class RejectJob extends \Exception
{
    /**
     * @param string $err why
     */
    public function __construct(string $err = '', ?\Throwable $previous = null)
    {
        parent::__construct($err, 0, $previous);
    }
}
