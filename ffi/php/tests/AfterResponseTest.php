<?php

declare(strict_types=1);

namespace Millpond\Tests;

/**
 * A recruiter that works when the response was sent: nothing of that reaches the page.
 */
final class AfterResponseTest extends TestCase
{
    /** A script whose handler writes its budget to a file. */
    private const SCRIPT = <<<'PHP'
        require $argv[1];
        set_error_handler(fn ($level, $message) => throw new ErrorException($message));
        $recruiter = Millpond\Millpond::connect('memory:')->recruiter('r');
        $recruiter->setDutyMax(1.0);
        $recruiter->install('j', function ($slice) {
            file_put_contents('slices', number_format($slice->budget(), 1) . "\n", FILE_APPEND);
            echo 'of the handler';
        }, share: 1.0, budget: 60);
        echo 'page';

        PHP;

    /**
     * @return array<string, array{string, string, string}> what the script does more, what it prints, and the slices
     */
    public function scripts(): array
    {
        $litespeed = 'function litespeed_finish_request() { ob_end_flush(); fclose(STDOUT); } ob_start(); ';
        $limited = static fn (float $left): string => "ini_set('max_execution_time', '30'); \$_SERVER['REQUEST_TIME_FLOAT'] = microtime(true) - 30 + $left; ";

        return [
            'nothing sends the response' => ['$recruiter->afterResponse();', 'page', ''],
            'forced' => ['$recruiter->afterResponse(force: true);', 'page', "60.0\n"],
            'once' => ['$recruiter->afterResponse(2.0); $recruiter->afterResponse(1.5, true);', 'page', "1.5\n"],
            'taken back' => ['$recruiter->afterResponse(force: true); $recruiter->afterResponse();', 'page', ''],
            'in LiteSpeed' => ["$litespeed \$recruiter->afterResponse();", 'page', "60.0\n"],
            'after other functions' => ['$recruiter->afterResponse(force: true); register_shutdown_function(fn () => print(" " . (int) is_file("slices")));', 'page 0', "60.0\n"],
            'before the time is over' => [$limited(20.1) . '$recruiter->afterResponse(force: true);', 'page', "20.0\n"],
            'when the time is over' => [$limited(0.1) . '$recruiter->afterResponse(force: true);', 'page', ''],
            'the budget is less' => [$limited(20.1) . '$recruiter->afterResponse(3, true);', 'page', "3.0\n"],
            'an exit' => ['$recruiter->afterResponse(force: true); exit(0);', 'page', "60.0\n"],
            'two recruiters' => ['$other = Millpond\Millpond::connect("memory:")->recruiter("o"); $other->install("j", fn () => file_put_contents("slices", "o\n"), share: 1.0);'
                . ' $other->afterResponse(force: true); $recruiter->afterResponse(force: true);', 'page', "o\n60.0\n"],
        ];
    }

    /** @dataProvider scripts */
    public function testAScript(string $code, string $printed, string $slices): void
    {
        $folder = $this->folder();
        $command = [\PHP_BINARY, '-d', 'display_errors=1', '-d', 'html_errors=0', '-r', self::SCRIPT . $code, __DIR__ . '/bootstrap.php'];
        self::assertSame($printed, self::program($command, folder: $folder));
        self::assertSame($slices, (string) @\file_get_contents("$folder/slices"));
    }

    /**
     * @return array<string, array{0: string, 1?: int}> a handler, and the status of its script
     */
    public function failures(): array
    {
        return [
            'TypeError' => ['fn (int $slice) => 1'],
            'ErrorException' => ['fn () => $undefined'],
            'Error' => ['fn () => no_function()'],
            'output' => ['function () { while (ob_get_level() > 0) { ob_end_flush(); } ob_start(); echo 1; }'],
            'buffers' => ['function () { ob_start(null, 0, 0); echo 1; ob_start(); echo 2; }'],
            'exit' => ['function () { echo "bye"; exit(0); }'],
            'no memory' => ['function () { echo 1; ini_set("memory_limit", "6M"); str_repeat("x", 10_000_000); }', 255],
            'no time' => ['function () { echo 1; set_time_limit(1); while (true); }', 255],
            'closed' => ['fn () => $GLOBALS["recruiter"]->stop()'],
        ];
    }

    /** @dataProvider failures */
    public function testNothingOfAHandlerIsInTheResponse(string $handler, int $status = 0): void
    {
        $folder = $this->folder();
        foreach (['', '$recruiter->onError(fn (int $job) => print("hook"));'] as $hook) {
            $code = "\$recruiter->uninstall('j'); \$recruiter->install('k', $handler, share: 1.0); $hook \$recruiter->afterResponse(force: true);";
            $command = [\PHP_BINARY, '-d', 'display_errors=1', '-d', "error_log=$folder/log", '-r', self::SCRIPT . $code, __DIR__ . '/bootstrap.php'];
            self::assertSame(['page', $status], self::script($command, $folder));
        }
        $isFailure = \str_contains((string) $this->dataName(), 'Err');
        self::assertSame($isFailure, \str_contains((string) @\file_get_contents("$folder/log"), 'millpond: the job k failed'));
    }

