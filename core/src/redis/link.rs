//! The async callers' connections: one a server, shared by all, on the background thread.
//!
//! What has piled up since the last look goes out as one pipeline, so that many concurrent calls
//! cost few system calls.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ::redis::aio::MultiplexedConnection;
use ::redis::{AsyncConnectionConfig, Pipeline, RedisError, Value};
use tokio::sync::mpsc;

use super::attempt::{Attempt, Outcome, Verdict};
use super::background;
use super::command;
use super::dial::Dialer;
use super::router::Router;
use super::socket::refused;
use crate::error::{Error, ErrorKind, Result};
use crate::operation::Invocation;
use crate::options::Address;
use crate::reply::Reply;
use crate::sync::lock;

/// Commands in one pipeline at most: more would wait for each other without saving anything.
const PIPELINE_MAX: usize = 512;
/// Pipelines on their way at once; the server answers one while the next is filled.
const PIPELINES_IN_FLIGHT: usize = 1024;
/// A connection that was silent for so long is asked whether it is still there: a server that
/// restarted meanwhile would answer the next call with a broken connection.
const SILENCE_MAX: Duration = Duration::from_secs(1);

/// A step on its way, and whom to tell.
pub(super) struct Submission {
    pub(super) attempt: Attempt,
    pub(super) invocation: Invocation,
    pub(super) slot: u16,
    pub(super) done: Box<dyn FnOnce(Result<Reply>) + Send>,
}

impl Submission {
    /// Tells whoever submitted it. One that panics must not take the answers of the others in
    /// its pipeline with it; the hook has printed where it was.
    fn finish(self, reply: Result<Reply>) {
        let _ = catch_unwind(AssertUnwindSafe(|| (self.done)(reply)));
    }
}

/// The links to all servers.
pub(super) struct Links {
    shared: Arc<Shared>,
}

struct Shared {
    dialer: Dialer,
    router: Arc<Router>,
    /// `None` once the client is closed.
    links: Mutex<Option<HashMap<Address, mpsc::UnboundedSender<Submission>>>>,
}

impl Links {
    pub(super) fn new(dialer: Dialer, router: Arc<Router>) -> Self {
        Self {
            shared: Arc::new(Shared { dialer, router, links: Mutex::new(Some(HashMap::new())) }),
        }
    }

    pub(super) fn submit(&self, submission: Submission) {
        Shared::send(&self.shared, submission);
    }

    /// Ends every link once it has answered what it was given. What is sent again after this
    /// is answered with `CLOSED`.
    pub(super) fn close(&self) {
        let links = lock(&self.shared.links).take();
        drop(links);
    }
}

impl Shared {
    /// Puts a submission on the link to its server, after finding out which that is.
    fn send(shared: &Arc<Self>, submission: Submission) {
        let slot = submission.slot;
        let known = || {
            shared.router.known_address(slot).ok_or_else(|| {
                Error::new(ErrorKind::Unavailable, "the way to the server is not known")
            })
        };
        match submission.attempt.address(known) {
            Ok(address) => Self::enqueue(shared, address, submission),
            Err(_) => {
                let shared = shared.clone();
                background::handle().spawn(async move {
                    let router = shared.router.clone();
                    let asked = tokio::task::spawn_blocking(move || router.address(slot)).await;
                    match asked {
                        Ok(Ok(address)) => Self::enqueue(&shared, address, submission),
                        Ok(Err(error)) => {
                            Self::judge(&shared, submission, Outcome::NotSent(error));
                        }
                        Err(error) => {
                            let message = "the question for the way to the server panicked";
                            let error = Error::new(ErrorKind::Internal, message).with_source(error);
                            submission.finish(Err(error));
                        }
                    }
                });
            }
        }
    }

    fn enqueue(shared: &Arc<Self>, address: Address, submission: Submission) {
        let mut links = lock(&shared.links);
        let Some(open) = &mut *links else {
            drop(links);
            return submission.finish(Err(Error::new(ErrorKind::Closed, "the client is closed")));
        };
        let submission = match open.get(&address) {
            Some(link) => match link.send(submission) {
                Ok(()) => return,
                Err(returned) => returned.0,
            },
            None => submission,
        };
        let (link, inbox) = mpsc::unbounded_channel();
        // The receiver is alive until the link's task ends, which is after this.
        let _ = link.send(submission);
        open.insert(address.clone(), link);
        background::handle().spawn(Link::new(shared.clone(), address).run(inbox));
    }

