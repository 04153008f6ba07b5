//! What PHP calls otherwise than the core, writes by hand or does not have: all exceptions of its emitter.

use crate::model::Value;

/// The options, what PHP calls them, their structure, and whether it is made of cells by `Packed`.
pub(crate) const OPTIONS: &[(&str, &str, &str, bool)] = &[
    ("events.ConfigChange", "EventConfigChange", "event_config_change", false),
    ("events.NewEvent", "NewEvent", "new_event", true),
    ("events.Schedule", "Schedule", "schedule", true),
    ("events.Worker", "EventWorkerOptions", "events_worker_options", false),
    ("shuffle.ShuffleConsumer", "ConsumerOptions", "shuffle_consumer_options", false),
    ("shuffle.ShuffleQueue", "ShuffleOptions", "shuffle_options", false),
    ("shuffle.Worker", "ShuffleWorkerOptions", "shuffle_worker_options", false),
    ("tasks.NewDoc", "NewDoc", "new_doc", true),
    ("tasks.NewTask", "NewTask", "new_task", true),
    ("tasks.Worker", "WorkerOptions", "tasks_worker_options", false),
];

/// The queues whose classes have a namespace of their own.
pub(crate) const NAMESPACES: &[(&str, &str)] = &[("tasks", "Tasks")];

/// What is called otherwise than in the core.
pub(crate) const NAMES: &[(&str, &str)] = &[
    ("events.Config", "EventConfig"),
    ("events.ConfigChange", "EventConfigChange"),
    ("events.Job", "EventJob"),
    ("events.Receipt", "EventReceipt"),
    ("events.Stats", "EventStats"),
    ("events.Status", "PublishStatus"),
    ("events.Worker", "EventWorker"),
    ("shuffle.Job", "ShuffleJob"),
    ("shuffle.Stats", "ShuffleStats"),
    ("shuffle.Worker", "ShuffleWorker"),
];

pub(crate) const ENUMS: &[(&str, &str)] = &[
    ("client.Retry", "Retry"),
    ("events.Cancelled", "Cancelled"),
    ("events.DeadReason", "DeadReason"),
    ("events.EventState", "EventState"),
    ("events.Held", "Held"),
    ("events.IfExists", "IfExists"),
    ("events.Missed", "Missed"),
    ("events.Overlap", "Overlap"),
    ("events.PutStatus", "PutStatus"),
    ("events.Redriven", "Redriven"),
    ("events.Rescheduled", "Rescheduled"),
    ("events.Settled", "Settled"),
    ("events.Status", "PublishStatus"),
    ("ick.Set", "IckSet"),
    ("recruiter.Why", "Why"),
    ("shuffle.TrackKeys", "TrackKeys"),
    ("worker.ReportKind", "ReportKind"),
];

/// The records that PHP has in another shape.
pub(crate) const OTHERS: &[&str] =
    &["events.EventId", "ick.Stats", "step.StreamId", "tasks.DocKey"];

/// The classes with an interface: what the core has of them, their handle in the C library if there are calls to
/// generate, and what the interface extends: another one, or a loop that returns this.
pub(crate) const CLASSES: &[(&str, &str, &str, &str)] = &[
    ("BorrowedIck", "ick.Ick", "", ""),
    ("BorrowedClient", "client.Client", "", ""),
    ("BorrowedVolatileHash", "volatile.VolatileHash", "", ""),
    ("Batches", "ick.Batches", "", "list<Entry>"),
    ("Client", "client.Client", "", "QueueFactoryInterface"),
    ("ConsumerLease", "ick.ConsumerLease", "ick_lease", ""),
    ("Deliveries", "events.Deliveries", "", "list<Event>"),
    ("EventJob", "events.Job", "events_job", ""),
    ("EventQueue", "events.EventQueue", "events_queue", ""),
    ("EventWorker", "events.Worker", "", ""),
    ("Garbage", "shuffle.Garbage", "", "list<string>"),
    ("Ick", "ick.Ick", "client", "DirtyListInterface"),
    ("IckChannel", "ick.IckChannel", "ick_channel", ""),
    ("Messages", "shuffle.Messages", "", "list<Message>"),
    ("QueueTracker", "tracker.QueueTracker", "tracker", ""),
    ("Recruiter", "recruiter.Recruiter", "recruiter", ""),
    ("ShuffleConsumer", "shuffle.ShuffleConsumer", "shuffle_consumer", ""),
    ("ShuffleJob", "shuffle.Job", "shuffle_job", ""),
    ("ShuffleQueue", "shuffle.ShuffleQueue", "shuffle_queue", ""),
    ("ShuffleWorker", "shuffle.Worker", "", ""),
    ("Slice", "recruiter.Slice", "recruiter_slice", ""),
    ("Tasks/Claims", "tasks.Claims", "", "list<Task>"),
    ("Tasks/Job", "tasks.Job", "tasks_job", ""),
    ("Tasks/Jobs", "tasks.Jobs", "", "Job"),
    ("Tasks/TaskStore", "tasks.TaskStore", "tasks_store", ""),
    ("Tasks/Worker", "tasks.Worker", "", ""),
    ("FieldLock", "volatile.FieldLock", "volatile_lock", ""),
    ("VolatileHash", "volatile.VolatileHash", "volatile_hash", "ExpiringHashInterface"),
    ("VolatileHashes", "volatile.VolatileHashes", "volatile_hashes", ""),
];

