<?php

declare(strict_types=1);

namespace Millpond\Internal;

use FFI;
use FFI\CData;
use FFI\CType;
use Millpond\Entry;
use Millpond\Exception;
use Millpond\Exception\LibraryException;

/**
 * libmillpond in this process: finds it, calls it, and converts its results to PHP values.
 *
 * Every call has separate out-parameters, so that a signal handler that runs between two lines of PHP and
 * makes a call itself does not overwrite them.
 *
 * @internal
 */
final class Library
{
    /** The ABI that lib/millpond.ffi.h describes; a library with another ABI would be called incorrectly. */
    private const ABI_VERSION = 1;

    /** What the loader looks for where this package has no library. */
    private const ON_SYSTEM = 'libmillpond.so.' . self::ABI_VERSION;

    /** The scope under which preload.php, or ffi.preload in php.ini, loads the header. */
    private const SCOPE = 'millpond';

    private static ?self $loaded = null;

    /** Out-parameters of one call. */
    private readonly CType $outputs;

    private readonly CType $lengths;

    private readonly CType $scores;

    /** The number of words from one entry of an Ick to the next. */
    private readonly int $entryWords;

    private function __construct(public readonly FFI $ffi)
    {
        $this->entryWords = $ffi->millpond_ick_entries_stride() >> 3;
        [$this->lengths, $this->scores] = [$ffi->type('uint64_t *'), $ffi->type('double *')];
        $this->outputs = $ffi->type('struct {
            millpond_error *error[1];
            millpond_client *client[1];
            millpond_clock *clock[1];
            millpond_recovery *recovery[1];
            millpond_ick_lease *lease[1];
            millpond_ick_batches *batches[1];
            millpond_ick_channel *channel[1];
            millpond_ick_entries *entries[1];
            millpond_keys *keys[1];
            millpond_ick_added added[1];
            millpond_ick_stats stats[1];
            millpond_job_counts counts[1];
            millpond_script *script[1];
            millpond_shuffle_queue *queue[1];
            millpond_shuffle_consumer *consumer[1];
            millpond_shuffle_messages *loop[1];
            millpond_shuffle_batch *messages[1];
            millpond_shuffle_dead_letters *letters[1];
            millpond_shuffle_stats *shuffle_stats[1];
            millpond_shuffle_garbage *garbage[1];
            millpond_shuffle_receipt receipt[1];
            millpond_tasks_store *store[1];
            millpond_tasks_claims *claims[1];
            millpond_shuffle_worker *shuffle_worker[1];
            millpond_shuffle_run *shuffle_run[1];
            millpond_shuffle_report *shuffle_report[1];
            millpond_shuffle_job *shuffle_job[1];
            millpond_tasks_worker *tasks_worker[1];
            millpond_tasks_run *tasks_run[1];
            millpond_tasks_report *tasks_report[1];
            millpond_tasks_jobs *jobs[1];
            millpond_tasks_job *tasks_job[1];
            millpond_tasks_result *result[1];
            millpond_events_queue *events_queue[1];
            millpond_events_deliveries *deliveries[1];
            millpond_events_worker *events_worker[1];
            millpond_events_run *events_run[1];
            millpond_events_report *events_report[1];
            millpond_events_job *events_job[1];
            millpond_events_result *events_result[1];
            millpond_volatile_hash *volatile_hash[1];
            millpond_volatile_hashes *volatile_hashes[1];
            millpond_volatile_lock *volatile_lock[1];
            millpond_volatile_result *volatile_result[1];
            millpond_recruiter *recruiter[1];
            millpond_recruiter_slices *slice_loop[1];
            millpond_recruiter_slice *slice[1];
            millpond_recruiter_result *recruiter_result[1];
            millpond_tracker *tracker[1];
            millpond_tracker_result *tracker_result[1];
            millpond_duty duty[1];
            millpond_error *unavailable[1];
            millpond_bytes text[1];
            uint64_t number[1];
            int64_t milliseconds[1];
            uint64_t second[1];
            uint32_t small[1];
            bool flag[1];
        }');
    }

    /**
     * The library of this process.
     *
     * @throws LibraryException
     */
    public static function get(): self
    {
        return self::$loaded ??= new self(self::open());
    }

    private static function open(): FFI
    {
        if (!\extension_loaded('ffi')) {
            throw new LibraryException(
                'Millpond needs the PHP extension ffi: install it, and write extension=ffi into php.ini',
            );
        }
        try {
            $ffi = self::preloaded() ?? self::loaded();
        } catch (FFI\Exception $failure) {
            // PHP defines no class for a feature that is switched off.
            throw new LibraryException(
                \str_contains($failure->getMessage(), 'ffi.enable') ? self::switchedOff() : self::unloadable($failure),
                0,
                $failure,
            );
        }
        $version = $ffi->millpond_abi_version();
        if ($version !== self::ABI_VERSION) {
            throw new LibraryException(\sprintf(
                'the libmillpond that was found has ABI %d, and this package was made for %d: install the'
                . ' package and the library of one release',
                $version,
                self::ABI_VERSION,
            ));
        }

        return $ffi;
    }

