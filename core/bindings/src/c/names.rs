//! What C calls otherwise than the core, writes by hand or does not have: all exceptions of its emitter.

/// What calls return, by its name in C.
pub(crate) const RECORDS: &[(&str, &str)] = &[
    ("tasks.Task", "task"),
    ("tasks.Doc", "doc"),
    ("tasks.TaskId", "task_id"),
    ("tasks.DocId", "doc_id"),
    ("tasks.Position", "task_position"),
    ("tasks.DocPosition", "doc_position"),
    ("tasks.QueueStats", "task_queue_stats"),
    ("tasks.NamespaceStats", "task_namespace_stats"),
    ("shuffle.StreamStats", "shuffle_stream_stats"),
    ("events.Config", "event_config"),
    ("events.Event", "event"),
    ("events.Published", "published_event"),
    ("events.EventPosition", "event_position"),
    ("events.Receipt", "event_receipt"),
    ("events.Stats", "event_stats"),
    ("events.ScheduleInfo", "schedule_info"),
    ("events.SyncedSchedules", "schedules_synced"),
    ("volatile.HashField", "hash_field"),
    ("volatile.FieldPosition", "field_position"),
    ("volatile.HashStats", "hash_stats"),
    ("volatile.Reaped", "hash_reaped"),
    ("volatile.Acquired", "lock_acquired"),
    ("volatile.ValueOrLock", "value_or_lock"),
    ("volatile.LockHolder", "lock_holder"),
    ("recruiter.RecruiterStats", "enlistment_stats"),
    ("recruiter.JobStats", "recruiter_job_stats"),
    ("tracker.Tracked", "tracked"),
    ("tracker.TrackerStats", "tracking_stats"),
    ("tracker.Scanned", "tracker_scanned"),
    ("tracker.Pruned", "tracker_pruned"),
];

/// Those of them whose layout never changes: programs pass them in arrays and by value.
pub(crate) const FIXED: &[&str] = &[
    "tasks.TaskId",
    "tasks.DocId",
    "tasks.Position",
    "tasks.DocPosition",
    "events.EventPosition",
    "events.Receipt",
    "volatile.FieldPosition",
];

/// Those that are parts of other records, which have their texts.
pub(crate) const ALONE: &[&str] = &["tasks.TaskId", "tasks.DocId"];

/// The structure of a pair of byte strings, by queue.
pub(crate) const PAIRS: &[(&str, &str)] =
    &[("shuffle", "millpond_shuffle_field"), ("volatile", "millpond_hash_pair")];

/// What a truth is called that is the result of a step, by queue, if it is not `found`.
pub(crate) const TRUTHS: &[(&str, &str)] = &[("volatile", "done")];

/// Enums, which C passes as numbers from 1 on, what the names of their values begin with, and whether calls take them.
pub(crate) const ENUMS: &[(&str, &str, bool)] = &[
    ("ick.Set", "ICK", true),
    ("shuffle.TrackKeys", "SHUFFLE_TRACK", true),
    ("events.EventState", "EVENT", true),
    ("events.DeadReason", "EVENT", true),
    ("events.IfExists", "IF_EXISTS", true),
    ("events.Status", "EVENT", false),
    ("events.Settled", "EVENT_END", false),
    ("events.Held", "EVENT_LEASE", false),
    ("events.Cancelled", "EVENT_CANCEL", false),
    ("events.Rescheduled", "EVENT_RESCHEDULE", false),
    ("events.Redriven", "EVENT_REDRIVE", false),
    ("events.Missed", "MISSED", true),
    ("events.Overlap", "OVERLAP", true),
    ("events.PutStatus", "SCHEDULE", false),
    ("recruiter.Why", "WHY", false),
];

/// The queues that have workers: what they are called, the type of a handler, what it works on and as what C sees it.
pub(crate) const WORKERS: &[(&str, &str, &str, &str, &str, &str, &str)] = &[
    (
        "shuffle",
        "shuffle queues",
        "shuffle",
        "messages",
        "millpond_shuffle_message",
        "fields",
        "at least once; the job of a program that ends is taken over when its lease is over",
    ),
    (
        "tasks",
        "stores of tasks",
        "task",
        "tasks",
        "millpond_tasks_data",
        "tasks->value",
        "as `millpond_tasks_claim`",
    ),
    (
        "events",
        "queues of events",
        "event",
        "events",
        "millpond_events_data",
        "events->payload",
        "as `millpond_events_receive`",
    ),
];

/// Lists of what was refused.
pub(crate) const REFUSALS: &[(&str, &str)] = &[("tasks.Dependency", "tasks_dependency")];

/// Structures that are written by hand. Their layout is fixed.
pub(crate) const BY_HAND: &[(&str, &str)] = &[
    ("ick.Added", "ick_added"),
    ("shuffle.Receipt", "shuffle_receipt"),
    ("step.StreamId", "shuffle_id"),
    ("recruiter.Duty", "duty"),
];

