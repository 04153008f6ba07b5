"""Run in a system without a compiler and without a network: installs what is in /dist with the lines of the pages, and
uses it from every language that the system has in a version that Millpond takes.
"""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

SYSTEM = sys.argv[1]
PROGRAMS = pathlib.Path("/programs")
WORK = pathlib.Path("/root/work")
PATIENCE = 60
(VERSION,) = re.findall(r"millpond-c-(\d+\.\d+\.\d+)-x86_64-unknown-linux-gnu", " ".join(os.listdir("/dist")))
# What is too old there, and is refused.
OLD = {"debian11": ("node", "ruby-ffi", "php", "redis"), "debian12": ("node",), "debian13": ()}[SYSTEM]
ENVIRONMENT = {**os.environ, "HOME": "/root", "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
               "VERSION": VERSION, "COMPOSER_ALLOW_SUPERUSER": "1", "COMPOSER_NO_INTERACTION": "1", "DEBIAN_FRONTEND": "noninteractive",
               "LC_ALL": "C.UTF-8",
               # Nothing is fetched, and nothing runs when it is installed.
               "PIP_NO_INDEX": "1", "PIP_ONLY_BINARY": ":all:", "npm_config_offline": "true",
               "npm_config_ignore_scripts": "true", "npm_config_audit": "false", "npm_config_fund": "false"}


def sh(lines, folder=WORK):
    """Runs what a user types; returns what it prints."""
    done = subprocess.run(["sh", "-euc", lines], cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, universal_newlines=True)
    assert done.returncode == 0, "{}\n{}".format(lines, done.stdout)
    return done.stdout


def typed(page, line, work, before=""):
    """Runs a line of the pages: of that of a language, and of README.md."""
    for text in (page, "README.md"):
        told = re.sub(r"\s+", " ", (PROGRAMS / "pages" / text).read_text())
        assert line in told, "{} does not say: {}".format(text, line)
    # Here the user is root, and there is no sudo.
    return sh(before + line.replace("sudo ", ""), work)


def refused(lines, words, folder=WORK):
    """What a user types fails, and says this."""
    done = subprocess.run(["sh", "-euc", lines], cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, universal_newlines=True)
    assert done.returncode != 0 and re.search(words, done.stdout), "{}\n{}".format(lines, done.stdout)


def folder(name):
    made = WORK / name
    made.mkdir(parents=True)
    (made / "dist").symlink_to("/dist")
    return made


# ---- Each language: installs the package, and returns the command of its program and its folder.


def python():
    work = folder("python")
    sh("python3 -m venv venv", work)
    typed("python/README.md", "pip install dist/millpond-*_x86_64.whl", work, "PATH=$PWD/venv/bin:$PATH; ")
    sh("venv/bin/pip check", work)
    return [str(work / "venv/bin/python"), str(PROGRAMS / "orders.py")], work


def node():
    work = folder("node")
    for system_node in ["/usr/bin/node"] if "node" in OLD else []:
        sh("mkdir old && cd old && tar xf /dist/millpond-$VERSION.tgz", work)
        refused(system_node + " -e \"require('./old/package')\"", "millpond needs Node 20.4 or later; this is 1", work)
    sh("npm init --yes", work)
    typed("node/README.md", "npm install ./dist/millpond-[0-9]*.tgz ./dist/millpond-linux-x64-gnu-*.tgz", work)
    sh("rm -rf node_modules && npm ci", work)
    sh("node -e \"require('millpond').connect('memory:').then((client) => client.close())\"", work)
    addon = "node_modules/@millpond"
    sh("mv {} away".format(addon), work)
    refused("node -e \"require('millpond')\"", "the package @millpond/linux-x64-gnu is missing; .*npm install @millpond", work)
    sh("mv away {}".format(addon), work)
    shutil.copy(str(PROGRAMS / "orders.mjs"), str(work))
    return ["node", "orders.mjs"], work


def ruby():
    work = folder("ruby")
    gem = "gem install --local dist/millpond-[0-9]*-x86_64-linux.gem"
    if "ruby-ffi" in OLD:
        refused(gem, "ffi", work)
        return None
    typed("ffi/ruby/README.md", gem, work)
    typed("ffi/ruby/README.md", "gem install --local dist/millpond-redis-ick-*.gem", work)
    without_a_library(work)
    in_place_of_redis_ick(work)
    return ["ruby", str(PROGRAMS / "orders.rb")], work


