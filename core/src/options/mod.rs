//! URLs and options: where the queues are and how to get there.

mod sync_mode;

pub use sync_mode::SyncMode;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::error::{Error, ErrorKind, Result};
use crate::runtime::clock::{Clock, SystemClock};

/// Where the queues are and how to get there: a URL, in which every option can be given, and
/// setters for those who would rather not print them into one.
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
/// | `timeout` | `5s` | for one call: finding the server, connecting and trying again included |
/// | `connect_timeout` | `1s` | for one attempt to connect: looking up the host, TLS and logging in included |
/// | `retries` | `10` | attempts after the first to connect, or to reach a server that is busy, loading or failing over |
/// | `pool` | `16` | idle connections kept for blocking callers |
/// | `client_name` | | the name in `CLIENT LIST` |
/// | `db` | `0` | the database, where the path does not say it |
/// | `tls_ca` | the web's | a file of root certificates in PEM |
/// | `tls_cert`, `tls_key` | | files with the client's own certificate and key in PEM |
/// | `sentinel_user`, `sentinel_password` | | for the sentinels, which share nothing with the server |
/// | `sentinel_tls` | as the scheme | whether the sentinels speak TLS |
/// | `sync` | `always` | for `file:`, when a step is on disk: `always` before it is acknowledged, a time such as `100ms` at most that much later, `never` when the system likes |
/// | `repair` | `false` | for `file:`, whether a log that lost its end or is damaged is cut off where the damage begins, in place of the error `CORRUPT`; also written as `?repair`. What lay behind is gone then: copy the directory first |
///
/// A call ends at its timeout, within 100 ms, whatever the server does, a byte now and then included.
/// Several sentinels or servers of a cluster that do not answer share that time.
///
/// Times are a number with `ms`, `s` or `m`. An option that is not known is an error.
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
    pub(crate) pool: usize,
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
    pub(crate) clock: Arc<dyn Clock>,
}

/// What a URL points at.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Target {
    Memory(Option<String>),
    File(PathBuf),
    Server(Address),
    Sentinel { sentinels: Vec<Address>, service: String },
    Cluster(Vec<Address>),
}

/// Where a server listens. Cheap to clone, since every call names one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Address {
    Tcp(Arc<str>, u16),
    Unix(Arc<Path>),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp(host, port) if host.contains(':') => write!(f, "[{host}]:{port}"),
            Address::Tcp(host, port) => write!(f, "{host}:{port}"),
            Address::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

/// How TLS is done.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Tls {
    pub(crate) ca: Option<PathBuf>,
    pub(crate) cert: Option<PathBuf>,
    pub(crate) key: Option<PathBuf>,
}

/// A longer timeout is as good as none, and its end as a point in time cannot be told.
const TIMEOUT_MAX: Duration = Duration::from_secs(365 * 24 * 60 * 60);

