//! Scripts and their calls.

use std::fmt;
use std::sync::{Arc, OnceLock};

use super::ByteList;

/// A call of a script: everything that EVALSHA needs.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// The script.
    pub script: &'static Script,
    /// Its KEYS, in order. All lie in one cluster slot.
    pub keys: Vec<Arc<[u8]>>,
    /// Its ARGV, in order.
    pub args: ByteList,
}

/// The script that consists of these files, one after the other.
macro_rules! script {
    ($($file:literal),+) => {{
        static SCRIPT: $crate::step::Script = $crate::step::Script::new(concat!($(include_str!($file)),+));
        &SCRIPT
    }};
}
pub(crate) use script;

/// A Lua script, called by the SHA1 of its source.
pub struct Script {
    source: &'static str,
    sha1: OnceLock<String>,
}

impl Script {
    pub(crate) const fn new(source: &'static str) -> Self {
        Self { source, sha1: OnceLock::new() }
    }

    /// The source, as EVAL and SCRIPT LOAD take it.
    pub fn source(&self) -> &'static str {
        self.source
    }

    /// The SHA1 of the source in 40 hexadecimal digits, as EVALSHA takes it.
    pub fn sha1(&self) -> &str {
        self.sha1.get_or_init(|| sha1_smol::Sha1::from(self.source).digest().to_string())
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Script").field(&self.sha1()).finish()
    }
}
