//! The one door in: [`connect`] makes a [`Client`], and a client makes the handles of queues.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

#[cfg(feature = "embedded")]
use crate::embedded::Engine;
use crate::error::{Error, ErrorKind, Result};
use crate::ick::{Ick, IckChannel};
use crate::interrupt;
use crate::operation::Operation;
use crate::options::Options;
use crate::recovery::Recovery;
#[cfg(feature = "redis")]
use crate::redis::Connections;
use crate::shuffle::{MessageId, ShuffleQueue};
use crate::sync::lock;
use crate::tasks::TaskStore;
use crate::timer::Timer;
use crate::waiters::{Audience, Listener, Topic};

/// Connects to a server or opens an embedded engine; see [`Options`] for the URLs.
///
/// A Redis client connects when it first has something to send, so this makes no connection and a
/// process can fork after it.
///
/// ```
/// let client = millpond::connect("memory:")?;
/// client.ick("files").add([(1.0, "a.txt")])?;
/// # Ok::<(), millpond::Error>(())
/// ```
///
/// # Errors
/// `INVALID_URL` for a URL or an option that is not known; for `file:`, `LOCKED` if another
/// process holds the directory (processes share queues over `redis:`), `CORRUPT` if it is damaged
/// or lacks what was on disk, `STORAGE` if the disk refuses or a link or a pipe is in a file's
/// place.
pub fn connect(url: &str) -> Result<Client> {
    Options::parse(url)?.connect()
}

/// The same for async programs: every step is a future. Needs no runtime of the caller's.
pub mod aio {
    use super::{Async, Client, Options, Result};

    /// A client whose steps are futures, on any async runtime.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let client = millpond::aio::connect("memory:")?;
    /// client.ick("files").add([(1.0, "a.txt")]).await?;
    /// # Ok::<(), millpond::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`crate::connect`].
    pub fn connect(url: &str) -> Result<Client<Async>> {
        Ok(Options::parse(url)?.connect()?.to_async())
    }
}

/// A server or an embedded engine, and the way to the queues on it. Cheap to clone; clones share
/// connections. Safe to use from many threads and, on Redis, after a fork.
pub struct Client<M: Mode = Blocking> {
    core: Arc<Core>,
    mode: PhantomData<M>,
}

/// A client that may be gone.
pub(crate) struct WeakClient<M: Mode> {
    core: Weak<Core>,
    mode: PhantomData<M>,
}

impl<M: Mode> WeakClient<M> {
    pub(crate) fn upgrade(&self) -> Option<Client<M>> {
        Some(Client { core: self.core.upgrade()?, mode: PhantomData })
    }
}

struct Core {
    backend: Backend,
    closed: AtomicBool,
}

enum Backend {
    #[cfg(feature = "embedded")]
    Embedded(Arc<Engine>),
    #[cfg(feature = "redis")]
    Redis(Connections),
}

/// How a step's answer comes: at once ([`Blocking`]) or as a future ([`Async`]).
pub trait Mode: sealed::Sealed + Copy + Send + Sync + Sized + 'static {
    /// What a step returns to its caller.
    type Reply<T: Send + 'static>;

    #[doc(hidden)]
    fn run<O: Operation, T: Send + 'static>(
        client: &Client<Self>,
        steps: Result<Vec<O>>,
        combine: impl FnOnce(Vec<O::Output>) -> T + Send + 'static,
    ) -> Self::Reply<T>;

    #[doc(hidden)]
    fn run_when<O: Operation, T: Send + 'static>(
        client: &Client<Self>,
        when: impl FnOnce(Box<dyn FnOnce(Result<O>) + Send>),
        then: impl FnMut(Result<O::Output>) -> Then<O, T> + Send + 'static,
    ) -> Self::Reply<T>;
}

/// Takes the step that somebody waited for.
type Run<O> = Box<dyn FnOnce(Result<O>) + Send>;

/// What comes after a step of a call that may take several.
#[doc(hidden)]
pub enum Then<O, T> {
    /// The call is over.
    Done(Result<T>),
    /// Another step, after this time.
    Run(O, Duration),
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Blocking {}
    impl Sealed for super::Async {}
}

