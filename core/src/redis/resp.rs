//! Reads replies in RESP 2 from a blocking connection.
//!
//! redis-rs' parser is general and made for streams of any shape; on a batch of 1,000 members it
//! took as long as the server (tests/bench/RESULTS.md, calls from C). A connection that asks for
//! no other protocol gets these five kinds of value and nothing else.

use std::io::{self, Read};

use crate::reply::Reply;

/// How much of the connection is read at once.
const BUFFER_BYTES: usize = 16 * 1024;

/// The longest line, which only an error's text can come near: the server cuts it off before.
const LINE_BYTES_MAX: usize = 64 * 1024;

/// The longest string, Redis' own limit.
const BULK_BYTES_MAX: usize = 512 * 1024 * 1024;

/// How deep lists lie in lists: no script of ours goes beyond three.
const DEPTH_MAX: usize = 16;

/// What has been read of a connection and not been used yet.
pub(super) struct ReplyReader {
    buffer: Vec<u8>,
    /// Where the unused part begins and ends.
    at: usize,
    end: usize,
}

impl ReplyReader {
    pub(super) fn new() -> Self {
        Self { buffer: vec![0; BUFFER_BYTES], at: 0, end: 0 }
    }

    /// Reads one reply. After an error the connection is of no more use.
    ///
    /// # Errors
    /// Those of the connection, and `InvalidData` for what is not RESP 2.
    pub(super) fn read(&mut self, connection: &mut impl Read) -> io::Result<Reply> {
        self.reply(connection, DEPTH_MAX)
    }

    fn reply(&mut self, connection: &mut impl Read, depth: usize) -> io::Result<Reply> {
        let (first, end) = self.line(connection)?;
        let line = &self.buffer[first..end];
        let (kind, text) = line.split_first().ok_or_else(malformed)?;
        match kind {
            b'+' => Ok(Reply::Bytes(text.to_vec())),
            b'-' => Ok(Reply::Error(String::from_utf8_lossy(text).into_owned())),
            b':' => Ok(Reply::Int(integer(text)?)),
            b'$' => match length(text, BULK_BYTES_MAX)? {
                None => Ok(Reply::Nil),
                Some(length) => self.bulk(connection, length).map(Reply::Bytes),
            },
            b'*' => match length(text, u32::MAX as usize)? {
                None => Ok(Reply::Nil),
                Some(_) if depth == 0 => Err(malformed()),
                Some(count) => {
                    // What the server claims is believed as far as there is something behind it.
                    let mut elements = Vec::with_capacity(count.min(BUFFER_BYTES));
                    for _ in 0..count {
                        elements.push(self.reply(connection, depth - 1)?);
                    }
                    Ok(Reply::Array(elements))
                }
            },
            _ => Err(malformed()),
        }
    }

    /// Where the next line begins and ends in the buffer, without its end mark.
    fn line(&mut self, connection: &mut impl Read) -> io::Result<(usize, usize)> {
        let mut searched = 0;
        loop {
            let unused = self.unused();
            if let Some(found) = unused[searched..].iter().position(|byte| *byte == b'\r') {
                let end = self.at + searched + found;
                if let Some(next) = unused.get(searched + found + 1) {
                    if *next != b'\n' {
                        return Err(malformed());
                    }
                    let first = std::mem::replace(&mut self.at, end + 2);
                    return Ok((first, end));
                }
                searched += found;
            } else {
                searched = unused.len();
            }
            if searched > LINE_BYTES_MAX {
                return Err(malformed());
            }
            self.fill(connection)?;
        }
    }

    /// A string of this length, and the end mark after it.
    fn bulk(&mut self, connection: &mut impl Read, length: usize) -> io::Result<Vec<u8>> {
        let unused = self.unused();
        let bytes = if let Some(bytes) = unused.get(..length) {
            let bytes = bytes.to_vec();
            self.at += length;
            bytes
        } else {
            // A long string goes where it belongs without passing through the buffer.
            let mut bytes = unused.to_vec();
            self.at = self.end;
            let missing = (length - bytes.len()) as u64;
            connection.by_ref().take(missing).read_to_end(&mut bytes)?;
            if bytes.len() < length {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            bytes
        };
        while self.unused().len() < 2 {
            self.fill(connection)?;
        }
        if !self.unused().starts_with(b"\r\n") {
            return Err(malformed());
        }
        self.at += 2;
        Ok(bytes)
    }

    fn unused(&self) -> &[u8] {
        &self.buffer[self.at..self.end]
    }

    /// Reads more, behind what is unused.
    fn fill(&mut self, connection: &mut impl Read) -> io::Result<()> {
        self.buffer.copy_within(self.at..self.end, 0);
        self.end -= std::mem::take(&mut self.at);
        if self.end == self.buffer.len() {
            self.buffer.resize(2 * self.end, 0);
        }
        match connection.read(&mut self.buffer[self.end..])? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            count => {
                self.end += count;
                Ok(())
            }
        }
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

    /// A connection that gives a few bytes at a time.
    struct Trickle<'a>(&'a [u8], usize);

    impl Read for Trickle<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(buffer.len()).min(self.0.len());
            let (now, later) = self.0.split_at(count);
            buffer[..count].copy_from_slice(now);
            self.0 = later;
            Ok(count)
        }
    }

    fn bytes(text: &[u8]) -> Reply {
        Reply::Bytes(text.to_vec())
    }

    #[test]
    fn reads_every_kind_however_it_arrives() {
        let long = vec![b'x'; 3 * BUFFER_BYTES];
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
        for step in [1, 2, 3, 7, 1000, usize::MAX] {
            let mut connection = Trickle(&text, step);
            let mut reader = ReplyReader::new();
            for expected in &expected {
                assert_eq!(reader.read(&mut connection).unwrap(), *expected, "{step} at a time");
            }
            let end = reader.read(&mut connection).unwrap_err();
            assert_eq!(end.kind(), io::ErrorKind::UnexpectedEof);
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
            b"$999999999999\r\n",
            b"$1\r\nab\r\n",
            b"*99999999999\r\n",
            &deep,
            &endless,
        ] {
            let error = ReplyReader::new().read(&mut &*text).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{}", text.escape_ascii());
        }
        let cut = ReplyReader::new().read(&mut b"$5\r\nab".as_slice()).unwrap_err();
        assert_eq!(cut.kind(), io::ErrorKind::UnexpectedEof);
    }
}
