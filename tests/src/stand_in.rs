//! A server that says some things itself and passes everything else on to a real one, for what no real
//! server can be brought to say at will.

use std::io::{self, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::servers::{Connection, Reply};

/// What becomes of a command.
#[derive(Clone, Debug)]
pub enum Answer {
    /// The real server gets it, and its reply is passed on.
    PassOn,
    /// This is said, as it stands.
    Say(String),
    /// This is said, as it stands, and the connection ends.
    End(String),
}

impl Answer {
    /// An error: its code and its text.
    #[must_use]
    pub fn error(text: &str) -> Self {
        Self::Say(format!("-{text}\r\n"))
    }

    /// The reply to CLUSTER SLOTS of a cluster with these ranges, each with its server.
    #[must_use]
    pub fn slots(ranges: &[(u16, u16, &str, u16)]) -> Self {
        let mut said = format!("*{}\r\n", ranges.len());
        for (first, last, host, port) in ranges {
            let server = format!("*2\r\n${}\r\n{host}\r\n:{port}\r\n", host.len());
            said += &format!("*3\r\n:{first}\r\n:{last}\r\n{server}");
        }
        Self::Say(said)
    }

    /// The reply of a sentinel that names the server on this port of the loopback.
    #[must_use]
    pub fn master(port: u16) -> Self {
        let port = port.to_string();
        Self::Say(format!("*2\r\n$9\r\n127.0.0.1\r\n${}\r\n{port}\r\n", port.len()))
    }
}

/// A server on a free port, until the process ends.
pub struct StandIn {
    port: u16,
    shared: Arc<Shared>,
}

/// What becomes of a command, given its words.
type Answers = dyn Fn(&[String]) -> Answer + Send + Sync;

struct Shared {
    real: u16,
    answer: Box<Answers>,
    commands: Mutex<Vec<String>>,
    accepted: AtomicUsize,
    open: AtomicUsize,
}

impl StandIn {
    /// Stands in for the server on this port of the loopback: this says what becomes of a command, given its
    /// words.
    #[must_use]
    pub fn start(real: u16, answer: impl Fn(&[String]) -> Answer + Send + Sync + 'static) -> Self {
        Self::start_at("127.0.0.1", real, answer)
    }

    /// The same at another address of the loopback.
    ///
    /// # Panics
    ///
    /// When there is no such address.
    #[must_use]
    pub fn start_at(
        host: &str,
        real: u16,
        answer: impl Fn(&[String]) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind((host, 0)).expect("there is a free port");
        let port = listener.local_addr().expect("it is bound").port();
        let shared = Arc::new(Shared {
            real,
            answer: Box::new(answer),
            commands: Mutex::default(),
            accepted: AtomicUsize::new(0),
            open: AtomicUsize::new(0),
        });
        let accepting = shared.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let shared = accepting.clone();
                shared.accepted.fetch_add(1, Ordering::SeqCst);
                shared.open.fetch_add(1, Ordering::SeqCst);
                std::thread::spawn(move || {
                    // It ends with the client, or as the answer says.
                    let _ = shared.serve(client);
                    shared.open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Self { port, shared }
    }

    /// The port that it listens on.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// How many commands of this name it was sent.
    #[must_use]
    pub fn asked(&self, name: &str) -> usize {
        let commands = self.shared.commands.lock().unwrap_or_else(PoisonError::into_inner);
        commands.iter().filter(|command| command.eq_ignore_ascii_case(name)).count()
    }

    /// How many connections it had.
    #[must_use]
    pub fn accepted(&self) -> usize {
        self.shared.accepted.load(Ordering::SeqCst)
    }

    /// How many connections it has.
    #[must_use]
    pub fn open(&self) -> usize {
        self.shared.open.load(Ordering::SeqCst)
    }
}

impl Shared {
    fn serve(&self, client: TcpStream) -> io::Result<()> {
        let mut real = Connection::new(TcpStream::connect(("127.0.0.1", self.real))?);
        let mut requests = Connection::new(client.try_clone()?);
        loop {
            // A command is a list of byte strings, as a reply may be.
            let command = requests.read()?;
            let words: Vec<&[u8]> = command.array().iter().map(Reply::bytes).collect();
            let text: Vec<_> =
                words.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect();
            let name = text.first().cloned().unwrap_or_default();
            self.commands.lock().unwrap_or_else(PoisonError::into_inner).push(name);
            match (self.answer)(&text) {
                Answer::PassOn => (&client).write_all(&real.call(&words)?.packed())?,
                Answer::Say(said) => (&client).write_all(said.as_bytes())?,
                Answer::End(said) => {
                    (&client).write_all(said.as_bytes())?;
                    return client.shutdown(std::net::Shutdown::Both);
                }
            }
        }
    }
}