/// What calls take, by its name in C. A change of a task is written by hand: it has what `Task::change` copies.
/// Of a queue or a worker it has the settings.
pub(crate) const OPTIONS: &[(&str, &str)] = &[
    ("tasks.NewTask", "new_task"),
    ("tasks.NewDoc", "new_doc"),
    ("tasks.DocChange", "doc_change"),
    ("tasks.TaskChange", "task_change"),
    ("tasks.Modification", "tasks_modification"),
    ("tasks.TaskQuery", "task_query"),
    ("tasks.DocQuery", "doc_query"),
    ("tasks.Filter", "tasks_filter"),
    ("tasks.TaskFilter", "task_filter"),
    ("shuffle.ShuffleQueue", "shuffle_options"),
    ("shuffle.ShuffleConsumer", "shuffle_consumer_options"),
    ("shuffle.Worker", "shuffle_worker_options"),
    ("tasks.Worker", "tasks_worker_options"),
    ("events.Worker", "events_worker_options"),
    ("events.NewEvent", "new_event"),
    ("events.ConfigChange", "event_config_change"),
    ("events.Schedule", "schedule"),
    ("events.EventQuery", "event_query"),
    ("events.RedriveFilter", "event_redrive_filter"),
    ("events.PurgeFilter", "event_purge_filter"),
    ("volatile.FieldQuery", "field_query"),
    ("recruiter.NewJob", "new_job"),
];

/// What is by hand and has comments of the core's: structures, enums and functions.
pub(crate) const REVISED: &[(&str, &str, &str)] = &[
    ("client.rs", "options", "client.Options"),
    ("recovery.rs", "recovered", "client.Recovery"),
    ("status.rs", "retry", "client.Retry"),
    ("shuffle/batch.rs", "shuffle_message", "shuffle.Message"),
    ("shuffle/consumer.rs", "shuffle_reclaim", "shuffle.ShuffleConsumer.reclaim"),
    ("tasks/list_docs.rs", "tasks_get_doc", "tasks.TaskStore.get_doc"),
    ("tasks/list_stores.rs", "client_task_stores", "client.Client.task_stores"),
    ("tasks/renew.rs", "tasks_renew", "tasks.TaskStore.renew"),
];

/// Settings that no structure has: what C says by a `delay_ms` of 0, and what the functions of a worker take.
pub(crate) const NO_FIELDS: &[&str] = &["release", "tell_all", "on_report"];

/// Settings that add to a list: what C calls one, and all.
pub(crate) const LISTS: &[(&str, &str, &str)] = &[
    ("tasks.Filter.exact", "exact", "exact"),
    ("tasks.Filter.prefix", "prefix", "prefixes"),
    ("tasks.Modification.insert", "insert", "inserts"),
    ("tasks.Modification.change", "change", "changes"),
    ("tasks.Modification.delete", "delete", "deletes"),
    ("tasks.Modification.depend", "depend", "depends"),
    ("tasks.Modification.insert_doc", "doc_insert", "doc_inserts"),
    ("tasks.Modification.put_doc", "doc_put", "doc_puts"),
    ("tasks.Modification.change_doc", "doc_change", "doc_changes"),
    ("tasks.Modification.delete_doc", "doc_delete", "doc_deletes"),
    ("tasks.Modification.depend_doc", "doc_depend", "doc_depends"),
];

pub(crate) const QUEUES: &[(&str, &str)] = &[
    ("ick", "Icks"),
    ("shuffle", "shuffle queues"),
    ("tasks", "stores of tasks"),
    ("events", "queues of events"),
    ("volatile", "volatile hashes"),
    ("recruiter", "recruiters"),
    ("tracker", "queue trackers"),
];

/// Handles whose functions begin with their queue alone; the first has the functions of a client and a name.
pub(crate) const MAIN: &[&str] = &[
    "ick.Ick",
    "shuffle.ShuffleQueue",
    "shuffle.ShuffleConsumer",
    "tasks.TaskStore",
    "events.EventQueue",
    "volatile.VolatileHash",
    "recruiter.Recruiter",
    "tracker.QueueTracker",
];

/// What is held under a lease that is renewed, in `ffi/src/lease.rs`: one thread at a time may use it.
pub(crate) const LEASES: &[&str] = &["ick.ConsumerLease", "volatile.FieldLock"];

/// What C calls otherwise.
pub(crate) const NAMES: &[(&str, &str)] = &[
    ("ick.Ick.lease", "lease_acquire"),
    ("tasks.Job.move_to", "move"),
    ("shuffle.Job.time_left", "time_left_ms"),
    ("tasks.Job.time_left", "time_left_ms"),
    ("events.Job.time_left", "time_left_ms"),
    ("ick.ConsumerLease", "ick_lease"),
    ("volatile.VolatileHash.lock", "lock_acquire"),
    ("volatile.FieldLock", "volatile_lock"),
    ("recruiter.Recruiter", "recruiter"),
    ("tracker.QueueTracker", "tracker"),
    ("shuffle.Message", "shuffle_batch"),
    ("shuffle.ShuffleConsumer.read_many", "read"),
    ("tasks.TaskStore.claim_many", "claim"),
];

/// What C does not have, or has in another function.
pub(crate) const NOT_IN_C: &[&str] = &[
    "stop_listening",
    "shuffle.Garbage.scanned",
    "shuffle.Garbage.deleted",
    "tasks.TaskStore.claimant_id",
    "recruiter.Recruiter.enlist_within",
    "recruiter.Recruiter.run",
    "tracker.QueueTracker.scan",
    "tracker.QueueTracker.prune",
];
