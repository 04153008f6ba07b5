//! Reads replies in RESP 2, as they come, without ever waiting for a connection itself: blocking
//! and async connections use one reader.
//!
//! A general parser for streams of any shape took as long as the server on a batch of 1,000 members
//! (tests/bench/RESULTS.md, calls from C). A connection that asks for no other protocol gets these
//! five kinds of value and nothing else. The server is not trusted: what it says will come is only
//! allocated as it comes.

use std::{fmt, io};

use crate::step::Reply;

/// How much of the connection is read at once.
const BUFFER_BYTES: usize = 16 * 1024;

/// The longest line, which only an error's text can come near: the server cuts it off before.
const LINE_BYTES_MAX: usize = 64 * 1024;

/// The longest string: Redis stores no longer one by default, and every limit of ours is below it.
const BULK_BYTES_MAX: usize = 512 * 1024 * 1024;

/// How deep lists lie in lists: no script of ours goes beyond three.
const DEPTH_MAX: usize = 16;

/// The first byte of each kind of value.
const KINDS: &[u8] = b"+-:$*";

/// What a peer sent that speaks something else: how it begins.
#[derive(Debug)]
pub(super) struct NotResp(pub(super) Vec<u8>);

impl NotResp {
    const BYTES_MAX: usize = 16;
}

impl std::error::Error for NotResp {}

impl fmt::Display for NotResp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no reply begins with \"{}\"", self.0.escape_ascii())
    }
}

/// What has been read of a connection and not been used yet.
pub(super) struct ReplyReader {
    buffer: Vec<u8>,
    /// Where the unused part begins and ends.
    at: usize,
    end: usize,
    /// How much of the unused part has no end of a line in it.
    searched: usize,
    /// The string that has begun and has not ended.
    bulk: Option<Bulk>,
    /// The lists that have begun and have not ended, each in the one before.
    lists: Vec<List>,
}

struct Bulk {
    length: usize,
    /// What has arrived, and room for what comes next.
    bytes: Vec<u8>,
    arrived: usize,
}

struct List {
    missing: usize,
    elements: Vec<Reply>,
}

enum Token {
    Value(Reply),
    /// The beginning of a list of `n` elements.
    List(usize),
}

impl ReplyReader {
    pub(super) fn new() -> Self {
        let buffer = vec![0; BUFFER_BYTES];
        Self { buffer, at: 0, end: 0, searched: 0, bulk: None, lists: Vec::new() }
    }

    /// Whether everything that arrived has been used.
    pub(super) fn is_empty(&self) -> bool {
        self.at == self.end && self.bulk.is_none() && self.lists.is_empty()
    }

    /// The next reply, or `None` until more has arrived. After an error the connection is of no
    /// more use.
    ///
    /// # Errors
    /// `InvalidData` for what is not RESP 2, with [`NotResp`] if no reply begins like that.
    pub(super) fn next(&mut self) -> io::Result<Option<Reply>> {
        while let Some(token) = self.token()? {
            let mut reply = match token {
                Token::Value(value) => value,
                Token::List(0) => Reply::Array(Vec::new()),
                Token::List(_) if self.lists.len() == DEPTH_MAX => return Err(malformed()),
                Token::List(missing) => {
                    let elements = Vec::with_capacity(missing.min(BUFFER_BYTES));
                    self.lists.push(List { missing, elements });
                    continue;
                }
            };
            loop {
                let Some(list) = self.lists.last_mut() else { return Ok(Some(reply)) };
                list.elements.push(reply);
                list.missing -= 1;
                if list.missing > 0 {
                    break;
                }
                reply = Reply::Array(std::mem::take(&mut list.elements));
                self.lists.pop();
            }
        }
        Ok(None)
    }

    /// Where what the connection sends next has to be put; never empty. [`arrived`](Self::arrived)
    /// says how much it was.
    pub(super) fn space(&mut self) -> &mut [u8] {
        if let Some(bulk) = &mut self.bulk
            && bulk.is_direct()
        {
            if bulk.arrived == bulk.bytes.len() {
                let twice = (2 * bulk.arrived).max(BUFFER_BYTES);
                bulk.bytes.resize(twice.min(bulk.length), 0);
            }
            return &mut bulk.bytes[bulk.arrived..];
        }
        self.buffer.copy_within(self.at..self.end, 0);
        self.end -= std::mem::take(&mut self.at);
        if self.end == self.buffer.len() {
            self.buffer.resize(2 * self.end, 0);
        }
        &mut self.buffer[self.end..]
    }

