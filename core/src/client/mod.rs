//! A [`Client`]: steps go in, results come out. It knows no queue; each queue adds the method that makes
//! its handle.

mod backend;
mod mode;
#[cfg(test)]
pub(crate) mod simulated;
mod task;

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, LazyLock, Mutex, Weak};
use std::time::{Duration, Instant};

pub(crate) use backend::Backend;
use backend::{Core, Shared, on_backend};
use mode::Run;
pub(crate) use mode::Then;
pub use mode::{Async, Blocking, Mode, Pending};

use crate::error::{Error, ErrorKind, Result};
use crate::options::Pace;
use crate::recovery::Recovery;
use crate::runtime::fork::PerProcess;
use crate::runtime::random;
use crate::runtime::sync::lock;
use crate::runtime::timer::Timer;
use crate::runtime::waiters::{Audience, Listener, Topic, Unheard};
use crate::step::{Operation, StreamId};

/// Access to the queues on a server or an embedded engine. Safe to use from many threads and, on Redis, after a fork.
///
/// # Rust
/// Cheap to clone; clones share connections.
pub struct Client<M: Mode = Blocking> {
    core: Arc<Core>,
    mode: PhantomData<M>,
}

/// A client that does not keep connections or an engine open.
pub(crate) struct WeakClient<M: Mode> {
    core: Weak<Core>,
    mode: PhantomData<M>,
}

impl<M: Mode> WeakClient<M> {
    pub(crate) fn upgrade(&self) -> Option<Client<M>> {
        Some(Client { core: self.core.upgrade()?, mode: PhantomData })
    }

    /// As [`Client::draw`].
    pub(crate) fn draw(&self) -> u64 {
        random::quick()
    }
}

/// A key of the first server of a cluster: one of the slot 0.
pub(crate) const FIRST_KEY: &str = "06S";

impl Client {
    pub(crate) fn new(backend: Backend, pace: Pace) -> Self {
        Self { core: Arc::new(Core::new(backend, pace)), mode: PhantomData }
    }
}

impl<M: Mode> Client<M> {
    /// Runs a step that you built yourself.
    ///
    /// ```
    /// use millpond::ick;
    /// let client = millpond::connect("memory:")?;
    /// let added = client.run(ick::Add::new("files", [(1.0, "a.txt")]))?;
    /// assert_eq!(added.new, 1);
    /// # Ok::<(), millpond::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of building the step, in which case nothing is sent, and those of running it.
    pub fn run<O: Operation>(&self, step: Result<O>) -> M::Reply<O::Output> {
        self.run_then(step, |output| output)
    }

    /// Runs a step and calls back with its result: the base of every binding with an event loop.
    /// The callback runs on a background thread, or on the caller's before this returns; it must
    /// not block.
    pub fn submit<O: Operation>(
        &self,
        step: Result<O>,
        done: impl FnOnce(Result<O::Output>) + Send + 'static,
    ) {
        self.core.submit(step, done);
    }

