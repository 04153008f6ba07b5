//! The async callers' connections: one a server, shared by all, on the background thread.
//!
//! What was submitted since the last write goes out as one pipeline, so that many concurrent calls
//! cost few system calls. Each call has a deadline of its own, wherever it is: waiting for a
//! connection, to be sent, or for its reply.

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use super::async_socket::AsyncSocket;
use super::attempt::{Attempt, Outcome, Verdict, is_demoted, reply_after_asking, too_late};
use super::background;
use super::command;
use super::router::Router;
use super::socket::lost;
use crate::error::{Error, ErrorKind, Result};
use crate::options::Address;
use crate::runtime::sync::lock;
use crate::step::{Invocation, Reply};

/// How many submissions are taken at once: more would wait for each other without saving anything.
const INTAKE_MAX: usize = 512;
/// How many bytes are ready to be sent before more is packed: the server works on some calls while
/// the next are packed.
const UNSENT_BYTES_MAX: usize = 64 * 1024;
/// A connection that was silent for this long gets a PING first: one whose other side is gone
/// without a word would lose the next call.
const SILENCE_MAX: Duration = Duration::from_secs(1);

/// A step on its way, and who gets the reply.
pub(super) struct Submission {
    pub(super) attempt: Attempt,
    pub(super) invocation: Invocation,
    pub(super) slot: u16,
    pub(super) caller: Box<dyn Caller>,
}

/// Who gets the reply.
pub(super) trait Caller: Send {
    /// The call to send next for the same step, if this reply asks for one.
    fn revised(&self, reply: &Reply) -> Option<Invocation>;

    /// Returns whether the reply had the form that the step's replies have.
    fn done(self: Box<Self>, reply: Result<Reply>) -> bool;
}

impl Submission {
    /// Hands the reply to the caller, and returns whether it had the form that it should have. A panic
    /// there must not take the replies of the others on the connection with it; the hook has printed
    /// where it was.
    fn finish(self, reply: Result<Reply>) -> bool {
        catch_unwind(AssertUnwindSafe(|| self.caller.done(reply))).unwrap_or(true)
    }
}

/// The links to all servers.
pub(super) struct Links {
    router: Arc<Router>,
    /// `None` once the client is closed.
    open: Mutex<Option<HashMap<Address, mpsc::UnboundedSender<Submission>>>>,
}

impl Links {
    pub(super) fn new(router: Arc<Router>) -> Arc<Self> {
        Arc::new(Self { router, open: Mutex::new(Some(HashMap::new())) })
    }

    /// Ends every link once its calls have their replies. What is sent again after this fails with
    /// `CLOSED`.
    pub(super) fn close(&self) {
        let links = lock(&self.open).take();
        drop(links);
    }

    /// Puts a submission on the link to its server, after finding out which that is.
    pub(super) fn send(self: &Arc<Self>, submission: Submission) {
        let (slot, deadline) = (submission.slot, submission.attempt.deadline());
        let known = || self.router.known_address(slot);
        match submission.attempt.redirected().or_else(known) {
            Some(address) => self.enqueue(address, submission),
            None => {
                let links = self.clone();
                self.spawn(submission, |submission| async move {
                    match links.router.clone().find_address(slot, deadline).await {
                        Ok(address) => links.enqueue(address, submission),
                        Err(error) => {
                            links.judge(submission, Outcome::NotSent(error));
                        }
                    }
                });
            }
        }
    }

    /// Goes on with a submission in the background, or fails it if there is none.
    fn spawn<W: Future<Output = ()> + Send + 'static>(
        &self,
        submission: Submission,
        work: impl FnOnce(Submission) -> W,
    ) {
        match background::handle() {
            Ok(background) => drop(background.spawn(work(submission))),
            Err(error) => drop(submission.finish(Err(error))),
        }
    }

    fn enqueue(self: &Arc<Self>, address: Address, submission: Submission) {
        let mut links = lock(&self.open);
        let Some(open) = &mut *links else {
            drop(links);
            submission.finish(Err(Error::new(ErrorKind::Closed, "the client is closed")));
            return;
        };
        let submission = match open.get(&address) {
            Some(link) => match link.send(submission) {
                Ok(()) => return,
                Err(returned) => returned.0,
            },
            None => submission,
        };
        let background = match background::handle() {
            Ok(background) => background,
            Err(error) => {
                drop(links);
                submission.finish(Err(error));
                return;
            }
        };
        let (link, inbox) = mpsc::unbounded_channel();
        // The receiver is alive until the link's task ends, which is after this.
        let _ = link.send(submission);
        open.insert(address.clone(), link);
        background.spawn(Link::new(self.clone(), address, inbox).run());
    }

    /// Goes on with a submission after this outcome; returns whether its reply, if it is one, had the
    /// form that it should have.
    fn judge(self: &Arc<Self>, mut submission: Submission, outcome: Outcome) -> bool {
        match submission.attempt.judge(outcome, &self.router, Instant::now()) {
            Verdict::Done(reply) => {
                match reply.as_ref().ok().and_then(|reply| submission.caller.revised(reply)) {
                    Some(revised) => {
                        submission.invocation = revised;
                        self.send(submission);
                    }
                    None => return submission.finish(reply),
                }
            }
            Verdict::Again => self.send(submission),
            Verdict::After(pause) => {
                let links = self.clone();
                self.spawn(submission, async move |submission| {
                    tokio::time::sleep(pause).await;
                    links.send(submission);
                });
            }
        }
        true
    }
}

