<?php

declare(strict_types=1);

namespace Millpond\Exception;

use Millpond\Retry;

/**
 * Something went wrong. There is one class for each kind of error. `getCode()` and `errorName` are
 * the same in all of Millpond's languages. `getMessage()` is one line for people, without passwords
 * or payloads.
 *
 *     try {
 *         Millpond::connect('memory:')->ick('files')->add([[NAN, 'a.txt']]);
 *     } catch (MillpondException $error) {
 *         echo $error->getCode(), ' ', $error->errorName, ' ', $error->operation, "\n";
 *         // 1 INVALID_ARGUMENT ick.add
 *     }
 *
 * @property-read string $errorName the stable name of the kind of error, such as CONNECTION_LOST
 * @property-read Retry  $retry     whether repeating the call can help
 * @property-read string $operation the operation that failed, such as ick.add; empty if there was none
 */
interface MillpondException extends \Throwable
{
}
