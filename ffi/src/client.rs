//! The client: the entry point.

use std::ffi::c_char;
use std::time::Duration;

use millpond::{Client, Options, Result};

use crate::caller::{self, Caller, NewHandle, invalid};
use crate::clock::millpond_clock;
use crate::error::millpond_error;
use crate::fork;
use crate::keys::millpond_bytes;
use crate::options::{self, NOT_SET, c_bool, growing};
use crate::status::millpond_status;

/// A server or an embedded engine, with access to its queues. Any number of threads may use
/// one client at a time, and on Redis the children of a fork may too: each process makes its own
/// connections. Freed with `millpond_client_free`.
pub struct millpond_client {
    _private: (),
}

/// The options of `millpond_connect_with`, so that nothing has to be encoded in a URL.
/// `millpond_options_init` fills it; then set what you like. The URL may hold more options.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct millpond_options {
    /// The size of the structure in the program, in bytes; set by its `_init`.
    pub size: usize,
    /// Where the queues are; see `millpond_connect`.
    pub url: millpond_bytes,
    /// The user, as it is: nothing is unescaped. NULL: not set.
    pub username: millpond_bytes,
    /// The password, as it is. NULL: not set.
    pub password: millpond_bytes,
    /// The name of the connections in `CLIENT LIST`. NULL: the default.
    pub client_name: millpond_bytes,
    /// The longest time for one call, including connecting and retries. `MILLPOND_NOT_SET`: the
    /// default, 5 seconds.
    pub timeout_ms: i64,
    /// The longest time for one attempt to connect. `MILLPOND_NOT_SET`: the default, 1 second.
    pub connect_timeout_ms: i64,
    /// Attempts after the first to connect, or to reach a server that is busy, loading or failing
    /// over. `MILLPOND_NOT_SET`: the default, 10.
    pub retries: i64,
    /// Whether nothing is printed to standard error when opening a `file:` finds something that
    /// an operator should know, which `millpond_recovery_read` returns too.
    pub quiet: c_bool,
    /// The clock of an embedded engine, for tests; by default the system's. Clients that share an
    /// engine share its clock: a client without one uses the engine's, and a client with a
    /// different one is refused with `MILLPOND_INVALID_ARGUMENT`. A clock for a server is refused
    /// as well, since the server has its own time.
    pub clock: *const millpond_clock,
}

growing! { millpond_options { timeout_ms: NOT_SET, connect_timeout_ms: NOT_SET, retries: NOT_SET } }

/// Fills options with their defaults. The URL still has to be set.
///
///     millpond_options options;
///     millpond_options_init(&options, sizeof options);
///     options.url.data = "redis://db.example";
///     options.url.length = strlen(options.url.data);
///     options.timeout_ms = 500;
///     millpond_status status = millpond_connect_with(&options, &client, &error);
///
/// Does nothing for NULL.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_options_init(options: *mut millpond_options, size: usize) {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.init(options, size);
}