    /// Says that `count` bytes were put into the [`space`](Self::space).
    pub(super) fn arrived(&mut self, count: usize) {
        match &mut self.bulk {
            Some(bulk) if bulk.is_direct() => bulk.arrived += count,
            _ => self.end += count,
        }
    }

    fn token(&mut self) -> io::Result<Option<Token>> {
        if self.bulk.is_some() {
            return Ok(self.bulk()?.map(Token::Value));
        }
        let Some((first, end)) = self.line()? else { return Ok(None) };
        let (kind, text) = self.buffer[first..end].split_first().ok_or_else(malformed)?;
        let value = match kind {
            b'+' => Reply::Bytes(text.to_vec()),
            b'-' => Reply::Error(String::from_utf8_lossy(text).into_owned()),
            b':' => Reply::Int(integer(text)?),
            b'$' => match length(text, BULK_BYTES_MAX)? {
                None => Reply::Nil,
                Some(length) => {
                    self.bulk = Some(Bulk { length, bytes: Vec::new(), arrived: 0 });
                    return Ok(self.bulk()?.map(Token::Value));
                }
            },
            b'*' => match length(text, u32::MAX as usize)? {
                None => Reply::Nil,
                Some(count) => return Ok(Some(Token::List(count))),
            },
            _ => return Err(malformed()),
        };
        Ok(Some(Token::Value(value)))
    }

    /// Where the next line begins and ends in the buffer, without its end mark.
    fn line(&mut self) -> io::Result<Option<(usize, usize)>> {
        let unused = &self.buffer[self.at..self.end];
        // At once: what is no reply may never have the end of a line.
        if unused.first().is_some_and(|first| !KINDS.contains(first)) {
            let begins = unused[..unused.len().min(NotResp::BYTES_MAX)].to_vec();
            return Err(io::Error::new(io::ErrorKind::InvalidData, NotResp(begins)));
        }
        let found = unused[self.searched..].iter().position(|byte| *byte == b'\r');
        self.searched = found.map_or(unused.len(), |found| self.searched + found);
        match unused.get(self.searched + 1) {
            Some(b'\n') => {
                let first = self.at;
                let end = first + std::mem::take(&mut self.searched);
                self.at = end + 2;
                Ok(Some((first, end)))
            }
            None if self.searched <= LINE_BYTES_MAX => Ok(None),
            _ => Err(malformed()),
        }
    }

    /// The string that has begun, once it and the end mark after it have arrived.
    fn bulk(&mut self) -> io::Result<Option<Reply>> {
        let Some(bulk) = &mut self.bulk else { return Ok(None) };
        let unused = &self.buffer[self.at..self.end];
        let count = unused.len().min(bulk.length - bulk.arrived);
        if count > 0 {
            bulk.bytes.truncate(bulk.arrived);
            bulk.bytes.extend_from_slice(&unused[..count]);
            bulk.arrived += count;
            self.at += count;
        }
        if bulk.arrived < bulk.length || self.end - self.at < 2 {
            return Ok(None);
        }
        if self.buffer[self.at..self.end].starts_with(b"\r\n") {
            self.at += 2;
            return Ok(self.bulk.take().map(|bulk| Reply::Bytes(bulk.bytes)));
        }
        Err(malformed())
    }
}

impl Bulk {
    /// Whether what comes next goes where it belongs without passing through the buffer.
    fn is_direct(&self) -> bool {
        self.length - self.arrived >= BUFFER_BYTES
    }
}

fn integer(text: &[u8]) -> io::Result<i64> {
    std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).ok_or_else(malformed)
}

/// A length, or nothing for the null.
fn length(text: &[u8], max: usize) -> io::Result<Option<usize>> {
    match integer(text)? {
        -1 => Ok(None),
        length => match usize::try_from(length) {
            Ok(length) if length <= max => Ok(Some(length)),
            _ => Err(malformed()),
        },
    }
}

