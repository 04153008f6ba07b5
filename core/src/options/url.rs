//! Reads the options from a URL.

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::Duration;

use super::{Address, Options, SyncMode, TIMEOUT_MAX, Target, Tls};
use crate::error::{Error, ErrorKind, Result};

impl Options {
    /// Reads the options from a URL; see [`Options`] for the forms.
    ///
    /// # Errors
    /// `INVALID_URL`, with a message that says what is wrong and never contains the password.
    pub fn parse(url: &str) -> Result<Self> {
        let (scheme, rest) = url
            .split_once(':')
            .ok_or_else(|| bad("a URL begins with a scheme, such as memory:, file: or redis://"))?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        // RFC 3986, 3.1: capitals are the same.
        let scheme = scheme.to_ascii_lowercase();
        let mut options = match &*scheme {
            "memory" => Self::with_defaults(Target::Memory(decode_optional(rest)?)),
            "file" => Self::with_defaults(Target::File(file_path(rest)?)),
            "redis" | "rediss" | "redis+unix" | "redis+sentinel" | "rediss+sentinel"
            | "redis+cluster" | "rediss+cluster" => Self::server(&scheme, rest)?,
            other => {
                return Err(bad(format!(
                    "the scheme{} is not known; there are memory:, file:, redis:, rediss:, \
                     redis+unix:, redis+sentinel:, rediss+sentinel:, redis+cluster: and \
                     rediss+cluster:",
                    shown(other)
                )));
            }
        };
        let mut seen = HashSet::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = match pair {
                "repair" => (pair, "true"),
                _ => pair
                    .split_once('=')
                    .ok_or_else(|| bad(format!("the option{} has no value", shown(pair))))?,
            };
            if !seen.insert(name) {
                return Err(bad(format!("the option{} is there twice", shown(name))));
            }
            if name == "db" && options.db != 0 {
                return Err(bad("the database is there twice, in the path and as an option"));
            }
            options.set(name, &decode(value)?)?;
        }
        options.check()
    }

    fn server(scheme: &str, rest: &str) -> Result<Self> {
        let rest = rest
            .strip_prefix("//")
            .ok_or_else(|| bad(format!("after {scheme}: comes // and the host")))?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
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
        let mut options = Self::with_defaults(target);
        if let Some(credentials) = credentials {
            let (user, password) = credentials.split_once(':').unwrap_or((credentials, ""));
            options.user = decode_optional(user)?;
            options.password = decode_optional(password)?;
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
        let is_file = matches!(self.target, Target::File(_));
        let is_sentinel = matches!(self.target, Target::Sentinel { .. });
        let is_server = !is_file && !matches!(self.target, Target::Memory(_));
        match name {
            "sync" if is_file => {
                self.sync = match value {
                    "always" => SyncMode::Always,
                    "never" => SyncMode::Never,
                    time => SyncMode::Every(duration(name, time)?),
                }
            }
            "repair" if is_file => self.repair = boolean(name, value)?,
            "timeout" if is_server => self.timeout = duration(name, value)?,
            "connect_timeout" if is_server => self.connect_timeout = duration(name, value)?,
            "retries" if is_server => self.retries = number(name, value)?,
            "wait" if is_server => self.wait = duration(name, value)?,
            "pool" if is_server => self.pool = number(name, value)?,
            "persist" if is_server => self.persist = Some(duration(name, value)?),
            "client_name" if is_server => self.client_name = Some(value.to_owned()),
            "db" if is_server => self.db = number(name, value)?,
            "sentinel_user" if is_sentinel => self.sentinel_user = Some(value.to_owned()),
            "sentinel_password" if is_sentinel => self.sentinel_password = Some(value.to_owned()),
            "sentinel_tls" if is_sentinel => self.sentinel_tls = Some(boolean(name, value)?),
            "tls_ca" => self.tls_for(name)?.ca = Some(value.into()),
            "tls_cert" => self.tls_for(name)?.cert = Some(value.into()),
            "tls_key" => self.tls_for(name)?.key = Some(value.into()),
            "renew_every" => self.pace.renew_every = Some(duration(name, value)?),
            "poll" if value == "never" => self.pace.never_polls = true,
            _ => {
                let name = shown(name);
                return Err(bad(format!("the option{name} is not known for this kind of URL")));
            }
        }
        Ok(())
    }

    fn tls_for(&mut self, option: &str) -> Result<&mut Tls> {
        self.tls.as_mut().ok_or_else(|| {
            bad(format!("the option {option} needs a scheme with TLS, such as rediss:"))
        })
    }

    /// Refuses values that are out of range, or do not go together.
    fn check(self) -> Result<Self> {
        let is_cluster = matches!(self.target, Target::Cluster(_));
        let timeouts = [self.timeout, self.connect_timeout];
        let is_cert_alone = |tls: &Tls| tls.cert.is_some() != tls.key.is_some();
        let problem = if is_cluster && self.db != 0 {
            "a cluster has database 0 alone"
        } else if timeouts.iter().any(|timeout| *timeout > TIMEOUT_MAX) {
            "a timeout is at most a year"
        } else if timeouts.contains(&Duration::ZERO) {
            "a timeout has to be longer than 0"
        } else if self.persist.is_some_and(|persist| persist.is_zero() || persist > TIMEOUT_MAX) {
            "the option persist takes a time longer than 0 and up to a year"
        } else if self.sync == SyncMode::Every(Duration::ZERO) {
            "the option sync takes a time longer than 0"
        } else if self.user.is_some() && self.password.is_none() {
            "a user needs a password, as in redis://user:password@host"
        } else if self.tls.as_ref().is_some_and(is_cert_alone) {
            "the options tls_cert and tls_key go together"
        } else {
            return Ok(self);
        };
        Err(bad(problem))
    }
}

