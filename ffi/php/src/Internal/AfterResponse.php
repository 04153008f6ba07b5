<?php

declare(strict_types=1);

namespace Millpond\Internal;

/**
 * Sends the response when the script has ended, and then does some work of which nothing reaches the client: no output,
 * no error and no waiting.
 *
 * @internal
 */
final class AfterResponse
{
    /** The functions that send the response and let the script go on. */
    private const FINISH = ['fastcgi_finish_request', 'litespeed_finish_request'];

    /** How long before the end of `max_execution_time` the work is over, in seconds. */
    private const RESERVE = 0.1;

    /** The most time for the work. */
    public ?float $budget = null;

    /** Whether it also works where no function sends the response before. */
    public bool $force = false;

    private readonly float $begun;

    /**
     * @param \Closure(?float): mixed    $work gets the time for it
     * @param \Closure(\Throwable): void $tell throws nothing
     */
    public function __construct(
        private readonly \Closure $work,
        private readonly \Closure $tell,
    ) {
        $this->begun = (float) ($_SERVER['REQUEST_TIME_FLOAT'] ?? \microtime(true));
        // What other shutdown functions print is part of the response: this one runs after all of them.
        \register_shutdown_function(fn () => \register_shutdown_function($this->run(...)));
    }

    private function run(): void
    {
        $finish = \array_filter(self::FINISH, \function_exists(...));
        if ($finish === [] && !$this->force) {
            return;
        }
        // PHP ends a script that prints something when its client is gone.
        $this->quietly(static fn () => \ignore_user_abort(true));
        $this->quietly(static fn () => \ini_set('display_errors', '0'));
        $this->quietly(self::closeSession(...));
        $this->quietly(static fn () => \array_map('\call_user_func', $finish));
        $this->quietly($this->work(...));
    }

    /**
     * The next request of the session does not wait for the work.
     */
    private static function closeSession(): void
    {
        if (\function_exists('session_status') && \session_status() === \PHP_SESSION_ACTIVE) {
            \session_write_close();
        }
    }

    private function work(): void
    {
        $limit = (float) \ini_get('max_execution_time');
        $left = $limit > 0 ? $limit - (\microtime(true) - $this->begun) - self::RESERVE : \INF;
        $budget = \min($this->budget ?? \INF, $left);
        if ($budget > 0) {
            ($this->work)($budget === \INF ? null : $budget);
        }
    }

    /**
     * Does work whose output is discarded, and whose exceptions are reported.
     */
    private function quietly(\Closure $work): void
    {
        $level = \ob_get_level();
        // With a callback nothing comes out even if the work flushes it, or ends the script. After a fatal error PHP calls
        // no more shutdown functions, but this; except where memory has run out, when it calls nothing.
        Handles::watch();
        \ob_start(static function (string $output, int $phase): string {
            if (($phase & \PHP_OUTPUT_HANDLER_FINAL) !== 0) {
                Handles::atEnd();
            }

            return '';
        });
        try {
            $work();
        } catch (\Throwable $thrown) {
            ($this->tell)($thrown);
        }
        while (\ob_get_level() > $level && (\ob_get_status()['flags'] & \PHP_OUTPUT_HANDLER_REMOVABLE) !== 0) {
            \ob_end_clean();
        }
    }
}