    /** What was freed after the error is not used. */
    public function testAFatalErrorOfThePage(): void
    {
        $folder = $this->folder();
        $code = '$recruiter->afterResponse(force: true); restore_error_handler(); throw new DomainException("no page");';
        $command = [\PHP_BINARY, '-d', 'display_errors=1', '-d', "error_log=$folder/log", '-r', self::SCRIPT . $code, __DIR__ . '/bootstrap.php'];
        [$printed, $status] = self::script($command, $folder);
        self::assertSame([1, 255], [\substr_count($printed, 'Fatal error'), $status], $printed);
        self::assertStringNotContainsString('millpond: ', \file_get_contents("$folder/log"));
        self::assertFileDoesNotExist("$folder/slices");
    }

    /**
     * Runs a script that may fail.
     *
     * @param list<string> $command
     *
     * @return array{string, int} what it printed, and its status
     */
    private static function script(array $command, string $folder): array
    {
        $process = \proc_open(['timeout', '60', ...$command], [1 => ['pipe', 'w'], 2 => ['redirect', 1]], $pipes, $folder);

        return [\stream_get_contents($pipes[1]), \proc_close($process)];
    }

    private function fpm(string $log = '/dev/null'): Fpm
    {
        $folder = $this->folder();
        $settings = ['ffi.enable' => '1', 'display_errors' => '1', 'html_errors' => '0', 'session.save_path' => $folder, 'error_log' => $log];

        return new Fpm($folder, $settings, ['pm.max_children' => '2']);
    }

    private function page(Fpm $fpm, string $query): string
    {
        return $fpm->response($fpm->request(__DIR__ . '/fpm/recruiter.php', [
            'QUERY_STRING' => $query,
            'MILLPOND_URL' => Servers::shared()->url,
            'MILLPOND_NAME' => $this->name,
        ]));
    }

    public function testTheClientDoesNotWait(): void
    {
        $fpm = $this->fpm($log = $this->folder() . '/log');
        $redis = Servers::shared()->admin();
        self::assertSame('1 page end', $this->page($fpm, 'handler=waits&session=abc&budget=0.125'));
        self::waitFor(fn (): bool => $redis->get("$this->name-began") === '0.125');
        // Neither does the visitor's next page, which another worker serves.
        self::assertSame('2 page end', $this->page($fpm, 'handler=waits&session=abc'));
        self::assertFalse($redis->get("$this->name-done"));
        self::waitFor(fn (): bool => $redis->get("$this->name-began") === '0.25');
        $redis->set("$this->name-go", '1');
        self::waitFor(fn (): bool => $redis->get("$this->name-done") === '1');
        self::assertStringNotContainsString('exited on signal', $fpm->log());
        unset($fpm); // its workers have ended
        self::assertFileDoesNotExist($log, (string) @\file_get_contents($log));
    }

    /**
     * @return array<string, array{string, string}>
     */
    public function handlers(): array
    {
        return [
            'TypeError' => ['TypeError', 'the job TypeError failed: TypeError: '],
            'ErrorException' => ['ErrorException', 'the job ErrorException failed: ErrorException: Undefined variable $undefined'],
            'Error' => ['Error', 'the job Error failed: Error: Call to undefined function no_function()'],
            'hook' => ['hook', 'has thrown TypeError: '],
            'exit' => ['exit', ''],
            'fatal' => ['fatal', 'Maximum execution time'],
        ];
    }

    /** @dataProvider handlers */
    public function testWhatAHandlerDoesStaysInTheWorker(string $handler, string $logged): void
    {
        $fpm = $this->fpm($log = $this->folder() . '/log');
        for ($page = 0; $page < 4; ++$page) {
            self::assertSame('page end', $this->page($fpm, "handler=$handler"));
        }
        self::waitFor(static fn (): bool => $logged === '' || \str_contains((string) @\file_get_contents($log), $logged));
        if ($handler === 'exit' || $handler === 'fatal') {
            $recruiter = $this->connect('redis')->recruiter($this->name);
            $counter = $handler === 'exit' ? 'aborted' : 'failed';
            // Of both workers, each of which is stopped then.
            self::waitFor(static fn (): bool => ($recruiter->stats()->jobs[0]->$counter ?? 0) >= 1);
        }
        self::assertStringNotContainsString('exited on signal', $fpm->log());
    }
}
