//! A step of a queue: one value that knows how to run on Redis and how to run embedded.
//!
//! Every queue is a small state machine that moves by steps such as
//! [`ick::Add`](crate::ick::Add). On Redis a step is one script call: [`Operation::invocation`]
//! says which script with which keys and arguments, [`Operation::decode`] reads the reply. Both
//! are pure, so a step can travel over a connection that another program owns. On the embedded
//! engine the same step is [`Operation::apply`] on the queue's state in memory.
//!
//! Your own connection must not automatically resend a call after it was dropped, as some client libraries do: an
//! exchange that runs twice can lose a member. Turn that off. A step that returns `AGAIN` has not been done; send it
//! again immediately.
//!
//! ```
//! use millpond::ick;
//! use millpond::step::{Operation, Reply};
//!
//! let step = ick::Add::new("files", [(5.0, "a.txt")])?;
//! let call = step.invocation();
//! // Send: EVALSHA <call.script.sha1()> 3 <call.keys …> <call.args …>; on NOSCRIPT, EVAL
//! // <call.script.source()> with the same keys and arguments. Then read the reply:
//! assert_eq!(*call.keys[1], *b"files/ick/{files}/pset");
//! let added = step.decode(Reply::Array(vec![Reply::Int(1), Reply::Int(0)]))?;
//! assert_eq!(added, ick::Added { new: 1, lowered: 0 });
//! # Ok::<(), millpond::Error>(())
//! ```

use super::{Invocation, Reply, Script, State, StepContext};
use crate::error::Result;

/// One atomic step of one queue. Only this crate's steps implement it; see the modules of the queues.
pub trait Operation: sealed::Sealed + Send + Sync + 'static {
    /// The result of the step.
    type Output: Send + 'static;

    /// The state of a queue of this kind on the embedded engine.
    type State: State + Default;

    /// The name in errors, metrics and logs, such as `ick.add`.
    const NAME: &'static str;

    /// Whether running the step twice in a row has the same effect and result as running it once. Only such steps are
    /// sent again when a connection breaks before the reply.
    const IDEMPOTENT: bool;

    /// Whether the step writes nothing to the disk of an embedded engine, so that it does not wait for the disk.
    const IN_MEMORY: bool = false;

    /// The advice for a name on a cluster, where all keys of a step must lie in one slot.
    const ON_CLUSTER: &'static str = "give it a name without braces, or with one {tag}";

    /// The script that does the step on Redis.
    fn script() -> &'static Script;

    /// The queue's name: the embedded engine keeps one [`State`] for each.
    fn queue(&self) -> &[u8];

    /// The script call that does this step on Redis.
    fn invocation(&self) -> Invocation;

    /// The call to send in place of this one, if the script's reply says that nothing was done because the call did
    /// not fit the stored state.
    fn revised(&self, reply: &Reply) -> Option<Invocation> {
        let _ = reply;
        None
    }

    /// Decodes the script's reply.
    ///
    /// # Errors
    /// The error of the server's reply.
    fn decode(&self, reply: Reply) -> Result<Self::Output>;

    /// Does the step on the embedded engine's state.
    ///
    /// # Errors
    /// As the script returns them; then nothing has changed.
    fn apply(self, state: &Self::State, context: &mut StepContext<'_>) -> Result<Self::Output>;
}

/// Steps and states may get more methods in any release, so other crates cannot implement them.
pub(crate) mod sealed {
    pub trait Sealed {}
}

/// The fixed part of a step's `impl Operation`: its name, the state that it works on, its field with the queue's
/// name, and the files of its script.
macro_rules! head {
    ($name:literal, $state:ty, $($queue:ident).+, [$($script:literal),+ $(,)?]) => {
        type State = $state;
        const NAME: &'static str = $name;

        fn script() -> &'static $crate::step::Script {
            $crate::step::script!($state, $($script),+)
        }

        fn queue(&self) -> &[u8] {
            self.$($queue).+.as_bytes()
        }
    };
}
pub(crate) use head;

/// Lists the steps of a queue, once: seals them and the states that they work on, and lets tools, bindings and tests
/// go through all of them.
macro_rules! steps {
    ([$($state:ty),*] $($step:ty),* $(,)?) => {
        $(impl $crate::step::sealed::Sealed for $state {})*
        $(impl $crate::step::sealed::Sealed for $step {})*

        /// The name and the script of each step of this queue.
        pub(crate) fn scripts() -> Vec<(&'static str, &'static $crate::step::Script)> {
            use $crate::step::Operation;
            vec![$((<$step>::NAME, <$step as Operation>::script())),*]
        }
    };
}
pub(crate) use steps;