/// The classes without one, whose methods have the core's comments in place.
pub(crate) const VALUES: &[(&str, &str)] = &[
    ("Tasks/DocChange", "tasks.DocChange"),
    ("Tasks/Modification", "tasks.Modification"),
    ("Tasks/TaskChange", "tasks.TaskChange"),
];

/// What parameters of the library's functions and fields of its options are in PHP. The C type, with a `+` if the
/// next one is the length or the count of it and with the unit of its name; the name, if only that is meant (before a
/// `:`, and behind the name of its queue), and PHP's if that is another; the type, what is made of the value, and what
/// the call takes, which of a list is what `Packed` makes. `$` is the value.
pub(crate) const ARGUMENTS: &[(&str, &str, &str, &str, &str)] = &[
    ("*c_char+", "", "string", "", "$|\\strlen($)"),
    ("*tasks_modification", "", "Modification", "$->packed(ffi)", "$->array"),
    ("bool", "", "bool", "", "$"),
    ("f64", "", "float", "", "$"),
    ("u32", "state:", "EventState", "EventArguments::number($)", "$"),
    ("u32", "", "int", "Arguments::smallSize('%', $)", "$"),
    ("u64", "", "int", "Arguments::size('%', $)", "$"),
    ("usize", "", "int", "Arguments::size('%', $)", "$"),
    ("i64", "reason:", "DeadReason", "EventArguments::number($)", "$"),
    ("i64", "", "int", "Arguments::optionalSize('%', $)", "$"),
    ("i64_s", "", "int", "$ ?? 0", "$"),
    ("u64_ms", "", "float", "Arguments::milliseconds('%', $)", "$"),
    ("i64_ms", "wait:", "float", "Arguments::wait('%', $)", "$"),
    ("i64_ms", "events.after:", "float", "Arguments::optional('%', $)", "$"),
    ("i64_ms", "events.lease:", "float", "Arguments::optional('%', $)", "$"),
    ("i64_ms", "delay:", "float", "Arguments::optional('%', $)", "$"),
    ("i64_ms", "", "float", "Arguments::milliseconds('%', $)", "$"),
    ("*ick_pair+", "pairs", "iterable", "pairs(ffi, ...Arguments::pairs($))", ""),
    ("*shuffle_field+", "fields", "iterable", "fields(ffi, ShuffleArguments::fields('%', $))", ""),
    (
        "*hash_pair+",
        "fields",
        "iterable",
        "fields(ffi, VolatileArguments::values('%', $), 'millpond_hash_pair *')",
        "",
    ),
    (
        "*shuffle_id+",
        "letters",
        "DeadLetter|string|iterable",
        "ids(ffi, ShuffleArguments::letterIds('%', $))",
        "",
    ),
    (
        "*shuffle_new_message+",
        "messages",
        "iterable",
        "messages(ffi, ...ShuffleArguments::messages($))",
        "",
    ),
    (
        "*shuffle_receipt+",
        "messages",
        "Message|Receipt|iterable",
        "receipts(ffi, ShuffleArguments::receipts('%', $))",
        "",
    ),
    (
        "*bytes+",
        "events.ids:",
        "Event|Published|string|iterable",
        "members(ffi, EventArguments::ids($))",
        "",
    ),
    (
        "*bytes+",
        "volatile.fields:",
        "string|iterable",
        "members(ffi, VolatileArguments::names('%', $))",
        "",
    ),
    (
        "*bytes+",
        "tracker.ids:",
        "string|iterable",
        "members(ffi, TrackerArguments::names('%', $))",
        "",
    ),
    (
        "*bytes+",
        "tracker.rows:",
        "string|iterable",
        "members(ffi, TrackerArguments::names('%', $))",
        "",
    ),
    (
        "*bytes+",
        "tracker.sampled:",
        "string|iterable",
        "members(ffi, TrackerArguments::names('%', $))",
        "",
    ),
    ("*bytes+", "members:", "iterable", "members(ffi, Arguments::members($))", ""),
    ("*bytes+", "", "string|iterable", "members(ffi, TaskArguments::names('%', $))", ""),
    ("bytes", "claimant:", "text", "", "$"),
    ("bytes", "events.key:", "text", "", "$"),
    ("bytes", "", "string", "", "$"),
    (
        "*event_receipt",
        "",
        "Event|EventReceipt",
        "EventArguments::receipts(ffi, '%', $)",
        "$->array",
    ),
    (
        "*event_receipt+",
        "",
        "Event|EventReceipt|iterable",
        "EventArguments::receipts(ffi, '%', $)",
        "$->array|$->count",
    ),
    ("*new_event", "", "NewEvent|string", "EventArguments::events(ffi, '%', $)", "$->array"),
    (
        "*new_event+",
        "",
        "NewEvent|string|iterable",
        "EventArguments::events(ffi, '%', $)",
        "$->array|$->count",
    ),
    ("*schedule", "", "Schedule", "EventArguments::schedules(ffi, '%', [$])", "$->array"),
    ("*schedule+", "", "iterable", "EventArguments::schedules(ffi, '%', $)", "$->array|$->count"),
    ("*event_position", "", "EventPosition|Event", "EventArguments::position(ffi, $)", "$->array"),
    (
        "*field_position",
        "",
        "FieldPosition|HashField",
        "VolatileArguments::position(ffi, $)",
        "$->array",
    ),
    ("*task_position", "", "Position|Task", "TaskArguments::position(ffi, $)", "$->array"),
    ("*doc_position", "", "DocPosition|Doc", "TaskArguments::docPosition(ffi, $)", "$->array"),
];

