//! A list of byte strings in one buffer.

/// A list of byte strings in one buffer: one allocation for any number of strings.
///
/// ```
/// let members: millpond::step::ByteList = ["a", "bc"].into_iter().collect();
/// assert_eq!(members.iter().collect::<Vec<_>>(), [b"a".as_slice(), b"bc"]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ByteList {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl ByteList {
    /// An empty list with room for `strings` strings of `bytes` bytes in all.
    pub fn with_capacity(strings: usize, bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes), ends: Vec::with_capacity(strings) }
    }

    /// Appends a string.
    pub fn push(&mut self, string: &[u8]) {
        self.push_with(|bytes| bytes.extend_from_slice(string));
    }

    /// Appends one string that `write` prints.
    pub(crate) fn push_with(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.bytes);
        self.ends.push(self.bytes.len());
    }

    /// Appends a number in digits.
    pub(crate) fn push_number(&mut self, number: u64) {
        self.push(itoa::Buffer::new().format(number).as_bytes());
    }

    /// Appends all strings of another list.
    pub(crate) fn append(&mut self, other: &ByteList) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&other.bytes);
        self.ends.extend(other.ends.iter().map(|end| start + end));
    }

    /// How many strings there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// How many bytes all strings have together.
    pub fn total_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The strings, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.ends.len()).map(|i| {
            let start = if i == 0 { 0 } else { self.ends[i - 1] };
            &self.bytes[start..self.ends[i]]
        })
    }
}

impl<S: AsRef<[u8]>> FromIterator<S> for ByteList {
    fn from_iter<I: IntoIterator<Item = S>>(strings: I) -> Self {
        let mut list = ByteList::default();
        for string in strings {
            list.push(string.as_ref());
        }
        list
    }
}
