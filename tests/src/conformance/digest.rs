//! A long list of members and scores, described by its size, its ends and a hash.

use std::fmt;
use std::io::Write as _;

use ring::digest::{Context, SHA256};
use serde_json::Value;

use crate::Result;
use crate::state::{Pair, read_pairs, write_pairs};

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Digest {
    count: usize,
    sha256: String,
    head: Vec<Pair>,
    tail: Vec<Pair>,
}

impl Digest {
    /// Reads `{"card", "sha256", "head", "tail"}`.
    pub(crate) fn read(value: &Value) -> Result<Self> {
        let incomplete = || format!("no list and no digest: {value}");
        let pairs = |name: &str| value[name].as_array().map_or(Ok(Vec::new()), |p| read_pairs(p));
        Ok(Self {
            count: value["card"].as_u64().ok_or_else(incomplete)? as usize,
            sha256: value["sha256"].as_str().ok_or_else(incomplete)?.to_owned(),
            head: pairs("head")?,
            tail: pairs("tail")?,
        })
    }

    /// The digest of these pairs, in their order: of the lines `member TAB score LF`, where whole
    /// scores have no point.
    pub(crate) fn of(pairs: &[Pair]) -> Self {
        let mut lines = Vec::new();
        for (member, score) in pairs {
            lines.extend_from_slice(member);
            writeln!(lines, "\t{score}").expect("a Vec takes all that is written to it");
        }
        let mut context = Context::new(&SHA256);
        context.update(&lines);
        let hash = context.finish();
        let end = pairs.len().saturating_sub(2);
        Self {
            count: pairs.len(),
            sha256: hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect(),
            head: pairs.iter().take(2).cloned().collect(),
            tail: pairs[end..].to_vec(),
        }
    }

    /// Whether these pairs have this digest.
    pub(crate) fn accepts(&self, pairs: &[Pair]) -> bool {
        let found = Self::of(pairs);
        self.count == found.count
            && self.sha256 == found.sha256
            && found.head.starts_with(&self.head)
            && found.tail.ends_with(&self.tail)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} members, ", self.count)?;
        write_pairs(&self.head, f)?;
        f.write_str(" to ")?;
        write_pairs(&self.tail, f)?;
        write!(f, ", sha256 {}", self.sha256)
    }
}
