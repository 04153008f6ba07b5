<?php

declare(strict_types=1);

namespace Millpond\Tests;

use Millpond\Internal\Library;
use Millpond\Millpond;

/**
 * The package as its users get it: installed by Composer into a clean folder, and used there.
 */
final class PackageTest extends TestCase
{
    /**
     * @param list<string> $arguments
     */
    private function composer(array $arguments, string $folder): string
    {
        $environment = ['COMPOSER_HOME' => $this->folder(), 'COMPOSER_ALLOW_SUPERUSER' => '1',
            'COMPOSER_DISABLE_NETWORK' => '1', 'COMPOSER_NO_INTERACTION' => '1'];

        return self::program(['composer', ...$arguments], $environment, $folder);
    }

    /** What composer.json does not ask for PHP can be without, such as ctype. */
    public function testNoOtherExtensionsAreNeeded(): void
    {
        $program = <<<'PHP'
            use Millpond\Tasks\{NewTask, WorkerOptions};
            require $argv[1];
            $queue = Millpond\Millpond::connect('memory:')->shuffleQueue('q');
            $queue->write('t', ['n' => '1']);
            $consumer = $queue->consumer('g', 'c');
            echo $consumer->ack($consumer->read()), function_exists('ctype_digit') ? ' with ctype' : '';
            $store = Millpond\Millpond::connect('memory:')->tasks('t');
            $store->insert(new NewTask('q', ['ä' => "\u{fffd}"]));
            $store->worker('q', new WorkerOptions(maxAttempts: 1))->drain(fn ($job) => throw new DomainException($job->task->json . "\xff"), fn () => null);
            echo ' ', $store->list('q/err')->tasks[0]->err;
            try {
                $consumer->ack(new Millpond\Receipt(0, 'x'));
            } catch (Millpond\Exception\InvalidArgumentException $refused) {
                echo ' ', strtok($refused->getMessage(), ' ');
            }
            PHP;
        $command = [\PHP_BINARY, '-n', '-d', 'extension=ffi', '-d', 'ffi.enable=1', '-r', $program, __DIR__ . '/bootstrap.php'];
        self::assertSame("1 exhausted: DomainException: {\"ä\":\"\u{fffd}\"}\u{fffd} messages.id", self::program($command));
    }

    public function testComposerJson(): void
    {
        $package = \dirname(__DIR__);
        self::assertStringContainsString('is valid', $this->composer(['validate', '--no-check-publish', '--no-check-version'], $package));
        $json = \json_decode(\file_get_contents("$package/composer.json"), true, flags: \JSON_THROW_ON_ERROR);
        self::assertSame(Millpond::version(), $json['version']);
    }

    /**
     * @return array<string, array{string}>
     */
    public function sources(): array
    {
        return ['the folder' => [false], 'its archive' => [true]];
    }

    /** @dataProvider sources */
    public function testInstalledAndUsed(bool $archive): void
    {
        // The build puts the library into the package; here it is the one that is tested.
        $package = $this->folder();
        \exec('cd ' . \escapeshellarg(\dirname(__DIR__)) . ' && cp -rL . ' . \escapeshellarg($package), result_code: $failed);
        self::assertSame(0, $failed);
        \copy((new \ReflectionMethod(Library::class, 'path'))->invoke(null), "$package/lib/libmillpond.so");
        if ($archive) {
            // A repository of archives needs PHP's zip; unpacked it is a folder again.
            $url = $this->folder();
            $this->composer(['archive', '--format=tar', "--dir=$url", '--file=millpond'], $package);
            (new \PharData("$url/millpond.tar"))->extractTo($package = $this->folder());
        }
        $project = $this->folder();
        \file_put_contents("$project/composer.json", \json_encode([
            'repositories' => [
                ['type' => 'path', 'url' => $package, 'options' => ['symlink' => false]],
                ['packagist.org' => false],
            ],
            'require' => ['millpond/millpond' => '*'],
        ]));
        $this->composer(['install'], $project);
        $installed = "$project/vendor/millpond/millpond";
        self::assertSame(!$archive, \is_dir("$installed/tests"));
        foreach (['LICENSE-MIT', 'LICENSE-APACHE'] as $license) {
            self::assertFileEquals(\dirname(__DIR__, 3) . "/$license", "$installed/$license");
        }
        \file_put_contents("$project/program.php", <<<'PHP'
            <?php

            require 'vendor/autoload.php';

            $files = Millpond\Millpond::connect('memory:')->ick('files');
            $files->add([[2, 'b'], [1, 'a']]);
            foreach ($files->batches(10) as $batch) {
                echo implode(' ', array_column($batch, 'member')), "\n";
            }
            echo preg_match('~(/\S+)/lib/libmillpond.so~', file_get_contents('/proc/self/maps'), $found) ? $found[1] : '';
            PHP);
        $printed = self::program([\PHP_BINARY, 'program.php'], ['MILLPOND_LIBRARY' => ''], $project);
        self::assertSame("a b\n$installed", $printed);
        $header = self::program(['vendor/bin/millpond-ffi-header'], ['MILLPOND_LIBRARY' => ''], $project);
        self::assertStringContainsString("#define FFI_LIB \"$installed/lib/libmillpond.so\"", $header);
    }
}
