//! List stores: the names of the task stores of a server, or of an engine.

use std::sync::Arc;

use super::embedded;
use super::name::Name;
use crate::error::Result;
use crate::step::reply::{Reply, malformed};
use crate::step::{ByteList, Invocation, Operation, Script, StepContext, script};

/// The cursor with which the scan of a server begins, and ends.
const BEGIN: &[u8] = b"0";

/// Lists the stores among some of the keys of a server; on the embedded engine, all stores in one step.
#[derive(Clone, Debug)]
pub struct ListStores {
    pub(super) key: Arc<[u8]>,
    cursor: Vec<u8>,
}

/// Some of the stores of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StorePage {
    /// Their names, in no order. The next pages may name them again.
    pub names: Vec<Vec<u8>>,
    /// The cursor of the next step, on the same server; `None` if this was the last.
    pub(super) next: Option<Vec<u8>>,
}

impl ListStores {
    /// Begins on the server of a cluster that has this key; on any other server the key does not matter.
    #[must_use]
    pub fn new(key: impl AsRef<[u8]>) -> Self {
        Self { key: key.as_ref().into(), cursor: BEGIN.into() }
    }

    /// The step that continues after a page, unless that was the last.
    #[must_use]
    pub fn next(&self, page: &StorePage) -> Option<Self> {
        page.next.clone().map(|cursor| Self { key: self.key.clone(), cursor })
    }
}

impl Operation for ListStores {
    type Output = StorePage;
    type State = embedded::State;
    const NAME: &'static str = "tasks.list_stores";
    const IDEMPOTENT: bool = true;

    fn script() -> &'static Script {
        script!(embedded::State, "list_stores.lua")
    }

    fn queue(&self) -> &[u8] {
        &self.key
    }

    fn invocation(&self) -> Invocation {
        let mut args = ByteList::default();
        args.push(&self.cursor);
        Invocation { script: Self::script(), keys: vec![self.key.clone()], args }
    }

    /// `{cursor, how many, the key that those of a store begin with, …}`. Other programs may have keys that look like
    /// the keys of stores.
    fn decode(&self, reply: Reply) -> Result<StorePage> {
        let mut replies = reply.list()?;
        let cursor = replies.next()?.bytes()?;
        let count = replies.next()?.count(replies.len())?;
        let keys = replies.all(usize::MAX, |replies| replies.next()?.bytes())?;
        let are_keys = keys.iter().all(|key| key.ends_with(b":tasks"));
        let is_cursor = !cursor.is_empty() && cursor.iter().all(u8::is_ascii_digit);
        if !is_cursor || !are_keys || keys.len() as u64 != count {
            return Err(malformed());
        }
        let names = keys.iter().filter_map(|key| Name::of_key(key)).collect();
        Ok(StorePage { names, next: (cursor != BEGIN).then_some(cursor) })
    }

    fn apply(self, _: &embedded::State, context: &mut StepContext<'_>) -> Result<StorePage> {
        let mut names = Vec::new();
        for key in context.names::<embedded::State>() {
            let key: Arc<[u8]> = key.into();
            if !context.state::<embedded::State>(&key)?.holds_nothing() {
                names.extend(Name::of_key(&key));
            }
        }
        Ok(StorePage { names, next: None })
    }
}
