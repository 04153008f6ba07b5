//! Claim documents: lease all that have one primary key.

use std::sync::Arc;
use std::time::Duration;

use super::dependency::Dependency;
use super::name::Name;
use super::{Doc, DocId, embedded, limits};
use crate::error::{Result, ensure};
use crate::step::reply::{Reply, malformed};
use crate::step::{ByteList, Invocation, Operation, StepContext, head};

/// Leases all documents of a primary key, or none if another claimant holds one of them.
#[derive(Clone, Debug)]
pub struct ClaimDocs {
    name: Name,
    claimant: Arc<str>,
    namespace: Arc<str>,
    key: Arc<str>,
    lease: Duration,
}

impl ClaimDocs {
    /// Leases the documents of this namespace and primary key for `lease`.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for names beyond their limits and an empty key.
    pub fn new(
        name: impl AsRef<[u8]>,
        claimant: impl AsRef<str>,
        namespace: impl AsRef<str>,
        key: impl AsRef<str>,
        lease: Duration,
    ) -> Result<Self> {
        let name = Name::new(name.as_ref())?;
        Self::of(name, claimant.as_ref().into(), namespace.as_ref(), key.as_ref(), lease)
    }

    pub(super) fn of(
        name: Name,
        claimant: Arc<str>,
        namespace: &str,
        key: &str,
        lease: Duration,
    ) -> Result<Self> {
        limits::claimant(&claimant)?;
        limits::namespace(namespace)?;
        limits::doc_key("key", key)?;
        limits::delay("lease", lease)?;
        ensure!(!key.is_empty(), "the key is empty");
        Ok(Self { name, claimant, namespace: namespace.into(), key: key.into(), lease })
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
        args.push(self.key.as_bytes());
        args.push_number(self.lease.as_millis() as u64);
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
        state.claim_docs(&self.claimant, &self.namespace, &self.key, lease_ms, context)
    }
}
