//! Frames: the unit of a group commit. A header with a checksum, then records.

use crc32c::{crc32c, crc32c_append};

/// Bytes of a frame before its body.
pub(super) const HEADER_BYTES: usize = 44;

/// A frame is closed once its body has this many bytes, so that recovery needs no more memory
/// than this and one record. A larger record has a frame to itself.
pub(super) const BODY_BYTES: usize = 1 << 20;

/// A buffer that has grown beyond this is given back after it was written.
const SPARE_BYTES_MAX: usize = 4 << 20;

/// Eight random bytes from the head of the file that begin each of its frames, so that a payload
/// which holds a copy of a journal cannot pass for a frame of this one.
pub(super) type Mark = [u8; 8];

/// The fixed part of a frame; `README.md` has the layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// The sequence of the first record; of a marker, that of the next record to come.
    pub(super) first: u64,
    /// How many bytes of this file were known to be on disk when the frame was written.
    pub(super) durable: u64,
    /// Bytes of the body.
    pub(super) length: u64,
    /// Records in the body; none makes it a marker: nothing was unfinished at this place.
    pub(super) count: u32,
    pub(super) body_crc: u32,
}

impl Header {
    pub(super) fn encode(&self, mark: Mark) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[0..8].copy_from_slice(&mark);
        bytes[8..16].copy_from_slice(&self.first.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.durable.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.length.to_le_bytes());
        bytes[32..36].copy_from_slice(&self.count.to_le_bytes());
        bytes[36..40].copy_from_slice(&self.body_crc.to_le_bytes());
        put_crc(&mut bytes);
        bytes
    }

    /// The header, if these bytes are one of the file with this mark. It has a checksum of its
    /// own, so that a damaged length is noticed before it is believed.
    pub(super) fn decode(mark: Mark, bytes: &[u8; HEADER_BYTES]) -> Option<Self> {
        if bytes[0..8] != mark || !is_crc_right(bytes) {
            return None;
        }
        Some(Self {
            first: u64_at(bytes, 8),
            durable: u64_at(bytes, 16),
            length: u64_at(bytes, 24),
            count: u32_at(bytes, 32),
            body_crc: u32_at(bytes, 36),
        })
    }

    pub(super) fn is_marker(&self) -> bool {
        self.count == 0
    }
}

/// Ends bytes with the checksum of those before it.
pub(super) fn put_crc(bytes: &mut [u8]) {
    let (content, crc) = bytes.split_at_mut(bytes.len() - 4);
    crc.copy_from_slice(&crc32c(content).to_le_bytes());
}

pub(super) fn is_crc_right(bytes: &[u8]) -> bool {
    let (content, crc) = bytes.split_at(bytes.len() - 4);
    u32_at(crc, 0) == crc32c(content)
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("a range of four has four bytes"))
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("a range of eight has eight bytes"))
}

/// Records that wait to be written: frames whose headers are still blank.
#[derive(Default)]
pub(super) struct FrameBuffer {
    bytes: Vec<u8>,
    frames: Vec<Open>,
}

/// A frame under construction.
struct Open {
    at: usize,
    first: u64,
    count: u32,
}

impl FrameBuffer {
    pub(super) fn push(&mut self, sequence: u64, record: &[u8]) {
        let full = |frame: &Open| self.bytes.len() - frame.at - HEADER_BYTES >= BODY_BYTES;
        if self.frames.last().is_none_or(full) {
            self.begin(sequence);
        }
        push_length(&mut self.bytes, record.len() as u64);
        self.bytes.extend_from_slice(record);
        self.frames.last_mut().expect("a frame was begun above").count += 1;
    }

    /// A frame without records, which says that the file is complete up to here.
    pub(super) fn push_marker(&mut self, next: u64, body: &[u8]) {
        self.begin(next);
        self.bytes.extend_from_slice(body);
    }

    fn begin(&mut self, first: u64) {
        self.frames.push(Open { at: self.bytes.len(), first, count: 0 });
        self.bytes.extend_from_slice(&[0; HEADER_BYTES]);
    }

    /// Fills in the headers and gives the bytes to write. Checksums are taken here, by the
    /// writer, and not in `push`, which runs under a queue's lock.
    pub(super) fn seal(&mut self, mark: Mark, durable: u64) -> &[u8] {
        for (index, frame) in self.frames.iter().enumerate() {
            let end = self.frames.get(index + 1).map_or(self.bytes.len(), |next| next.at);
            let body = frame.at + HEADER_BYTES;
            let header = Header {
                first: frame.first,
                durable,
                length: (end - body) as u64,
                count: frame.count,
                body_crc: body_crc(&self.bytes[body..end]),
            };
            self.bytes[frame.at..body].copy_from_slice(&header.encode(mark));
        }
        &self.bytes
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Empties it and keeps the memory for the next, unless that is a lot.
    pub(super) fn reset(&mut self) {
        self.frames.clear();
        self.bytes.clear();
        self.bytes.shrink_to(SPARE_BYTES_MAX);
    }
}

/// The checksum of a body. It starts from a constant, so that it never is the plain checksum
/// that the caller may have put into a record.
pub(super) fn body_crc(body: &[u8]) -> u32 {
    crc32c_append(0x6d70_6a31, body)
}

/// The records of a body that passed its checksum, none of a marker's; `None` for one that does not
/// hold `count`. The count is not believed, and no memory taken for it: a checksum proves no intent.
pub(super) fn records<'a>(
    header: &Header,
    body: &'a [u8],
) -> Option<impl Iterator<Item = &'a [u8]> + use<'a>> {
    let body = if header.is_marker() { &[][..] } else { body };
    let mut rest = body;
    for _ in 0..header.count {
        (_, rest) = split_record(rest)?;
    }
    let records = std::iter::successors(split_record(body), |(_, rest)| split_record(rest));
    rest.is_empty().then(|| records.map(|(record, _)| record))
}

/// The first record of a body, and what follows it.
fn split_record(body: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, start) = read_length(body)?;
    body[start..].split_at_checked(usize::try_from(length).ok()?)
}

/// Seven bits a byte, lowest first: a small record pays one byte for its length.
fn push_length(bytes: &mut Vec<u8>, mut length: u64) {
    while length >= 0x80 {
        bytes.push(length as u8 | 0x80);
        length >>= 7;
    }
    bytes.push(length as u8);
}

/// A length, and how many bytes it takes.
fn read_length(body: &[u8]) -> Option<(u64, usize)> {
    let (mut length, mut at) = (0_u64, 0);
    for shift in (0..64).step_by(7) {
        let byte = *body.get(at)?;
        at += 1;
        length |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some((length, at));
        }
    }
    None
}