    private static function switchedOff(): string
    {
        return \sprintf(
            'FFI is switched off here (ffi.enable=%s, SAPI %s), and Millpond calls its library with it. In php.ini'
            . ' set ffi.enable=1; or leave ffi.enable=preload and set opcache.preload=%s',
            \ini_get('ffi.enable'),
            \PHP_SAPI,
            \dirname(__DIR__, 2) . '/preload.php',
        );
    }

    private static function unloadable(FFI\Exception $failure): string
    {
        $reason = self::carried() === [] && !self::isNamed()
            ? 'there is no libmillpond for ' . self::machine() . ' in this package; install it from the release\'s C'
                . ' archive, or name it in MILLPOND_LIBRARY: '
            : 'libmillpond cannot be loaded: ';

        return $reason . $failure->getMessage();
    }

    private static function preloaded(): ?FFI
    {
        try {
            return FFI::scope(self::SCOPE);
        } catch (FFI\Exception) {
            return null;
        }
    }

    private static function loaded(): FFI
    {
        return FFI::cdef(self::header(), self::path());
    }

    /**
     * What FFI has to know about the library.
     */
    private static function header(): string
    {
        $file = \dirname(__DIR__, 2) . '/lib/millpond.ffi.h';
        $header = @\file_get_contents($file);
        if ($header === false) {
            throw new LibraryException("$file is missing: the build of this package puts it there");
        }

        return $header;
    }

    /**
     * The path of the library: the configured one, the one in this package, or the system's.
     */
    private static function path(): string
    {
        if (self::isNamed()) {
            return self::named();
        }
        $carried = self::carried();
        $reasons = [];
        foreach (\count($carried) > 1 ? $carried : [] as $file) {
            try {
                FFI::cdef('', $file);

                return $file;
            } catch (FFI\Exception $failure) {
                // That of another C library, most likely.
                $reasons[] = $failure->getMessage();
            }
        }
        if ($reasons !== []) {
            throw new FFI\Exception(\implode('; ', $reasons));
        }

        return $carried[0] ?? self::ON_SYSTEM;
    }

    private static function named(): mixed
    {
        return \defined('MILLPOND_LIBRARY') ? \constant('MILLPOND_LIBRARY') : \getenv('MILLPOND_LIBRARY');
    }

    private static function isNamed(): bool
    {
        return \is_string(self::named()) && self::named() !== '';
    }

    /**
     * The libraries in this package: in a clone the one that was built, in a release one for each C library.
     *
     * @return list<string>
     */
    private static function carried(): array
    {
        $lib = \dirname(__DIR__, 2) . '/lib';
        $places = [$lib, "$lib/" . self::machine() . '-gnu', "$lib/" . self::machine() . '-musl'];

        return \array_values(\array_filter(
            \array_map(static fn(string $place): string => "$place/libmillpond.so", $places),
            \is_file(...),
        ));
    }

    private static function machine(): string
    {
        return \strtolower(\PHP_OS_FAMILY) . '-' . \php_uname('m');
    }

    /**
     * The header as FFI::load() and ffi.preload take it.
     */
    public static function scope(): string
    {
        return \sprintf("#define FFI_SCOPE \"%s\"\n#define FFI_LIB \"%s\"\n%s", self::SCOPE, self::path(), self::header());
    }

    /**
     * Out-parameters of one call, all zero.
     */
    public function call(): CData
    {
        return $this->ffi->new($this->outputs);
    }

    /**
     * Makes a call. Returns its out-parameters if it succeeds.
     *
     * @param string      $function  the function of the library
     * @param list<mixed> $arguments the arguments before the out-parameters
     * @param string      $outputs   the out-parameters before the error
     *
     * @throws Exception\MillpondException
     */
    public function made(string $function, array $arguments, string ...$outputs): CData
    {
        $call = $this->call();
        foreach ($outputs as $output) {
            $arguments[] = $call->$output;
        }
        $arguments[] = $call->error;
        $status = $this->ffi->$function(...$arguments);
        $this->check($status, $call);

        return $call;
    }