/// The types of parameters as phpdoc has them, where they say more than PHP's: the name, behind that of its queue if
/// only that is meant; PHP's type, if only that is meant; and phpdoc's, where `%` is the class of the queue's jobs.
pub(crate) const DOC_TYPES: &[(&str, &str, &str)] = &[
    ("members", "", "iterable<string>"),
    ("numbers", "", "iterable<int>"),
    ("pairs", "", "iterable<array{float|int|null, string}|string>"),
    ("fields", "string|iterable", "string|iterable<string|int>"),
    ("volatile.fields", "", "iterable<string>|iterable<array{string|int, string}>"),
    ("fields", "", "iterable<string>|iterable<array{string, string}>"),
    (
        "messages",
        "iterable",
        "iterable<array{string, iterable<string>|iterable<array{string, string}>}>",
    ),
    ("tracker.ids", "string|iterable", "string|iterable<string|int>"),
    ("tracker.rows", "string|iterable", "string|iterable<string|int>"),
    ("tracker.sampled", "string|iterable", "string|iterable<string|int>"),
    (
        "rows",
        "callable",
        "callable(string|null, int): iterable<array{string|int, string|int|null}>",
    ),
    ("done", "", "callable(list<string>): iterable<string|int>"),
    ("recruiter.handler", "", "callable(SliceInterface): mixed"),
    ("handler", "", "callable(%Interface): mixed"),
    ("hook", "", "callable(string|null, \\Throwable): mixed"),
    ("onError", "", "(callable(%|null, \\Throwable): mixed)|null"),
    ("onEvent", "", "(callable(Report): mixed)|null"),
];

/// The defaults of what the core has no default of.
pub(crate) const DEFAULTS: &[(&str, Value)] = &[
    ("events.err:nack", Value::None),
    ("events.max:receive", Value::Number(1)),
    ("events.reason:dead_letter", Value::None),
];

/// What calls return: the out-parameter, its name in `Library::call()`, and the result, which is freed if there is
/// a `!`. `%` is the method that reads it.
pub(crate) const RESULTS: &[(&str, &str, &str)] = &[
    ("*u64", "number", "$call->number[0]"),
    ("*u32", "small", "$call->small[0]"),
    ("*i64", "milliseconds", "$call->milliseconds[0] < 0 ? null : $call->milliseconds[0] / 1000"),
    ("*bool", "flag", "$call->flag[0]"),
    (
        "*ick_added",
        "added",
        "new Added($call->added[0]->new_members, $call->added[0]->lowered_members)",
    ),
    ("*shuffle_receipt", "receipt", "ShuffleResults::receipt($call->receipt[0])"),
    ("**ick_entries", "entries", "$this->library->entries($call)"),
    ("**keys", "keys", "!$this->library->keys($call)"),
    ("**shuffle_stats", "shuffle_stats", "!ShuffleResults::stats($ffi, $call->shuffle_stats[0])"),
    ("**shuffle_dead_letters", "letters", "!ShuffleResults::letters($ffi, $call->letters[0])"),
    ("**tasks_result", "result", "!TaskResults::of($ffi, $call->result[0], '%')"),
    ("**events_result", "events_result", "!EventResults::of($ffi, $call->events_result[0], '%')"),
    (
        "**volatile_result",
        "volatile_result",
        "!VolatileResults::of($ffi, $call->volatile_result[0], '%')",
    ),
    (
        "**recruiter_result",
        "recruiter_result",
        "!RecruiterResults::of($ffi, $call->recruiter_result[0], '%')",
    ),
    (
        "**tracker_result",
        "tracker_result",
        "!TrackerResults::of($ffi, $call->tracker_result[0], '%')",
    ),
];
