<?php

declare(strict_types=1);

namespace Millpond\Tests;

/**
 * A php-fpm of the suite's own, on a Unix socket, and requests to it.
 */
final class Fpm
{
    private const BEGIN = 1, PARAMS = 4, STDIN = 5;

    /** @var resource */
    private $process;

    private string $socket;

    /**
     * @param string                $folder      an empty one
     * @param array<string, string> $settings    of php.ini
     * @param array<string, string> $pool        of the pool of workers
     * @param array<string, string> $environment what is added to this process'
     * @param string|null           $user        who it runs as, of those that root can be
     */
    public function __construct(
        private readonly string $folder,
        array $settings,
        array $pool,
        array $environment = [],
        ?string $user = null,
    ) {
        $this->socket = "$folder/fpm.sock";
        $isRoot = \posix_geteuid() === 0 && $user === null;
        $owner = $isRoot ? ['user' => 'root'] : [];
        $pool += ['listen' => $this->socket, 'pm' => 'static', 'clear_env' => 'no', ...$owner];
        $config = "[global]\nerror_log = $folder/error.log\ndaemonize = no\n[www]\n";
        foreach ($pool as $name => $value) {
            $config .= "$name = $value\n";
        }
        \file_put_contents("$folder/fpm.conf", $config);
        $command = [self::binary(), '--nodaemonize', '--fpm-config', "$folder/fpm.conf"];
        if ($user !== null) {
            ['uid' => $uid, 'gid' => $gid] = \posix_getpwnam($user);
            \chown($folder, $uid);
            \array_unshift($command, 'setpriv', "--reuid=$uid", "--regid=$gid", '--clear-groups');
        }
        if ($isRoot) {
            $command[] = '--allow-to-run-as-root';
        }
        foreach (['opcache.enable' => '1', ...$settings] as $name => $value) {
            \array_push($command, '-d', "$name=$value");
        }
        $streams = [0 => ['file', '/dev/null', 'r'], 1 => ['file', "$folder/output", 'w'], 2 => ['redirect', 1]];
        $this->process = \proc_open($command, $streams, $pipes, null, $environment + \getenv());
        // The socket is there a moment before it listens.
        for ($tries = 0; !\str_contains($this->log(), 'ready to handle connections'); ++$tries) {
            \usleep(5_000);
            if ($tries === 2_000 || !\proc_get_status($this->process)['running']) {
                throw new \RuntimeException("php-fpm did not start:\n" . $this->log());
            }
        }
    }

    public function __destruct()
    {
        \proc_terminate($this->process);
        \proc_close($this->process);
    }

    public function log(): string
    {
        return \file_get_contents("$this->folder/output") . @\file_get_contents("$this->folder/error.log");
    }

    /**
     * Sends one request; response() reads what comes.
     *
     * @param array<string, string> $parameters
     *
     * @return resource
     */
    public function request(string $script, array $parameters)
    {
        $connection = \stream_socket_client("unix://$this->socket", $code, $message, 10)
            ?: throw new \RuntimeException($message);
        \stream_set_timeout($connection, 30);
        $encoded = '';
        foreach (['SCRIPT_FILENAME' => $script, 'REQUEST_METHOD' => 'GET'] + $parameters as $name => $value) {
            $encoded .= \pack('NN', \strlen($name) | 0x8000_0000, \strlen($value) | 0x8000_0000) . $name . $value;
        }
        \fwrite($connection, self::record(self::BEGIN, \pack('nCx5', 1, 0))
            . self::record(self::PARAMS, $encoded) . self::record(self::PARAMS, '') . self::record(self::STDIN, ''));

        return $connection;
    }

    /**
     * The body of the response to a request, which is over then.
     *
     * @param resource $connection
     */
    public function response($connection): string
    {
        $output = '';
        while (\strlen($header = (string) \stream_get_contents($connection, 8)) === 8) {
            ['type' => $type, 'length' => $length, 'padding' => $padding] =
                \unpack('Cversion/Ctype/nid/nlength/Cpadding/x', $header);
            $content = $length + $padding === 0 ? '' : \stream_get_contents($connection, $length + $padding);
            if ($type === 6 || $type === 7) {
                $output .= \substr($content, 0, $length);
            }
            if ($type === 3) {
                break;
            }
        }

        // A worker waits for this before it takes the next request.
        \fclose($connection);

        return \explode("\r\n\r\n", $output, 2)[1] ?? throw new \RuntimeException("no response: $output\n" . $this->log());
    }

    private static function record(int $type, string $content): string
    {
        return \pack('CCnnCx', 1, $type, 1, \strlen($content), 0) . $content;
    }

    private static function binary(): string
    {
        $version = \PHP_MAJOR_VERSION . '.' . \PHP_MINOR_VERSION;
        foreach (["php-fpm$version", 'php-fpm'] as $name) {
            foreach (['/usr/sbin', '/usr/local/sbin', ...\explode(':', (string) \getenv('PATH'))] as $folder) {
                if (\is_executable("$folder/$name")) {
                    return "$folder/$name";
                }
            }
        }
        throw new \RuntimeException("there is no php-fpm$version");
    }
}