/// Steps run on the caller's thread and return their result.
#[derive(Clone, Copy, Debug)]
pub enum Blocking {}

/// Steps return a [`Pending`] result at once.
#[derive(Clone, Copy, Debug)]
pub enum Async {}

impl Mode for Blocking {
    type Reply<T: Send + 'static> = Result<T>;

    fn run<O: Operation, T: Send + 'static>(
        client: &Client<Self>,
        steps: Result<Vec<O>>,
        combine: impl FnOnce(Vec<O::Output>) -> T + Send + 'static,
    ) -> Result<T> {
        let outputs = steps.and_then(|steps| {
            steps.into_iter().map(|step| client.core.run(step)).collect::<Result<Vec<_>>>()
        });
        outputs.map(combine).map_err(|error| error.in_operation(O::NAME))
    }

    #[allow(clippy::disallowed_methods, reason = "a driver")]
    fn run_when<O: Operation, T: Send + 'static>(
        client: &Client<Self>,
        when: impl FnOnce(Run<O>),
        mut then: impl FnMut(Result<O::Output>) -> Then<O, T> + Send + 'static,
    ) -> Result<T> {
        let (known, step) = mpsc::channel();
        when(Box::new(move |step| {
            // Whoever was interrupted does not wait any more.
            let _ = known.send(step);
        }));
        let mut known = Err(RecvTimeoutError::Timeout);
        interrupt::wait_in_slices(None, |until| {
            known = match until {
                None => step.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(until) => step.recv_timeout(until.saturating_duration_since(Instant::now())),
            };
            !matches!(known, Err(RecvTimeoutError::Timeout))
        })?;
        let mut step = known
            .unwrap_or_else(|_| Err(Error::new(ErrorKind::Internal, "the step was never made")));
        loop {
            let answer = step.and_then(|step| client.core.run(step));
            match then(answer.map_err(|error| error.in_operation(O::NAME))) {
                Then::Done(result) => return result,
                Then::Run(next, delay) => {
                    interrupt::wait_in_slices(Some(Instant::now() + delay), |until| {
                        let left =
                            until.map(|until| until.saturating_duration_since(Instant::now()));
                        std::thread::sleep(left.unwrap_or_default());
                        false
                    })?;
                    step = Ok(next);
                }
            }
        }
    }
}

impl Mode for Async {
    type Reply<T: Send + 'static> = Pending<T>;

    fn run<O: Operation, T: Send + 'static>(
        client: &Client<Self>,
        steps: Result<Vec<O>>,
        combine: impl FnOnce(Vec<O::Output>) -> T + Send + 'static,
    ) -> Pending<T> {
        let (done, pending) = oneshot::channel();
        client.submit_all(steps, move |outputs| {
            // The caller may have dropped the future; the step runs all the same.
            let _ = done.send(outputs.map(combine));
        });
        Pending(pending)
    }

    fn run_when<O: Operation, T: Send + 'static>(
        client: &Client<Self>,
        when: impl FnOnce(Run<O>),
        then: impl FnMut(Result<O::Output>) -> Then<O, T> + Send + 'static,
    ) -> Pending<T> {
        let (done, pending) = oneshot::channel();
        let client = client.clone();
        when(Box::new(move |step| client.go_on(step, then, done)));
        Pending(pending)
    }
}

impl Client<Async> {
    /// Submits a step, and those that come after it. Nobody waits for those whose future is dropped.
    fn go_on<O: Operation, T: Send + 'static>(
        &self,
        step: Result<O>,
        mut then: impl FnMut(Result<O::Output>) -> Then<O, T> + Send + 'static,
        done: oneshot::Sender<Result<T>>,
    ) {
        let client = self.downgrade();
        self.submit(step, move |answer| match then(answer) {
            Then::Done(result) => {
                let _ = done.send(result);
            }
            Then::Run(_, _) if done.is_closed() => {}
            Then::Run(next, delay) => Timer::detached(delay, move || match client.upgrade() {
                Some(client) => client.go_on(Ok(next), then, done),
                None => {
                    let _ = done.send(Err(closed()));
                }
            }),
        });
    }
}