fn bad(message: impl Into<String>) -> Error {
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
        .map_err(|_| bad("a part of the URL is not UTF-8"))
}

/// Undoes percent-encoding of a part that may be left out.
fn decode_optional(text: &str) -> Result<Option<String>> {
    Ok(Some(decode(text)?).filter(|text| !text.is_empty()))
}

fn file_path(rest: &str) -> Result<PathBuf> {
    // file:///dir names no host; file://dir would name one.
    let path = match rest.strip_prefix("//") {
        Some(path) if path.starts_with('/') => path,
        Some(_) => return Err(bad("file: takes a path, as in file:dir or file:/dir")),
        None => rest,
    };
    let path = decode(path)?;
    if path.is_empty() {
        return Err(bad("file: needs the path of a directory"));
    }
    Ok(path.into())
}

fn unix_path(host: &str, path: &str) -> Result<PathBuf> {
    if !host.is_empty() || path.is_empty() {
        return Err(bad("redis+unix: takes an absolute path, as in redis+unix:///path/to/socket"));
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
            let (host, rest) =
                rest.split_once(']').ok_or_else(|| bad("the host has a [ without a ]"))?;
            let port = rest.strip_prefix(':');
            if port.is_none() && !rest.is_empty() {
                return Err(bad("after the ] of the host comes : and the port, or nothing"));
            }
            (host, port)
        }
        None => text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
    };
    if host.is_empty() {
        return Err(bad("the URL names no host"));
    }
    let port = port.map_or(Ok(default_port), |port| match number("the port", port)? {
        0 => Err(bad("the port is not a number in range")),
        port => Ok(port),
    })?;
    Ok(Address::Tcp(decode(host)?.into(), port))
}

fn number<T: std::str::FromStr>(name: &str, value: &str) -> Result<T> {
    // Rust would take a sign, too.
    let digits = Some(value).filter(|value| value.bytes().all(|byte| byte.is_ascii_digit()));
    let number = digits.and_then(|digits| digits.parse().ok());
    number.ok_or_else(|| bad(format!("{name} is not a number in range")))
}

fn boolean(name: &str, value: &str) -> Result<bool> {
    value.parse().map_err(|_| bad(format!("the option {name} is true or false")))
}

fn duration(name: &str, value: &str) -> Result<Duration> {
    let in_unit = |(unit, ms)| {
        let digits = value.strip_suffix(unit)?;
        let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse::<u64>().ok().filter(|_| is_number)?.checked_mul(ms)
    };
    let ms = [("ms", 1), ("s", 1_000), ("m", 60_000)].into_iter().find_map(in_unit);
    ms.map(Duration::from_millis)
        .ok_or_else(|| bad(format!("the option {name} takes a time such as 500ms, 5s or 1m")))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

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
            ("REDIS://host", Target::Server(tcp("host", 6379))),
            ("redis://[::1]:7", Target::Server(tcp("::1", 7))),
            ("redis://[fe80::1%25eth0]:7", Target::Server(tcp("fe80::1%eth0", 7))),
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
            ("redis://h?persist=0s", "persist takes a time longer than 0"),
            ("memory:?persist=1m", "the option persist is not known"),
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
            ("redis://[::1]58865", "after the ] of the host"),
            ("redis://h:+7000", "the port is not a number in range"),
            ("redis://h:0", "the port is not a number in range"),
            ("redis://h:", "the port is not a number in range"),
            ("redis://h/+1", "the database is not a number in range"),
            ("redis://h/1?db=2", "the database is there twice"),
            ("redis://h?db=1&db=2", "the option db is there twice"),
            ("redis://h?retries=-1", "retries is not a number in range"),
        ] {
            let error = Options::parse(url).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidUrl);
            assert!(error.to_string().contains(part), "{url}: {error}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
        assert!(!format!("{:?}", parse("redis://:secret@h")).contains("secret"));
    }
}
