//! Claim documents: lease all documents with some primary keys.

use std::sync::Arc;
use std::time::Duration;

use super::claim::names_of;
use super::dependency::Dependency;
use super::name::Name;
use super::{Doc, DocId, embedded, limits};
use crate::error::{Result, ensure};
use crate::step::reply::{Reply, malformed};
use crate::step::{ByteList, Invocation, Operation, StepContext, head};

/// The most primary keys of one claim of documents.
pub const CLAIM_KEYS_MAX: usize = 1_000;

/// Leases all documents with some primary keys, or none if another claimant holds one of them.
#[derive(Clone, Debug)]
pub struct ClaimDocs {
    name: Name,
    claimant: Arc<str>,
    namespace: Arc<str>,
    keys: Vec<Arc<str>>,
    lease: Duration,
}

impl ClaimDocs {
    /// Leases the documents of this namespace with these primary keys for `lease`.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for names beyond their limits, an empty key, and no key or more than [`CLAIM_KEYS_MAX`].
    pub fn new<K: AsRef<str>>(
        name: impl AsRef<[u8]>,
        claimant: impl AsRef<str>,
        namespace: impl AsRef<str>,
        keys: impl IntoIterator<Item = K>,
        lease: Duration,
    ) -> Result<Self> {
        let name = Name::new(name.as_ref())?;
        Self::of(name, claimant.as_ref().into(), namespace.as_ref(), keys, lease)
    }

    pub(super) fn of<K: AsRef<str>>(
        name: Name,
        claimant: Arc<str>,
        namespace: &str,
        keys: impl IntoIterator<Item = K>,
        lease: Duration,
    ) -> Result<Self> {
        limits::claimant(&claimant)?;
        limits::namespace(namespace)?;
        let keys = names_of(keys, CLAIM_KEYS_MAX, "key", |key| {
            ensure!(!key.is_empty(), "the key is empty");
            limits::doc_key("key", key)
        })?;
        limits::delay("lease", lease)?;
        Ok(Self { name, claimant, namespace: namespace.into(), keys, lease })
    }
}

impl Operation for ClaimDocs {
    head!(
        "tasks.claim_docs",
        embedded::State,
        name,
        ["../step/commands.lua", "store.lua", "docs.lua", "claim_docs.lua"]
    );
    type Output = Vec<Doc>;
    const IDEMPOTENT: bool = false;

    fn invocation(&self) -> Invocation {
        let mut args = ByteList::default();
        args.push(self.claimant.as_bytes());
        args.push(self.namespace.as_bytes());
        args.push_number(self.lease.as_millis() as u64);
        self.keys.iter().for_each(|key| args.push(key.as_bytes()));
        Invocation { script: Self::script(), keys: self.name.keys_with_docs(), args }
    }

    /// `{1, documents}`, or `{0, {id, version, …}}` of those that another claimant holds.
    fn decode(&self, reply: Reply) -> Result<Vec<Doc>> {
        let mut replies = reply.list()?;
        let (done, docs) = (replies.next()?.flag()?, replies.next()?.list()?);
        replies.end()?;
        if done {
            return Doc::decode_all(docs, usize::MAX);
        }
        let doc_claims = docs.all(usize::MAX, |replies| {
            let id = super::decode_text(replies.next()?)?;
            Ok(DocId::new(&self.namespace, id, replies.next()?.number()?))
        })?;
        Dependency { doc_claims, ..Dependency::default() }.into_result()?;
        Err(malformed())
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<Vec<Doc>> {
        let lease_ms = self.lease.as_millis() as u64;
        state.claim_docs(&self.claimant, &self.namespace, &self.keys, lease_ms, context)
    }
}