    /**
     * Makes a call, and returns the number, the flag or the handle that it returns; null if it returns no handle.
     *
     * @param list<mixed> $arguments as for made()
     *
     * @throws Exception\MillpondException
     */
    public function value(string $function, array $arguments, string $output): mixed
    {
        // Without a reference to the out-parameters, PHP would free their memory before it reads one of them.
        $call = $this->made($function, $arguments, $output);

        return $call->$output[0];
    }

    /**
     * Makes an object from a handle that the library returns; null if it returns none. No signal handler can
     * throw in between.
     *
     * @template Made
     *
     * @param list<mixed>           $arguments as for made()
     * @param callable(CData): Made $object
     *
     * @return Made|null
     */
    public function handle(string $function, array $arguments, string $output, callable $object): mixed
    {
        return Signals::held(function () use ($function, $arguments, $output, $object): mixed {
            Handles::sweep();
            $handle = $this->value($function, $arguments, $output);

            return $handle === null ? null : $object($handle);
        });
    }

    /**
     * A structure of options, with its defaults.
     */
    public function options(string $structure): CData
    {
        $options = $this->ffi->new($structure);
        [$pointer, $size] = [FFI::addr($options), FFI::sizeof($options)];
        $function = "{$structure}_init";
        $this->ffi->$function($pointer, $size);

        return $options;
    }

    /**
     * Throws the error of a call, if it failed.
     *
     * @throws Exception\MillpondException
     */
    public function check(int $status, CData $call): void
    {
        if ($status !== 0) {
            throw $this->exception($call->error[0]);
        }
    }

    /**
     * Makes the exception for an error, and frees the error.
     *
     * @param string $operation what failed, if the library does not know
     */
    public function exception(CData $error, string $operation = ''): Exception\MillpondException
    {
        $ffi = $this->ffi;
        $message = $ffi->millpond_error_message($error);
        if ($operation !== '') {
            $message = "$operation: $message";
        }
        $cause = $ffi->millpond_error_cause($error);
        $code = $ffi->millpond_error_code($error);
        $name = \strtolower($ffi->millpond_status_name($code));
        $class = 'Millpond\\Exception\\' . \str_replace('_', '', \ucwords($name, '_')) . 'Exception';
        if (!\class_exists($class)) {
            $class = Exception\InternalException::class;
        }
        if ($operation === '') {
            $operation = $ffi->millpond_error_operation($error);
        }
        $previous = $cause === null ? null : new \RuntimeException($cause);
        $dependency = $ffi->millpond_error_dependency($error);
        $found = $dependency === null ? [] : TaskResults::dependency($dependency);
        $exception = new $class($message, $operation, $previous, ...$found);
        $ffi->millpond_error_free($error);

        return $exception;
    }

    /**
     * Copies the entries that a call returned, and frees them.
     *
     * @return list<Entry>
     */
    public function entries(CData $call): array
    {
        $entries = $call->entries[0];
        $count = $this->ffi->millpond_ick_entries_length($entries);
        if ($count === 0) {
            $this->ffi->millpond_ick_entries_free($entries);

            return [];
        }
        Handles::keep($call, $this->ffi, 'millpond_ick_entries_free', $entries);
        $start = $this->ffi->millpond_ick_entries_bytes($entries);
        $size = $this->ffi->millpond_ick_entries_bytes_length($entries);
        $bytes = FFI::string($start, $size);
        // An entry begins with a pointer, a length and a score, of eight bytes each.
        $array = $this->ffi->millpond_ick_entries_data($entries);
        [$lengths, $scores] = [FFI::cast($this->lengths, $array), FFI::cast($this->scores, $array)];
        $found = [];
        $stride = $this->entryWords;
        for ($field = 1, $end = $stride * $count, $offset = 0; $field < $end; $field += $stride) {
            $length = $lengths[$field];
            $member = \substr($bytes, $offset, $length);
            $found[] = new Entry($member, $scores[$field + 1]);
            $offset += $length;
        }
        Handles::free($entries);

        return $found;
    }

    /**
     * Copies the keys that a call returned, and frees them.
     *
     * @return list<string>
     */
    public function keys(CData $call): array
    {
        $keys = $call->keys[0];
        Handles::keep($call, $this->ffi, 'millpond_keys_free', $keys);
        $array = $this->ffi->millpond_keys_data($keys);
        $count = $this->ffi->millpond_keys_length($keys);
        $found = [];
        for ($index = 0; $index < $count; ++$index) {
            $found[] = FFI::string($array[$index]->data, $array[$index]->length);
        }
        Handles::free($keys);

        return $found;
    }

    /**
     * The keys of an Ick with this name.
     *
     * @return list<string>
     */
    public function ickKeys(string $name): array
    {
        return $this->keys($this->made('millpond_ick_keys', [$name, \strlen($name)], 'keys'));
    }
}
