//! What Node calls otherwise than the core, writes by hand or does not have: all exceptions of its emitter.

/// Results that JavaScript has in another shape.
pub(crate) const OTHERS: [&str; 3] = ["ick.Added", "ick.Entry", "step.StreamId"];

/// Those of them that JavaScript reads by hand.
pub(crate) const READ_BY_HAND: [&str; 3] = ["ick.Stats", "shuffle.DeadLetter", "shuffle.Message"];

/// Those of them that are classes of JavaScript, which fill in what is not given.
pub(crate) const CLASSES: [&str; 2] = ["tasks.Task", "tasks.Doc"];

/// Setters that are no options in JavaScript.
pub(crate) const NO_OPTIONS: [&str; 7] = [
    "client.Options.pool",
    "client.Options.repair",
    "events.Worker.tell_all",
    "shuffle.Worker.tell_all",
    "tasks.TaskChange.no_value",
    "tasks.TaskChange.retry",
    "tasks.Worker.tell_all",
];

/// What has setters, and none that JavaScript gives as steps.
pub(crate) const NO_STEPS: [&str; 4] =
    ["client.Error", "ick.IckChannel", "recruiter.Slices", "tasks.Modification"];

/// Setters that add one of several, by the name of all.
pub(crate) const SEVERAL: [(&str, &str); 2] = [("exact", "exact"), ("prefix", "prefixes")];

/// Handles that are by hand in Node, as its loops are.
pub(crate) const NO_HANDLES: [&str; 4] =
    ["events.Worker", "recruiter.Slices", "shuffle.Worker", "tasks.Worker"];

/// Methods by hand, for Node has them otherwise.
pub(crate) const BY_HAND: [&str; 12] = [
    "client.Client.close",
    "events.EventQueue.publish",
    "events.EventQueue.publish_call",
    "events.EventQueue.settle_many",
    "ick.Ick.peek",
    "recruiter.Recruiter.enlist",
    "recruiter.Recruiter.enlist_within",
    "recruiter.Recruiter.run",
    "shuffle.ShuffleConsumer.read",
    "shuffle.ShuffleConsumer.read_many",
    "tasks.TaskStore.claimant_id",
    "tasks.TaskStore.insert",
];

/// Parameters that may be left out in their place, and what they are then.
pub(crate) const PLACES: [(&str, &str, &str); 5] = [
    ("", "err", "''"),
    ("exchange", "members", "[]"),
    ("dead_letters", "max", "100"),
    ("dead_letter", "reason", "''"),
    ("receive", "max", "1"),
];

/// The functions that read a list up to the limit that its call has.
pub(crate) const LIMITED: [&str; 5] = ["fieldList", "memberList", "names", "numberList", "texts"];

/// What functions and checks in generated code are named after as `NAMES` has it; all else is as in the core there.
pub(crate) const DISTINCT: [&str; 11] = [
    "events.Config",
    "events.ConfigChange",
    "events.EventQuery",
    "events.Job",
    "events.PurgeFilter",
    "events.Receipt",
    "events.RedriveFilter",
    "events.Stats",
    "events.Worker",
    "shuffle.Worker",
    "tasks.Worker",
];

/// What is called otherwise than in the core.
pub(crate) const NAMES: &[(&str, &str)] = &[
    ("client.Options", "ConnectOptions"),
    ("events.Config", "EventConfig"),
    ("events.ConfigChange", "EventConfigChange"),
    ("events.EventQuery", "EventQueryOptions"),
    ("events.Job", "EventJob"),
    ("events.PurgeFilter", "PurgeEventsOptions"),
    ("events.Receipt", "Delivery"),
    ("events.RedriveFilter", "RedriveEventsOptions"),
    ("events.Stats", "EventStats"),
    ("events.Worker", "EventWorker"),
    ("recruiter.NewJob", "InstallOptions"),
    ("shuffle.Job", "ShuffleJob"),
    ("shuffle.Stats", "ShuffleStats"),
    ("shuffle.Worker", "ShuffleWorker"),
    ("tasks.Dependency", "DependencyError"),
    ("tasks.DocId", "DocHandle"),
    ("tasks.DocQuery", "ListDocsOptions"),
    ("tasks.Filter", "FilterOptions"),
    ("tasks.Job", "Job"),
    ("tasks.TaskFilter", "TaskFilterOptions"),
    ("tasks.TaskId", "TaskHandle"),
    ("tasks.TaskQuery", "ListOptions"),
    ("tasks.Worker", "TaskWorker"),
    ("volatile.FieldQuery", "FieldQueryOptions"),
];