/// Connects to a server or opens an embedded engine.
///
/// | URL                                        | what                                            |
/// | ------------------------------------------ | ----------------------------------------------- |
/// | `memory:`                                  | embedded, gone with the client                  |
/// | `memory:name`                              | embedded, shared in the process                 |
/// | `file:dir`                                 | embedded and durable, in this directory         |
/// | `redis://user:password@host:6379/db`       | one server; `rediss:` for TLS                   |
/// | `redis+unix:///path/to/socket`             | one server on a Unix socket                     |
/// | `redis+sentinel://host,host2/service/db`   | follows failovers; `rediss+sentinel:` for TLS   |
/// | `redis+cluster://host,host2`               | Redis Cluster; `rediss+cluster:` for TLS        |
///
/// Options follow a `?`, as in `redis://host?timeout=500ms&pool=4`. A call takes at most `timeout`
/// (5s), including connecting (each attempt at most `connect_timeout`, 1s) and retries (at most
/// `retries`, 10); `pool` (16) idle connections are kept.
///
/// A Redis client connects when it first has something to send, so a process can fork after this
/// call. If opening a `file:` finds something that an operator should know, such as bytes that were
/// cut off, it is printed to standard error; `millpond_recovery_read` returns it too.
///
/// `client` is set to the client, which the caller frees with `millpond_client_free`, or on failure
/// to NULL.
///
///     millpond_client *client;
///     millpond_error *error;
///     if (millpond_connect("memory:", 7, &client, &error) != MILLPOND_OK) {
///         fprintf(stderr, "%s\n", millpond_error_message(error));
///         millpond_error_free(error);
///         return 1;
///     }
///
/// Errors: `MILLPOND_INVALID_URL` for an unknown URL or option; for `file:`, `MILLPOND_LOCKED` if
/// another process holds the directory (to share queues between processes, use `redis:`), and
/// `MILLPOND_CORRUPT` if the directory is damaged or lacks what was on disk, unless the URL says
/// `?repair`.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_connect(
    url: *const c_char,
    url_length: usize,
    client: *mut *mut millpond_client,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let client = caller.new_handle("client", client)?;
        let url =
            caller.text(|| "url".to_owned(), millpond_bytes { data: url, length: url_length })?;
        connect(&Options::parse(url)?, client)
    })
}

/// Like `millpond_connect`, with options beside the URL; the caller frees `client` in the same way.
///
/// Errors: as `millpond_connect`; `MILLPOND_INVALID_ARGUMENT` names the invalid option.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_connect_with(
    options: *const millpond_options,
    client: *mut *mut millpond_client,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let client = caller.new_handle("client", client)?;
        let options = caller.structure("options", options)?;
        connect(&read_options(&caller, &options)?, client)
    })
}

fn connect(options: &Options, client: NewHandle<Client>) -> Result<()> {
    fork::watch()?;
    client.set(options.connect()?);
    Ok(())
}

fn read_options(caller: &Caller, given: &millpond_options) -> Result<Options> {
    let optional = |argument: &str, text| caller.optional_text(|| argument.to_owned(), text);
    let mut options = Options::parse(caller.text(|| "url".to_owned(), given.url)?)?;
    if let Some(timeout) = time("timeout_ms", given.timeout_ms)? {
        options = options.timeout(timeout);
    }
    if let Some(timeout) = time("connect_timeout_ms", given.connect_timeout_ms)? {
        options = options.connect_timeout(timeout);
    }
    if let Some(retries) = options::given("retries", given.retries)? {
        options = options.retries(retries);
    }
    let username = optional("username", given.username)?;
    match (username, optional("password", given.password)?) {
        (username, Some(password)) => options = options.credentials(username, password),
        (Some(_), None) => return Err(invalid("username goes with a password")),
        (None, None) => {}
    }
    if let Some(name) = optional("client_name", given.client_name)? {
        options = options.client_name(name);
    }
    if !given.clock.is_null() {
        let clock = caller.held("clock", given.clock)?;
        options = options.clock((*clock).clone());
    }
    if given.quiet.is_true() {
        options = options.on_warning(|_| {});
    }
    Ok(options)
}

fn time(argument: &str, milliseconds: i64) -> Result<Option<Duration>> {
    match milliseconds {
        NOT_SET => Ok(None),
        1.. => Ok(Some(Duration::from_millis(milliseconds as u64))),
        _ => Err(invalid(format!(
            "{argument} is {milliseconds}; it has to be 1 or more, or MILLPOND_NOT_SET"
        ))),
    }
}

/// Closes the client: from now on calls on it return `MILLPOND_CLOSED`; calls that wait are woken
/// and return it too. What an embedded engine has buffered is written. The handle still has to be
/// freed. Closing twice is fine.
///
/// Errors: `MILLPOND_STORAGE` if the disk refuses the last write.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_close(
    client: *mut millpond_client,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || caller.held("client", client)?.close())
}

/// Frees a client. Leases, batches and channels that were created from it keep what they need of
/// it; it closes when the last of them is freed. A call that is running in another thread ends
/// normally. NULL and a client that was freed before are fine.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_client_free(client: *mut millpond_client) {
    caller::free(client);
}
