//! What a client is opened with: where the queues are, time limits, credentials, durability.

mod pace;
mod sync_mode;
mod target;
mod url;

pub(crate) use pace::Pace;
pub use sync_mode::SyncMode;
pub(crate) use target::{Address, Target, Tls};

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::runtime::clock::Clock;

/// Where the queues are and how to reach them: a URL, in which every option can be given, and setters for options that
/// should not be written into a URL.
///
/// | URL | what |
/// | --- | --- |
/// | `memory:` | embedded, gone with the client |
/// | `memory:name` | embedded, shared by all clients of that name in the process |
/// | `file:dir` | embedded and durable, in this directory; relative, or absolute as `file:/dir` |
/// | `redis://user:password@host:6379/db` | one server |
/// | `rediss://…` | the same over TLS |
/// | `redis+unix:///path/to/socket` | one server on a Unix socket; the database is `?db=` |
/// | `redis+sentinel://host:26379,host2/service/db` | follows failovers; TLS: `rediss+sentinel:` |
/// | `redis+cluster://host:6379,host2,host3` | Redis Cluster; TLS: `rediss+cluster:` |
///
/// | option | default | meaning |
/// | --- | --- | --- |
/// | `timeout` | `5s` | the limit for one call, including finding the server, connecting and retries |
/// | `connect_timeout` | `1s` | the limit for one attempt to connect, including name resolution, TLS and login |
/// | `retries` | `10` | attempts after the first to connect, or to reach a server that is busy, loading or failing over |
/// | `wait` | `0s` | how long calls wait for a server that has not been reached yet, if longer than `timeout`: for programs that start during an outage, or with their server |
/// | `pool` | `16` | idle connections kept for blocking callers; each concurrent call uses one connection, and the number of open connections is not limited |
/// | `persist` | | how long connections that a client leaves behind are kept for the next client of this process with the same URL; without it they are closed with the client. For PHP under php-fpm, where each request creates a new client |
/// | `client_name` | | the name in `CLIENT LIST` |
/// | `db` | `0` | the database, if the path does not name one |
/// | `tls_ca` | the public web roots | a file of root certificates in PEM |
/// | `tls_cert`, `tls_key` | | files with the client's own certificate and key in PEM |
/// | `sentinel_user`, `sentinel_password` | | credentials for the sentinels, separate from the server's |
/// | `sentinel_tls` | as in the scheme | whether to use TLS to the sentinels |
/// | `sync` | `always` | for `file:`, when a step is on disk: with `always` before it is acknowledged, with a time such as `100ms` at most that much later, with `never` when the operating system writes it |
/// | `repair` | `false` | for `file:`, whether a truncated or damaged log is cut off where the damage begins, instead of failing with the error `CORRUPT`; also written as `?repair`. Everything after that point is lost: copy the directory first |
///
/// A call ends within 100 ms of its timeout, whatever the server does, even if it keeps sending a byte now and then.
/// Several sentinels or servers of a cluster that do not reply share that time.
///
/// A time is a number with `ms`, `s` or `m`. An unknown option is an error.
///
/// ```
/// use std::time::Duration;
/// let client = millpond::Options::parse("memory:")?.timeout(Duration::from_secs(2)).connect()?;
/// # Ok::<(), millpond::Error>(())
/// ```
#[derive(Clone)]
pub struct Options {
    target: Target,
    pub(crate) timeout: Duration,
    pub(crate) connect_timeout: Duration,
    pub(crate) retries: u32,
    pub(crate) wait: Duration,
    pub(crate) pool: usize,
    /// How long connections outlive their client.
    pub(crate) persist: Option<Duration>,
    pub(crate) client_name: Option<String>,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
    pub(crate) db: i64,
    pub(crate) tls: Option<Tls>,
    pub(crate) sentinel_user: Option<String>,
    pub(crate) sentinel_password: Option<String>,
    pub(crate) sentinel_tls: Option<bool>,
    pub(crate) sync: SyncMode,
    pub(crate) repair: bool,
    pub(crate) on_warning: Arc<dyn Fn(&str) + Send + Sync>,
    pub(crate) clock: Option<Arc<dyn Clock>>,
    pub(crate) pace: Pace,
}

const TIMEOUT_MIN: Duration = Duration::from_millis(1);
/// A longer timeout is as good as none, and its end as a point in time cannot be told.
const TIMEOUT_MAX: Duration = Duration::from_secs(365 * 24 * 60 * 60);

impl Options {
    /// The options of a durable engine in this directory, whose path may contain any characters.
    pub fn file(directory: impl Into<PathBuf>) -> Self {
        Self::with_defaults(Target::File(directory.into()))
    }

