//! A step of a queue: one value that knows how to run on Redis and how to run embedded.
//!
//! Every queue is a small state machine that moves by steps such as
//! [`ick::Add`](crate::ick::Add). On Redis a step is one script call: [`Operation::invocation`]
//! says which script with which keys and arguments, [`Operation::decode`] reads the answer. Both
//! are pure, so a step can travel over a connection that somebody else owns. On the embedded
//! engine the same step is [`Operation::apply`] on the queue's state in memory.
//!
//! A connection of your own must not send a call again by itself after a dropped connection, as
//! some client libraries do: an exchange that runs twice can lose a member. Switch that off.
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

    /// The queue's name: the embedded engine keeps one [`State`] for each.
    fn queue(&self) -> Arc<[u8]>;

    /// The script call that does this step on Redis.
    fn invocation(&self) -> Invocation;

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

    /// Does again what a journal record says was done.
    ///
    /// # Errors
    /// `CORRUPT` for a record that this version cannot read.
    fn replay(&self, record: &[u8]) -> Result<()>;

    /// Writes records that make this state when they are replayed on an empty one. Calls
    /// [`Snapshot::begin`] while it holds every lock of the state, so that the records are exactly
    /// the state at that moment, and keeps the locks until it has copied all of it.
    fn snapshot(&self, out: &mut dyn Snapshot);

    /// Whether the state is as if the queue had never been used; then the engine forgets it.
    fn is_unused(&self) -> bool;
}

/// Where a [`State`] writes its snapshot.
pub trait Snapshot {
    /// Marks the moment that the records describe.
    fn begin(&mut self);
    /// One record, as [`State::replay`] reads it.
    fn record(&mut self, record: &[u8]);
}

/// One step's turn on the embedded engine: the time it runs at, and where its effects go.
pub struct Turn<'a> {
    now: Timestamp,
    journal: Option<&'a dyn Journal>,
    woken: Vec<Arc<[u8]>>,
    emptied: bool,
}

/// Where the effects of steps are written so that they survive the process.
pub(crate) trait Journal {
    /// Takes one step's effects; records come back in this order. Called under the state's locks,
    /// so it only copies.
    fn append(&self, record: &[u8]);
}

/// Microseconds since the Unix epoch.
pub type Timestamp = u64;

impl<'a> Turn<'a> {
    pub(crate) fn new(now: Timestamp, journal: Option<&'a dyn Journal>) -> Self {
        Self { now, journal, woken: Vec::new(), emptied: false }
    }

    /// The time of the step, read once.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Whether effects have to be recorded at all.
    pub fn is_durable(&self) -> bool {
        self.journal.is_some()
    }

    /// Records everything the step did, at once; called while the step still holds its locks, so
    /// that the journal has the steps of a queue in the order in which they happened.
    pub fn record(&mut self, effects: &[u8]) {
        if let Some(journal) = self.journal {
            journal.append(effects);
        }
    }

    /// Says that there is work where there was none, so that one listener for `topic` is woken for
    /// each time this is said.
    pub fn wake(&mut self, topic: Arc<[u8]>) {
        self.woken.push(topic);
    }

    /// Says that the step may have left the queue as if it had never been used, so that the engine
    /// looks whether it can forget it.
    pub fn emptied(&mut self) {
        self.emptied = true;
    }

    pub(crate) fn is_emptied(&self) -> bool {
        self.emptied
    }

    pub(crate) fn woken(self) -> Vec<Arc<[u8]>> {
        self.woken
    }
}
