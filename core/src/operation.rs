//! A step of a queue: one value that knows how to run on Redis and how to run embedded.
//!
//! Every queue is a small state machine that moves by steps such as
//! [`ick::Add`](crate::ick::Add). On Redis a step is one script call: [`Operation::invocation`]
//! says which script with which keys and arguments, [`Operation::decode`] reads the answer. Both
//! are pure, so a step can travel over a connection that somebody else owns. On the embedded
//! engine the same step is [`Operation::apply`] on the queue's state in memory.
//!
//! A connection of your own must not send a call again by itself after a dropped connection, as
//! some client libraries do: an exchange that runs twice can lose a member. Switch that off. A step that
//! is answered `AGAIN` has not been done, and is to be sent again at once.
//!
//! ```
//! use millpond::{Operation, Reply, ick};
//!
//! let step = ick::Add::new("files", [(5.0, "a.txt")])?;
//! let call = step.invocation();
//! // Send: EVALSHA <call.script.sha1()> 3 <call.keys …> <call.args …>; on NOSCRIPT, EVAL
//! // <call.script.source()> with the same keys and arguments. Then read the answer:
//! assert_eq!(*call.keys[1], *b"files/ick/{files}/pset");
//! let added = step.decode(Reply::Array(vec![Reply::Int(1), Reply::Int(0)]))?;
//! assert_eq!(added, ick::Added { new: 1, lowered: 0 });
//! # Ok::<(), millpond::Error>(())
//! ```

use std::any::Any;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::byte_list::ByteList;
use crate::error::Result;
use crate::reply::Reply;

/// One atomic step of one queue. Only this crate's steps are; see the modules of the queues.
pub trait Operation: sealed::Sealed + Send + Sync + 'static {
    /// What the step answers.
    type Output: Send + 'static;

    /// What the embedded engine keeps for a queue of this kind.
    type State: State + Default;

    /// The name in errors, metrics and logs, such as `ick.add`.
    const NAME: &'static str;

    /// Whether running the step twice in a row does and answers the same as running it once.
    /// Only such steps are sent again when a connection breaks before the answer.
    const IDEMPOTENT: bool;

    /// What a name has to be like for a cluster, where the keys of a step lie in one slot.
    const ON_CLUSTER: &'static str = "give it a name without braces, or with one {tag}";

    /// The queue's name: the embedded engine keeps one [`State`] for each.
    fn queue(&self) -> &[u8];

    /// The script call that does this step on Redis.
    fn invocation(&self) -> Invocation;

    /// The call to send in place of this one, if the script's answer says that nothing was done since
    /// the call was made for something else than what is there.
    fn revised(&self, reply: &Reply) -> Option<Invocation> {
        let _ = reply;
        None
    }

    /// What the script's answer means.
    ///
    /// # Errors
    /// The error that the server answered.
    fn decode(&self, reply: Reply) -> Result<Self::Output>;

    /// Does the step on the embedded engine's state.
    ///
    /// # Errors
    /// As the script answers them; then nothing has changed.
    fn apply(self, state: &Self::State, turn: &mut Turn<'_>) -> Result<Self::Output>;
}

/// Steps and states may get more methods in any release, so nobody else can make them.
pub(crate) mod sealed {
    pub trait Sealed {}
}

/// Says once which steps a queue has, and which states they work on: nobody else can make any, and
/// the tests walk all of them.
macro_rules! steps {
    ([$($state:ty),*] $($step:ty),* $(,)?) => {
        $(impl $crate::operation::sealed::Sealed for $state {})*
        $(impl $crate::operation::sealed::Sealed for $step {})*
        #[cfg(test)]
        pub(crate) const STEPS: &[&str] = &[$(<$step as $crate::Operation>::NAME),*];
    };
}
pub(crate) use steps;

/// A call of a script: everything that EVALSHA needs.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// The script.
    pub script: &'static Script,
    /// Its KEYS, in order. All lie in one cluster slot.
    pub keys: Vec<Arc<[u8]>>,
    /// Its ARGV, in order.
    pub args: ByteList,
}

/// A Lua script, called by the SHA1 of its source.
pub struct Script {
    source: &'static str,
    sha1: OnceLock<String>,
}

impl Script {
    pub(crate) const fn new(source: &'static str) -> Self {
        Self { source, sha1: OnceLock::new() }
    }

    /// The source, as EVAL and SCRIPT LOAD take it.
    pub fn source(&self) -> &'static str {
        self.source
    }

    /// The SHA1 of the source in 40 hexadecimal digits, as EVALSHA takes it.
    pub fn sha1(&self) -> &str {
        self.sha1.get_or_init(|| sha1_smol::Sha1::from(self.source).digest().to_string())
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Script").field(&self.sha1()).finish()
    }
}

/// What the embedded engine keeps for one queue. A state does its own locking, so that a kind of
/// queue with finer locks than one a queue can have them.
pub trait State: sealed::Sealed + Any + Send + Sync {
    /// The number of this kind of queue in the journal; never used for another kind.
    fn kind() -> u8
    where
        Self: Sized;

    /// Does again what a journal record says was done: one of the log with its sequence, or one of a
    /// snapshot. What was recorded before the snapshot of the state began is not replayed.
    ///
    /// # Errors
    /// `CORRUPT` for a record that this version cannot read.
    fn replay(&self, record: &[u8], sequence: Option<u64>) -> Result<()>;

    /// Says that everything has been replayed.
    fn replayed(&self) {}

