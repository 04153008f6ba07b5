<?php

declare(strict_types=1);

namespace Millpond\Internal;

use Millpond\Retry;

/**
 * What every Millpond exception has besides its message.
 *
 * @internal
 */
trait ErrorDetails
{
    /** The stable name of the kind of error, the same in every language. */
    public readonly string $errorName;

    /** Whether repeating the call can help. */
    public readonly Retry $retry;

    /** The operation that failed, such as `ick.add`; empty if there was none. */
    public readonly string $operation;

    public function __construct(string $message = '', string $operation = '', ?\Throwable $previous = null)
    {
        parent::__construct($message, self::CODE, $previous);
        $this->errorName = self::NAME;
        $this->retry = self::RETRY;
        $this->operation = $operation;
    }
}
