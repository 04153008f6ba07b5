//! Where the queues are: an embedded engine or the addresses of servers.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
