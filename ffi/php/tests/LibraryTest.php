<?php

declare(strict_types=1);

namespace Millpond\Tests;

use Millpond\Internal\Library;
use Millpond\Millpond;

/**
 * Where the library is found, and the error when it is not.
 */
final class LibraryTest extends TestCase
{
    /**
     * Runs a line of PHP in a process of its own, with the package in this folder.
     *
     * @param list<string>          $options
     * @param array<string, string> $environment
     */
    private function php(string $code, array $options = [], array $environment = [], ?string $package = null): string
    {
        $autoload = 'spl_autoload_register(fn ($class) => require $argv[1] . "/src/"'
            . ' . strtr(substr($class, 9), "\\\\", "/") . ".php");';
        $code = "$autoload use Millpond\\Millpond; use Millpond\\Exception\\LibraryException;"
            . " try { $code } catch (LibraryException \$error) { echo get_class(\$error), ': ', \$error->getMessage(); }";
        $command = [\PHP_BINARY, ...$options, '-r', $code, $package ?? \dirname(__DIR__)];

        return self::program($command, $environment + ['MILLPOND_LIBRARY' => '']);
    }

    private static function path(): string
    {
        return \realpath((new \ReflectionMethod(Library::class, 'path'))->invoke(null));
    }

    /**
     * A copy of the package with other files in its folder lib.
     *
     * @param array<string, string> $files what is in it, by the name
     */
    private function package(array $files): string
    {
        $folder = $this->folder();
        \exec('cp -r ' . \escapeshellarg(\dirname(__DIR__) . '/src') . ' ' . \escapeshellarg($folder));
        \mkdir("$folder/lib");
        foreach ($files as $name => $file) {
            \copy($file, "$folder/lib/$name");
        }

        return $folder;
    }

    private static function header(): string
    {
        return \dirname(__DIR__) . '/lib/millpond.ffi.h';
    }

    public function testVersion(): void
    {
        self::assertMatchesRegularExpression('/^\d+\.\d+\.\d+/', Millpond::version());
    }

    public function testTheOneInThePackage(): void
    {
        $package = $this->package(['millpond.ffi.h' => self::header(), 'libmillpond.so' => self::path()]);
        $maps = 'Millpond::version(); echo file_get_contents("/proc/self/maps");';
        self::assertStringContainsString("$package/lib/libmillpond.so", $this->php($maps, package: $package));
    }

    public function testTheOneOfSeveralThatLoads(): void
    {
        $package = $this->package(['millpond.ffi.h' => self::header()]);
        $machine = 'linux-' . \php_uname('m');
        foreach (['gnu', 'musl'] as $libc) {
            \mkdir("$package/lib/$machine-$libc");
        }
        \file_put_contents("$package/lib/$machine-gnu/libmillpond.so", 'for another C library');
        \copy(self::path(), "$package/lib/$machine-musl/libmillpond.so");
        $maps = 'Millpond::version(); echo file_get_contents("/proc/self/maps");';
        self::assertStringContainsString("$machine-musl/libmillpond.so", $this->php($maps, package: $package));
        \file_put_contents("$package/lib/$machine-musl/libmillpond.so", 'for yet another');
        self::assertMatchesRegularExpression(
            "~LibraryException: libmillpond cannot be loaded: .*$machine-gnu/libmillpond.*$machine-musl/libmillpond~",
            $this->php($maps, package: $package),
        );
    }

    public function testTheOneThatIsNamed(): void
    {
        $package = $this->package(['millpond.ffi.h' => self::header()]);
        $other = $this->folder() . '/other.so';
        \copy(self::path(), $other);
        $maps = 'Millpond::version(); echo file_get_contents("/proc/self/maps");';
        $named = $this->php($maps, environment: ['MILLPOND_LIBRARY' => $other], package: $package);
        self::assertStringContainsString($other, $named);
        $named = $this->php("define('MILLPOND_LIBRARY', '$other'); $maps", package: $package);
        self::assertStringContainsString($other, $named);
    }

    public function testTheOneOfTheSystem(): void
    {
        $package = $this->package(['millpond.ffi.h' => self::header()]);
        $folder = $this->folder();
        \copy(self::path(), "$folder/libmillpond.so.1");
        $found = $this->php('echo Millpond::version();', environment: ['LD_LIBRARY_PATH' => $folder], package: $package);
        self::assertSame(Millpond::version(), $found);
    }

    public function testNone(): void
    {
        $connect = 'Millpond::connect("memory:");';
        self::assertStringContainsString('LibraryException: libmillpond cannot be loaded: ',
            $this->php($connect, environment: ['MILLPOND_LIBRARY' => '/nowhere/libmillpond.so']));
        self::assertMatchesRegularExpression(
            '/there is no libmillpond for linux-\w+ in this package; .* MILLPOND_LIBRARY: .*libmillpond\.so\.1/',
            $this->php($connect, package: $this->package(['millpond.ffi.h' => self::header()])),
        );
        self::assertStringContainsString('lib/millpond.ffi.h is missing',
            $this->php($connect, package: $this->package([])));
    }

