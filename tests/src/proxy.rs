//! A bad connection on demand: a proxy that loses replies, sends them twice, or passes them on one byte at
//! a time.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicUsize, Ordering};

use crate::hostile::TRICKLE;

/// Sits in front of a server and forwards everything, until it has to lose a reply.
pub struct Proxy {
    port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    /// The port that new connections go to.
    server: AtomicU16,
    /// Whether the next reply is sent twice.
    double: AtomicBool,
    /// How many replies until one is lost, that one too; 0 for none.
    swallow: AtomicUsize,
    /// Connections that were accepted before this number forward nothing any more.
    dead_before: AtomicUsize,
    accepted: AtomicUsize,
    swallowed: AtomicUsize,
    trickle: AtomicBool,
}

impl Proxy {
    /// A proxy on a free port of the loopback, before the server on this port of it.
    #[must_use]
    pub fn start(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
        let port = listener.local_addr().expect("it is bound").port();
        let shared = Arc::new(Shared {
            server: AtomicU16::new(server),
            double: AtomicBool::new(false),
            swallow: AtomicUsize::new(0),
            dead_before: AtomicUsize::new(0),
            accepted: AtomicUsize::new(0),
            swallowed: AtomicUsize::new(0),
            trickle: AtomicBool::new(false),
        });
        let accepting = shared.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let shared = accepting.clone();
                std::thread::spawn(move || shared.serve(client));
            }
        });
        Self { port, shared }
    }

    /// The port that it listens on.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The address of the server by way of the proxy.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Loses the next reply: the server gets the request and does it, and then the client's
    /// connection breaks.
    pub fn lose_next_reply(&self) {
        self.lose_reply(1);
    }

    /// The same with the reply of this number from now on, from 1. Replies that come at once are one.
    pub fn lose_reply(&self, number: usize) {
        self.shared.swallow.store(number, Ordering::SeqCst);
    }

    /// Makes every connection that there is a half-open one: nothing comes through any more, and
    /// neither side closes it. New connections work.
    pub fn strand_connections(&self) {
        let accepted = self.shared.accepted.load(Ordering::SeqCst);
        self.shared.dead_before.store(accepted, Ordering::SeqCst);
    }

    /// Sends new connections to the server on this port from now on; old ones stay where they are.
    pub fn lead_to(&self, server: u16) {
        self.shared.server.store(server, Ordering::SeqCst);
    }

    /// Sends the next reply twice.
    pub fn double_next_reply(&self) {
        self.shared.double.store(true, Ordering::SeqCst);
    }

    /// Forwards replies one byte each [`TRICKLE`] from now on.
    pub fn trickle_replies(&self) {
        self.shared.trickle.store(true, Ordering::SeqCst);
    }

    /// How many replies were lost.
    #[must_use]
    pub fn swallowed(&self) -> usize {
        self.shared.swallowed.load(Ordering::SeqCst)
    }
}

impl Shared {
    fn serve(self: Arc<Self>, client: TcpStream) {
        let Ok(server) = TcpStream::connect(("127.0.0.1", self.server.load(Ordering::SeqCst)))
        else {
            return;
        };
        let (Ok(requests_in), Ok(requests_out)) = (client.try_clone(), server.try_clone()) else {
            return;
        };
        let number = self.accepted.fetch_add(1, Ordering::SeqCst);
        let is_dead = {
            let shared = self.clone();
            move || number < shared.dead_before.load(Ordering::SeqCst)
        };
        let dead = is_dead.clone();
        std::thread::spawn(move || copy(requests_in, requests_out, dead, || false, || 1, || false));
        let cut = || {
            let next = |left: usize| left.checked_sub(1);
            let left = self.swallow.fetch_update(Ordering::SeqCst, Ordering::SeqCst, next);
            let swallow = left == Ok(1);
            self.swallowed.fetch_add(usize::from(swallow), Ordering::SeqCst);
            swallow
        };
        let times = || 1 + usize::from(self.double.swap(false, Ordering::SeqCst));
        copy(server, client, is_dead, cut, times, || self.trickle.load(Ordering::SeqCst));
    }
}

/// Forwards bytes, each as many `times`, until either side ends or `cut` is set; then both sides are closed. Once the
/// connection is dead it takes bytes and forwards none.
fn copy(
    mut from: TcpStream,
    mut to: TcpStream,
    is_dead: impl Fn() -> bool,
    cut: impl Fn() -> bool,
    times: impl Fn() -> usize,
    trickles: impl Fn() -> bool,
) {
    let mut buffer = [0; 64 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if is_dead() {
            continue;
        }
        if cut() {
            break;
        }
        let written = match trickles() {
            false => to.write_all(&buffer[..count].repeat(times())),
            true => buffer[..count].chunks(1).try_for_each(|byte| {
                std::thread::sleep(TRICKLE);
                to.write_all(byte)
            }),
        };
        if written.is_err() {
            break;
        }
    }
    // They may be closed already.
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
