<?php

declare(strict_types=1);

namespace Millpond\Tests;

use Millpond\Internal\Library;
use Millpond\Tasks\WorkerOptions;

/**
 * A real php-fpm: its workers are forked after the preload script has run.
 */
final class FpmTest extends TestCase
{
    private const WORKERS = 4;

    private string $app;

    /**
     * @return iterable<string, array{array<string, string>, bool}>
     */
    public function ways(): iterable
    {
        $preload = ['ffi.enable' => 'preload', 'opcache.preload' => 'PACKAGE/preload.php'];
        yield 'no preload' => [['ffi.enable' => '1'], false];
        yield 'preload' => [$preload, true];
        if (!\getenv('MILLPOND_DEEP')) {
            return;
        }
        yield 'ffi.preload' => [['ffi.enable' => '1', 'ffi.preload' => 'HEADER'], true];
        if (\posix_geteuid() === 0) {
            // Root has to name a user, and then PHP refuses to load headers in the preload script.
            $preload['opcache.preload_user'] = 'root';
            yield 'preload as root' => [$preload, false];
            yield 'preload as root, and ffi.preload' => [$preload + ['ffi.preload' => 'HEADER'], true];
        }
    }

    /**
     * @param array<string, string> $settings
     * @param array<string, string> $pool
     */
    private function fpm(array $settings, array $pool = []): Fpm
    {
        $header = $this->folder() . '/millpond.h';
        \file_put_contents($header, self::program([\PHP_BINARY, \dirname(__DIR__) . '/bin/millpond-ffi-header']));
        [$package, $environment, $user] = [\dirname(__DIR__), [], null];
        if (isset($settings['opcache.preload']) && !isset($settings['opcache.preload_user']) && \posix_geteuid() === 0) {
            $user = 'nobody';
            $package = $this->packageFor($user);
            $environment = ['MILLPOND_LIBRARY' => "$package/lib/libmillpond.so"];
        }
        $this->app = "$package/tests/fpm/app.php";
        $settings = \str_replace(['PACKAGE', 'HEADER'], [$package, $header], $settings);
        $pool += ['pm.max_children' => (string) self::WORKERS];

        return new Fpm($this->folder(), $settings, $pool, $environment, $user);
    }

    /**
     * A copy of the package that this user can read, wherever the checkout is.
     */
    private function packageFor(string $user): string
    {
        $folder = $this->folder();
        foreach (['src', 'lib', 'tests', 'preload.php'] as $part) {
            \exec('cp -rL ' . \escapeshellarg(\dirname(__DIR__) . "/$part") . ' ' . \escapeshellarg($folder), result_code: $failed);
            self::assertSame(0, $failed);
        }
        \copy((new \ReflectionMethod(Library::class, 'path'))->invoke(null), "$folder/lib/libmillpond.so");
        \exec('chmod -R a+rX ' . \escapeshellarg($folder));

        return $folder;
    }

    /**
     * @return resource
     */
    private function request(Fpm $fpm, string $query, string $options = '')
    {
        return $fpm->request($this->app, [
            'QUERY_STRING' => $query,
            'MILLPOND_URL' => Servers::shared()->url . $options,
            'MILLPOND_NAME' => $this->name,
        ]);
    }

    /**
     * @param resource $request
     *
     * @return array<string, mixed>
     */
    private function response(Fpm $fpm, $request): array
    {
        $body = $fpm->response($request);

        return \json_decode($body, true) ?? throw new \RuntimeException($body . $fpm->log());
    }

    /**
     * @dataProvider ways
     *
     * @param array<string, string> $settings
     */
    public function testEveryWorkerHasAConnectionOfItsOwn(array $settings, bool $scope): void
    {
        $fpm = $this->fpm($settings);
        $held = [];
        for ($worker = 0; $worker < self::WORKERS; ++$worker) {
            $held[] = $this->request($fpm, "member=held$worker&hold=1");
        }
        $admin = Servers::shared()->admin();
        $ids = [];
        self::waitFor(function () use ($admin, &$ids): bool {
            $ids = Servers::shared()->clients($this->name);

            return \count($ids) === self::WORKERS && $admin->zCard("$this->name/ick/{{$this->name}}/pset") === self::WORKERS;
        });
        self::assertCount(self::WORKERS, \array_unique($ids));
        $admin->set("$this->name-go", '1');
        $pids = [];
        foreach ($held as $request) {
            $response = $this->response($fpm, $request);
            self::assertSame(['new' => 1, 'scope' => $scope, 'done' => 1],
                ['new' => $response['new'], 'scope' => $response['scope'], 'done' => $response['done']]);
            $pids[] = $response['pid'];
        }
        self::assertCount(self::WORKERS, \array_unique($pids));
        for ($number = 0; $number < 200; ++$number) {
            self::assertSame(1, $this->response($fpm, $this->request($fpm, "member=m$number"))['new']);
        }
        self::assertSame(200 + self::WORKERS, $admin->zCard("$this->name/ick/{{$this->name}}/pset"));
        self::assertStringNotContainsString('exited on signal', $fpm->log());
        unset($fpm);
        self::waitFor(fn (): bool => Servers::shared()->clients($this->name) === []); // no connection is left
    }

