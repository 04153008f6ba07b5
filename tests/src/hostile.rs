//! Peers that keep a caller waiting without ever hanging up.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

/// How long a peer that trickles waits between two bytes: short enough to begin any time limit
/// for one read anew.
pub const TRICKLE: Duration = Duration::from_millis(100);

/// Where a hostile peer begins to trickle: one byte each [`TRICKLE`], without an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// In its reply to AUTH.
    Handshake,
    /// In the reply of a sentinel.
    Sentinel,
    /// In the reply of the master that a sentinel named, to the query for its role.
    Role,
    /// In a cluster server's reply to the query for the slots.
    Slots,
    /// In the handshake of TLS.
    Tls,
    /// In the reply to a step.
    Reply,
    /// Nowhere: it reads nothing, so that a client that writes more than the buffers hold waits
    /// as well.
    Deaf,
}

impl Phase {
    /// Every phase.
    pub const ALL: [Self; 7] = [
        Self::Handshake,
        Self::Sentinel,
        Self::Role,
        Self::Slots,
        Self::Tls,
        Self::Reply,
        Self::Deaf,
    ];

    /// The name of the phase, in lower case.
    #[must_use]
    pub fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }
}

/// A hostile peer on a free port of the loopback, until the process ends. Before its phase it
/// replies like a server.
#[derive(Clone, Copy, Debug)]
pub struct Hostile {
    phase: Phase,
    port: u16,
}

impl Hostile {
    /// Starts a peer.
    #[must_use]
    pub fn start(phase: Phase) -> Self {
        Self { phase, port: listen(move |port, client| serve(phase, port, client)) }
    }

    /// The port that it listens on.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// A URL that leads into the phase. Where several addresses could be used, all are this
    /// peer's.
    #[must_use]
    pub fn url(&self) -> String {
        let host = format!("127.0.0.1:{}", self.port);
        match self.phase {
            Phase::Handshake => format!("redis://:password@{host}"),
            Phase::Sentinel | Phase::Role => {
                format!("redis+sentinel://{host},{host},{host}/mymaster")
            }
            Phase::Slots => format!("redis+cluster://{host},{host},{host}"),
            Phase::Tls => format!("rediss://{host}"),
            Phase::Reply | Phase::Deaf => format!("redis://{host}"),
        }
    }
}

/// A sentinel that is none, and quick: it names the server on this port of the loopback as the
/// master.
#[must_use]
pub fn start_sentinel_of(master: u16) -> u16 {
    listen(move |_, client| serve(Phase::Reply, master, client))
}

fn listen(serve: impl Fn(u16, TcpStream) + Clone + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
    let port = listener.local_addr().expect("it is bound").port();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let serve = serve.clone();
            std::thread::spawn(move || serve(port, client));
        }
    });
    port
}

/// Replies to commands until the phase comes. `master` is the port of the server that it says
/// there is.
fn serve(phase: Phase, master: u16, client: TcpStream) {
    let Ok(mut requests) = client.try_clone().map(BufReader::new) else { return };
    match phase {
        // The head of the longest record that there is.
        Phase::Tls => return trickle(client, b"\x16\x03\x03\x40\x00"),
        Phase::Deaf => loop {
            std::thread::park();
        },
        _ => {}
    }
    let port = master.to_string();
    let host = format!("$9\r\n127.0.0.1\r\n${}\r\n{port}\r\n", port.len());
    while let Some(command) = read_command(&mut requests) {
        let (now, reply) = match command.as_str() {
            "AUTH" => (Phase::Handshake, "+OK\r\n".to_owned()),
            "PING" => (Phase::Handshake, "+PONG\r\n".to_owned()),
            "SENTINEL" => (Phase::Sentinel, format!("*2\r\n{host}")),
            "ROLE" => (Phase::Role, "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n".to_owned()),
            "CLUSTER" => {
                let node = format!("*2\r\n$9\r\n127.0.0.1\r\n:{port}\r\n");
                (Phase::Slots, format!("*1\r\n*3\r\n:0\r\n:16383\r\n{node}"))
            }
            _ => (Phase::Reply, String::new()),
        };
        if now == phase {
            return trickle(client, b"$1000000\r\n");
        }
        if (&client).write_all(reply.as_bytes()).is_err() {
            return;
        }
    }
}

/// Sends the beginning of something that has no end.
fn trickle(mut client: TcpStream, beginning: &[u8]) {
    for byte in beginning.iter().copied().chain(std::iter::repeat(b'x')) {
        if client.write_all(&[byte]).is_err() {
            return;
        }
        std::thread::sleep(TRICKLE);
    }
}

/// Reads a command and returns its name.
fn read_command(requests: &mut impl BufRead) -> Option<String> {
    let words = read_number(requests, '*')?;
    let mut name = None;
    for _ in 0..words {
        let length = read_number(requests, '$')?;
        let mut word = vec![0; length + 2];
        requests.read_exact(&mut word).ok()?;
        word.truncate(length);
        name.get_or_insert(String::from_utf8_lossy(&word).into_owned());
    }
    name
}

fn read_number(requests: &mut impl BufRead, kind: char) -> Option<usize> {
    let mut line = String::new();
    requests.read_line(&mut line).ok()?;
    line.trim_end().strip_prefix(kind)?.parse().ok()
}