/// The way to one server: what waits to be sent there, and the connection for it.
struct Link {
    links: Arc<Links>,
    address: Address,
    inbox: mpsc::UnboundedReceiver<Submission>,
    /// What was just taken out of the inbox.
    taken: Vec<Submission>,
    /// Nothing comes in any more.
    is_closed: bool,
    waiting: VecDeque<Submission>,
    /// When the first of those that wait is too late, or before.
    deadline: Option<Instant>,
}

impl Link {
    fn new(
        links: Arc<Links>,
        address: Address,
        inbox: mpsc::UnboundedReceiver<Submission>,
    ) -> Self {
        let (taken, waiting) = (Vec::new(), VecDeque::new());
        Self { links, address, inbox, taken, is_closed: false, waiting, deadline: None }
    }

    async fn run(mut self) {
        let mut open: Option<Pipe> = None;
        while !self.is_closed || !self.waiting.is_empty() {
            match open.take() {
                Some(pipe) => open = self.serve(pipe).await,
                None if self.waiting.is_empty() => self.accept().await,
                None => open = self.connect().await,
            }
        }
        if let Some(pipe) = open {
            pipe.finish().await;
        }
    }

    /// Accepts submissions, or fails those that have waited too long. Nothing is lost if this is
    /// dropped before.
    async fn accept(&mut self) {
        tokio::select! {
            count = self.inbox.recv_many(&mut self.taken, INTAKE_MAX), if !self.is_closed => {
                self.is_closed = count == 0;
                self.deadline = earliest(self.deadline, &self.taken);
                self.waiting.extend(self.taken.drain(..));
            }
            () = wait_until(self.deadline) => {
                let now = Instant::now();
                let (late, in_time) = std::mem::take(&mut self.waiting)
                    .into_iter()
                    .partition::<Vec<_>, _>(|waiting| waiting.attempt.deadline() <= now);
                self.deadline = earliest(None, &in_time);
                self.waiting = in_time.into();
                for submission in late {
                    self.links.judge(submission, Outcome::NotSent(too_late()));
                }
            }
        }
    }

    /// Does something, and goes on [accepting](Self::accept) meanwhile.
    async fn meanwhile<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return done,
                () = self.accept() => {}
            }
        }
    }

    async fn connect(&mut self) -> Option<Pipe> {
        let (links, address) = (self.links.clone(), self.address.clone());
        match self.meanwhile(AsyncSocket::open(&links.router.dialer, &address)).await {
            Ok(socket) => Some(Pipe::new(links, address, socket)),
            Err(error) => {
                // What came meanwhile would wait for a connection as long once more.
                for submission in std::mem::take(&mut self.waiting) {
                    self.links.judge(submission, Outcome::NotSent(error.copy()));
                }
                self.deadline = None;
                None
            }
        }
    }

    /// Sends what comes over a connection, until it breaks or there is nothing to come.
    async fn serve(&mut self, mut pipe: Pipe) -> Option<Pipe> {
        while !self.is_closed || !self.waiting.is_empty() {
            if !self.waiting.is_empty() && pipe.in_flight.is_empty() {
                // A call that is sent over a connection that has broken is lost.
                let is_open = pipe.socket.is_quiet();
                if !is_open || pipe.is_silent() && !self.meanwhile(pipe.ping()).await {
                    return None;
                }
            }
            pipe.pack(&mut self.waiting);
            if self.waiting.is_empty() {
                self.deadline = None;
            }
            tokio::select! {
                status = pipe.advance() => match status {
                    PipeStatus::Open => {}
                    PipeStatus::Broken => return None,
                    // Calls that are under way on it keep it.
                    PipeStatus::Left => {
                        tokio::spawn(pipe.finish());
                        return None;
                    }
                },
                () = self.accept() => {}
            }
        }
        Some(pipe)
    }
}

/// One connection, and the steps that were sent over it and have no reply yet.
struct Pipe {
    links: Arc<Links>,
    address: Address,
    socket: AsyncSocket,
    in_flight: VecDeque<Sent>,
    /// When the first of those is too late, or before.
    deadline: Option<Instant>,
    last_used: Instant,
    /// The server has said that it is [demoted](is_demoted).
    is_demoted: bool,
}

struct Sent {
    /// `None` once it was given up: its reply is of no more use to anybody.
    submission: Option<Submission>,
    /// ASKING came before it, and its reply comes before.
    is_asking: bool,
    /// The reply to that.
    asking: Option<Reply>,
}

