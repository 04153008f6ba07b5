use std::fs::{self, File};
use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::binary::find_redis_server;
use super::builder::RedisBuilder;
use super::claim::Claim;
use super::process::Process;
use super::resp::{Connection, Reply};
use super::url::escaped;
use super::wait::{PATIENCE, wait_until};

/// A running redis-server with a port, a unix socket and a directory of its own.
///
/// All methods take `&self`, so that one thread of a test can kill the server that others use.
/// Dropping it kills the server and removes its directory.
#[derive(Debug)]
pub struct Redis {
    // Before `claim`: the server must be gone when its directory is removed.
    process: Mutex<Process>,
    claim: Claim,
    access: Access,
}

/// What a client needs to know besides the address.
#[derive(Debug, Clone, Default)]
pub(super) struct Access {
    /// The password of the user `default`, which the harness itself uses.
    pub(super) default_password: Option<String>,
    /// The name and password that the urls carry.
    pub(super) user: Option<(String, String)>,
    pub(super) ca_file: Option<PathBuf>,
    pub(super) sentinel: bool,
}

/// Another process listens on the port.
pub(super) struct PortTaken;

impl Redis {
    /// Starts a server without password and without persistence.
    #[must_use]
    pub fn start() -> Self {
        Self::builder().start()
    }

    /// Starts with the options of a [`RedisBuilder`].
    pub fn builder() -> RedisBuilder {
        RedisBuilder::default()
    }

    /// The address over TCP: `redis://127.0.0.1:PORT`, or `rediss://localhost:PORT` with TLS, with
    /// the user and password that were requested.
    #[must_use]
    pub fn url(&self) -> String {
        let credentials = match &self.access.user {
            Some((name, password)) => format!("{}:{}@", escaped(name), escaped(password)),
            None => String::new(),
        };
        let (scheme, host) = match self.access.ca_file {
            Some(_) => ("rediss", "localhost"),
            None => ("redis", "127.0.0.1"),
        };
        format!("{scheme}://{credentials}{host}:{}", self.port())
    }

    /// The address of the unix socket, `redis+unix:///path`. It never speaks TLS.
    #[must_use]
    pub fn unix_url(&self) -> String {
        let credentials = match &self.access.user {
            Some((name, password)) => format!("{}:{}@", escaped(name), escaped(password)),
            None => String::new(),
        };
        format!("redis+unix://{credentials}{}", self.unix_socket().display())
    }

    /// The TCP port, the same after [`restart`](Self::restart).
    #[must_use]
    pub fn port(&self) -> u16 {
        self.claim.port()
    }

    /// The path of the unix socket.
    #[must_use]
    pub fn unix_socket(&self) -> PathBuf {
        socket_in(self.directory())
    }