fn malformed() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "not RESP 2")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads the replies of a text that arrives a few bytes at a time.
    fn read(mut text: &[u8], step: usize) -> io::Result<Vec<Reply>> {
        let mut reader = ReplyReader::new();
        let mut replies = Vec::new();
        loop {
            while let Some(reply) = reader.next()? {
                replies.push(reply);
            }
            if text.is_empty() {
                return Ok(replies);
            }
            let space = reader.space();
            let count = step.min(space.len()).min(text.len());
            let (now, later) = text.split_at(count);
            space[..count].copy_from_slice(now);
            reader.arrived(count);
            text = later;
        }
    }

    fn bytes(text: &[u8]) -> Reply {
        Reply::Bytes(text.to_vec())
    }

    #[test]
    fn reads_every_kind_however_it_arrives() {
        let long = vec![b'x'; 3 * BUFFER_BYTES + 5];
        let mut text = b"+OK\r\n-ERR no\r\n:-7\r\n$-1\r\n*-1\r\n$0\r\n\r\n$4\r\na\r\nb\r\n\
            *3\r\n:1\r\n*2\r\n$1\r\nm\r\n$3\r\n1.5\r\n*0\r\n"
            .to_vec();
        text.extend(format!("${}\r\n", long.len()).as_bytes());
        text.extend(&long);
        text.extend(b"\r\n+end\r\n");
        let expected = [
            bytes(b"OK"),
            Reply::Error("ERR no".to_owned()),
            Reply::Int(-7),
            Reply::Nil,
            Reply::Nil,
            bytes(b""),
            bytes(b"a\r\nb"),
            Reply::Array(vec![
                Reply::Int(1),
                Reply::Array(vec![bytes(b"m"), bytes(b"1.5")]),
                Reply::Array(vec![]),
            ]),
            bytes(&long),
            bytes(b"end"),
        ];
        for step in [1, 2, 3, 7, 1000, BUFFER_BYTES, usize::MAX] {
            assert_eq!(read(&text, step).unwrap(), expected, "{step} at a time");
        }
    }

    #[test]
    fn refuses_what_is_not_resp() {
        let deep = b"*1\r\n".repeat(DEPTH_MAX + 1);
        let endless = vec![b'-'; LINE_BYTES_MAX + 2 * BUFFER_BYTES];
        for text in [
            b"HTTP/1.1 400 Bad Request\r\n".as_slice(),
            b"\r\n",
            b":1x\r\n",
            b":1\rx",
            b"$-2\r\n",
            b"$536870913\r\n",
            b"$999999999999\r\n",
            b"$1\r\nab\r\n",
            b"*-2\r\n",
            b"*99999999999\r\n",
            &deep,
            &endless,
        ] {
            for step in [1, usize::MAX] {
                let error = read(text, step).unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{}", text.escape_ascii());
            }
        }
        assert_eq!(read(b"$5\r\nab", 1).unwrap(), []);
    }

    #[test]
    fn knows_what_is_left_over() {
        let mut reader = ReplyReader::new();
        for (text, is_empty) in [(":1\r\n", true), (":1\r\n:", false), ("2\r\n", true)] {
            reader.space()[..text.len()].copy_from_slice(text.as_bytes());
            reader.arrived(text.len());
            assert!(!reader.is_empty());
            assert!(matches!(reader.next(), Ok(Some(Reply::Int(_)))));
            assert_eq!(reader.is_empty(), is_empty, "{text}");
        }
    }

    #[test]
    fn what_a_server_announces_is_not_allocated_before_it_comes() {
        let mut reader = ReplyReader::new();
        for text in [b"*4294967295\r\n".as_slice(), b"*4294967295\r\n", b"$536870912\r\nx"] {
            reader.space()[..text.len()].copy_from_slice(text);
            reader.arrived(text.len());
            assert_eq!(reader.next().unwrap(), None);
        }
        assert!(reader.space().len() <= 2 * BUFFER_BYTES);
        let lists = reader.lists.iter().map(|list| list.elements.capacity());
        assert!(lists.max() <= Some(BUFFER_BYTES));
        assert!(reader.bulk.is_some_and(|bulk| bulk.bytes.capacity() <= 2 * BUFFER_BYTES));
    }
}
