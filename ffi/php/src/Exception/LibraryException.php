<?php

declare(strict_types=1);

namespace Millpond\Exception;

/**
 * libmillpond cannot be used here; the message says what to install or to set. It is not a
 * MillpondException, since it is about the installation and never about a call.
 */
final class LibraryException extends \RuntimeException
{
}