impl Options {
    /// The options that a URL says; see [`Options`] for the forms.
    ///
    /// # Errors
    /// `INVALID_URL`, with what is wrong; never with the password.
    pub fn parse(url: &str) -> Result<Self> {
        let (scheme, rest) = url.split_once(':').ok_or_else(|| {
            bad("a URL begins with a scheme, such as memory:, file: or redis://".to_owned())
        })?;
        let (rest, query) = match rest.split_once('?') {
            Some((rest, query)) => (rest, query),
            None => (rest, ""),
        };
        let mut options = match scheme {
            "memory" => Self::embedded(Target::Memory(decode(rest)?.into_name())),
            "file" => Self::embedded(Target::File(file_path(rest)?)),
            "redis" | "rediss" | "redis+unix" | "redis+sentinel" | "rediss+sentinel"
            | "redis+cluster" | "rediss+cluster" => Self::server(scheme, rest)?,
            other => {
                return Err(bad(format!(
                    "the scheme{} is not known; there are memory:, file:, redis:, rediss:, \
                     redis+unix:, redis+sentinel:, rediss+sentinel:, redis+cluster: and \
                     rediss+cluster:",
                    shown(other)
                )));
            }
        };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = match pair {
                "repair" => (pair, "true"),
                _ => pair
                    .split_once('=')
                    .ok_or_else(|| bad(format!("the option{} has no value", shown(pair))))?,
            };
            options.set(name, &decode(value)?)?;
        }
        options.check()
    }

    /// The options of a durable engine in this directory, whatever characters its path has.
    pub fn file(directory: impl Into<PathBuf>) -> Self {
        Self::embedded(Target::File(directory.into()))
    }

    fn embedded(target: Target) -> Self {
        Self {
            target,
            timeout: Duration::from_secs(5),
            connect_timeout: Duration::from_secs(1),
            retries: 10,
            pool: 16,
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
            clock: Arc::new(SystemClock::default()),
        }
    }

    fn server(scheme: &str, rest: &str) -> Result<Self> {
        let rest = rest
            .strip_prefix("//")
            .ok_or_else(|| bad(format!("after {scheme}: comes // and the host")))?;
        let (authority, path) = match rest.split_once('/') {
            Some((authority, path)) => (authority, path),
            None => (rest, ""),
        };
        // A password may hold an @ that somebody forgot to escape; the host does not.
        let (credentials, hosts) = match authority.rsplit_once('@') {
            Some((credentials, hosts)) => (Some(credentials), hosts),
            None => (None, authority),
        };
        let (target, db) = match scheme {
            "redis+unix" => (Target::Server(Address::Unix(unix_path(hosts, path)?.into())), ""),
            "redis" | "rediss" => {
                let mut hosts = addresses(hosts, 6379)?;
                if hosts.len() > 1 {
                    return Err(bad(format!(
                        "{scheme}: takes one host; several are redis+sentinel: or redis+cluster:"
                    )));
                }
                (Target::Server(hosts.remove(0)), path)
            }
            "redis+cluster" | "rediss+cluster" => (Target::Cluster(addresses(hosts, 6379)?), path),
            _ => {
                let (service, db) = path.split_once('/').unwrap_or((path, ""));
                if service.is_empty() {
                    return Err(bad(format!(
                        "{scheme}: names the service after the hosts, as in \
                         {scheme}://host:26379/mymaster"
                    )));
                }
                let sentinels = addresses(hosts, 26379)?;
                (Target::Sentinel { sentinels, service: decode(service)? }, db)
            }
        };
        let mut options = Self::embedded(target);
        if let Some(credentials) = credentials {
            let (user, password) = credentials.split_once(':').unwrap_or((credentials, ""));
            options.user = decode(user)?.into_name();
            options.password = decode(password)?.into_name();
        }
        if scheme.starts_with("rediss") {
            options.tls = Some(Tls::default());
        }
        if !db.is_empty() {
            options.db = number("the database", db)?;
        }
        Ok(options)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        let embedded = matches!(self.target, Target::Memory(_) | Target::File(_));
        match name {
            "sync" if matches!(self.target, Target::File(_)) => {
                self.sync = match value {
                    "always" => SyncMode::Always,
                    "never" => SyncMode::Never,
                    time => SyncMode::Every(duration(name, time)?),
                }
            }
            "repair" if matches!(self.target, Target::File(_)) => {
                self.repair = boolean(name, value)?;
            }
            "timeout" if !embedded => self.timeout = duration(name, value)?,
            "connect_timeout" if !embedded => self.connect_timeout = duration(name, value)?,
            "retries" if !embedded => self.retries = number(name, value)?,
            "pool" if !embedded => self.pool = number(name, value)?,
            "client_name" if !embedded => self.client_name = Some(value.to_owned()),
            "db" if !embedded => self.db = number(name, value)?,
            "tls_ca" | "tls_cert" | "tls_key" => {
                let tls = self.tls.as_mut().ok_or_else(|| {
                    bad(format!("the option {name} needs a scheme with TLS, such as rediss:"))
                })?;
                match name {
                    "tls_ca" => tls.ca = Some(value.into()),
                    "tls_cert" => tls.cert = Some(value.into()),
                    _ => tls.key = Some(value.into()),
                }
            }
            "sentinel_user" | "sentinel_password" | "sentinel_tls"
                if matches!(self.target, Target::Sentinel { .. }) =>
            {
                match name {
                    "sentinel_user" => self.sentinel_user = Some(value.to_owned()),
                    "sentinel_password" => self.sentinel_password = Some(value.to_owned()),
                    _ => self.sentinel_tls = Some(boolean(name, value)?),
                }
            }
            _ => {
                let name = shown(name);
                return Err(bad(format!("the option{name} is not known for this kind of URL")));
            }
        }
        Ok(())
    }

    fn check(self) -> Result<Self> {
        if matches!(self.target, Target::Cluster(_)) && self.db != 0 {
            return Err(bad("a cluster has database 0 alone".to_owned()));
        }
        if self.timeout > TIMEOUT_MAX || self.connect_timeout > TIMEOUT_MAX {
            return Err(bad("a timeout is at most a year".to_owned()));
        }
        if self.timeout.is_zero() || self.connect_timeout.is_zero() {
            return Err(bad("a timeout has to be longer than 0".to_owned()));
        }
        if self.sync == SyncMode::Every(Duration::ZERO) {
            return Err(bad("the option sync takes a time longer than 0".to_owned()));
        }
        if self.user.is_some() && self.password.is_none() {
            return Err(
                bad("a user needs a password, as in redis://user:password@host".to_owned()),
            );
        }
        if let Some(tls) = &self.tls
            && tls.cert.is_some() != tls.key.is_some()
        {
            return Err(bad("the options tls_cert and tls_key go together".to_owned()));
        }
        Ok(self)
    }

    pub(crate) fn target(&self) -> &Target {
        &self.target
    }

    /// The longest time for one call, connecting and trying again included.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout.clamp(Duration::from_millis(1), TIMEOUT_MAX);
        self
    }

    /// The longest time for one attempt to connect.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout.clamp(Duration::from_millis(1), TIMEOUT_MAX);
        self
    }

    /// Attempts after the first to connect, or to reach a server that is busy, loading or failing
    /// over.
    #[must_use]
    pub fn retries(mut self, retries: u32) -> Self {
        self.retries = retries;
        self
    }

    /// Idle connections that are kept for blocking callers.
    #[must_use]
    pub fn pool(mut self, connections: usize) -> Self {
        self.pool = connections;
        self
    }

    /// The name of the connections in `CLIENT LIST`.
    #[must_use]
    pub fn client_name(mut self, name: impl Into<String>) -> Self {
        self.client_name = Some(name.into());
        self
    }

    /// The user and the password, as they are: nothing is unescaped.
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

    /// When a step of a durable engine is on disk.
    #[must_use]
    pub fn sync(mut self, sync: SyncMode) -> Self {
        self.sync = sync;
        self
    }

    /// Whether a `file:` whose newest log lost its end, or is damaged, is opened with what lies
    /// before the damage; without it, that is the error `CORRUPT`. The rest is cut off for good:
    /// copy the directory first. [`Recovery::suspicion`](crate::Recovery::suspicion) then says what
    /// was wrong.
    #[must_use]
    pub fn repair(mut self, repair: bool) -> Self {
        self.repair = repair;
        self
    }

    /// Handles each of [`Recovery::warnings`](crate::Recovery::warnings) when a client opens a
    /// `file:`, in place of a line on standard error.
    ///
    /// ```
    /// let directory = tempfile::tempdir()?;
    /// let options = millpond::Options::file(directory.path().join("queues"));
    /// let client = options.on_warning(|warning| panic!("{warning}")).connect()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn on_warning(mut self, handle: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.on_warning = Arc::new(handle);
        self
    }

    /// The clock of an embedded engine, for tests. A server's time is the server's.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }
}