    public function testAnotherLibrary(): void
    {
        $connect = 'Millpond::connect("memory:");';
        self::assertStringContainsString('libmillpond cannot be loaded: Failed resolving C function',
            $this->php($connect, environment: ['MILLPOND_LIBRARY' => 'libc.so.6']));
        $source = $this->folder() . '/old.c';
        $functions = \array_unique(\preg_match_all('/\b(millpond_\w+)\(/', \file_get_contents(self::header()), $found)
            ? $found[1] : []);
        \file_put_contents($source, \implode("\n", \array_map(
            static fn (string $name): string => "int $name(void) { return 7; }",
            $functions,
        )));
        \exec("cc -shared -fPIC -o $source.so $source", result_code: $failed);
        self::assertSame(0, $failed);
        self::assertStringContainsString('has ABI 7, and this package was made for 1',
            $this->php($connect, environment: ['MILLPOND_LIBRARY' => "$source.so"]));
    }

    public function testFfiThatIsOff(): void
    {
        $refused = $this->php('Millpond::connect("memory:");', ['-d', 'ffi.enable=0']);
        self::assertStringContainsString('FFI is switched off here (ffi.enable=0, SAPI cli)', $refused);
        self::assertStringContainsString('set ffi.enable=1', $refused);
    }

    public function testFfiThatIsNotThere(): void
    {
        $refused = $this->php('Millpond::connect("memory:");', ['-n']);
        self::assertStringContainsString('needs the PHP extension ffi', $refused);
    }

    /**
     * Lists are packed and unpacked by the layout that the header has on machines of 64 bits.
     */
    public function testLayouts(): void
    {
        $ffi = Library::get()->ffi;
        foreach (Layouts::ALL as $name => $layout) {
            $type = $ffi->type($name);
            $found = [];
            foreach ($type->getStructFieldNames() as $field) {
                $found[$field] = $type->getStructFieldOffset($field);
            }
            self::assertSame($layout, $found + ['' => \FFI::sizeof($type)], $name);
        }
    }

    /**
     * PHP forgets what a C function is if a signal handler throws while it works out the arguments
     * of a call to one, which it can where they have a call or a condition. strlen() is neither: it
     * is compiled.
     */
    public function testArgumentsOfCFunctionsAreThereBeforeTheCall(): void
    {
        $calls = 0;
        foreach (\glob(\dirname(__DIR__) . '/src/{*,*/*}.php', \GLOB_BRACE) as $file) {
            $tokens = \array_values(\array_filter(
                \PhpToken::tokenize(\file_get_contents($file)),
                static fn (\PhpToken $token): bool => !$token->isIgnorable(),
            ));
            foreach ($tokens as $index => $token) {
                $isDynamic = $token->text === '$function' || $token->text === '$free';
                $isC = \str_starts_with($token->text, 'millpond_') || $isDynamic && $tokens[$index - 1]->text === '->';
                if (!$isC || $tokens[$index + 1]->text !== '(') {
                    continue;
                }
                ++$calls;
                for ($depth = 1, $at = $index + 2; $depth > 0; ++$at) {
                    $text = $tokens[$at]->text;
                    $depth += (int) ($text === '(') - (int) ($text === ')');
                    $isCall = $text === '(' && $tokens[$at - 1]->text !== '\\strlen';
                    self::assertFalse($isCall || \in_array($text, ['?', '??', '&&', '||', 'new'], true),
                        "$file, line {$tokens[$at]->line}");
                }
            }
        }
        self::assertGreaterThan(40, $calls);
    }

    public function testEveryClassIsDocumentedAndStrict(): void
    {
        $files = new \RegexIterator(new \RecursiveIteratorIterator(new \RecursiveDirectoryIterator(
            \dirname(__DIR__) . '/src',
        )), '/\.php$/');
        foreach ($files as $file) {
            $source = \file_get_contents((string) $file);
            self::assertStringContainsString("\n\ndeclare(strict_types=1);\n", $source);
            $class = 'Millpond' . \strtr(\substr((string) $file, \strlen(\dirname(__DIR__) . '/src'), -4), '/', '\\');
            $reflected = new \ReflectionClass($class);
            self::assertNotFalse($reflected->getDocComment(), $class);
            foreach ($reflected->getMethods() as $method) {
                if (!\str_starts_with($method->class, 'Millpond\\')) {
                    continue;
                }
                self::assertTrue($method->isConstructor() || $method->isDestructor() || $method->hasReturnType(), $method->name);
                foreach ($method->getParameters() as $parameter) {
                    self::assertTrue($parameter->hasType(), "$class::$method->name $parameter->name");
                }
                if ($method->isPublic() && $method->class === $class && !\str_starts_with($class, 'Millpond\\Internal')
                    && !\str_starts_with($method->name, '__') && !$reflected->isEnum()) {
                    // What an interface says is said once.
                    $isSaid = $method->getDocComment()
                        || $method->hasPrototype() && $method->getPrototype()->getDocComment();
                    self::assertTrue($isSaid, "$class::$method->name");
                }
            }
        }
    }
}