enum PipeStatus {
    Open,
    /// No further call may go over it: it gave no reply in time, as a half-open one gives none for
    /// minutes, or its server is [demoted](is_demoted).
    Left,
    Broken,
}

impl Pipe {
    fn new(links: Arc<Links>, address: Address, socket: AsyncSocket) -> Self {
        let (in_flight, last_used) = (VecDeque::new(), Instant::now());
        Self { links, address, socket, in_flight, deadline: None, last_used, is_demoted: false }
    }

    fn is_silent(&self) -> bool {
        self.last_used.elapsed() > SILENCE_MAX
    }

    /// Whether the server still replies.
    async fn ping(&mut self) -> bool {
        let deadline = Instant::now() + self.links.router.dialer.options.connect_timeout;
        let reply = self.socket.call(&command::words(&["PING"]), deadline).await;
        self.last_used = Instant::now();
        reply.is_ok()
    }

    /// Makes ready what waits, as much as is sent at once.
    fn pack(&mut self, waiting: &mut VecDeque<Submission>) {
        let now = Instant::now();
        while self.socket.unsent() < UNSENT_BYTES_MAX
            && let Some(submission) = waiting.pop_front()
        {
            let Submission { attempt, invocation, .. } = &submission;
            if attempt.deadline() <= now {
                self.links.judge(submission, Outcome::NotSent(too_late()));
                continue;
            }
            attempt.put(invocation, self.socket.out());
            self.deadline = earliest(self.deadline, [&submission]);
            self.last_used = now;
            let is_asking = attempt.is_asking();
            let submission = Some(submission);
            self.in_flight.push_back(Sent { submission, is_asking, asking: None });
        }
    }

    /// Sends or reads something and handles the replies that have arrived, or fails the calls that
    /// are too late.
    async fn advance(&mut self) -> PipeStatus {
        let exchanged = tokio::select! {
            exchanged = self.socket.exchange() => exchanged,
            () = wait_until(self.deadline) => return self.expire(),
        };
        match exchanged.and_then(|()| self.handle_replies()) {
            Ok(()) if self.is_demoted => PipeStatus::Left,
            Ok(()) => PipeStatus::Open,
            Err(error) => {
                for sent in std::mem::take(&mut self.in_flight) {
                    self.judge(sent, Outcome::NoReply(error.copy()));
                }
                PipeStatus::Broken
            }
        }
    }

    fn handle_replies(&mut self) -> Result<()> {
        while let Some(reply) = self.socket.arrived()? {
            // Nobody asked: whatever comes next would be taken for the reply to another call.
            let Some(mut sent) = self.in_flight.pop_front() else {
                return Err(lost(std::io::ErrorKind::InvalidData.into()));
            };
            if std::mem::take(&mut sent.is_asking) {
                sent.asking = Some(reply);
                self.in_flight.push_front(sent);
                continue;
            }
            self.is_demoted |= is_demoted(&reply);
            let reply = match sent.asking.take() {
                Some(asking) => reply_after_asking(asking, reply),
                None => reply,
            };
            // Of the wrong form: it may be the reply to another call, and then so is the next.
            if !self.judge(sent, Outcome::Reply(reply, self.address.clone())) {
                return Err(lost(std::io::ErrorKind::InvalidData.into()));
            }
        }
        Ok(())
    }

    fn expire(&mut self) -> PipeStatus {
        let now = Instant::now();
        let is_late = |call: &mut Submission| call.attempt.deadline() <= now;
        let late: Vec<_> =
            self.in_flight.iter_mut().filter_map(|sent| sent.submission.take_if(is_late)).collect();
        self.deadline = earliest(None, self.in_flight.iter().filter_map(|s| s.submission.as_ref()));
        let status = if late.is_empty() { PipeStatus::Open } else { PipeStatus::Left };
        for submission in late {
            let outcome = Outcome::NoReply(lost(std::io::ErrorKind::TimedOut.into()));
            self.links.judge(submission, outcome);
        }
        status
    }

    /// Waits for the replies to what was sent.
    async fn finish(mut self) {
        while self.in_flight.iter().any(|sent| sent.submission.is_some()) {
            if let PipeStatus::Broken = self.advance().await {
                return;
            }
        }
    }

    fn judge(&self, sent: Sent, outcome: Outcome) -> bool {
        sent.submission.is_none_or(|submission| self.links.judge(submission, outcome))
    }
}

/// The first of a deadline and those of submissions.
fn earliest<'a>(
    deadline: Option<Instant>,
    submissions: impl IntoIterator<Item = &'a Submission>,
) -> Option<Instant> {
    let deadlines = submissions.into_iter().map(|submission| submission.attempt.deadline());
    deadlines.chain(deadline).min()
}

async fn wait_until(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time.into()).await,
        None => std::future::pending().await,
    }
}