impl fmt::Debug for Options {
    /// Without the passwords.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("target", &self.target)
            .field("timeout", &self.timeout)
            .field("connect_timeout", &self.connect_timeout)
            .field("retries", &self.retries)
            .field("user", &self.user)
            .field("db", &self.db)
            .field("tls", &self.tls)
            .field("sync", &self.sync)
            .finish_non_exhaustive()
    }
}

fn bad(message: String) -> Error {
    Error::new(ErrorKind::InvalidUrl, message)
}

/// A word of the URL for a message, with a space before; nothing if it could be a part of a
/// password that somebody forgot to escape.
fn shown(word: &str) -> String {
    let is_name = |c: char| c.is_ascii_lowercase() || c == '_' || c == '+';
    match word.len() <= 20 && word.chars().all(is_name) {
        true => format!(" {word}"),
        false => String::new(),
    }
}

/// Undoes percent-encoding.
fn decode(text: &str) -> Result<String> {
    percent_encoding::percent_decode_str(text)
        .decode_utf8()
        .map(Into::into)
        .map_err(|_| bad("a part of the URL is not UTF-8".to_owned()))
}

trait IntoName {
    fn into_name(self) -> Option<String>;
}

impl IntoName for String {
    /// A part of a URL that is empty was left out.
    fn into_name(self) -> Option<String> {
        Some(self).filter(|name| !name.is_empty())
    }
}

