use std::collections::hash_map::RandomState;
use std::fs::{self, DirBuilder, File, TryLockError};
use std::hash::{BuildHasher, Hasher};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, io};

/// Ports start here. The range and its cluster buses (12000 to 31999) lie below the ports that
/// Linux hands to outgoing connections, so no client ever happens to use one of them.
const PORT_FIRST: u16 = 12_000;

/// As many ports as fit before the first of them is another one's bus.
const PORT_COUNT: u16 = BUS_OFFSET;

/// A Redis Cluster node talks to its peers on its own port plus this.
const BUS_OFFSET: u16 = 10_000;

/// A loopback port with its cluster bus port and an empty directory, held for one server.
///
/// Asking the system for a free port and closing it again is a race between test processes. So a
/// port belongs to the process that holds the lock on its file, which the system releases when
/// the holder dies, however it dies. The directory belongs to the port: what a killed process
/// left behind is removed by the next one that starts.
#[derive(Debug)]
pub struct Claim {
    port: u16,
    directory: PathBuf,
    /// Held, never read: closing it releases the port.
    _lock: File,
}

impl Claim {
    /// Claims a port on which, and on whose bus port, no process listens.
    ///
    /// Ports are not used again at once: a client that a finished test left open would reconnect
    /// to the next test's server.
    ///
    /// # Panics
    ///
    /// When all ports are taken, or the temporary directory cannot be written.
    #[must_use]
    pub fn new() -> Self {
        static NEXT: LazyLock<AtomicU32> = LazyLock::new(|| {
            sweep();
            AtomicU32::new(RandomState::new().build_hasher().finish() as u32)
        });
        for _ in 0..PORT_COUNT {
            let turn = NEXT.fetch_add(1, Ordering::Relaxed) % u32::from(PORT_COUNT);
            if let Some(claim) = Self::of_port(PORT_FIRST + turn as u16) {
                return claim;
            }
        }
        panic!("no free port in {PORT_COUNT} from {PORT_FIRST}");
    }

    /// The port of the server; its cluster bus is 10000 above.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The directory of the server, empty when claimed and removed with the claim.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    fn of_port(port: u16) -> Option<Self> {
        let lock = lock(port)?;
        if !is_free(port) || !is_free(port + BUS_OFFSET) {
            return None;
        }
        let directory = base().join(port.to_string());
        remove(&directory).and_then(|()| private_directory(&directory)).unwrap_or_else(|error| {
            panic!("cannot make the directory {}: {error}", directory.display())
        });
        Some(Self { port, directory, _lock: lock })
    }
}

impl Default for Claim {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // A directory that cannot be removed now is removed by the next sweep; a panic here would
        // hide the one that a failing test is unwinding from.
        let _ = remove(&self.directory);
    }
}

/// The directory that all test processes of this user share.
///
/// Its name is short because a unix socket's path may have no more than about 100 bytes.
fn base() -> &'static Path {
    static BASE: LazyLock<PathBuf> = LazyLock::new(|| {
        // SAFETY: `geteuid` reads one number of the calling process and cannot fail.
        let user = unsafe { libc::geteuid() };
        let base = env::temp_dir().join(format!("millpond-servers-{user}"));
        let base = std::path::absolute(&base).unwrap_or(base);
        private_directory(&base)
            .unwrap_or_else(|error| panic!("cannot make {}: {error}", base.display()));
        base
    });
    &BASE
}

/// Removes the directories whose owners died without removing them.
fn sweep() {
    let entries = fs::read_dir(base()).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        let port = entry.file_name().to_str().and_then(|name| name.parse().ok());
        if let Some(_lock) = port.and_then(lock) {
            let _ = remove(&entry.path());
        }
    }
}

/// Locks the file of `port`, or returns `None` if another process has. The files stay: removing
/// a lock file while another process opens it would let two hold "the same" lock.
fn lock(port: u16) -> Option<File> {
    let path = base().join(format!("{port}.lock"));
    let file = File::create(&path)
        .unwrap_or_else(|error| panic!("cannot open {}: {error}", path.display()));
    match file.try_lock() {
        Ok(()) => Some(file),
        Err(TryLockError::WouldBlock) => None,
        Err(TryLockError::Error(error)) => panic!("cannot lock {}: {error}", path.display()),
    }
}

fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

fn private_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