    /// What was found when the engine of a `file:` was opened; `None` for another URL. Makes no call. Clients in one
    /// process that share a directory get the same.
    ///
    /// ```
    /// let directory = tempfile::tempdir()?;
    /// let client = millpond::Options::file(directory.path()).connect()?;
    /// let recovery = client.recovery().expect("a directory was opened");
    /// assert_eq!((recovery.records, recovery.torn_bytes, recovery.suspicion), (0, 0, None));
    /// assert_eq!(millpond::connect("memory:")?.recovery(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn recovery(&self) -> Option<Recovery> {
        on_backend!(self.core.backend, engine => engine.recovery().cloned(), _connections => None)
    }

    /// A blocking client on the same backend.
    pub fn to_blocking(&self) -> Client<Blocking> {
        Client { core: self.core.clone(), mode: PhantomData }
    }

    /// An async client on the same backend.
    pub fn to_async(&self) -> Client<Async> {
        Client { core: self.core.clone(), mode: PhantomData }
    }

    /// Closes the client: from now on its calls fail with `CLOSED`, including those that are waiting, and an embedded
    /// engine writes what it has not written yet. Closing twice is safe.
    ///
    /// # Rust
    /// Its clones are closed too. Dropping the last clone does the same.
    ///
    /// # Errors
    /// `STORAGE` if the last write to the disk fails.
    pub fn close(&self) -> Result<()> {
        self.core.close()
    }

    /// Runs a step, and `then` on its output.
    pub(crate) fn run_then<O: Operation, T: Send + 'static>(
        &self,
        step: Result<O>,
        then: impl FnOnce(O::Output) -> T + Send + 'static,
    ) -> M::Reply<T> {
        M::run(self, step, then)
    }

    /// Runs a step that `when` calls back with, at once or later, and the steps that `then` says come after
    /// it.
    pub(crate) fn run_when<O: Operation, T: Send + 'static>(
        &self,
        when: impl FnOnce(Run<O>),
        then: impl FnMut(Result<O::Output>) -> Then<O, T> + Send + 'static,
    ) -> M::Reply<T> {
        M::run_when(self, when, then)
    }

    /// Runs several independent steps, and `combine` on their outputs.
    pub(crate) fn run_all<O: Operation, T: Send + 'static>(
        &self,
        steps: Result<Vec<O>>,
        combine: impl FnOnce(Vec<O::Output>) -> T + Send + 'static,
    ) -> M::Reply<T> {
        M::run_all(self, steps, combine)
    }

    /// Runs a step whose result nobody waits for. The client stays open until then, even if this was the
    /// last to use it: a script that the server does not know yet has to be sent twice.
    pub(crate) fn run_unattended<O: Operation>(&self, step: Result<O>) {
        // The embedded engine is done when `submit` returns, and the thread that tells so must not be the
        // one that closes the engine.
        let kept: Option<Self> =
            on_backend!(self.core.backend, _engine => None, _connections => Some(self.clone()));
        if step.is_ok() {
            self.core.submit(step, move |_| drop(kept));
        }
    }

    /// What the handles of this name share in this process, in all clones of the client.
    pub(crate) fn shared<T: Any + Send + Sync>(
        &self,
        name: &[u8],
        make: impl FnOnce() -> T,
    ) -> Arc<T> {
        Self::shared_in(&self.core.shared, name, make)
    }

    /// What the handles of this name share in this process, in all clients of the same servers; on an embedded engine
    /// in all clones of the client. What is shared by the clients of servers stays until the process ends, since a web
    /// page may make its client anew each time.
    pub(crate) fn shared_by_servers<T: Any + Send + Sync>(
        &self,
        name: &[u8],
        make: impl FnOnce() -> T,
    ) -> Arc<T> {
        static SHARED: PerProcess<Shared> = PerProcess::new();
        on_backend!(self.core.backend,
        _engine => self.shared(name, make),
        connections => {
            let key = [connections.servers().as_bytes(), b"\0", name].concat();
            Self::shared_in(&SHARED, &key, make)
        })
    }

    fn shared_in<T: Any + Send + Sync>(
        shared: &PerProcess<Shared>,
        name: &[u8],
        make: impl FnOnce() -> T,
    ) -> Arc<T> {
        let shared = shared.get_or_make(Arc::default, |_| {});
        let mut shared = lock(&shared);
        let known = shared.get(name).and_then(|known| known.clone().downcast().ok());
        known.unwrap_or_else(|| {
            let made = Arc::new(make());
            shared.insert(name.into(), made.clone());
            made
        })
    }

    /// Submits several independent steps and calls back when all are done, with the first error
    /// if there is one.
    fn submit_all<O: Operation>(
        &self,
        steps: Vec<O>,
        done: impl FnOnce(Result<Vec<O::Output>>) + Send + 'static,
    ) {
        if steps.is_empty() {
            return done(Ok(Vec::new()));
        }
        type Outputs<O> = (Vec<Option<Result<<O as Operation>::Output>>>, usize);
        let all: Outputs<O> = (steps.iter().map(|_| None).collect(), steps.len());
        let shared = Arc::new((Mutex::new(all), Mutex::new(Some(done))));
        for (index, step) in steps.into_iter().enumerate() {
            let shared = shared.clone();
            self.core.submit(Ok(step), move |output| {
                let (outputs, left) = &mut *lock(&shared.0);
                outputs[index] = Some(output);
                *left -= 1;
                if *left == 0
                    && let Some(done) = lock(&shared.1).take()
                {
                    done(outputs.drain(..).flatten().collect());
                }
            });
        }
    }

    pub(crate) fn downgrade(&self) -> WeakClient<M> {
        WeakClient { core: Arc::downgrade(&self.core), mode: PhantomData }
    }

    /// Listens for these topics. A new listener is woken once when it really listens, so a caller that
    /// checked before checks again and misses nothing.
    pub(crate) fn listen(&self, topics: Vec<Topic>) -> Result<Listener> {
        Timer::ensure()?;
        on_backend!(self.core.backend,
            engine => Ok(engine.listen(Audience::default(), topics)),
            connections => connections.listen(topics))
    }

    /// Listens for the notifications of a queue whose producers leave them in a stream, from the
    /// one on that an empty read returned: no wake-up is lost in between.
    pub(crate) fn listen_after(
        &self,
        audience: Audience,
        topic: Topic,
        after: StreamId,
    ) -> Result<Listener> {
        Timer::ensure()?;
        on_backend!(self.core.backend,
            engine => Ok(engine.listen(audience, vec![topic])),
            connections => connections.listen_after(audience, topic, after))
    }

    /// Listens for nothing: only its handle wakes it, the end of the client, and a clock that is moved.
    pub(crate) fn sleeper(&self) -> Result<Listener> {
        Timer::ensure()?;
        Ok(on_backend!(self.core.backend,
            engine => engine.sleeper(),
            connections => connections.sleeper()))
    }

    /// For a loop that waits without a call.
    pub(crate) fn check_open(&self) -> Result<()> {
        self.core.check_open(Ok(()))
    }

    /// Whether this process keeps the queues itself, and no server does.
    pub(crate) fn is_embedded(&self) -> bool {
        on_backend!(self.core.backend, _engine => true, _connections => false)
    }

    /// Whether the keys of a step have to lie in one slot.
    pub(crate) fn is_cluster(&self) -> bool {
        on_backend!(self.core.backend, _engine => false, connections => connections.is_cluster())
    }

    /// A key of the master of a cluster that comes after that of this key, by the lowest of its slots; nothing behind
    /// the last, and where there is no cluster. The first is that of [`FIRST_KEY`].
    ///
    /// # Errors
    /// `UNAVAILABLE` if the servers of the cluster are not known just now.
    pub(crate) fn key_of_next_server(&self, key: &[u8]) -> Result<Option<String>> {
        on_backend!(self.core.backend,
            _engine => Ok(None),
            connections => connections.key_of_next_server(key))
    }

    /// How many listeners of this client would hear now what is published for this topic; none on the embedded
    /// engine, whose steps wake them by themselves.
    pub(crate) fn listeners(&self, topic: &[u8]) -> usize {
        on_backend!(self.core.backend,
            _engine => 0,
            connections => connections.listeners(topic))
    }

    /// Wakes one listener for this topic of this process, if there is one.
    pub(crate) fn wake_one(&self, topic: &[u8]) {
        on_backend!(self.core.backend,
            engine => engine.wake_one(topic),
            connections => connections.wake_one(topic));
    }

    /// Does this when something is published for this topic and nobody listens any more, until the subscription ends.
    pub(crate) fn on_unheard(&self, topic: &Topic, unheard: Unheard) {
        on_backend!(self.core.backend,
            _engine => drop((topic, unheard)),
            connections => connections.on_unheard(topic, unheard));
    }

    /// Wakes one listener for this topic of this process after this time, if there is one then.
    pub(crate) fn wake_after(&self, topic: &[u8], delay: Duration) {
        on_backend!(self.core.backend,
            engine => engine.wake_after(topic, delay),
            connections => connections.wake_after(topic, delay));
    }

    /// The time of this process, from any point on; that of the clock of an embedded engine, if it was opened with one.
    pub(crate) fn local_time(&self) -> Duration {
        on_backend!(self.core.backend,
            engine => engine.own_time().map_or_else(elapsed, Duration::from_micros),
            _connections => elapsed())
    }

    /// The time that an embedded engine's work becomes due by, which tests can move; elsewhere that of this
    /// process, from any point on.
    pub(crate) fn time(&self) -> Duration {
        on_backend!(self.core.backend,
            engine => Duration::from_micros(engine.now()),
            _connections => elapsed())
    }

    /// A random number, for what need not be a secret.
    pub(crate) fn draw(&self) -> u64 {
        random::quick()
    }

    /// How often a waiting consumer checks although nothing woke it: on a shared server there are
    /// producers that do not announce what they do.
    pub(crate) fn fallback_poll_interval(&self) -> Option<Duration> {
        on_backend!(self.core.backend,
            _engine => None,
            _connections => (!self.core.pace.never_polls).then_some(Duration::from_secs(5)))
    }

    /// The limit for one call; none on an embedded engine, which never waits for a server.
    pub(crate) fn call_timeout(&self) -> Option<Duration> {
        on_backend!(self.core.backend,
            _engine => None,
            _connections => Some(self.core.pace.timeout))
    }

    /// How often a lease of this length is renewed.
    pub(crate) fn renewal_interval(&self, length: Duration) -> Duration {
        self.core.pace.renew_every.unwrap_or(length / 3)
    }
}

/// The time of this process, from any point on.
fn elapsed() -> Duration {
    static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
    BEGAN.elapsed()
}

pub(crate) fn closed() -> Error {
    Error::new(ErrorKind::Closed, "the client is closed")
}

impl<M: Mode> Clone for Client<M> {
    fn clone(&self) -> Self {
        Self { core: self.core.clone(), mode: PhantomData }
    }
}

impl<M: Mode> fmt::Debug for Client<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let backend = on_backend!(self.core.backend,
            _engine => "embedded",
            _connections => "redis");
        f.debug_struct("Client").field("backend", &backend).finish_non_exhaustive()
    }
}
