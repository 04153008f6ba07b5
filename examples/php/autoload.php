<?php

/**
 * Finds Millpond in this checkout; in a project of yours it is Composer's vendor/autoload.php.
 */

declare(strict_types=1);

spl_autoload_register(static function (string $class): void {
    if (str_starts_with($class, 'Millpond\\')) {
        $path = strtr(substr($class, strlen('Millpond')), '\\', '/');
        require dirname(__DIR__, 2) . "/ffi/php/src$path.php";
    }
});