    fn with_defaults(target: Target) -> Self {
        Self {
            target,
            timeout: Duration::from_secs(5),
            connect_timeout: Duration::from_secs(1),
            retries: 10,
            wait: Duration::ZERO,
            pool: 16,
            persist: None,
            client_name: None,
            user: None,
            password: None,
            db: 0,
            tls: None,
            sentinel_user: None,
            sentinel_password: None,
            sentinel_tls: None,
            sync: SyncMode::Always,
            repair: false,
            on_warning: Arc::new(|warning| eprintln!("millpond: {warning}")),
            clock: None,
            pace: Pace::default(),
        }
    }

    pub(crate) fn target(&self) -> &Target {
        &self.target
    }

    /// What connections depend on: one that was made by a client serves another one whose options have the same.
    #[cfg(feature = "redis")]
    pub(crate) fn connection_key(&self) -> String {
        let server = (&self.target, self.db, &self.user, &self.password, &self.tls);
        let sentinel = (&self.sentinel_user, &self.sentinel_password, self.sentinel_tls);
        let settings =
            (&self.client_name, self.timeout, self.connect_timeout, self.retries, self.pool);
        format!("{:?}", (server, sentinel, settings, self.wait))
    }

    /// The user and the password, taken literally: nothing is unescaped.
    #[must_use]
    pub fn credentials(
        mut self,
        user: Option<impl Into<String>>,
        password: impl Into<String>,
    ) -> Self {
        self.user = user.map(Into::into);
        self.password = Some(password.into());
        self
    }
}

/// Makes the setters of options: the option, what it is set to, and how that is kept.
macro_rules! setters {
    ($($(#[$docs:meta])+ $option:ident: $type:ty => $kept:expr;)+) => {
        impl Options {
            $($(#[$docs])+
            #[must_use]
            pub fn $option(mut self, $option: $type) -> Self {
                self.$option = $kept;
                self
            })+
        }
    };
}

setters! {
    /// The longest time for one call, including connecting and retries.
    timeout: Duration => timeout.clamp(TIMEOUT_MIN, TIMEOUT_MAX);
    /// The longest time for one attempt to connect.
    connect_timeout: Duration => connect_timeout.clamp(TIMEOUT_MIN, TIMEOUT_MAX);
    /// Attempts after the first to connect, or to reach a server that is busy, loading or failing
    /// over.
    retries: u32 => retries;
    /// How long calls wait for a server that has not been reached yet, if that is longer than `timeout`. After the first
    /// reply it no longer matters. For a program that starts during an outage, or together with its server: what it does
    /// first, such as [`configure`](crate::events::EventQueue::configure), then waits as a worker's `run` does.
    wait: Duration => wait.min(TIMEOUT_MAX);
    /// Idle connections that are kept for blocking callers.
    pool: usize => pool;
    /// The name of the connections in `CLIENT LIST`.
    client_name: impl Into<String> => Some(client_name.into());
    /// When a step of a durable engine is on disk.
    sync: SyncMode => sync;
    /// Whether a `file:` whose newest log lost its end or is damaged is opened with what precedes the damage; without
    /// it, opening fails with `CORRUPT`. The rest is cut off permanently: copy the directory first.
    /// [`Recovery::suspicion`](crate::Recovery::suspicion) then says what was wrong.
    repair: bool => repair;
    /// Handles each of [`Recovery::warnings`](crate::Recovery::warnings) when a client opens a `file:`, instead of
    /// printing a line to standard error.
    ///
    /// ```
    /// let directory = tempfile::tempdir()?;
    /// let options = millpond::Options::file(directory.path().join("queues"));
    /// let client = options.on_warning(|warning| panic!("{warning}")).connect()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    on_warning: impl Fn(&str) + Send + Sync + 'static => Arc::new(on_warning);
    /// The clock of an embedded engine, for tests; by default the system's. Clients that share an engine share its
    /// clock: a client without one uses the engine's, and a client with a different one is refused with
    /// `INVALID_ARGUMENT`. A clock for a server is refused as well, since the server has its own time.
    clock: Arc<dyn Clock> => Some(clock);
}

impl fmt::Debug for Options {
    /// Without the passwords.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("target", &self.target)
            .field("timeout", &self.timeout)
            .field("connect_timeout", &self.connect_timeout)
            .field("retries", &self.retries)
            .field("wait", &self.wait)
            .field("user", &self.user)
            .field("db", &self.db)
            .field("tls", &self.tls)
            .field("sync", &self.sync)
            .finish_non_exhaustive()
    }
}
