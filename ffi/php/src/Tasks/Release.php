<?php

declare(strict_types=1);

namespace Millpond\Tasks;

/**
 * Thrown by a handler of `Worker::run()`: give the task back untried, for another worker.
 */
final class Release extends \Exception
{
}
