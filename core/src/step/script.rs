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

/// The script of a queue with this state, which consists of these files, one after the other.
macro_rules! script {
    ($state:ty, $($file:literal),+) => {{
        static SCRIPT: $crate::step::Script = $crate::step::Script::new(
            <$state as $crate::step::State>::constants,
            concat!($(include_str!($file)),+),
        );
        &SCRIPT
    }};
}
pub(crate) use script;

/// Constants that Rust and the scripts of a queue share, by name.
pub type Constants = &'static [(&'static str, u64)];

/// The constants with these names; constants whose unit differs in scripts have explicit values.
macro_rules! constants {
    ($($name:ident $(= $value:expr)?),* $(,)?) => {{
        const CONSTANTS: $crate::step::Constants =
            &[$((stringify!($name), $crate::step::constants!(@ $name $($value)?))),*];
        CONSTANTS
    }};
    (@ $name:ident) => { $name as u64 };
    (@ $name:ident $value:expr) => { $value as u64 };
}
pub(crate) use constants;

/// A Lua script, called by the SHA1 of its source.
pub struct Script {
    constants: fn() -> Constants,
    text: &'static str,
    source: OnceLock<String>,
    sha1: OnceLock<String>,
}

impl Script {
    pub(crate) const fn new(constants: fn() -> Constants, text: &'static str) -> Self {
        Self { constants, text, source: OnceLock::new(), sha1: OnceLock::new() }
    }

    /// The source, as EVAL and SCRIPT LOAD take it.
    pub fn source(&self) -> &str {
        self.source.get_or_init(|| with_values(self.text, (self.constants)()))
    }

    /// The SHA1 of the source in 40 hexadecimal digits, as EVALSHA takes it.
    pub fn sha1(&self) -> &str {
        self.sha1.get_or_init(|| sha1_smol::Sha1::from(self.source()).digest().to_string())
    }
}

/// The text with values in place of the constants. They are not local variables of the script, of which it can have
/// only 200.
fn with_values(text: &str, constants: Constants) -> String {
    let is_between = |letter: char| !letter.is_ascii_alphanumeric() && letter != '_';
    let mut source = String::with_capacity(text.len());
    for part in text.split_inclusive(is_between) {
        let word = part.trim_end_matches(is_between);
        match constants.iter().find(|(name, _)| *name == word) {
            Some((_, value)) => source += &value.to_string(),
            None => source += word,
        }
        source += &part[word.len()..];
    }
    source
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Script").field(&self.sha1()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNT: u8 = 1;
    const COUNT_MAX: usize = 9;

    #[test]
    fn a_script_has_values_in_place_of_constants() {
        let constants = || constants![COUNT, COUNT_MAX, TTL_MS = 1_u64 << 53];
        let script =
            Script::new(constants, "if COUNTED > COUNT_MAX then f(TTL_MS) end\nreturn COUNT");
        let source = "if COUNTED > 9 then f(9007199254740992) end\nreturn 1";
        assert_eq!(script.source(), source);
        assert_eq!(Script::new(|| &[], source).source(), source);
    }
}