    fn judge(shared: &Arc<Self>, mut submission: Submission, outcome: Outcome) {
        match submission.attempt.judge(outcome, &shared.router, Instant::now()) {
            Verdict::Done(reply) => submission.finish(reply),
            Verdict::Again => Self::send(shared, submission),
            Verdict::After(pause) => {
                let shared = shared.clone();
                background::handle().spawn(async move {
                    tokio::time::sleep(pause).await;
                    Self::send(&shared, submission);
                });
            }
        }
    }
}

/// The connection to one server.
struct Link {
    shared: Arc<Shared>,
    address: Address,
    connection: Option<MultiplexedConnection>,
    last_used: Instant,
    /// Tells the link that its connection broke.
    broken: Arc<AtomicBool>,
}

impl Link {
    fn new(shared: Arc<Shared>, address: Address) -> Self {
        Self {
            shared,
            address,
            connection: None,
            last_used: Instant::now(),
            broken: Arc::default(),
        }
    }

    async fn run(mut self, mut inbox: mpsc::UnboundedReceiver<Submission>) {
        let in_flight = Arc::new(tokio::sync::Semaphore::new(PIPELINES_IN_FLIGHT));
        let mut batch = Vec::new();
        while inbox.recv_many(&mut batch, PIPELINE_MAX).await > 0 {
            let submissions = std::mem::take(&mut batch);
            let connection = match self.connection().await {
                Ok(connection) => connection,
                Err(error) => {
                    // What came meanwhile would wait for a connection as long once more.
                    let waiting = std::iter::from_fn(|| inbox.try_recv().ok());
                    for submission in submissions.into_iter().chain(waiting) {
                        let error = Error::new(error.kind(), error.message());
                        Shared::judge(&self.shared, submission, Outcome::NotSent(error));
                    }
                    continue;
                }
            };
            for pipeline in self.pipelines(submissions) {
                let permit = in_flight.clone().acquire_owned().await;
                let (shared, broken) = (self.shared.clone(), self.broken.clone());
                let connection = connection.clone();
                tokio::spawn(async move {
                    send(shared, connection, pipeline, &broken).await;
                    drop(permit);
                });
            }
        }
    }

    /// One pipeline for all, and one for each that waited or was tried before: it has less time
    /// left than the others, and the answers of a pipeline come together.
    fn pipelines(&self, submissions: Vec<Submission>) -> Vec<Vec<Submission>> {
        let (now, timeout) = (Instant::now(), self.shared.dialer.options.timeout);
        let is_late = |submission: &Submission| {
            submission.attempt.deadline().saturating_duration_since(now) < timeout / 8 * 7
        };
        let (in_time, over): (Vec<_>, Vec<_>) =
            submissions.into_iter().partition(|submission| submission.attempt.deadline() > now);
        for submission in over {
            let error = Error::new(ErrorKind::Unavailable, "there was no time left to send it");
            Shared::judge(&self.shared, submission, Outcome::NotSent(error));
        }
        let (late, fresh): (Vec<_>, Vec<_>) = in_time.into_iter().partition(is_late);
        let mut pipelines: Vec<_> = late.into_iter().map(|submission| vec![submission]).collect();
        if !fresh.is_empty() {
            pipelines.push(fresh);
        }
        pipelines
    }

    /// The connection, a new one if there is none or it broke.
    async fn connection(&mut self) -> Result<MultiplexedConnection> {
        let silent = self.last_used.elapsed() > SILENCE_MAX;
        self.last_used = Instant::now();
        if self.broken.swap(false, Ordering::AcqRel) {
            self.connection = None;
        }
        if let Some(mut connection) = self.connection.clone()
            && (!silent || self.is_alive(&mut connection).await)
        {
            return Ok(connection);
        }
        self.connection = None;
        let connection = self.connect().await?;
        self.broken = Arc::default();
        self.connection = Some(connection.clone());
        Ok(connection)
    }