    /**
     * @testWith ["app.php", "member="]
     *           ["recruiter.php", "handler=aborts&rate=1000&member="]
     */
    public function testPagesShareTheConnectionOfTheirWorker(string $page, string $query): void
    {
        $fpm = $this->fpm(['ffi.enable' => '1']);
        $this->app = \dirname($this->app) . "/$page";
        $seen = [];
        // Fifty turns after each worker has connected. A recruiter asks for the first time within five seconds.
        for ($turn = 0, $left = 50; $left > 0 && $turn < 50_000; ++$turn) {
            $requests = [];
            for ($number = 0; $number < self::WORKERS; ++$number) {
                $requests[] = $this->request($fpm, "$query$turn-$number", '?persist=60s');
            }
            foreach ($requests as $request) {
                self::assertMatchesRegularExpression('/"new":1|^page/', $fpm->response($request));
            }
            $seen += \array_flip(Servers::shared()->clients($this->name));
            $left -= \count($seen) >= self::WORKERS ? 1 : 0;
        }
        // Of two hundred pages at least. A recruiter gives a call 20 ms, and one that takes longer keeps its connection.
        self::assertLessThan(3 * self::WORKERS, \count($seen));
        self::assertStringNotContainsString('exited on signal', $fpm->log());
        unset($fpm);
        self::waitFor(fn (): bool => Servers::shared()->clients($this->name) === []);
    }

    /**
     * @dataProvider ways
     *
     * @param array<string, string> $settings
     */
    public function testWorkersThatAreRecycled(array $settings): void
    {
        $fpm = $this->fpm($settings, ['pm.max_requests' => '5']);
        $pids = [];
        for ($turn = 0; $turn < 25; ++$turn) {
            $requests = [];
            for ($number = 0; $number < 4; ++$number) {
                $requests[] = $this->request($fpm, "member=$turn-$number");
            }
            foreach ($requests as $request) {
                $response = $this->response($fpm, $request);
                self::assertSame(1, $response['new']);
                $pids[] = $response['pid'];
            }
        }
        self::assertGreaterThan(2 * self::WORKERS, \count(\array_unique($pids)));
        self::assertSame(100, Servers::shared()->admin()->zCard("$this->name/ick/{{$this->name}}/pset"));
        self::assertStringNotContainsString('exited on signal', $fpm->log());
    }

    public function testAFatalErrorReleasesTheLease(): void
    {
        $fpm = $this->fpm(['ffi.enable' => '1', 'display_errors' => '1', 'html_errors' => '0'], ['pm.max_children' => '1']);
        $body = $fpm->response($this->request($fpm, 'member=a&fatal=1'));
        self::assertStringContainsString('Allowed memory size', $body);
        $ick = $this->connect('redis')->ick($this->name);
        $lease = null;
        self::waitFor(static function () use ($ick, &$lease): bool {
            return ($lease = $ick->lease(1)) !== null;
        });
        $job = $this->connect('redis')->tasks("$this->name-tasks")->worker('q', new WorkerOptions(wait: 60))->jobs()->next();
        self::assertSame(2, $job->task->claims, 'nothing renews a job of a request that is over');
        // The release is sent over a connection of its own, which may come after the other is gone.
        for ($quiet = $tries = 0; $quiet < 20 && $tries < 1_000; ++$tries) {
            $quiet = Servers::shared()->clients($this->name) === [] ? $quiet + 1 : 0;
            \usleep(10_000);
        }
        self::assertSame(20, $quiet, 'no connection is left');
    }

    public function testFfiThatIsOff(): void
    {
        foreach (['preload', '0'] as $setting) {
            $response = $this->response($fpm = $this->fpm(['ffi.enable' => $setting]), $this->request($fpm, 'member=a'));
            self::assertStringContainsString('FFI is switched off here', $response['refused']);
            self::assertStringContainsString('In php.ini set ffi.enable=1', $response['refused']);
            self::assertStringContainsString('preload.php', $response['refused']);
        }
    }
}