/// The result of a step that is under way. The step was submitted when this was made; dropping it
/// does not take the step back. Of two steps that are under way together either may be done first.
#[must_use = "the step is under way, but only awaiting this tells how it went"]
#[derive(Debug)]
pub struct Pending<T>(oneshot::Receiver<Result<T>>);

impl<T> Future for Pending<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<T>> {
        Pin::new(&mut self.0).poll(context).map(|answer| {
            answer.unwrap_or_else(|_| {
                Err(Error::new(ErrorKind::ConnectionLost, "the background thread ended"))
            })
        })
    }
}

impl Options {
    /// Makes a client with these options; see [`connect`].
    ///
    /// # Errors
    /// As [`connect`].
    pub fn connect(&self) -> Result<Client> {
        let backend = match self.target() {
            #[cfg(feature = "embedded")]
            crate::options::Target::Memory(name) => {
                Backend::Embedded(Engine::memory(name.as_deref(), self)?)
            }
            #[cfg(feature = "embedded")]
            crate::options::Target::File(path) => {
                let engine = Engine::file(path, self)?;
                let recovery = engine.recovery().into_iter();
                recovery.flat_map(|found| &found.warnings).for_each(|text| (self.on_warning)(text));
                Backend::Embedded(engine)
            }
            #[cfg(feature = "redis")]
            _ => Backend::Redis(Connections::new(self)?),
            #[cfg(not(all(feature = "redis", feature = "embedded")))]
            #[allow(unreachable_patterns, reason = "which it is depends on the features")]
            _ => {
                return Err(Error::new(
                    ErrorKind::InvalidUrl,
                    "this build of Millpond does not have the feature for this URL",
                ));
            }
        };
        let core = Arc::new(Core { backend, closed: AtomicBool::new(false) });
        Ok(Client { core, mode: PhantomData })
    }
}

impl<M: Mode> Client<M> {
    /// The Ick of this name. Makes no call.
    pub fn ick(&self, name: impl AsRef<[u8]>) -> Ick<M> {
        Ick::new(self.clone(), name.as_ref())
    }

    /// The channel of `shards` Icks of this name. Makes no call.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for no Ick or more than 65,536.
    pub fn ick_channel(&self, name: impl AsRef<[u8]>, shards: u32) -> Result<IckChannel<M>> {
        IckChannel::new(self.clone(), name.as_ref(), shards)
    }

    /// The shuffle queue of this name. Makes no call.
    pub fn shuffle_queue(&self, name: impl AsRef<[u8]>) -> ShuffleQueue<M> {
        ShuffleQueue::new(self.clone(), name.as_ref())
    }

    /// The task store of this name. Makes no call.
    pub fn tasks(&self, name: impl AsRef<[u8]>) -> TaskStore<M> {
        TaskStore::new(self.clone(), name.as_ref())
    }

