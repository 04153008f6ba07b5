//! What Ruby calls otherwise than the core, writes by hand or does not have: all exceptions of its emitter.

/// The classes of Ruby that an error is, if there is one that fits.
pub(crate) const PARENTS: &str = "InvalidArgument=ArgumentError InvalidUrl=ArgumentError ConnectionFailed=IOError \
    ConnectionLost=IOError Timeout=::Timeout::Error Storage=IOError";

/// What Ruby calls otherwise: types, and parts of records.
pub(crate) const NAMES: &str = "tasks.NewTask=Modification#insert tasks.NewDoc=Modification#insert_doc \
    shuffle.Stats=ShuffleStats shuffle.Worker=ShuffleWorker shuffle.Job=ShuffleJob tasks.Dependency=DependencyError client.Error.dependency=DependencyError \
    tasks.Claims=TaskStore#claims tasks.Jobs=Worker#jobs shuffle.Messages=ShuffleConsumer#messages \
    ick.Batches=Ick#each_batch ick.Ick.batches=each_batch ick.IckChannel.batches=each_batch \
    tasks.Job.is_last_attempt=last_attempt? shuffle.Job.is_last_attempt=last_attempt? \
    events.Job.is_last_attempt=last_attempt? ick.ConsumerLease.batches=each_batch tasks.Job.is_lost=lost? tasks.Job.is_ended=ended? \
    tasks.Job.is_cancelled=cancelled? shuffle.Job.is_lost=lost? \
    tasks.TaskStore.are_empty=are_empty? ick.ConsumerLease.is_lost=lost? \
    tasks.TaskStore.claimant=claimant ick.IckChannel.draining=draining \
    tasks.Job.retry_after=retry tasks.Job.release_after=release tasks.Job.claim_docs_within=claim_docs \
    tasks.Task.value=json tasks.Doc.content=json \
    events.Stats=EventStats events.Config=EventConfig events.ConfigChange=EventQueue#configure events.Worker=EventWorker events.Job=EventJob \
    events.Receipt=EventReceipt events.Deliveries=EventQueue#deliveries events.Job.is_lost=lost? \
    events.Job.is_cancelled=cancelled? volatile.FieldLock.is_lost=lost? volatile.VolatileHashes.hash=[] \
    recruiter.Recruiter.is_due=due? recruiter.Recruiter.enlist_within=enlist recruiter.Slice.is_over=over? \
    recruiter.Slice.is_lost=lost? tracker.QueueTracker.is_queued=queued? tracker.QueueTracker.are_queued=are_queued?";

/// The parts of results that hold a record, where that is not the name of the record and an s.
pub(crate) const PARTS: &str = "events.Config=config events.Published=published events.ScheduleInfo=schedules \
    events.Stats=stats events.SyncedSchedules=synced recruiter.RecruiterStats=stats tasks.Modified=modified \
    tasks.NamespaceStats=namespaces tasks.QueueStats=queues tasks.Swept=swept tracker.Pruned=pruned \
    tracker.Sample=sample tracker.Scanned=scanned tracker.Tracked=tracked tracker.TrackerStats=stats \
    volatile.Acquired=acquired volatile.HashStats=stats volatile.LockHolder=holder volatile.Reaped=reaped \
    volatile.ValueOrLock=value_or_lock";

/// Records that are classes, whose other half is by hand.
pub(crate) const CLASSES: [&str; 2] = ["tasks.Task", "tasks.Doc"];

/// Results that are written by hand, or that Ruby has in another shape.
pub(crate) const OTHERS: [&str; 5] =
    ["ick.Entry", "ick.Stats", "shuffle.Message", "step.StreamId", "worker.JobCounts"];

/// The handles that Ruby holds; an Ick is the client and a name.
pub(crate) const HANDLES: &[(&str, &str)] = &[
    ("events.EventQueue", "events_queue"),
    ("events.Job", "events_job"),
    ("ick.ConsumerLease", "ick_lease"),
    ("ick.Ick", "client"),
    ("ick.IckChannel", "ick_channel"),
    ("recruiter.Recruiter", "recruiter"),
    ("recruiter.Slice", "recruiter_slice"),
    ("shuffle.Job", "shuffle_job"),
    ("shuffle.ShuffleConsumer", "shuffle_consumer"),
    ("shuffle.ShuffleQueue", "shuffle_queue"),
    ("tasks.Job", "tasks_job"),
    ("tasks.TaskStore", "tasks_store"),
    ("tracker.QueueTracker", "tracker"),
    ("volatile.FieldLock", "volatile_lock"),
    ("volatile.VolatileHash", "volatile_hash"),
    ("volatile.VolatileHashes", "volatile_hashes"),
];