    /// Writes records that make this state when they are replayed on an empty one. Calls
    /// [`Snapshot::begin`] while it holds every lock of the state, so that the records are exactly
    /// the state at that moment, and keeps the locks until it has copied all of it. A state that is
    /// copied in sections begins before the first and at each, keeps the sequences with them, and
    /// leaves out for itself what a section holds of a record that is replayed.
    fn snapshot(&self, out: &mut dyn Snapshot);

    /// Whether the state is as if the queue had never been used; then the engine forgets it.
    fn is_unused(&self) -> bool;
}

/// Where a [`State`] writes its snapshot.
pub trait Snapshot {
    /// Marks the moment that the records describe, and answers the sequence of the first record of the
    /// log that comes after it.
    fn begin(&mut self) -> u64;
    /// One record, as [`State::replay`] reads it.
    fn record(&mut self, record: &[u8]);
}

/// One step's turn on the embedded engine: the time it runs at, what else is there, and where its
/// effects go.
pub struct Turn<'a> {
    now: Timestamp,
    states: &'a dyn States,
    journal: Option<&'a dyn Journal>,
    others: Vec<Part>,
    /// Whether anybody waits for anything.
    is_awaited: &'a dyn Fn() -> bool,
    calls: Vec<Call>,
    visited: Vec<(u8, Arc<[u8]>)>,
    is_emptied: bool,
}

/// Whom to wake when a step is done.
pub(crate) enum Call {
    /// So many listeners for a topic.
    Now(Arc<[u8]>, usize),
    /// One listener for a topic after this time.
    Later(Arc<[u8]>, Duration),
}

/// The states of an engine.
pub(crate) trait States {
    /// The state of a queue, an empty one if there is none.
    ///
    /// # Errors
    /// `INCOMPATIBLE_VERSION` for a kind that there is not.
    fn state_of_kind(&self, kind: u8, name: &[u8]) -> Result<Arc<dyn State>>;
}

/// What a step changed in one state, where it changes several.
pub(crate) struct Part {
    pub(crate) kind: u8,
    pub(crate) name: Arc<[u8]>,
    pub(crate) effects: Vec<u8>,
}

/// Where the effects of steps are written so that they survive the process.
pub(crate) trait Journal {
    /// Takes one step's effects, those on its own state and those on others, which come back
    /// together or not at all; records come back in this order. Called under the states' locks, so
    /// it only copies.
    fn append(&self, own: &[u8], others: &[Part]);
}

/// What is left to do when a step has given back its locks.
pub(crate) struct Finished {
    /// Whom to wake.
    pub(crate) calls: Vec<Call>,
    /// Other queues that were looked at, by kind and name.
    pub(crate) visited: Vec<(u8, Arc<[u8]>)>,
}

/// Microseconds since the Unix epoch.
pub type Timestamp = u64;

impl<'a> Turn<'a> {
    pub(crate) fn new(
        now: Timestamp,
        states: &'a dyn States,
        journal: Option<&'a dyn Journal>,
        is_awaited: &'a dyn Fn() -> bool,
    ) -> Self {
        let (others, calls, visited) = (Vec::new(), Vec::new(), Vec::new());
        Self { now, states, journal, others, is_awaited, calls, visited, is_emptied: false }
    }

    /// The time of the step, read once.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Whether effects have to be recorded at all.
    pub fn is_durable(&self) -> bool {
        self.journal.is_some()
    }

    /// Another queue's state, for a step that spans several. Whoever locks more than one does so
    /// in the order of their kinds, from the highest to the lowest, and holds all of them until
    /// everything is recorded.
    pub(crate) fn state<S: State>(&mut self, name: &Arc<[u8]>) -> Result<Arc<S>> {
        let state: Arc<dyn Any + Send + Sync> = self.states.state_of_kind(S::kind(), name)?;
        self.visited.push((S::kind(), name.clone()));
        Ok(state.downcast().expect("a kind's number belongs to one type of state"))
    }

    /// Adds what the step did to another queue's state to what it will [record](Self::record).
    pub(crate) fn record_other<S: State>(&mut self, name: &Arc<[u8]>, effects: Vec<u8>) {
        if self.journal.is_some() && !effects.is_empty() {
            self.others.push(Part { kind: S::kind(), name: name.clone(), effects });
        }
    }

    /// Records everything the step did, at once; called while the step still holds its locks, so
    /// that the journal has the steps of a queue in the order in which they happened.
    pub fn record(&mut self, effects: &[u8]) {
        let others = std::mem::take(&mut self.others);
        if let Some(journal) = self.journal
            && !(effects.is_empty() && others.is_empty())
        {
            journal.append(effects, &others);
        }
    }

    /// Says that there is work for so many, so that as many listeners for the topic are woken. Called
    /// while the step holds its locks, as whether anybody listens is asked here.
    pub(crate) fn wake(&mut self, topic: impl FnOnce() -> Arc<[u8]>, count: usize) {
        if count > 0 && (self.is_awaited)() {
            self.calls.push(Call::Now(topic(), count));
        }
    }

    /// Says that there will be work after so many milliseconds, so that one listener for the topic is
    /// woken then; called like [`wake`](Self::wake).
    pub(crate) fn wake_in(&mut self, topic: impl FnOnce() -> Arc<[u8]>, delay_ms: u64) {
        if (self.is_awaited)() {
            self.calls.push(Call::Later(topic(), Duration::from_millis(delay_ms)));
        }
    }

    /// Says that the step may have left the queue as if it had never been used, so that the engine
    /// looks whether it can forget it.
    pub fn emptied(&mut self) {
        self.is_emptied = true;
    }

    pub(crate) fn is_emptied(&self) -> bool {
        self.is_emptied
    }

    /// Whom to wake, and which other states were looked at.
    pub(crate) fn finish(self) -> Finished {
        Finished { calls: self.calls, visited: self.visited }
    }
}