    /// Runs a step that was made by hand.
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
    /// Those of making the step, which nothing is sent for, and those of the step.
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
        match step {
            Ok(step) => self.core.submit(step, done),
            Err(error) => done(Err(error.in_operation(O::NAME))),
        }
    }

    /// Runs a step that nobody waits for. Where its answer takes time the client stays open until
    /// then, even if this was the last to use it: a script that the server does not know yet has to
    /// be sent twice.
    pub(crate) fn run_unattended<O: Operation>(&self, step: Result<O>) {
        let Ok(step) = step else { return };
        let kept: Option<Self> = match self.core.backend {
            // It is done when this returns, and the thread that tells so must not be the one that
            // closes the engine.
            #[cfg(feature = "embedded")]
            Backend::Embedded(_) => None,
            #[cfg(feature = "redis")]
            Backend::Redis(_) => Some(self.clone()),
        };
        self.core.submit(step, move |_| drop(kept));
    }

    /// Runs a step, and `then` on what it answered.
    pub(crate) fn run_then<O: Operation, T: Send + 'static>(
        &self,
        step: Result<O>,
        then: impl FnOnce(O::Output) -> T + Send + 'static,
    ) -> M::Reply<T> {
        M::run(self, step.map(|step| vec![step]), move |mut outputs: Vec<O::Output>| {
            then(outputs.pop().expect("a step has one output"))
        })
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

    /// Runs several independent steps, and `combine` on what they answered.
    pub(crate) fn run_all<O: Operation, T: Send + 'static>(
        &self,
        steps: Result<Vec<O>>,
        combine: impl FnOnce(Vec<O::Output>) -> T + Send + 'static,
    ) -> M::Reply<T> {
        M::run(self, steps, combine)
    }

    /// Submits several independent steps and calls back when all are done, with the first error
    /// if there is one.
    pub(crate) fn submit_all<O: Operation>(
        &self,
        steps: Result<Vec<O>>,
        done: impl FnOnce(Result<Vec<O::Output>>) + Send + 'static,
    ) {
        let mut steps = match steps {
            Ok(steps) if steps.is_empty() => return done(Ok(Vec::new())),
            Ok(steps) => steps,
            Err(error) => return done(Err(error.in_operation(O::NAME))),
        };
        if steps.len() == 1 {
            let step = steps.remove(0);
            return self.core.submit(step, |output| done(output.map(|output| vec![output])));
        }
        type Outputs<O> = (Vec<Option<Result<<O as Operation>::Output>>>, usize);
        let all: Outputs<O> = (steps.iter().map(|_| None).collect(), steps.len());
        let shared = Arc::new((Mutex::new(all), Mutex::new(Some(done))));
        for (index, step) in steps.into_iter().enumerate() {
            let shared = shared.clone();
            self.core.submit(step, move |output| {
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

    /// What opening the engine of a `file:` found; `None` for another URL. Makes no call. Clients of
    /// one process that share a directory get the same.
    ///
    /// A crash leaves the records that were acknowledged, but for what
    /// [`SyncMode`](crate::SyncMode) allows it to take. Files that lost
    /// something else are told by the error `CORRUPT`, or by [`Recovery::suspicion`] where a crash
    /// could have done the same. [`Options::on_warning`] handles the warnings, which are printed to
    /// standard error by default.
    ///
    /// After a close, no cut of a file and no damage goes unnoticed, and with `sync=always` no cut
    /// after a crash. Not noticed are:
    ///
    /// * after a crash with `sync=always`, zeros in the place of the last records, as a whole, of at
    ///   most 256 KiB and the last write;
    /// * after a crash with another `sync`, the same and a cut between two records, in what was
    ///   written since the first step after the last sync;
    /// * an older copy of the directory, or an empty one in its place;
    /// * in a log of format 1, until it is first opened by this version: a cut between two records;
    ///   and the removal of the log that follows it then, until both have become a snapshot;
    /// * what somebody changes on purpose and with new checksums.
    ///
    /// Damage to the last write before a crash looks like a write that the crash interrupted: it is
    /// cut off and told as one.
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
        match self.core.backend {
            #[cfg(feature = "embedded")]
            Backend::Embedded(ref engine) => engine.recovery().cloned(),
            #[cfg(feature = "redis")]
            Backend::Redis(_) => None,
        }
    }

    /// A blocking client on the same backend.
    pub fn to_blocking(&self) -> Client<Blocking> {
        Client { core: self.core.clone(), mode: PhantomData }
    }

    /// An async client on the same backend.
    pub fn to_async(&self) -> Client<Async> {
        Client { core: self.core.clone(), mode: PhantomData }
    }

    /// This client for somebody who must not keep its connections or its engine open.
    pub(crate) fn downgrade(&self) -> WeakClient<M> {
        WeakClient { core: Arc::downgrade(&self.core), mode: PhantomData }
    }

    /// Closes the client and its clones: steps answer `CLOSED` from now on, whoever waits is woken
    /// and finds that out, and what an embedded engine still holds back is written. A client that is dropped does the same.
    ///
    /// # Errors
    /// `STORAGE` if the disk refuses the last write.
    pub fn close(&self) -> Result<()> {
        self.core.close()
    }

    /// Listens for these topics. A new listener is woken once when it really listens, so whoever
    /// looked before it did looks again and misses nothing.
    pub(crate) fn listen(&self, topics: Vec<Topic>) -> Listener {
        match self.core.backend {
            #[cfg(feature = "embedded")]
            Backend::Embedded(ref engine) => engine.listen(Audience::default(), topics),
            #[cfg(feature = "redis")]
            Backend::Redis(ref connections) => connections.listen(topics),
        }
    }

    /// Listens for the notifications of a queue whose producers leave them in a stream, from the
    /// one on that an empty read answered: no wake-up is lost in between.
    pub(crate) fn listen_after(
        &self,
        audience: Audience,
        topic: Topic,
        after: MessageId,
    ) -> Listener {
        match self.core.backend {
            #[cfg(feature = "embedded")]
            Backend::Embedded(ref engine) => engine.listen(audience, vec![topic]),
            #[cfg(feature = "redis")]
            Backend::Redis(ref connections) => connections.listen_after(audience, topic, after),
        }
    }

    /// Wakes one listener for this topic of this process after this time, if there is one then.
    pub(crate) fn wake_after(&self, topic: &[u8], delay: Duration) {
        match self.core.backend {
            #[cfg(feature = "embedded")]
            Backend::Embedded(ref engine) => engine.wake_after(topic, delay),
            #[cfg(feature = "redis")]
            Backend::Redis(ref connections) => connections.wake_after(topic, delay),
        }
    }

    /// How often whoever waits looks even though nobody woke it: on a shared server there are
    /// producers that do not announce what they do.
    pub(crate) fn look_interval(&self) -> Option<Duration> {
        match self.core.backend {
            #[cfg(feature = "embedded")]
            Backend::Embedded(_) => None,
            #[cfg(feature = "redis")]
            Backend::Redis(_) => Some(Duration::from_secs(5)),
        }
    }
}

impl Core {
    fn run<O: Operation>(&self, step: O) -> Result<O::Output> {
        self.check_open()?;
        match self.backend {
            #[cfg(feature = "embedded")]
            Backend::Embedded(ref engine) => engine.run(step),
            #[cfg(feature = "redis")]
            Backend::Redis(ref connections) => connections.run(step),
        }
    }

    fn submit<O: Operation>(&self, step: O, done: impl FnOnce(Result<O::Output>) + Send + 'static) {
        let done = move |output: Result<O::Output>| {
            done(output.map_err(|error| error.in_operation(O::NAME)));
        };
        if let Err(error) = self.check_open() {
            return done(Err(error));
        }
        match self.backend {
            #[cfg(feature = "embedded")]
            Backend::Embedded(ref engine) => engine.submit(step, done),
            #[cfg(feature = "redis")]
            Backend::Redis(ref connections) => connections.submit(step, done),
        }
    }

    fn close(&self) -> Result<()> {
        if self.closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        match self.backend {
            #[cfg(feature = "embedded")]
            Backend::Embedded(ref engine) => {
                // Others may share the engine; theirs look once for nothing.
                engine.wake_everyone();
                engine.leave()
            }
            #[cfg(feature = "redis")]
            Backend::Redis(ref connections) => {
                connections.close();
                Ok(())
            }
        }
    }

    fn check_open(&self) -> Result<()> {
        if self.closed.load(Ordering::Acquire) {
            return Err(closed());
        }
        Ok(())
    }
}

fn closed() -> Error {
    Error::new(ErrorKind::Closed, "the client is closed")
}

impl Drop for Core {
    fn drop(&mut self) {
        // Nobody is left to tell; what was acknowledged is safe already.
        let _ = self.close();
    }
}

impl<M: Mode> Clone for Client<M> {
    fn clone(&self) -> Self {
        Self { core: self.core.clone(), mode: PhantomData }
    }
}

impl<M: Mode> fmt::Debug for Client<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let backend = match self.core.backend {
            #[cfg(feature = "embedded")]
            Backend::Embedded(_) => "embedded",
            #[cfg(feature = "redis")]
            Backend::Redis(_) => "redis",
        };
        f.debug_struct("Client").field("backend", &backend).finish_non_exhaustive()
    }
}