fn file_path(rest: &str) -> Result<PathBuf> {
    // file:///dir names no host; file://dir would name one.
    let path = match rest.strip_prefix("//") {
        Some(path) if path.starts_with('/') => path,
        Some(_) => return Err(bad("file: takes a path, as in file:dir or file:/dir".to_owned())),
        None => rest,
    };
    let path = decode(path)?;
    if path.is_empty() {
        return Err(bad("file: needs the path of a directory".to_owned()));
    }
    Ok(path.into())
}

fn unix_path(host: &str, path: &str) -> Result<PathBuf> {
    if !host.is_empty() || path.is_empty() {
        return Err(bad(
            "redis+unix: takes an absolute path, as in redis+unix:///path/to/socket".to_owned()
        ));
    }
    Ok(format!("/{}", decode(path)?).into())
}

fn addresses(hosts: &str, default_port: u16) -> Result<Vec<Address>> {
    hosts.split(',').map(|host| address(host, default_port)).collect()
}

/// Reads `host`, `host:port`, `[::1]` or `[::1]:port`.
fn address(text: &str, default_port: u16) -> Result<Address> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest
                .split_once(']')
                .ok_or_else(|| bad("the host has a [ without a ]".to_owned()))?;
            (host, port.strip_prefix(':'))
        }
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    if host.is_empty() {
        return Err(bad("the URL names no host".to_owned()));
    }
    let port = port.map_or(Ok(default_port), |port| number("the port", port))?;
    Ok(Address::Tcp(decode(host)?.into(), port))
}

fn number<T: std::str::FromStr>(name: &str, value: &str) -> Result<T> {
    value.parse().map_err(|_| bad(format!("{name} is not a number in range")))
}

fn boolean(name: &str, value: &str) -> Result<bool> {
    value.parse().map_err(|_| bad(format!("the option {name} is true or false")))
}