    async fn is_alive(&self, connection: &mut MultiplexedConnection) -> bool {
        let ping = command::words(&["PING"]);
        let patience = self.shared.dialer.options.connect_timeout;
        let answer = tokio::time::timeout(patience, connection.send_packed_command(&ping)).await;
        matches!(answer, Ok(Ok(_)))
    }

    async fn connect(&self) -> Result<MultiplexedConnection> {
        let options = &self.shared.dialer.options;
        let stream = self.shared.dialer.dial_async(&self.address).await?;
        let config = AsyncConnectionConfig::new()
            .set_response_timeout(Some(options.timeout))
            .set_pipeline_buffer_size(PIPELINES_IN_FLIGHT);
        let handshake = self.shared.dialer.handshake();
        let opening = MultiplexedConnection::new_with_config(&handshake, stream, config);
        let opened = tokio::time::timeout(options.connect_timeout, opening).await;
        let (mut connection, driver) = match opened {
            Ok(Ok(opened)) => opened,
            Ok(Err(error)) => return Err(self.handshake_error("the handshake", error)),
            Err(_) => {
                return Err(Error::new(
                    ErrorKind::ConnectionFailed,
                    format!("{} did not answer the handshake in time", self.address),
                ));
            }
        };
        tokio::spawn(driver);
        if let Some(name) = &options.client_name {
            let command = command::words(&["CLIENT", "SETNAME", name]);
            let named = connection.send_packed_command(&command).await;
            named
                .and_then(Value::extract_error)
                .map_err(|error| self.handshake_error("CLIENT SETNAME", error))?;
        }
        Ok(connection)
    }

    fn handshake_error(&self, word: &str, error: RedisError) -> Error {
        match error.code() {
            Some(code) => refused(&self.address, word, &command::error_text(code, error.detail())),
            // redis-rs says no more of a refused password than this.
            None if error.kind() == ::redis::ErrorKind::AuthenticationFailed => {
                refused(&self.address, "AUTH", "WRONGPASS the user or the password is wrong")
            }
            None => Error::new(
                ErrorKind::ConnectionFailed,
                format!("{} did not answer the handshake", self.address),
            )
            .with_source(error),
        }
    }
}

/// Sends submissions as one pipeline and deals with each answer.
async fn send(
    shared: Arc<Shared>,
    mut connection: MultiplexedConnection,
    submissions: Vec<Submission>,
    broken: &AtomicBool,
) {
    let mut pipeline = Pipeline::with_capacity(submissions.len());
    let mut commands = 0;
    for submission in &submissions {
        if submission.attempt.is_asking() {
            pipeline.add_command(command::words(&["ASKING"]));
            commands += 1;
        }
        pipeline.add_command(submission.attempt.command(&submission.invocation));
        commands += 1;
    }
    let deadline = submissions.iter().map(|submission| submission.attempt.deadline()).max();
    let deadline = deadline.unwrap_or_else(Instant::now).into();
    let sending = connection.send_packed_commands(&pipeline, 0, commands);
    let answer = match tokio::time::timeout_at(deadline, sending).await {
        Ok(answer) => answer,
        Err(_) => Err(RedisError::from(std::io::Error::from(std::io::ErrorKind::TimedOut))),
    };
    match answer {
        Ok(values) => {
            let mut values = values.into_iter();
            for submission in submissions {
                if submission.attempt.is_asking() {
                    values.next();
                }
                let outcome = match values.next() {
                    Some(value) => Outcome::Reply(command::reply(value)),
                    None => Outcome::NoAnswer(lost()),
                };
                Shared::judge(&shared, submission, outcome);
            }
        }
        Err(error) => {
            // A connection that gives no answer in time may be a half-open one, which would give
            // none for minutes. Calls that are under way on it keep it.
            broken.store(true, Ordering::Release);
            for submission in submissions {
                let outcome = match error.is_timeout() {
                    true => Error::new(
                        ErrorKind::Timeout,
                        "no answer in time; the call may have been done",
                    ),
                    false => lost(),
                };
                let outcome = Outcome::NoAnswer(outcome.with_source(error.clone()));
                Shared::judge(&shared, submission, outcome);
            }
        }
    }
}

fn lost() -> Error {
    Error::new(ErrorKind::ConnectionLost, "the connection broke; the call may have been done")
}
