//! Fields: a hash's fields in the order in which they expire, page by page.

use super::name::Name;
use super::{embedded, limits};
use crate::error::{Result, ensure};
use crate::step::limits::INTEGER_MAX;
use crate::step::{ByteList, Invocation, Operation, Reply, StepContext, Timestamp, head};

/// The most fields of one page.
pub const PAGE_MAX: usize = 1_000;

/// The number of fields of a page by default.
pub const PAGE_DEFAULT: usize = 100;

/// A field that is live.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HashField {
    /// The field.
    pub field: Vec<u8>,
    /// Its value; `None` if the query omits values.
    pub value: Option<Vec<u8>>,
    /// When it expires, in microseconds since the Unix epoch.
    pub expires_us: Timestamp,
}

/// The position of a field in the order of its hash: by expiry, and by the bytes of the field if the expiries are
/// equal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FieldPosition {
    /// The field's `expires_us`.
    pub expires_us: Timestamp,
    /// The field.
    pub field: Vec<u8>,
}

impl From<&HashField> for FieldPosition {
    fn from(field: &HashField) -> Self {
        Self { expires_us: field.expires_us, field: field.field.clone() }
    }
}

/// One page of a hash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldPage {
    /// The fields, in the order of expiry.
    pub fields: Vec<HashField>,
    /// The position after which the next page begins; `None` on the last page.
    pub next: Option<FieldPosition>,
}

/// Which fields of a hash to read.
///
/// ```
/// use std::time::Duration;
/// use millpond::volatile::FieldQuery;
///
/// let hash = millpond::connect("memory:")?.volatile_hash("pages");
/// for (field, secs) in [("/", 30), ("/a", 10), ("/b", 20)] {
///     hash.set(field, "…", Duration::from_secs(secs))?;
/// }
/// let first = hash.fields(FieldQuery::new().limit(2))?;
/// assert_eq!([&first.fields[0].field, &first.fields[1].field], [b"/a", b"/b"]);
/// let rest = hash.fields(FieldQuery::new().after(first.next.expect("there are more")))?;
/// assert_eq!((rest.fields.len(), rest.next), (1, None));
/// # Ok::<(), millpond::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct FieldQuery {
    after: Option<FieldPosition>,
    limit: Option<usize>,
    omit_values: bool,
}

impl FieldQuery {
    /// The first page of all fields.
    pub fn new() -> Self {
        Self::default()
    }

    /// The page after this position.
    pub fn after(self, position: impl Into<FieldPosition>) -> Self {
        Self { after: Some(position.into()), ..self }
    }

    /// Reads at most this many fields; [`PAGE_DEFAULT`] by default, at most [`PAGE_MAX`].
    pub fn limit(self, limit: usize) -> Self {
        Self { limit: Some(limit), ..self }
    }

    /// Leaves out the values.
    pub fn omit_values(self) -> Self {
        Self { omit_values: true, ..self }
    }
}

/// Reads a page of the fields that are live.
#[derive(Clone, Debug)]
pub struct ReadFields {
    name: Name,
    query: FieldQuery,
    limit: usize,
}

impl ReadFields {
    /// Reads the page that the query selects.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a name that is empty or too long, a limit of 0 or above [`PAGE_MAX`], and a position
    /// whose field is above [`FIELD_BYTES_MAX`](super::FIELD_BYTES_MAX).
    pub fn new(name: impl AsRef<[u8]>, query: FieldQuery) -> Result<Self> {
        Self::of(Name::new(name.as_ref())?, query)
    }

    pub(super) fn of(name: Name, query: FieldQuery) -> Result<Self> {
        let limit = query.limit.unwrap_or(PAGE_DEFAULT);
        ensure!((1..=PAGE_MAX).contains(&limit), "a page has 1 to {PAGE_MAX} fields, not {limit}");
        query.after.iter().try_for_each(|position| limits::field(&position.field))?;
        Ok(Self { name, query, limit })
    }
}

impl Operation for ReadFields {
    head!(
        "volatile.fields",
        embedded::State,
        name,
        ["../step/commands.lua", "../step/numbers.lua", "values.lua", "hash.lua", "fields.lua"]
    );
    type Output = FieldPage;
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        let mut args = ByteList::default();
        args.push_number(self.limit as u64);
        match &self.query.after {
            Some(position) => {
                args.push_number(position.expires_us.min(INTEGER_MAX));
                args.push(&position.field);
            }
            None => (0..2).for_each(|_| args.push(b"")),
        }
        args.push(if self.query.omit_values { b"1" } else { b"0" });
        Invocation { script: Self::script(), keys: self.name.field_keys(), args }
    }

    /// `{fields}`, or `{fields, expires_us, field}` where there is a next page.
    fn decode(&self, reply: Reply) -> Result<FieldPage> {
        let mut replies = reply.list()?;
        let fields = replies.next()?.list()?.all(self.limit, |replies| {
            let (field, expires_us) = (replies.next()?.bytes()?, replies.next()?.number()?);
            let value = match self.query.omit_values {
                true => None,
                false => Some(replies.next()?.bytes()?),
            };
            Ok(HashField { field, value, expires_us })
        })?;
        let next = replies.all(1, |replies| {
            Ok(FieldPosition {
                expires_us: replies.next()?.number()?,
                field: replies.next()?.bytes()?,
            })
        })?;
        Ok(FieldPage { fields, next: next.into_iter().next() })
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<FieldPage> {
        state.step(self.name.base(), context, |hash, now, _| {
            Ok(hash.page(self.query.after.as_ref(), self.limit, self.query.omit_values, now))
        })
    }
}
