//! Headers: names and bytes that accompany a value.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result, ensure, invalid};
use crate::step::check_not_reserved;

/// The most headers of a task or an event.
pub const HEADERS_MAX: usize = 64;

/// The most bytes of the names and values of all headers in total.
pub const HEADERS_BYTES_MAX: usize = 16 << 10;

/// Headers: unique names with byte values, sorted by name. For data that travels with a task or an event but is not
/// part of its value, such as a trace context.
///
/// ```
/// use millpond::tasks::Headers;
///
/// let headers = Headers::new([("traceparent", "00-4bf9-00f0-01"), ("tenant", "7")])?;
/// assert_eq!(headers.get("tenant"), Some(b"7".as_slice()));
/// assert_eq!(headers.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["tenant", "traceparent"]);
/// # Ok::<(), millpond::Error>(())
/// ```
// Packed, as they are stored and sent; `None` for no headers.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Headers(Option<Arc<[u8]>>);

impl Headers {
    /// No headers.
    pub const NONE: Self = Self(None);

    /// These headers; if a name occurs several times, the last one counts.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for names that are empty, not UTF-8 or begin with `millpond:`, and for more than [`HEADERS_MAX`] headers or
    /// [`HEADERS_BYTES_MAX`].
    pub fn new<N: AsRef<[u8]>, V: AsRef<[u8]>>(
        headers: impl IntoIterator<Item = (N, V)>,
    ) -> Result<Self> {
        let (mut all, mut bytes) = (BTreeMap::new(), 0);
        for (name, value) in headers {
            let (name, value) = (name.as_ref(), value.as_ref());
            ensure!(!name.is_empty(), "a header's name is empty");
            ensure!(std::str::from_utf8(name).is_ok(), "a header's name is no UTF-8");
            check_not_reserved("a header's name", name)?;
            bytes += name.len() + value.len();
            if let Some(replaced) = all.insert(name.to_vec(), value.to_vec()) {
                bytes -= name.len() + replaced.len();
            }
            ensure!(all.len() <= HEADERS_MAX, "up to {HEADERS_MAX} headers are allowed");
            ensure!(
                bytes <= HEADERS_BYTES_MAX,
                "the headers have {bytes} bytes; {HEADERS_BYTES_MAX} are allowed"
            );
        }
        let mut packed = Vec::with_capacity(bytes + 4 * all.len());
        for part in all.iter().flat_map(|(name, value)| [name, value]) {
            packed.extend_from_slice(&(part.len() as u16).to_be_bytes());
            packed.extend_from_slice(part);
        }
        Ok(Self((!packed.is_empty()).then(|| packed.into())))
    }

    /// The value of the header with this name.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// All headers, by name.
    pub fn iter(&self) -> Iter<'_> {
        Iter(self.packed())
    }

    /// How many headers there are.
    pub fn len(&self) -> usize {
        self.iter().count()
    }

    /// Whether there are no headers.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// All headers as one byte string, as they are stored: each name and then its value, each preceded by its length
    /// in two bytes, high byte first. Empty for no headers.
    pub fn packed(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }

    /// Headers in the form of [`packed`](Self::packed), in any order.
    ///
    /// # Errors
    /// As [`new`](Self::new); also `INVALID_ARGUMENT` for bytes that do not have this form.
    pub fn of_packed(packed: &[u8]) -> Result<Self> {
        let mut pairs = Pairs(packed);
        let headers = Self::new(&mut pairs)?;
        if pairs.0.is_empty() { Ok(headers) } else { Err(invalid("the headers are cut off")) }
    }

    /// Headers that were packed before.
    pub(crate) fn of_stored(packed: &[u8]) -> Result<Self> {
        let mut pairs = Pairs(packed);
        let are_texts = pairs.all(|(name, _)| std::str::from_utf8(name).is_ok());
        match are_texts && pairs.0.is_empty() {
            true => Ok(Self((!packed.is_empty()).then(|| packed.into()))),
            false => Err(Error::new(ErrorKind::Corrupt, "the headers do not decode")),
        }
    }
}

/// Names and values as they are packed, up to the first that is incomplete.
struct Pairs<'a>(&'a [u8]);

impl<'a> Iterator for Pairs<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let part = |from: &'a [u8]| {
            let (length, rest) = from.split_first_chunk()?;
            rest.split_at_checked(u16::from_be_bytes(*length).into())
        };
        let (name, rest) = part(self.0)?;
        let (value, rest) = part(rest)?;
        self.0 = rest;
        Some((name, value))
    }
}

/// Headers, by name.
#[derive(Clone, Debug)]
pub struct Iter<'a>(&'a [u8]);

impl<'a> Iterator for Iter<'a> {
    type Item = (&'a str, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let mut pairs = Pairs(self.0);
        let (name, value) = pairs.next()?;
        self.0 = pairs.0;
        Some((std::str::from_utf8(name).expect("the names of headers are texts"), value))
    }
}

impl<'a> IntoIterator for &'a Headers {
    type Item = (&'a str, &'a [u8]);
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

/// The names alone: values may be secret.
impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(|(name, _)| name)).finish()
    }
}

/// Headers that a caller gave, or what is wrong with them, which the step that uses them reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Given(Result<Headers, Arc<str>>);

impl Given {
    pub(crate) const NONE: Self = Self(Ok(Headers::NONE));

    pub(crate) fn new<N: AsRef<[u8]>, V: AsRef<[u8]>>(
        headers: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        Self(Headers::new(headers).map_err(|error| error.message().into()))
    }

    /// These headers and one more, which replaces one with the same name.
    pub(crate) fn with(&self, name: &[u8], value: &[u8]) -> Self {
        match &self.0 {
            Ok(headers) => {
                let all = headers.iter().map(|(name, value)| (name.as_bytes(), value));
                Self::new(all.chain([(name, value)]))
            }
            Err(_) => self.clone(),
        }
    }

    pub(crate) fn check(&self) -> Result<()> {
        self.0.as_ref().map(drop).map_err(|message| invalid(&**message))
    }

    /// The headers, which were [checked](Self::check).
    pub(crate) fn headers(&self) -> &Headers {
        self.0.as_ref().unwrap_or(&Headers::NONE)
    }
}
