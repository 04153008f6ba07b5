<?php

declare(strict_types=1);

namespace Millpond\Tests;

use FFI;
use Millpond\Exception;
use Millpond\Exception\MillpondException;
use Millpond\Internal\Library;
use Millpond\Millpond;
use Millpond\Retry;

/**
 * Every kind of error is a class.
 */
final class ErrorsTest extends TestCase
{
    public function testEveryKindHasAClassOfItsOwn(): void
    {
        $ffi = Library::get()->ffi;
        $classes = [];
        for ($index = 0; $index < $ffi->millpond_error_kind_count(); ++$index) {
            $kind = $ffi->millpond_error_kind_at($index)[0];
            self::assertSame($kind->name, $ffi->millpond_status_name($kind->code));
            $class = 'Millpond\\Exception\\' . \str_replace('_', '', \ucwords(\strtolower($kind->name), '_')) . 'Exception';
            self::assertTrue(\is_subclass_of($class, MillpondException::class), $class);
            $exception = new $class('what happened', 'ick.add');
            self::assertSame(
                [$kind->code, $kind->name, 'what happened', 'ick.add'],
                [$exception->getCode(), $exception->errorName, $exception->getMessage(), $exception->operation],
            );
            $retries = [
                $ffi->MILLPOND_RETRY_NEVER => Retry::Never,
                $ffi->MILLPOND_RETRY_LATER => Retry::Later,
                $ffi->MILLPOND_RETRY_UNKNOWN => Retry::Unknown,
            ];
            self::assertSame($retries[$kind->retry], $exception->retry);
            self::assertNotFalse((new \ReflectionClass($class))->getDocComment());
            $classes[$kind->code] = $class;
        }
        self::assertGreaterThanOrEqual(21, \count($classes));
        $files = \array_map(
            static fn (string $file): string => 'Millpond\\Exception\\' . \basename($file, '.php'),
            \glob(\dirname(__DIR__) . '/src/Exception/*.php'),
        );
        $others = [MillpondException::class, Exception\LibraryException::class];
        self::assertEqualsCanonicalizing($files, [...$classes, ...$others]);
    }

    public function testPhpsOwn(): void
    {
        self::assertInstanceOf(\InvalidArgumentException::class, new Exception\InvalidArgumentException());
        self::assertInstanceOf(\InvalidArgumentException::class, new Exception\InvalidUrlException());
        self::assertInstanceOf(\RuntimeException::class, new Exception\TimeoutException());
    }

    /**
     * @return array<string, array{string}>
     */
    public function onRedis(): array
    {
        return ['redis' => ['redis'], 'phpredis' => ['phpredis'], 'predis' => ['predis']];
    }

    /** @dataProvider onRedis */
    public function testWrongType(string $kind): void
    {
        Servers::shared()->admin()->lPush($this->name, 'x');
        $thrown = self::thrown(fn () => $this->connect($kind)->ick($this->name)->add([[1, 'a']]));
        self::assertInstanceOf(Exception\WrongTypeException::class, $thrown);
        self::assertSame([4, 'WRONG_TYPE', 'ick.add', Retry::Never],
            [$thrown->getCode(), $thrown->errorName, $thrown->operation, $thrown->retry]);
        self::assertStringStartsWith("ick.add: key $this->name holds a list", $thrown->getMessage());
        self::assertSame(1, $this->connect($kind)->ick($this->name)->delete());
    }

    /** @dataProvider onRedis */
    public function testIncompatibleVersion(string $kind): void
    {
        Servers::shared()->admin()->set($this->name, 'ick.v9');
        $thrown = self::thrown(fn () => $this->connect($kind)->ick($this->name)->stats());
        self::assertInstanceOf(Exception\IncompatibleVersionException::class, $thrown);
        self::assertStringContainsString('ick.v9', $thrown->getMessage());
    }

    public function testNoServerListens(): void
    {
        $socket = \stream_socket_server('tcp://127.0.0.1:0');
        $address = \stream_socket_get_name($socket, false);
        \fclose($socket);
        $thrown = self::thrown(static fn () => Millpond::connect("redis://$address", retries: 0)->ick('x')->add(['a']));
        self::assertInstanceOf(Exception\ConnectionFailedException::class, $thrown);
        self::assertSame(Retry::Later, $thrown->retry);
        self::assertStringContainsString($address, $thrown->getMessage());
        self::assertStringContainsString('refused', $thrown->getPrevious()->getMessage());
    }

    public function testATimeout(): void
    {
        $server = new Servers();
        $ick = Millpond::connect($server->url, timeout: 2)->ick('x');
        $ick->add(['a']);
        $server->run('stop');
        $thrown = self::thrown(static fn () => $ick->add(['a']));
        self::assertInstanceOf(Exception\TimeoutException::class, $thrown);
        self::assertSame(Retry::Unknown, $thrown->retry);
        $server->run('cont');
    }

    public function testRefused(): void
    {
        $url = Servers::shared()->url;
        Servers::shared()->admin()->rawCommand('ACL', 'SETUSER', 'reader', 'on', '>pw', '+@read', '~*');
        $stats = static fn (string $password) => static fn () =>
            Millpond::connect($url, username: 'reader', password: $password)->ick('x')->stats();
        $thrown = self::thrown($stats('no-pw'));
        self::assertInstanceOf(Exception\AuthenticationFailedException::class, $thrown);
        self::assertStringNotContainsString('no-pw', (string) $thrown);
        self::assertInstanceOf(Exception\PermissionDeniedException::class, self::thrown($stats('pw')));
        $redis = Servers::shared()->admin();
        $redis->auth(['reader', 'pw']);
        $thrown = self::thrown(static fn () => Millpond::over($redis)->ick('x')->stats());
        self::assertInstanceOf(Exception\PermissionDeniedException::class, $thrown);
    }

    public function testADirectoryIsHeldByOneProcess(): void
    {
        $url = 'file:' . $this->folder() . '/data';
        $held = Millpond::connect($url);
        $other = 'require $argv[1]; try { Millpond\Millpond::connect($argv[2]); }'
            . ' catch (Millpond\Exception\LockedException $error) { echo $error->errorName; }';
        self::assertSame('LOCKED', self::program([\PHP_BINARY, '-r', $other, __DIR__ . '/bootstrap.php', $url]));
        $held->close();
    }

    public function testClientName(): void
    {
        $client = Millpond::connect(Servers::shared()->url, clientName: $this->name);
        $client->ick($this->name)->stats();
        self::assertCount(1, Servers::shared()->clients($this->name));
        unset($client);
        self::waitFor(fn (): bool => Servers::shared()->clients($this->name) === []); // a client that is freed closes
    }

    public function testAPanicIsAnException(): void
    {
        $library = Library::get();
        $call = $library->call();
        $path = (new \ReflectionMethod(Library::class, 'path'))->invoke(null);
        // Only a debug build has it, and no header.
        $status = FFI::cdef('uint32_t millpond_test_panic(void *error);', $path)->millpond_test_panic($call->error);
        $thrown = self::thrown(static fn () => $library->check($status, $call));
        self::assertInstanceOf(Exception\InternalException::class, $thrown);
        self::assertStringContainsString('Millpond panicked: on request', $thrown->getMessage());
        self::assertSame(1, $this->connect('memory')->ick('x')->add(['a'])->new);
    }
}