def without_a_library(work):
    """The gem for other systems, in a place of its own."""
    sh("gem install --local --install-dir plain --ignore-dependencies dist/millpond-$VERSION.gem", work)
    use = "ruby -I $(echo plain/gems/millpond-*/lib) -e 'require \"millpond\"; puts Millpond.library_version'"
    refused(use, "millpond: no libmillpond for x86_64-linux in this gem; .*MILLPOND_LIBRARY", work)
    refused("MILLPOND_LIBRARY=/nowhere.so " + use, r"cannot load libmillpond \(tried /nowhere.so\)", work)


def in_place_of_redis_ick(work):
    """One line of the Gemfile, and the program of redis-ick's README."""
    for line in ("gem 'millpond'", "gem 'millpond-redis-ick'"):
        (work / "Gemfile").write_text("source 'https://rubygems.org'\n{}\n".format(line))
        sh("rm -f Gemfile.lock && bundle install --local --quiet", work)
        sh("bundle exec ruby -e 'Bundler.require; Millpond.connect(\"memory:\").close'", work)
    (work / "readme.rb").write_text("""
        Bundler.require
        ick = Redis::Ick.new(Redis.new(url: ARGV[0]))
        ick.ickadd("mykey", 123, "foo", 20, "bar")
        ick.ickadd("mykey", 19, "foo", 2, "baz")
        p ick.ickreserve("mykey", 2), ick.ickcommit("mykey", "foo", "bar"), ick.ickstats("mykey")["total_size"]
    """)
    with Redis(work) as url:
        said = sh("bundle exec ruby -rset readme.rb " + url, work)
    assert said == '[["baz", 2.0], ["foo", 19.0]]\n1\n2\n', said


def php():
    work = folder("php")
    typed("ffi/php/README.md", "tar xf dist/millpond-php-*.tar.gz", work)
    (work / "composer.json").write_text('{"repositories": [{"packagist.org": false}]}')
    typed("ffi/php/README.md", "composer config repositories.millpond path 'millpond-php-*'", work)
    require = "composer require millpond/millpond"
    if "php" in OLD:
        refused(require, "has a PHP requirement incompatible with your PHP", work)
        return None
    typed("ffi/php/README.md", require, work)
    shutil.copy(str(PROGRAMS / "orders.php"), str(work))
    refused("MILLPOND_LIBRARY=/nowhere.so php orders.php memory: count", "libmillpond cannot be loaded", work)
    return ["php", "orders.php"], work


def c():
    work = folder("c")
    typed("ffi/README.md", "sudo apt install ./dist/libmillpond*_amd64.deb", work)
    assert sh("pkg-config --modversion millpond", work) == VERSION + "\n"
    assert "/lib/x86_64-linux-gnu/libmillpond.so.1" in sh("ldd /programs/orders", work)
    check_memory(["/programs/orders"], work)
    sh("apt-get purge -y -qq libmillpond1 libmillpond-dev", work)
    left = sh("find /usr /etc -name '*millpond*' -not -path '*/gems/*'", work).split()
    assert left == [], left
    refused("/programs/orders memory: count", "libmillpond.so.1: cannot open shared object file", work)
    typed("ffi/README.md", "sudo tar xf dist/millpond-c-*-x86_64-unknown-linux-gnu.tar.gz -C /usr/local --strip-components=1 && sudo ldconfig", work)
    return ["/programs/orders"], work


# ---- What each program does.


