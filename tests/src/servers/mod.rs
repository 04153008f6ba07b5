//! Real Redis servers for tests: standalone, over TLS, a cluster of three, under Sentinel.
//!
//! A queue's promises are about crashes, failovers and redirects, so the tests need servers that
//! they can kill, stop and reshard, and never one that is used otherwise. Each server listens on
//! a port of its own (never 6379) and on a unix socket, in a directory of its own, and dies with
//! the value that started it, or with the test process if that is killed first.
//!
//! ```no_run
//! use millpond_tests::servers::{Redis, Reply};
//!
//! let redis = Redis::builder().appendonly_always().start();
//! assert_eq!(redis.cli(&["SET", "key", "value"]), Reply::Status("OK".into()));
//! redis.kill();
//! redis.restart();
//! assert_eq!(redis.cli(&["GET", "key"]), Reply::Bulk(b"value".to_vec()));
//! ```
//!
//! Everything here panics when it cannot do what it should: a test without its server has
//! failed, and must not look as if it had been skipped.

mod binary;
mod builder;
mod certificate;
mod claim;
mod cluster;
mod config;
mod migration;
mod process;
mod redis;
mod resp;
mod sentinel;
mod url;
mod wait;

pub use binary::find_redis_server;
pub use builder::RedisBuilder;
pub use certificate::Certified;
pub use claim::Claim;
pub use cluster::Cluster;
pub use migration::Migration;
pub use redis::Redis;
pub use resp::{Connection, Reply};
pub use sentinel::Sentinel;
pub use wait::wait_until;