fn duration(name: &str, value: &str) -> Result<Duration> {
    let digits = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
    let (digits, unit) = value.split_at(digits);
    let milliseconds = match unit {
        "ms" => Some(1),
        "s" => Some(1_000),
        "m" => Some(60_000),
        _ => None,
    };
    digits
        .parse::<u64>()
        .ok()
        .zip(milliseconds)
        .and_then(|(number, unit)| number.checked_mul(unit))
        .map(Duration::from_millis)
        .ok_or_else(|| bad(format!("the option {name} takes a time such as 500ms, 5s or 1m")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Options {
        Options::parse(url).unwrap()
    }

    fn tcp(host: &str, port: u16) -> Address {
        Address::Tcp(host.into(), port)
    }

    #[test]
    fn every_form_of_url() {
        for (url, target) in [
            ("memory:", Target::Memory(None)),
            ("memory:a%20b", Target::Memory(Some("a b".to_owned()))),
            ("file:data", Target::File("data".into())),
            ("file:/var/data", Target::File("/var/data".into())),
            ("file:///var/data", Target::File("/var/data".into())),
            ("redis://host", Target::Server(tcp("host", 6379))),
            ("redis://[::1]:7", Target::Server(tcp("::1", 7))),
            (
                "redis+unix:///run/r.sock?db=2",
                Target::Server(Address::Unix(Path::new("/run/r.sock").into())),
            ),
            ("redis+cluster://a,b:7", Target::Cluster(vec![tcp("a", 6379), tcp("b", 7)])),
            (
                "redis+sentinel://a,b:7/main/3",
                Target::Sentinel {
                    sentinels: vec![tcp("a", 26379), tcp("b", 7)],
                    service: "main".to_owned(),
                },
            ),
        ] {
            assert_eq!(*parse(url).target(), target, "{url}");
        }
        let options = parse("rediss://me:p%40ss@host/4?timeout=2s&client_name=x&tls_ca=ca.pem");
        assert_eq!(options.user.as_deref(), Some("me"));
        assert_eq!(options.password.as_deref(), Some("p@ss"));
        assert_eq!((options.db, options.timeout), (4, Duration::from_secs(2)));
        assert_eq!(options.tls.unwrap().ca, Some("ca.pem".into()));
        assert_eq!(parse("redis://:pw@h").user, None);
        assert_eq!(parse("file:d?sync=100ms").sync, SyncMode::Every(Duration::from_millis(100)));
        let repairs = [("file:d", false), ("file:d?repair", true), ("file:d?repair=true", true)];
        for (url, repair) in repairs {
            assert_eq!(parse(url).repair, repair);
        }
        assert_eq!(parse("redis+sentinel://a/main/3").db, 3);
    }

    #[test]
    fn wrong_urls_say_what_is_wrong_and_no_password() {
        for (url, part) in [
            ("", "begins with a scheme"),
            ("host:6379", "the scheme host is not known"),
            ("secret2@host:6379", "the scheme is not known"),
            ("redis://:a@b?secret2@host", "has no value"),
            ("redis://:a@b?secret2=@host", "is not known"),
            ("redis://me@host", "a user needs a password"),
            ("redis:host", "comes //"),
            ("redis://", "names no host"),
            ("redis://:secret@", "names no host"),
            ("redis://:secret@h:port", "the port is not a number in range"),
            ("redis://h:70000", "the port is not a number in range"),
            ("redis://h/x", "the database is not a number in range"),
            ("redis://a,b", "takes one host"),
            ("redis://h?timeout", "has no value"),
            ("redis://h?timeout=5", "takes a time such as"),
            ("redis://h?timeout=0s", "longer than 0"),
            ("redis://h?timeuot=5s", "the option timeuot is not known"),
            ("redis://h?sync=never", "the option sync is not known"),
            ("redis://h?tls_ca=x", "needs a scheme with TLS"),
            ("rediss://h?tls_cert=x", "go together"),
            ("redis+sentinel://h", "names the service"),
            ("redis+cluster://h/1", "database 0 alone"),
            ("redis+unix://host/x", "absolute path"),
            ("file:", "needs the path"),
            ("file://host", "takes a path"),
            ("file:x?sync=sometimes", "takes a time such as"),
            ("memory:?sync=never", "the option sync is not known"),
            ("file:x?repair=perhaps", "the option repair is true or false"),
            ("redis://h?repair", "the option repair is not known"),
            ("redis://[::1", "without a ]"),
        ] {
            let error = Options::parse(url).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidUrl);
            assert!(error.to_string().contains(part), "{url}: {error}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
        assert!(!format!("{:?}", parse("redis://:secret@h")).contains("secret"));
    }
}