class Redis:
    """A redis-server with a log, which can be started again; a new one is empty."""

    port = 7000

    def __init__(self, work):
        Redis.port += 1
        self.port, self.folder = Redis.port, work / "redis-{}".format(Redis.port)
        self.folder.mkdir()

    def __enter__(self):
        self.start()
        return "redis://127.0.0.1:{}".format(self.port)

    def start(self):
        command = ["redis-server", "--port", str(self.port), "--appendonly", "yes", "--dir", str(self.folder)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        wait_until(lambda: subprocess.call(["redis-cli", "-p", str(self.port), "ping"], stdout=subprocess.DEVNULL,
                                           stderr=subprocess.DEVNULL) == 0, "redis-server did not start")

    def stop(self):
        self.process.terminate()
        self.process.wait(PATIENCE)

    def __exit__(self, *_):
        self.stop()


class Worker:
    """A program that works, and what it has printed."""

    def __init__(self, command, work, url):
        self.lines = []
        self.process = subprocess.Popen([*command, url, "work"], cwd=str(work), env=ENVIRONMENT, stdout=subprocess.PIPE,
                                        universal_newlines=True)
        self.reader = threading.Thread(target=lambda: self.lines.extend(iter(self.process.stdout.readline, "")), daemon=True)
        self.reader.start()

    def end(self, number):
        self.process.send_signal(number)
        status = self.process.wait(PATIENCE)
        self.reader.join(PATIENCE)
        return status


def wait_until(happens, otherwise):
    deadline = time.monotonic() + PATIENCE
    while not happens():
        assert time.monotonic() < deadline, otherwise() if callable(otherwise) else otherwise
        time.sleep(0.02)


def once(command, work, *arguments):
    done = subprocess.run([*command, *arguments], cwd=str(work), env=ENVIRONMENT, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, universal_newlines=True)
    assert done.returncode == 0, done.stdout
    return done.stdout


def check_memory(command, work):
    said = once(command, work, "memory:", "count")
    assert said.endswith("0 orders, 3 invoices\n"), said


def check_kills(command, work, url, restart=lambda: None):
    """A worker is killed among its orders, the server is started again under the next one, and SIGTERM stops that."""
    once(command, work, url, "produce", "60")
    first = Worker(command, work, url)
    wait_until(lambda: len(first.lines) >= 10, "the first worker does nothing")
    first.end(signal.SIGKILL)
    once(command, work, url, "produce", "60")
    second = Worker(command, work, url)
    wait_until(lambda: len(second.lines) >= 10, "the second worker does nothing")
    restart()
    # What the first one held is worked on when its lease has ended; only one process can look into a directory.
    deadline = time.monotonic() + PATIENCE
    while True:
        assert second.end(signal.SIGTERM) == 0 and second.lines[-1] == "stopped\n", second.lines[-3:]
        said = once(command, work, url, "count")
        if said == "0 orders, 120 invoices\n":
            return
        assert time.monotonic() < deadline, said
        second = Worker(command, work, url)
        time.sleep(1)


def check_together(programs):
    """The programs of all languages on one queue."""
    with Redis(WORK) as url:
        for command, work in programs.values():
            once(command, work, url, "produce", "40")
        workers = [Worker(command, work, url) for command, work in programs.values()]
        total = 40 * len(programs)
        command, work = programs["c"]
        wait_until(lambda: once(command, work, url, "count") == "0 orders, {} invoices\n".format(total), "some orders are not done")
        assert [worker.end(signal.SIGTERM) for worker in workers] == [0] * len(workers)
        for name, (command, work) in programs.items():
            said = once(command, work, url, "count")
            assert said == "0 orders, {} invoices\n".format(total), (name, said)


def main():
    found = [name for name in ("cargo", "rustc", "cc", "gcc", "g++", "clang", "make") if shutil.which(name, path=ENVIRONMENT["PATH"])]
    assert not found, found
    WORK.mkdir(parents=True)
    programs = {}
    for language in (python, node, ruby, php, c):
        name, began = language.__name__, time.monotonic()
        made = language()
        if made is None:
            print("{}: {}: refused, and told why".format(SYSTEM, name), flush=True)
            continue
        command, work = programs[name] = made
        check_memory(command, work)
        check_kills(command, work, "file:{}".format(work / "data"))
        if "redis" not in OLD:
            server = Redis(work)
            with server as url:
                check_kills(command, work, url, lambda: (server.stop(), server.start()))
        used = "memory: and file:" if "redis" in OLD else "memory:, file: and Redis"
        print("{}: {}: installed, and used on {}; {:.0f} s".format(SYSTEM, name, used, time.monotonic() - began), flush=True)
    if "redis" not in OLD:
        check_together(programs)
        print("{}: {} on one queue".format(SYSTEM, ", ".join(programs)), flush=True)


main()
