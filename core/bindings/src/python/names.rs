//! What Python calls otherwise than the core, writes by hand or does not have: all exceptions of its emitter.

/// Records that are classes of the native half: how many of their fields are positional, how many of these
/// have to be given, and the field that is JSON.
pub(crate) const CLASSES: [(&str, usize, usize, &str); 2] =
    [("tasks.Task", 3, 2, "value"), ("tasks.Doc", 5, 3, "content")];

/// Records that are written by hand.
pub(crate) const BY_HAND: [&str; 4] =
    ["ick.Entry", "ick.Stats", "shuffle.Message", "shuffle.Receipt"];

/// What is held until it is released: of its class in the native half, the calls are generated and the rest
/// is by hand.
pub(crate) const HELD: [&str; 2] = ["ick.ConsumerLease", "volatile.FieldLock"];

/// Names that other queues have too.
pub(crate) const NAMES: [(&str, &str); 9] = [
    ("events.Config", "EventConfig"),
    ("events.ConfigChange", "EventConfigChange"),
    ("events.Job", "EventJob"),
    ("events.Receipt", "Delivery"),
    ("events.Stats", "EventStats"),
    ("events.Worker", "EventWorker"),
    ("shuffle.Stats", "ShuffleStats"),
    ("shuffle.Worker", "ShuffleWorker"),
    ("shuffle.Job", "ShuffleJob"),
];

/// Calls, or the beginnings of their names, that wait for nothing and are made often. They keep the interpreter's lock: a
/// thread that releases it may wait long to get it back.
pub(crate) const QUICK: [&str; 2] = ["recruiter.Recruiter.is_due", "recruiter.Slice."];

/// What Python calls otherwise.
pub(crate) const CALLS: [(&str, &str); 1] = [("claimant", "claimant_id")];
