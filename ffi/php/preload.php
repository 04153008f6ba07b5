<?php

/**
 * For opcache.preload: compiles Millpond once for all workers, and lets it use FFI in them while
 * ffi.enable=preload keeps it from other code. Either name this file in php.ini,
 *
 *     opcache.preload=/srv/app/vendor/millpond/millpond/preload.php
 *
 * or require it from the preload script that is there already.
 */

declare(strict_types=1);

namespace Millpond;

(static function (): void {
    $source = __DIR__ . '/src';
    // One class needs the next while they are read.
    \spl_autoload_register($load = static function (string $class) use ($source): void {
        if (\str_starts_with($class, 'Millpond\\')) {
            require_once $source . \strtr(\substr($class, \strlen('Millpond')), '\\', '/') . '.php';
        }
    });
    $files = new \RecursiveIteratorIterator(
        new \RecursiveDirectoryIterator($source, \FilesystemIterator::SKIP_DOTS),
    );
    foreach ($files as $file) {
        require_once $file->getPathname();
    }
    \spl_autoload_unregister($load);

    // Parsed here, the header is not parsed again by each request. PHP takes it from a file alone,
    // with the library's full path in it.
    $header = \tempnam(\sys_get_temp_dir(), 'millpond');
    \file_put_contents($header, Internal\Library::scope());
    try {
        \FFI::load($header);
    } catch (\FFI\Exception) {
        // With opcache.preload_user PHP refuses to. Each request then parses the header, or
        // ffi.preload in php.ini names a file with what bin/millpond-ffi-header prints.
    } finally {
        \unlink($header);
    }
})();
