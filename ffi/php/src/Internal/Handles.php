<?php

declare(strict_types=1);

namespace Millpond\Internal;

use FFI;
use FFI\CData;

/**
 * The library's objects that this process has not freed yet.
 *
 * After a fatal error, such as an exceeded time or memory limit, PHP calls no destructors. A php-fpm
 * worker lives on, and would forever renew a lease that no request uses any more. So what is still
 * open is freed at the end of the request. A result counts as open while PHP copies it, since that is
 * when memory runs out.
 *
 * @internal
 */
final class Handles
{
    private const FATAL = \E_ERROR | \E_CORE_ERROR | \E_COMPILE_ERROR | \E_USER_ERROR | \E_RECOVERABLE_ERROR;

    /** @var array<int, array{FFI, string, CData, \WeakReference<object>}> */
    private static array $open = [];

    /** Memory to free things with when no other is left. */
    private static ?string $spare = null;

    /** By how much memory_limit is raised when it is exceeded, so that a worker's hooks can report that. */
    private const MORE_BYTES = 16_777_216;

    private static bool $watches = false;

    /**
     * Remembers an object of the library until free().
     *
     * @param object $owner the object that frees it in its destructor
     * @param string $free  the function of the library that frees it
     */
    public static function keep(object $owner, FFI $ffi, string $free, CData $handle): void
    {
        if (!self::$watches) {
            self::$watches = true;
            self::watch();
            \register_shutdown_function(self::atEnd(...));
        }
        $key = \spl_object_id($handle);
        self::$open[$key] = [$ffi, $free, $handle, \WeakReference::create($owner)];
    }

    /**
     * Frees the object, unless that was done before. Any later call with it is an error.
     */
    public static function free(CData $handle): void
    {
        $key = \spl_object_id($handle);
        if (isset(self::$open[$key])) {
            [$ffi, $free, $kept] = self::$open[$key];
            unset(self::$open[$key]);
            $ffi->$free($kept);
            // The library accepts NULL; an address that was freed would crash it.
            $pointer = FFI::addr($kept);
            $pointer[0] = null;
        }
    }

    /**
     * Frees objects whose owner is gone, because a signal handler threw in its destructor.
     */
    public static function sweep(): void
    {
        foreach (self::$open as [, , $handle, $owner]) {
            if ($owner->get() === null) {
                self::free($handle);
            }
        }
    }

    /**
     * Prepares for atEnd().
     */
    public static function watch(): void
    {
        self::$spare = \str_repeat('x', 65_536);
    }

    public static function atEnd(): void
    {
        self::$spare = null;
        $error = \error_get_last();
        $isFatal = $error !== null && ($error['type'] & self::FATAL) !== 0;
        if ($isFatal && \str_starts_with($error['message'], 'Allowed memory size')) {
            \ini_set('memory_limit', (string) (\memory_get_usage(true) + self::MORE_BYTES));
        }
        WorkerRun::atEnd($isFatal ? $error['message'] : null);
        if ($isFatal) {
            // In reverse order, since later objects depend on earlier ones.
            foreach (\array_reverse(self::$open) as [$ffi, $free, $handle]) {
                if ($free === 'millpond_recruiter_slice_free') {
                    // Freed without an end it would be aborted, and the job would end the next program as often.
                    $ffi->millpond_recruiter_slice_fail($handle, null, null);
                }
                self::free($handle);
            }
        }
    }
}
