use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;

/// A server's reply, in the five types of RESP2.
#[derive(Clone, PartialEq, Eq)]
pub enum Reply {
    /// A missing value: both the null bulk string and the null array.
    Nil,
    /// A whole number.
    Integer(i64),
    /// A short text such as `OK`.
    Status(String),
    /// A byte string.
    Bulk(Vec<u8>),
    /// A list of replies.
    Array(Vec<Reply>),
    /// An error of the server, its code first: `MOVED 42 127.0.0.1:12000`.
    Error(String),
}

impl Reply {
    /// The number in this reply, whether sent as a number or as text.
    ///
    /// # Panics
    ///
    /// When there is none.
    #[must_use]
    pub fn integer(&self) -> i64 {
        let parsed = match self {
            Self::Integer(number) => Some(*number),
            Self::Bulk(_) | Self::Status(_) => self.text().parse().ok(),
            _ => None,
        };
        parsed.unwrap_or_else(|| panic!("expected a number, not {self:?}"))
    }

    /// The text of a status or byte string; bytes that are not UTF-8 are replaced.
    ///
    /// # Panics
    ///
    /// When the reply is neither.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Status(text) => text.clone(),
            Self::Bulk(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            _ => panic!("expected a text, not {self:?}"),
        }
    }

    /// The bytes of a byte string.
    ///
    /// # Panics
    ///
    /// When the reply is something else.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Bulk(bytes) => bytes,
            _ => panic!("expected a byte string, not {self:?}"),
        }
    }

    /// The items of a list.
    ///
    /// # Panics
    ///
    /// When the reply is something else.
    #[must_use]
    pub fn array(&self) -> &[Self] {
        match self {
            Self::Array(items) => items,
            _ => panic!("expected a list, not {self:?}"),
        }
    }

    /// The reply as a server sends it.
    #[must_use]
    pub fn packed(&self) -> Vec<u8> {
        match self {
            Self::Nil => b"$-1\r\n".to_vec(),
            Self::Integer(number) => format!(":{number}\r\n").into_bytes(),
            Self::Status(text) => format!("+{text}\r\n").into_bytes(),
            Self::Error(text) => format!("-{text}\r\n").into_bytes(),
            Self::Bulk(bytes) => {
                let head = format!("${}\r\n", bytes.len());
                [head.as_bytes(), bytes, b"\r\n"].concat()
            }
            Self::Array(items) => {
                let head = format!("*{}\r\n", items.len()).into_bytes();
                items.iter().fold(head, |packed, item| [packed, item.packed()].concat())
            }
        }
    }

    /// Whether this is the status `OK`.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        matches!(self, Self::Status(status) if status == "OK")
    }

    /// The text of an error reply, or `None` for everything else.
    #[must_use]
    pub fn error(&self) -> Option<&str> {
        match self {
            Self::Error(message) => Some(message),
            _ => None,
        }
    }
}

/// Shows byte strings as text, which is what a failed assertion is read for.
impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nil => f.write_str("Nil"),
            Self::Integer(number) => write!(f, "Integer({number})"),
            Self::Status(status) => write!(f, "Status({status:?})"),
            Self::Bulk(bytes) => write!(f, "Bulk(b\"{}\")", bytes.escape_ascii()),
            Self::Array(items) => f.debug_tuple("Array").field(items).finish(),
            Self::Error(message) => write!(f, "Error({message:?})"),
        }
    }
}

/// A connection that writes a command and reads its reply, and knows nothing else.
///
/// Checks of raw state go through it so that they do not trust the library that they check.
#[derive(Debug)]
pub struct Connection<S = UnixStream> {
    stream: BufReader<S>,
}

impl<S: Read + Write> Connection<S> {
    /// Speaks RESP over `stream`.
    pub fn new(stream: S) -> Self {
        Self { stream: BufReader::new(stream) }
    }

    /// Sends one command and reads one reply; an error reply is a [`Reply::Error`].
    ///
    /// # Errors
    ///
    /// When the connection breaks or times out; the command may or may not have run.
    pub fn call<A: AsRef<[u8]>>(&mut self, command: &[A]) -> io::Result<Reply> {
        let mut request = format!("*{}\r\n", command.len()).into_bytes();
        for argument in command.iter().map(AsRef::as_ref) {
            request.extend_from_slice(format!("${}\r\n", argument.len()).as_bytes());
            request.extend_from_slice(argument);
            request.extend_from_slice(b"\r\n");
        }
        let stream = self.stream.get_mut();
        stream.write_all(&request)?;
        stream.flush()?;
        self.read()
    }

    /// Reads one more reply, for what a server sends unasked to a subscriber.
    ///
    /// # Errors
    ///
    /// When the connection breaks or times out.
    pub fn read(&mut self) -> io::Result<Reply> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        let Some(line) = line.strip_suffix("\r\n") else {
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        let (kind, rest) = line.split_at_checked(1).ok_or(io::ErrorKind::InvalidData)?;
        match kind {
            "+" => Ok(Reply::Status(rest.to_owned())),
            "-" => Ok(Reply::Error(rest.to_owned())),
            ":" => number(rest).map(Reply::Integer),
            "$" => self.read_bulk(number(rest)?),
            "*" => self.read_array(number(rest)?),
            _ => Err(io::Error::new(io::ErrorKind::InvalidData, line.to_owned())),
        }
    }

    fn read_bulk(&mut self, length: i64) -> io::Result<Reply> {
        let Ok(length) = usize::try_from(length) else { return Ok(Reply::Nil) };
        let mut bytes = vec![0; length + 2];
        self.stream.read_exact(&mut bytes)?;
        bytes.truncate(length);
        Ok(Reply::Bulk(bytes))
    }

    fn read_array(&mut self, length: i64) -> io::Result<Reply> {
        let Ok(length) = usize::try_from(length) else { return Ok(Reply::Nil) };
        (0..length).map(|_| self.read()).collect::<io::Result<_>>().map(Reply::Array)
    }
}

fn number(text: &str) -> io::Result<i64> {
    text.parse().map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}
