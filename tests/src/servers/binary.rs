use std::env;
use std::path::PathBuf;

/// Finds the server program: the file that `MILLPOND_REDIS_SERVER` names, or else the first
/// `redis-server` on the `PATH`.
///
/// The variable is how the same suites run on Valkey and on other versions of Redis.
///
/// # Panics
///
/// When there is no such program, with a hint on how to install it: a missing server fails a
/// test, because a test that is skipped in silence proves nothing.
#[must_use]
pub fn find_redis_server() -> PathBuf {
    if let Some(named) = env::var_os("MILLPOND_REDIS_SERVER").filter(|named| !named.is_empty()) {
        let program = PathBuf::from(named);
        assert!(program.is_file(), "MILLPOND_REDIS_SERVER names no file: {}", program.display());
        return program;
    }
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .map(|directory| directory.join("redis-server"))
        .find(|program| program.is_file())
        .unwrap_or_else(|| {
            panic!(
                "these tests need a Redis server and found no redis-server on the PATH. \
                 Install it (Debian, Ubuntu: `apt-get install redis-server`; macOS: `brew install \
                 redis`) or name one: MILLPOND_REDIS_SERVER=/path/to/redis-server"
            )
        })
}
