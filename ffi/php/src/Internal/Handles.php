<?php

declare(strict_types=1);

namespace Millpond\Internal;

use FFI;
use FFI\CData;

/**
 * What the library has made and this process has not freed yet.
 *
 * After a fatal error, such as one about time or memory, PHP calls no destructors. A worker of php-fpm
 * lives on, and would renew forever a lease that no request uses any more; so what is open then is
 * freed at the end of the request. A result counts as open while PHP copies it, which is when memory
 * ends.
 *
 * @internal
 */
final class Handles
{
    private const FATAL = \E_ERROR | \E_CORE_ERROR | \E_COMPILE_ERROR | \E_USER_ERROR | \E_RECOVERABLE_ERROR;

    /** @var array<int, array{FFI, string, CData, \WeakReference<object>}> */
    private static array $open = [];

    /** Memory for freeing when there is no more. */
    private static ?string $spare = null;

    private static bool $watches = false;

    /**
     * Remembers what was made, until free().
     *
     * @param object $owner the object that frees it in its destructor
     * @param string $free  the function of the library that frees it
     */
    public static function keep(object $owner, FFI $ffi, string $free, CData $handle): void
    {
        if (!self::$watches) {
            self::$watches = true;
            self::$spare = \str_repeat('x', 65_536);
            \register_shutdown_function(self::atEnd(...));
        }
        $key = \spl_object_id($handle);
        self::$open[$key] = [$ffi, $free, $handle, \WeakReference::create($owner)];
    }

    /**
     * Frees it, unless that was done before. A call that is made with it afterwards is an error.
     */
    public static function free(CData $handle): void
    {
        $key = \spl_object_id($handle);
        if (isset(self::$open[$key])) {
            [$ffi, $free, $kept] = self::$open[$key];
            unset(self::$open[$key]);
            $ffi->$free($kept);
            // The library knows NULL; an address that was freed would crash it.
            $pointer = FFI::addr($kept);
            $pointer[0] = null;
        }
    }

    /**
     * Frees what has no owner any more: a signal handler has thrown in its destructor.
     */
    public static function sweep(): void
    {
        foreach (self::$open as [, , $handle, $owner]) {
            if ($owner->get() === null) {
                self::free($handle);
            }
        }
    }

    private static function atEnd(): void
    {
        self::$spare = null;
        $error = \error_get_last();
        $isFatal = $error !== null && ($error['type'] & self::FATAL) !== 0;
        WorkerRun::atEnd($isFatal ? $error['message'] : null);
        if ($isFatal) {
            // In reverse order, since later objects depend on earlier ones.
            foreach (\array_reverse(self::$open) as [, , $handle]) {
                self::free($handle);
            }
        }
    }
}