    /// The directory with the configuration, the log and the data.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.claim.directory()
    }

    /// The certificate of the authority to trust, or `None` without TLS.
    #[must_use]
    pub fn ca_file(&self) -> Option<&Path> {
        self.access.ca_file.as_deref()
    }

    /// The process id; another one after [`restart`](Self::restart).
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.process().pid()
    }

    /// Whether the process lives. A stopped one does.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.process().ended().is_none()
    }

    /// Kills the server with SIGKILL and waits until it is gone.
    pub fn kill(&self) {
        self.process().kill();
    }

    /// Stops the server with SIGSTOP: connections stay open and nothing replies.
    pub fn stop(&self) {
        self.process().signal(libc::SIGSTOP);
    }

    /// Continues a stopped server with SIGCONT.
    pub fn cont(&self) {
        self.process().signal(libc::SIGCONT);
    }

    /// Stops the server while `during` runs, and continues it also if that panics.
    pub fn stop_continue<T>(&self, during: impl FnOnce() -> T) -> T {
        struct Continue<'a>(&'a Redis);
        impl Drop for Continue<'_> {
            fn drop(&mut self) {
                // `during` may have killed the server, and then there is nothing to continue.
                if self.0.is_running() {
                    self.0.cont();
                }
            }
        }
        self.stop();
        let _continue = Continue(self);
        during()
    }

    /// Starts the server again on the same port, socket and data, killing it first if it lives,
    /// and waits until it has loaded its data and replies.
    pub fn restart(&self) {
        let mut process = self.process();
        process.kill();
        wait_until("the port of a restarted server is free", || {
            match launch(&self.claim, &self.access) {
                Ok(started) => {
                    *process = started;
                    true
                }
                Err(PortTaken) => false,
            }
        });
        drop(process);
        self.repair();
    }

    /// Has the append-only file written anew if its end was missing, which a kill can leave. Of a step that was cut off in
    /// the middle of a command the server removes that command and not the whole step: what was not executed by now
    /// would be by the next start, with what is written behind it (valkey-io/valkey#4342).
    fn repair(&self) {
        let log = fs::read_to_string(self.directory().join("server.log")).unwrap_or_default();
        if log.contains("short read while loading the AOF") {
            self.cli(&["BGREWRITEAOF"]);
            wait_until("the append-only file is written anew", || {
                let is = |field| self.info("persistence", field).is_some_and(|is| is == "1");
                !is("aof_rewrite_in_progress") && !is("aof_rewrite_scheduled")
            });
        }
    }

    /// Runs one command with all rights, over a new connection to the unix socket.
    ///
    /// # Panics
    ///
    /// When the server does not reply. An error that it replies with is a [`Reply::Error`].
    pub fn cli<A: AsRef<[u8]>>(&self, command: &[A]) -> Reply {
        self.try_cli(command).unwrap_or_else(|error| {
            panic!("the server on port {} does not reply: {error}", self.port())
        })
    }

    /// Like [`cli`](Self::cli), for a server that may be down.
    ///
    /// # Errors
    ///
    /// When the server does not reply; the command may have run nevertheless.
    pub fn try_cli<A: AsRef<[u8]>>(&self, command: &[A]) -> io::Result<Reply> {
        self.connect()?.call(command)
    }

    /// Opens a connection for several commands, with all rights.
    ///
    /// # Errors
    ///
    /// When the server is down.
    pub fn connect(&self) -> io::Result<Connection> {
        connect(self.directory(), &self.access)
    }

    /// How often the server has run a command since it began, or its counts were reset; nothing if it
    /// never has.
    #[must_use]
    pub fn calls_of(&self, command: &str) -> Option<u64> {
        let stats = self.info("commandstats", &format!("cmdstat_{command}"))?;
        stats.strip_prefix("calls=")?.split_once(',')?.0.parse().ok()
    }

    /// One field of `INFO section`, such as `role` of `replication`, or `None` if it has none.
    #[must_use]
    pub fn info(&self, section: &str, field: &str) -> Option<String> {
        field_of(&self.cli(&["INFO", section]).text(), field)
    }

    /// Starts the server whose configuration is in the directory of `claim`.
    pub(super) fn launch(claim: Claim, access: Access) -> Result<Self, PortTaken> {
        let process = Mutex::new(launch(&claim, &access)?);
        Ok(Self { process, claim, access })
    }

    fn process(&self) -> MutexGuard<'_, Process> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Finds `name:value` among the lines of an INFO.
pub(super) fn field_of(info: &str, name: &str) -> Option<String> {
    let value = |line: &str| line.strip_prefix(name)?.strip_prefix(':').map(str::to_owned);
    info.lines().find_map(value)
}

/// Starts the server of `claim` and waits until it replies to `PING` on its socket, which it does
/// only once it listens on its ports too and has loaded its data.
fn launch(claim: &Claim, access: &Access) -> Result<Process, PortTaken> {
    let directory = claim.directory();
    let log_file = directory.join("server.log");
    let log = File::create(&log_file).and_then(|out| Ok((out.try_clone()?, out)));
    let (out, err) = log.unwrap_or_else(|error| panic!("cannot make a server's log: {error}"));
    let program = find_redis_server();
    let mut command = Command::new(&program);
    command.arg(config_in(directory)).args(access.sentinel.then_some("--sentinel"));
    command.current_dir(directory).stdin(Stdio::null()).stdout(out).stderr(err);
    let process = Process::spawn(command)
        .unwrap_or_else(|error| panic!("cannot start {}: {error}", program.display()));

    let log = || fs::read_to_string(&log_file).unwrap_or_default();
    let mut ended = None;
    wait_until("a started server replies to PING", || {
        ended = process.ended();
        let pong = connect(directory, access).and_then(|mut server| server.call(&["PING"]));
        ended.is_some() || matches!(pong, Ok(Reply::Status(status)) if status == "PONG")
    });
    match ended {
        None => Ok(process),
        Some(_) if log().contains("Address already in use") => Err(PortTaken),
        Some(status) => panic!("{} ended with {status}:\n{}", program.display(), log()),
    }
}

fn connect(directory: &Path, access: &Access) -> io::Result<Connection> {
    let stream = UnixStream::connect(socket_in(directory))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut connection = Connection::new(stream);
    if let Some(password) = &access.default_password {
        let reply = connection.call(&["AUTH", password])?;
        reply.error().map_or(Ok(()), |error| Err(io::Error::other(error.to_owned())))?;
    }
    Ok(connection)
}

pub(super) fn socket_in(directory: &Path) -> PathBuf {
    directory.join("redis.sock")
}

pub(super) fn config_in(directory: &Path) -> PathBuf {
    directory.join("redis.conf")
}
