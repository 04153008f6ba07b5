//! Redis and Valkey: one server, a Unix socket, sentinels or a cluster.
//!
//! A step is one EVALSHA. Blocking callers send it on their own thread over a pooled
//! [`socket`]; async callers hand it to one background thread, which gathers what has piled up
//! into a pipeline over one [`link`] a server. What follows a reply that is not the step's (NOSCRIPT,
//! MOVED, LOADING) or a broken connection is one state machine for both, in [`attempt`]; the
//! [`router`] knows which server a step has to go to. A [`subscriber`] and a [`stream_watcher`] wake
//! those who wait.
//!
//! A call has one deadline, which everything that is done for it obeys: finding the server,
//! connecting, TLS, the [`handshake`], writing and reading, byte by byte. The peer is not trusted
//! to be quick, nor to say what will come ([`resp`]).
//!
//! No client library is used, because what they do by themselves is wrong for queues. redis-rs'
//! cluster client sends a call again after a dropped connection, so one step can run twice; here
//! only a step that is declared idempotent is sent again. Its blocking connection ends a call at
//! any signal and starts its time limit anew at every byte. Speed is no reason against it: without time
//! limits it is as fast (tests/bench/RESULTS.md, "Calls from Rust"). What connections of other clients
//! are tested for, and where this one is, says tests/CONNECTIONS.md.

mod async_socket;
mod attempt;
mod background;
mod command;
mod deadline_socket;
mod dial;
mod handshake;
mod kept;
mod link;
mod pool;
mod reconnect;
mod resolve;
mod resp;
mod router;
mod slots;
mod socket;
mod stream_watcher;
mod subscriber;
#[cfg(feature = "tls")]
mod tls;
mod transport;

use std::sync::Arc;
use std::time::{Duration, Instant};

use attempt::{Attempt, Outcome, Verdict};
use dial::Dialer;
use kept::Routes;
use link::Submission;
use stream_watcher::StreamWatcher;
use subscriber::Subscriber;

use crate::error::{ErrorKind, Result};
use crate::options::{Options, Target};
use crate::runtime::fork::PerProcess;
use crate::runtime::interrupt;
use crate::runtime::waiters::{Audience, Listener, Topic, Unheard};
use crate::step::{Invocation, Operation, Reply, StreamId};

/// The connections to one Redis, whatever its form. Every process makes its own on first use, or takes those that a
/// client before has [left](kept).
pub(crate) struct Connections {
    dialer: Dialer,
    own: PerProcess<Own>,
}

/// What a process cannot share with its children.
struct Own {
    routes: Routes,
    subscriber: Arc<Subscriber>,
    stream_watcher: Arc<StreamWatcher>,
}

impl Connections {
    pub(crate) fn new(options: &Options) -> Result<Self> {
        Ok(Self { dialer: Dialer::new(Arc::new(options.clone()))?, own: PerProcess::new() })
    }

    fn own(&self) -> Arc<Own> {
        let mut made = None;
        let make = || {
            let routes = Routes::take_or_make(&self.dialer);
            let subscriber = Subscriber::new(routes.router.clone());
            let stream_watcher = StreamWatcher::new(routes.router.clone(), routes.pool.clone());
            let own = Arc::new(Own { routes, subscriber, stream_watcher });
            made = Some(own.clone());
            own
        };
        let own = self.own.get_or_make(make, |_| {});
        // Another thread was faster.
        if let Some(made) = made.filter(|made| !Arc::ptr_eq(made, &own)) {
            made.routes.leave(&self.dialer.options);
        }
        own
    }

    /// Runs a step on the caller's thread.
    pub(crate) fn run<O: Operation>(&self, step: O) -> Result<O::Output> {
        let mut invocation = step.invocation();
        let own = self.own();
        let slot = own.routes.router.slot(&invocation.keys, O::ON_CLUSTER)?;
        let mut attempt = Attempt::new(&own.routes.router, O::IDEMPOTENT, Instant::now());
        loop {
            let reply = Self::call(&own, &mut attempt, &invocation, slot)?;
            match step.revised(&reply) {
                Some(revised) => invocation = revised,
                None => {
                    let output = step.decode(reply);
                    // It may be the reply to another call, and then so is the next.
                    if has_wrong_form(&output) {
                        own.routes.pool.clear();
                    }
                    return output;
                }
            }
        }
    }

    fn call(own: &Own, attempt: &mut Attempt, invocation: &Invocation, slot: u16) -> Result<Reply> {
        loop {
            let outcome = own.send(attempt, invocation, slot);
            match attempt.judge(outcome, &own.routes.router, Instant::now()) {
                Verdict::Done(reply) => return reply,
                Verdict::Again => {}
                Verdict::After(pause) => {
                    let until = Instant::now() + pause;
                    interrupt::wait_in_slices(Some(until), |to| {
                        let to = to.unwrap_or(until);
                        // Not sleep: it begins again at each signal with what it thinks is left,
                        // and interpreters send signals faster than that gets less.
                        std::thread::park_timeout(to.saturating_duration_since(Instant::now()));
                        false
                    })?;
                }
            }
        }
    }