/// How arguments are converted: the kind of C; the name, behind that of its queue, if only that is meant; what makes
/// the value of the argument `$` (a number of items at most is `#`); and whether that is several arguments of C.
pub(crate) const ARGUMENTS: &[(&str, &str, &str, bool)] = &[
    ("*c_char+", "", "Convert.sized(\"$\", $)", true),
    ("*bytes+", "events.ids", "EventResults.ids($).first(2)", true),
    ("*bytes+", "ick.members", "Convert.members($, #)", true),
    ("*bytes+", "", "TaskArguments.names(\"$\", $, #)", true),
    ("*event_receipt", "", "EventResults.delivery($)", false),
    ("*event_receipt+", "", "EventResults.receipts($)", true),
    ("*hash_pair+", "", "Convert.field_list(\"$\", $, #)", true),
    ("*ick_pair+", "", "Convert.pairs($)", true),
    ("*new_event+", "", "EventResults.new_events($)", true),
    ("*schedule+", "", "EventResults.schedules($)", true),
    ("*shuffle_field+", "", "Convert.field_list(\"$\", $, #)", true),
    ("*shuffle_id+", "", "ShuffleArguments.letter_ids($)", true),
    ("*shuffle_receipt+", "", "ShuffleArguments.receipts($)", true),
    ("*tasks_modification", "", "TaskArguments.modification($)", false),
    ("bool", "", "($ ? true : false)", false),
    ("f64", "", "Convert.number(\"$\", $)", false),
    ("i64_ms", "ick.ttl", "Convert.some_milliseconds(\"$\", $)", false),
    ("i64_ms", "wait", "Batches.wait_ms($)", false),
    ("i64_ms", "", "TaskArguments.milliseconds(\"$\", $)", false),
    ("i64_s", "", "ShuffleArguments.deadline($)", false),
    ("u32", "events.state", "EventResults.number(\"$\", $, EventResults::STATES)", false),
    ("u32", "", "Convert.small_size(\"$\", $)", false),
    ("u64", "", "Convert.size(\"$\", $)", false),
    ("u64_ms", "", "Convert.milliseconds(\"$\", $)", false),
    ("usize", "", "Convert.size(\"$\", $)", false),
];

/// What yields the places of results to a call and returns them, by the kind of C.
pub(crate) const RESULTS: &[(&str, &str)] = &[
    ("*bool", "Call.number(:bool)"),
    ("*i64_ms", "Call.number(:int64)"),
    ("*ick_added", "Added.of"),
    ("*shuffle_receipt", "ShuffleResults.receipt"),
    ("*u32", "Call.number(:uint32)"),
    ("*u64", "Call.number(:uint64)"),
    ("*u64_ms", "Call.number(:uint64)"),
    ("**events_result", "EventResults.of(@encoding)"),
    ("**ick_entries", "Convert.entries(@encoding)"),
    ("**keys", "Convert.keys(@encoding)"),
    ("**recruiter_result", "RecruiterResults.of"),
    ("**shuffle_stats", "ShuffleResults.stats"),
    ("**tasks_result", "TaskResults.of"),
    ("**tracker_result", "TrackerResults.of(@encoding)"),
    ("**volatile_result", "VolatileResults.of(@encoding)"),
];

/// What is taken for a type of the core, where that is more than its name.
pub(crate) const TAKEN: &str = "tasks.TaskId=Task, TaskId;tasks.DocId=Doc, DocId;tasks.Position=Position, Task;\
    tasks.DocPosition=DocPosition, Doc;shuffle.Receipt=Message, Receipt;step.StreamId=DeadLetter, String;\
    tasks.DocKey=String;events.Receipt=Event, EventReceipt;events.EventId=String, Event, Published;\
    events.EventPosition=EventPosition, Event;events.NewEvent=Hash, String;events.Schedule=Hash;\
    volatile.FieldPosition=FieldPosition, HashField";

/// What a list has several of, and one does not stand for a list of one: a Hash is a list of pairs already.
pub(crate) const LISTED: [&str; 2] = ["events.NewEvent", "events.Schedule"];
