//! The name of an Ick and the keys that follow from it.

use std::sync::Arc;

use crate::error::Result;
use crate::step::check_name_length;

/// The name of an Ick, with the Redis keys that the `ick.v1` contract derives from it.
///
/// ```
/// let name = millpond::ick::Name::new("files")?;
/// assert_eq!(&*name.producer_key(), b"files/ick/{files}/pset");
/// # Ok::<(), millpond::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Name(Arc<Keys>);

#[derive(Debug)]
struct Keys {
    flag: Arc<[u8]>,
    producer: Arc<[u8]>,
    consumer: Arc<[u8]>,
    lease: Arc<[u8]>,
}

impl Name {
    /// The name `name`, of any bytes; it may be empty.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for more than [`NAME_BYTES_MAX`](crate::NAME_BYTES_MAX) bytes.
    pub fn new(name: impl AsRef<[u8]>) -> Result<Self> {
        let name = name.as_ref();
        check_name_length("the name", name)?;
        let derived = |set: &[u8]| Arc::from([name, b"/ick/{", name, b"}/", set].concat());
        Ok(Self(Arc::new(Keys {
            flag: Arc::from(name),
            producer: derived(b"pset"),
            consumer: derived(b"cset"),
            lease: derived(b"lease"),
        })))
    }

    /// The name itself, which is the key of the version flag.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0.flag
    }

    /// The key of the version flag.
    pub fn flag_key(&self) -> Arc<[u8]> {
        self.0.flag.clone()
    }

    /// The key of the producer set: members that are flagged and not reserved.
    pub fn producer_key(&self) -> Arc<[u8]> {
        self.0.producer.clone()
    }

    /// The key of the consumer set: members that are reserved and not committed.
    pub fn consumer_key(&self) -> Arc<[u8]> {
        self.0.consumer.clone()
    }

    /// The key of the consumer lease, which is not part of the `ick.v1` contract.
    pub fn lease_key(&self) -> Arc<[u8]> {
        self.0.lease.clone()
    }

    /// The keys of every step, in the contract's order.
    pub(super) fn keys(&self) -> Vec<Arc<[u8]>> {
        vec![self.0.flag.clone(), self.producer_key(), self.consumer_key()]
    }

    /// The keys of a step that a lease may fence.
    pub(super) fn fenced_keys(&self, token: Option<&Token>) -> Vec<Arc<[u8]>> {
        let mut keys = self.keys();
        keys.extend(token.map(|_| self.lease_key()));
        keys
    }
}

/// The token that the holder of a consumer lease shows.
pub type Token = Arc<[u8]>;