    /// Runs a step in the background and calls back.
    pub(crate) fn submit<O: Operation>(
        &self,
        step: O,
        done: impl FnOnce(Result<O::Output>) + Send + 'static,
    ) {
        let own = self.own();
        let invocation = step.invocation();
        let slot = match own.routes.router.slot(&invocation.keys, O::ON_CLUSTER) {
            Ok(slot) => slot,
            Err(error) => return done(Err(error)),
        };
        let attempt = Attempt::new(&own.routes.router, O::IDEMPOTENT, Instant::now());
        own.routes.links.send(Submission {
            attempt,
            invocation,
            slot,
            caller: Box::new(Caller { step, done }),
        });
    }

    pub(crate) fn is_cluster(&self) -> bool {
        matches!(self.dialer.options.target(), Target::Cluster(_))
    }

    /// See [`Client::key_of_next_server`](crate::Client::key_of_next_server).
    pub(crate) fn key_of_next_server(&self, key: &[u8]) -> Result<Option<String>> {
        let after = slots::slot(key);
        let next = self.own().routes.router.next_server(after)?;
        let keys = || (0..u32::MAX).map(|number| number.to_string());
        Ok(next.and_then(|slot| keys().find(|key| slots::slot(key.as_bytes()) == slot)))
    }

    pub(crate) fn listen(&self, topics: Vec<Topic>) -> Result<Listener> {
        Ok(self.own().subscriber.listen(&background::handle()?, topics))
    }

    /// A listener that nothing is published for; the end of the client wakes it.
    pub(crate) fn sleeper(&self) -> Listener {
        self.own().subscriber.sleeper()
    }

    /// Which servers these are: their addresses, the database and the user.
    pub(crate) fn servers(&self) -> String {
        let options = &self.dialer.options;
        format!("{:?} {} {:?}", options.target(), options.db, options.user)
    }

    /// How many listeners would hear what is published on this channel now.
    pub(crate) fn listeners(&self, topic: &[u8]) -> usize {
        self.own.get().map_or(0, |own| own.subscriber.listeners(topic))
    }

    /// Wakes one listener for this channel, if there is one.
    pub(crate) fn wake_one(&self, topic: &[u8]) {
        if let Some(own) = self.own.get() {
            own.subscriber.wake_one(topic);
        }
    }

    /// Does this when something is published on this channel and nobody listens any more.
    pub(crate) fn on_unheard(&self, topic: &Topic, unheard: Unheard) {
        self.own().subscriber.on_unheard(topic, unheard);
    }

    /// Wakes a listener for this topic after this time.
    pub(crate) fn wake_after(&self, topic: &[u8], delay: Duration) {
        if let Some(own) = self.own.get() {
            own.subscriber.wake_after(topic, delay);
        }
    }

    /// Listens for the entries of a queue's stream of notifications after this one.
    pub(crate) fn listen_after(
        &self,
        audience: Audience,
        topic: Topic,
        after: StreamId,
    ) -> Result<Listener> {
        Ok(self.own().stream_watcher.listen(&background::handle()?, audience, topic, after))
    }

    /// Wakes all who wait, and closes all connections or leaves them to the next client. A step that is under way
    /// still gets its reply.
    pub(crate) fn close(&self) {
        if let Some(own) = self.own.get() {
            own.subscriber.close();
            own.stream_watcher.close();
            own.routes.leave(&self.dialer.options);
        }
    }
}

/// A step on its way, and what to call with its output.
struct Caller<O, D> {
    step: O,
    done: D,
}

impl<O: Operation, D: FnOnce(Result<O::Output>) + Send> link::Caller for Caller<O, D> {
    fn revised(&self, reply: &Reply) -> Option<Invocation> {
        self.step.revised(reply)
    }

    fn done(self: Box<Self>, reply: Result<Reply>) -> bool {
        let Self { step, done } = *self;
        let output = reply.and_then(|reply| step.decode(reply));
        let has_right_form = !has_wrong_form(&output);
        done(output);
        has_right_form
    }
}

/// Whether a reply had no form that the step's replies have.
fn has_wrong_form<T>(output: &Result<T>) -> bool {
    output.as_ref().is_err_and(|error| error.kind() == ErrorKind::Internal)
}

impl Own {
    fn send(&self, attempt: &Attempt, invocation: &Invocation, slot: u16) -> Outcome {
        let deadline = attempt.deadline();
        let route = || self.routes.router.address(slot, deadline);
        let address = match attempt.redirected().map_or_else(route, Ok) {
            Ok(address) => address,
            Err(error) => return Outcome::NotSent(error),
        };
        let mut packed = Vec::new();
        attempt.put(invocation, &mut packed);
        self.routes.pool.call(&address, &packed, attempt.is_asking(), deadline)
    }
}
