<?php

declare(strict_types=1);

// Composer would do the same; the suite runs without it.
spl_autoload_register(static function (string $class): void {
    $folders = ['Millpond\\Tests\\' => __DIR__, 'Millpond\\' => dirname(__DIR__) . '/src'];
    foreach ($folders as $prefix => $folder) {
        $file = $folder . '/' . strtr(substr($class, strlen($prefix)), '\\', '/') . '.php';
        if (str_starts_with($class, $prefix) && is_file($file)) {
            require $file;

            return;
        }
    }
});

// Debian's packages have autoloaders of their own.
require_once 'Predis/autoload.php';
require_once 'Psr/Log/autoload.php';
