/*
 * Millpond: the same queues in several languages, on Redis or embedded.
 *
 * Functions that can fail return a millpond_status and take an out-parameter for an error object as
 * their last argument, which may be NULL. They set it to NULL on success; on failure the caller
 * frees the error with millpond_error_free. Its previous value is not read. There is no thread-local
 * or global state for the last error.
 *
 * Handles (millpond_client * and the other types that are not defined here) are opaque. They are
 * not addresses: a handle that was freed, one of another kind or an arbitrary value is detected, and
 * the call returns MILLPOND_INVALID_ARGUMENT. Freeing NULL does nothing, and freeing twice does
 * nothing. Each function that makes an object says which function frees it. Freeing a handle while
 * another thread's call uses it is fine: its object lives until that call ends.
 *
 * Every other pointer must be valid during the call, for as many elements as the length beside it
 * says; it is not kept after the call. A byte string is a pointer and a length: it may hold any
 * bytes, and needs no NUL at the end. NULL with the length 0 is the empty string; NULL with any
 * other length is MILLPOND_INVALID_ARGUMENT. Results are written through pointers that must not be
 * NULL unless the function says so; on failure they are set to 0, false or NULL, unless the
 * function says otherwise. If there is no memory for another handle, the failure is reported by the
 * status alone, and the error object is NULL.
 *
 * New versions may add fields at the end of structures; programs compiled earlier keep working:
 *
 * - A structure that the program allocates, such as options, begins with its size, which its _init
 *   function sets: pass `sizeof`. The library reads and writes no more than that; fields beyond it
 *   have their defaults. A size that the library does not know is MILLPOND_INVALID_ARGUMENT. In an
 *   array of such structures, all have the size of the first.
 * - A structure that the library returns belongs to it: read it through the pointer; do not
 *   allocate or index it. A list has one function that returns a pointer to an element, and another
 *   that returns the number of bytes from each element to the next, for callers that read all of
 *   them in one go.
 * - A structure whose comment says that its layout is fixed never changes.
 *
 * An optional number that is not set is MILLPOND_NOT_SET. The time to wait for work is given as in
 * poll(2): 0 does not wait, -1 waits without limit.
 *
 * Any function may be called by any thread at any time, except that a lease, a lock and loops
 * (batches, messages, garbage, claims, jobs, slices) are for one thread at a time: a second thread
 * immediately gets MILLPOND_INVALID_ARGUMENT. A call that waits for a server ends within the
 * client's timeout; only millpond_ick_batches_next, millpond_shuffle_read,
 * millpond_shuffle_messages_next, millpond_tasks_claim, millpond_tasks_claims_next,
 * millpond_tasks_jobs_next, millpond_tasks_job_claim_docs, millpond_recruiter_slices_next, and the
 * workers' run_next, worker_run and worker_drain can wait longer. No function may be called from a signal handler.
 *
 * A process may fork at any time. Its children use the parent's handles as their own: a Redis
 * client makes new connections; calls on an embedded engine return MILLPOND_FORKED. The runs and
 * jobs of a worker, locks, and slices belong to the parent, which renews what they hold: run_next, any
 * call that ends a job or a slice, and millpond_volatile_lock_set return MILLPOND_FORKED in a child.
 *
 * A panic in the library is returned as MILLPOND_INTERNAL; nothing unwinds into C.
 *
 * Times are in milliseconds (deadlines in seconds), sizes in bytes, scores are doubles. Link with
 * `pkg-config --libs millpond`.
 */


#ifndef MILLPOND_H
#define MILLPOND_H

/* Generated from millpond-ffi by `make bindings`; do not edit. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An optional number that is not set. */
#define MILLPOND_NOT_SET INT64_MIN

/**
 * The result of a call: `MILLPOND_OK`, or what went wrong. The numbers are the same in every language
 * and are never reused. `millpond_error_kind_at` returns them as a table.
 */
typedef enum {
    /**
     * The call succeeded.
     */
    MILLPOND_OK = 0,
    /**
     * An argument is wrong: its type, its value or its size. Nothing was sent.
     */
    MILLPOND_INVALID_ARGUMENT = 1,
    /**
     * The URL or an option of the client is wrong. Nothing was sent.
     */
    MILLPOND_INVALID_URL = 2,
    /**
     * This name cannot be used on a cluster: its keys would lie in different slots.
     */
    MILLPOND_CROSS_SLOT = 3,
    /**
     * A key of the queue holds data of another kind.
     */
    MILLPOND_WRONG_TYPE = 4,
    /**
     * The data was written in a version of the format that this version of Millpond does not know.
     */
    MILLPOND_INCOMPATIBLE_VERSION = 5,
    /**
     * No connection could be made. Nothing was sent.
     */
    MILLPOND_CONNECTION_FAILED = 6,
    /**
     * The connection broke after the call was sent; the call may or may not have been done.
     */
    MILLPOND_CONNECTION_LOST = 7,
    /**
     * No reply arrived in time: the call may or may not have been done.
     */
    MILLPOND_TIMEOUT = 8,
    /**
     * The server refused the user or the password.
     */
    MILLPOND_AUTHENTICATION_FAILED = 9,
    /**
     * The server's access rules do not allow this user to make the call.
     */
    MILLPOND_PERMISSION_DENIED = 10,
    /**
     * The server is reachable but cannot serve the call now: loading, failing over, busy or
     * read-only.
     */
    MILLPOND_UNAVAILABLE = 11,
    /**
     * The server has no memory left for writes.
     */
    MILLPOND_OUT_OF_MEMORY = 12,
    /**
     * The server returned an error that Millpond has no kind for.
     */
    MILLPOND_SERVER = 13,
    /**
     * The lease has expired, or another client holds it: nothing was done.
     */
    MILLPOND_LEASE_LOST = 14,
    /**
     * Another process holds this directory; processes share queues over `redis:`.
     */
    MILLPOND_LOCKED = 15,
    /**
     * Stored data is damaged, or parts of it are missing from disk, in a way that no crash
     * explains; `?repair` opens the data before the damage.
     */
    MILLPOND_CORRUPT = 16,
    /**
     * The disk returned an error: calls that were not acknowledged may or may not have been done,
     * and their effects may reappear when the directory is opened again.
     */
    MILLPOND_STORAGE = 17,
    /**
     * The embedded engine was opened before a fork; a child process must open its own.
     */
    MILLPOND_FORKED = 18,
    /**
     * The client was closed.
     */
    MILLPOND_CLOSED = 19,
    /**
     * The caller cancelled the call.
     */
    MILLPOND_CANCELLED = 20,
    /**
     * A bug in Millpond.
     */
    MILLPOND_INTERNAL = 21,
    /**
     * A task or a document is not in the state that a modification requires: nothing was done.
     */
    MILLPOND_DEPENDENCY = 22,
    /**
     * The queue is at its limit: nothing was added.
     */
    MILLPOND_QUEUE_FULL = 23,
    /**
     * Something with this id already exists: nothing was done.
     */
    MILLPOND_ALREADY_EXISTS = 24,
    /**
     * A worker put a job aside, into the error queue or the dead letters: it was rejected, tried
     * too often, or crashed its workers. Only reported, never returned by a call.
     */
    MILLPOND_DEAD_LETTER = 25,
} millpond_status;

/**
 * Whether a retry can help.
 */
typedef enum {
    /**
     * The same call would fail again; something has to change first.
     */
    MILLPOND_RETRY_NEVER = 0,
    /**
     * Nothing was done; the same call can succeed later.
     */
    MILLPOND_RETRY_LATER = 1,
    /**
     * The call may have been done: check before you repeat it.
     */
    MILLPOND_RETRY_UNKNOWN = 2,
} millpond_retry;

/**
 * The ABI that this header describes. `millpond_abi_version()` returns the library's.
 */
typedef enum {
    /**
     * Changes when programs must be recompiled; new functions and fields do not change it.
     */
    MILLPOND_ABI_VERSION = 1,
} millpond_abi;

/**
 * One of the two sets of an Ick.
 */
typedef enum {
    /**
     * Members that are flagged and not reserved.
     */
    MILLPOND_ICK_PRODUCER = 1,
    /**
     * Members that are reserved and not committed.
     */
    MILLPOND_ICK_CONSUMER = 2,
} millpond_ick_set;

/**
 * Where the records of tracked messages are.
 *
 * All programs that write, delete or collect tracked messages of a queue have to set the same
 * value.
 */
typedef enum {
    /**
     * In the three keys `meta:cancelation`, `meta:deadlines` and `meta:presortedgarbage`, which
     * all queues of the server with this setting share, as in the package that introduced this
     * queue. A cluster refuses it with `MILLPOND_CROSS_SLOT`, since nothing ties these keys to the
     * queue's slot.
     */
    MILLPOND_SHUFFLE_TRACK_GLOBAL = 1,
    /**
     * In three keys of the queue, `<queue>:meta:cancelation` and so on.
     */
    MILLPOND_SHUFFLE_TRACK_QUEUE = 2,
} millpond_shuffle_track_keys;

/**
 * How a job of a worker ends. The job of a shuffle queue has a message in place of a task, and the job of a queue of
 * events has an event: these have no modification, and cannot be moved.
 */
typedef enum {
    /**
     * It is deleted; a message is acknowledged.
     */
    MILLPOND_TASK_DONE = 0,
    /**
     * `modification` is applied, as by `millpond_tasks_job_finish`.
     */
    MILLPOND_TASK_FINISH = 1,
    /**
     * It is tried again, after `delay_ms` and for the reason `err`.
     */
    MILLPOND_TASK_RETRY = 2,
    /**
     * It is moved to `queue` for the reason `err`.
     */
    MILLPOND_TASK_MOVE = 3,
    /**
     * It is given back untried, and available after `delay_ms`.
     */
    MILLPOND_TASK_RELEASE = 4,
    /**
     * The work has failed with `err`: it is tried again later, or put aside if this was the last attempt.
     */
    MILLPOND_TASK_FAIL = 5,
    /**
     * It is put aside immediately, into the error queue or the dead letters, for the reason `err`: another attempt
     * would not help.
     */
    MILLPOND_TASK_REJECT = 6,
} millpond_task_end;

/**
 * The kinds of reports of a worker.
 */
typedef enum {
    /**
     * A job was done.
     */
    MILLPOND_REPORT_DONE = 1,
    /**
     * A job failed and is tried again.
     */
    MILLPOND_REPORT_RETRIED = 2,
    /**
     * A job was given back untried.
     */
    MILLPOND_REPORT_RELEASED = 3,
    /**
     * A job was moved to another queue.
     */
    MILLPOND_REPORT_MOVED = 4,
    /**
     * A job was put aside because it was rejected, tried too often, or crashed its workers.
     */
    MILLPOND_REPORT_DEAD = 5,
    /**
     * A job was cancelled, and its task is gone.
     */
    MILLPOND_REPORT_CANCELLED = 6,
    /**
     * The end that a handler chose for its job was refused, and the job was given back as a
     * failure.
     */
    MILLPOND_REPORT_REFUSED = 7,
    /**
     * The lease of a job was lost before it ended: another worker may have it.
     */
    MILLPOND_REPORT_LOST = 8,
    /**
     * The server does not respond. The worker keeps trying.
     */
    MILLPOND_REPORT_AWAY = 9,
    /**
     * The server responds again.
     */
    MILLPOND_REPORT_BACK = 10,
} millpond_report_kind;

/**
 * The state of an event: what it waits for.
 */
typedef enum {
    /**
     * Its time has not come.
     */
    MILLPOND_EVENT_SCHEDULED = 1,
    /**
     * It waits behind another event of its key.
     */
    MILLPOND_EVENT_BEHIND = 2,
    /**
     * It waits to be received.
     */
    MILLPOND_EVENT_READY = 3,
    /**
     * It was received, and waits for the end of its delivery.
     */
    MILLPOND_EVENT_LEASED = 4,
    /**
     * It failed, and waits to be delivered again.
     */
    MILLPOND_EVENT_RETRY = 5,
    /**
     * It was given up, and stays until it is redriven, purged or cancelled.
     */
    MILLPOND_EVENT_DEAD = 6,
    /**
     * It is done, and kept for a time.
     */
    MILLPOND_EVENT_DONE = 7,
} millpond_events_state;

/**
 * Why an event was given up.
 */
typedef enum {
    /**
     * Its handler rejected it.
     */
    MILLPOND_EVENT_REJECTED = 1,
    /**
     * It failed too often.
     */
    MILLPOND_EVENT_EXHAUSTED = 2,
    /**
     * Its lease expired too often: the consumers that had it crashed or were stuck.
     */
    MILLPOND_EVENT_CRASHED = 3,
} millpond_events_dead_reason;

/**
 * What happens to an event that is published while its deduplication id is taken.
 */
typedef enum {
    /**
     * It is refused, together with its whole step.
     */
    MILLPOND_IF_EXISTS_ERROR = 1,
    /**
     * It is not added: the other one stays.
     */
    MILLPOND_IF_EXISTS_IGNORE = 2,
    /**
     * It is added. The other one is cancelled unless it is leased; if it is, this one is added
     * beside it.
     */
    MILLPOND_IF_EXISTS_REPLACE = 3,
} millpond_events_if_exists;

/**
 * The result of publishing an event.
 */
typedef enum {
    /**
     * It was added.
     */
    MILLPOND_EVENT_CREATED = 1,
    /**
     * It was not added, since its deduplication id was taken.
     */
    MILLPOND_EVENT_DUPLICATE = 2,
    /**
     * It was added in place of the event with its deduplication id, or beside that event if it is
     * leased.
     */
    MILLPOND_EVENT_REPLACED = 3,
} millpond_events_status;

/**
 * The result of ending a delivery.
 */
typedef enum {
    /**
     * Nothing was done: the event was delivered again since, or the delivery ended in another way.
     */
    MILLPOND_EVENT_END_LOST = 1,
    /**
     * The delivery ended as it was to end.
     */
    MILLPOND_EVENT_END_ENDED = 2,
    /**
     * Nothing was done: the event had already ended.
     */
    MILLPOND_EVENT_END_GONE = 3,
    /**
     * The event had failed too often, and was given up.
     */
    MILLPOND_EVENT_END_DIED = 4,
    /**
     * The event had been cancelled, and is gone.
     */
    MILLPOND_EVENT_END_CANCELLED = 5,
} millpond_events_settled;

/**
 * Whether a delivery is held.
 */
typedef enum {
    /**
     * It is no longer leased with this token.
     */
    MILLPOND_EVENT_LEASE_LOST = 1,
    /**
     * It is held.
     */
    MILLPOND_EVENT_LEASE_HELD = 2,
    /**
     * It is held, but the event was cancelled: the work is to stop.
     */
    MILLPOND_EVENT_LEASE_CANCELLED = 3,
} millpond_events_held;

/**
 * The outcome for an event that was to be cancelled.
 */
typedef enum {
    /**
     * It does not exist: it has ended in another way, or never existed.
     */
    MILLPOND_EVENT_CANCEL_GONE = 1,
    /**
     * It was removed, by this call or by one in the ten minutes before.
     */
    MILLPOND_EVENT_CANCEL_REMOVED = 2,
    /**
     * It is leased. If requested, its holder is told to stop when the lease is extended, and the
     * event is not tried again.
     */
    MILLPOND_EVENT_CANCEL_RUNNING = 3,
} millpond_events_cancelled;

/**
 * The result of rescheduling an event.
 */
typedef enum {
    /**
     * It does not exist: it has ended, or never existed.
     */
    MILLPOND_EVENT_RESCHEDULE_GONE = 1,
    /**
     * It fires at the new time, or is tried again then.
     */
    MILLPOND_EVENT_RESCHEDULE_RESCHEDULED = 2,
    /**
     * Its time had come: it is ready, leased or a dead letter, or waits behind another event of
     * its key.
     */
    MILLPOND_EVENT_RESCHEDULE_TOO_LATE = 3,
} millpond_events_rescheduled;

/**
 * What became of a dead letter that was to be redriven.
 */
typedef enum {
    /**
     * It does not exist: it has ended, or never existed.
     */
    MILLPOND_EVENT_REDRIVE_GONE = 1,
    /**
     * It is ready, or behind the other events of its key.
     */
    MILLPOND_EVENT_REDRIVE_REDRIVEN = 2,
    /**
     * It is not a dead letter, and stays as it is.
     */
    MILLPOND_EVENT_REDRIVE_NOT_DEAD = 3,
} millpond_events_redriven;

/**
 * What becomes of the event of a tick that was not received in time.
 */
typedef enum {
    /**
     * It waits until the next tick, whose event replaces it: when consumers come back after an
     * hour, they get the event of the newest tick.
     */
    MILLPOND_MISSED_LATEST = 1,
    /**
     * It is dropped when the schedule's grace is over, unless it was received by then: when
     * consumers come back after an hour, they get the events of all ticks of the last minute, if
     * that is the grace.
     */
    MILLPOND_MISSED_EXPIRE = 2,
} millpond_events_missed;

/**
 * Whether the event of a tick waits for the event of the previous tick.
 */
typedef enum {
    /**
     * One at a time: the id of the schedule is their key.
     */
    MILLPOND_OVERLAP_WAIT = 1,
    /**
     * They have no key, and may be worked on at the same time.
     */
    MILLPOND_OVERLAP_ALLOW = 2,
} millpond_events_overlap;

/**
 * The result of putting a schedule.
 */
typedef enum {
    /**
     * It did not exist before.
     */
    MILLPOND_SCHEDULE_CREATED = 1,
    /**
     * The same schedule existed: its ticks stay as they are, unless this program has newer data of
     * time zones.
     */
    MILLPOND_SCHEDULE_UNCHANGED = 2,
    /**
     * It existed, and has changed: its next tick is the first one after now.
     */
    MILLPOND_SCHEDULE_UPDATED = 3,
    /**
     * One with a higher revision exists, and stays.
     */
    MILLPOND_SCHEDULE_IGNORED = 4,
} millpond_events_put_status;

/**
 * What became of a slice, or why an enlistment ran none.
 */
typedef enum {
    /**
     * The slice found something to do.
     */
    MILLPOND_WHY_WORKED = 1,
    /**
     * The slice found nothing to do.
     */
    MILLPOND_WHY_NOTHING = 2,
    /**
     * The slice was aborted.
     */
    MILLPOND_WHY_ABORTED = 3,
    /**
     * The slice failed.
     */
    MILLPOND_WHY_FAILED = 4,
    /**
     * The lottery drew no job.
     */
    MILLPOND_WHY_NOT_DRAWN = 5,
    /**
     * It is not yet this process's turn to ask the server.
     */
    MILLPOND_WHY_NOT_DUE = 6,
    /**
     * No job was to run at this moment.
     */
    MILLPOND_WHY_DENIED = 7,
    /**
     * As many slices of the job were running as may.
     */
    MILLPOND_WHY_BUSY = 8,
    /**
     * The process was already running a slice.
     */
    MILLPOND_WHY_IN_SLICE = 9,
    /**
     * The process has given away as much of its time as it may.
     */
    MILLPOND_WHY_OVER_DUTY = 10,
    /**
     * No job is installed.
     */
    MILLPOND_WHY_NO_JOBS = 11,
    /**
     * The server did not respond in time, or with an error.
     */
    MILLPOND_WHY_UNAVAILABLE = 12,
    /**
     * The recruiter was stopped.
     */
    MILLPOND_WHY_STOPPED = 13,
} millpond_recruiter_why;

/**
 * A server or an embedded engine, with access to its queues. Any number of threads may use
 * one client at a time, and on Redis the children of a fork may too: each process makes its own
 * connections. Freed with `millpond_client_free`.
 */
typedef struct millpond_client millpond_client;

/**
 * A clock for tests, which stands still until it is told to move: what is due in an hour becomes due when the clock is
 * advanced by an hour, and callers that wait for it are woken. The `clock` of `millpond_options` opens an embedded
 * engine with it.
 *
 * The engine uses it for times, delays and leases. Everything else follows the system's time: how long a call waits, a
 * worker's timeout, and when a lease is renewed. So an advance by more than a lease ends that lease, as if its holder
 * had been stopped for that long.
 *
 *     millpond_clock *clock;
 *     millpond_options options;
 *     millpond_options_init(&options, sizeof options);
 *     options.url = (millpond_bytes){"memory:", 7};
 *     if (millpond_clock_new(MILLPOND_NOT_SET, &clock, &error) == MILLPOND_OK) {
 *         options.clock = clock;
 *         millpond_status status = millpond_connect_with(&options, &client, &error);
 *         millpond_clock_advance(clock, 3600000, &error);
 *     }
 *
 * Freed with `millpond_clock_free`.
 */
typedef struct millpond_clock millpond_clock;

/**
 * What went wrong in one call: a status, one line for people, and whether a retry can help. A
 * function that fails makes an error object if its last argument says where to put it; the caller
 * frees it with `millpond_error_free`. Any thread may read it.
 */
typedef struct millpond_error millpond_error;

/**
 * The loop of a consumer: batches of leased events, by default of one event. Made by
 * `millpond_events_deliveries_new`.
 *
 * Asking for the next batch does not affect the one before: its events are leased until they
 * are ended, or until the lease expires. Without `wait_ms` the loop ends when nothing is
 * ready. A non-retryable error always ends the loop.
 *
 * Freed with `millpond_events_deliveries_free`.
 *
 * One thread at a time: a second one that calls meanwhile gets `MILLPOND_INVALID_ARGUMENT` at
 * once. Threads that work together have loops of their own.
 */
typedef struct millpond_events_deliveries millpond_events_deliveries;

/**
 * An event that is being worked on; made by a `Run`, which ends it.
 *
 * A native thread extends its lease three times per lease, so a busy handler keeps it. A job
 * belongs to its process: in the child of a fork, `Run::end` fails with `MILLPOND_FORKED`.
 *
 * Freed with `millpond_events_job_free`.
 *
 * Any number of threads may use one job at a time.
 */
typedef struct millpond_events_job millpond_events_job;

/**
 * A queue of events, each of which fires at its time; made by `millpond_events_queue_new`.
 *
 * Freed with `millpond_events_queue_free`.
 *
 * Any number of threads may use one queue at a time.
 */
typedef struct millpond_events_queue millpond_events_queue;

/**
 * What a worker reports. Freed with `millpond_events_report_free`.
 */
typedef struct millpond_events_report millpond_events_report;

/**
 * The result of a call on events. Freeing it does not affect them. The caller frees it with
 * `millpond_events_result_free`. Any thread may read it.
 */
typedef struct millpond_events_result millpond_events_result;

/**
 * A run of a worker, which hands out jobs and reports what became of them. Freed with
 * `millpond_events_run_free`.
 *
 * Any number of threads may use one run at a time.
 */
typedef struct millpond_events_run millpond_events_run;

/**
 * A worker, which says how events are worked on: with `millpond_events_worker_run` until it is stopped, or
 * with `millpond_events_worker_drain` until nothing is left. Freed with `millpond_events_worker_free`.
 *
 * Any number of threads may use one worker at a time.
 */
typedef struct millpond_events_worker millpond_events_worker;

/**
 * The loop of a consumer.
 *
 * Asking for the next batch commits the one before, in one round trip. If the loop is left
 * early, its last batch stays reserved and the next reserve returns it again. To leave the
 * loop with the last batch done, `millpond_ick_batches_commit` it. Without `wait_ms` the loop
 * ends when nothing is left. A non-retryable error always ends the loop. A batch has at most
 * 250,000 members.
 *
 * Freed with `millpond_ick_batches_free`.
 *
 * One thread at a time: a second one that calls meanwhile gets `MILLPOND_INVALID_ARGUMENT` at
 * once. Threads that work together have loops of their own.
 */
typedef struct millpond_ick_batches millpond_ick_batches;

/**
 * Several Icks that share the members of one dirty list, so that as many consumers can work at
 * the same time; made by `millpond_ick_channel_new`. A member lives in the Ick numbered
 * FNV-1a-64(member) mod n, named `<name>/<number>`.
 *
 * Resizing is safe at any time. Each producer and consumer can switch to the new number when
 * it suits, and consumers also drain the old Icks until they are empty. A member may be
 * processed twice during the switch; none is lost.
 *
 * Freed with `millpond_ick_channel_free`.
 *
 * Any number of threads may use one channel at a time.
 */
typedef struct millpond_ick_channel millpond_ick_channel;

/**
 * A list of members with their scores, such as the result of a reserve. The caller frees it
 * with `millpond_ick_entries_free`. Any thread may read it.
 */
typedef struct millpond_ick_entries millpond_ick_entries;

/**
 * The exclusive right to consume an Ick, for as long as it is held; made by
 * `millpond_ick_lease_acquire`.
 *
 * A native thread renews it three times per lease, so a busy consumer keeps it. Steps through
 * the lease carry its token: once the lease is lost they fail with `MILLPOND_LEASE_LOST` and
 * do nothing, so a consumer that was stopped for too long cannot commit what another one is
 * working on.
 *
 * `millpond_ick_lease_is_lost` and `millpond_ick_lease_token` may be called from any thread at
 * any time.
 *
 * Freed with `millpond_ick_lease_free`.
 *
 * One thread at a time: a second one that calls meanwhile gets `MILLPOND_INVALID_ARGUMENT` at
 * once.
 */
typedef struct millpond_ick_lease millpond_ick_lease;

/**
 * A list of byte strings, such as the keys of a queue. The caller frees it with
 * `millpond_keys_free`. Any thread may read it.
 */
typedef struct millpond_keys millpond_keys;

/**
 * What opening the engine of a `file:` found. The caller frees it with
 * `millpond_recovery_free`. Any thread may read it.
 */
typedef struct millpond_recovery millpond_recovery;

/**
 * Background work in small slices, done by any process that has a moment to spare; made by
 * `millpond_recruiter_new`.
 *
 * Jobs are installed in a handle. How often the process asks the server, and what it has to
 * report, is shared by all recruiters of the same name and servers in the process; so all of
 * them should have the same jobs. A process that lives for less than five seconds asks seldom
 * or never: jobs by share are for those.
 *
 * Any number of threads may use one recruiter at a time, but the process does one slice at a
 * time. In the child of a fork it has the same jobs and settings, and all else is the child's
 * own.
 *
 * Freed with `millpond_recruiter_free`.
 */
typedef struct millpond_recruiter millpond_recruiter;

/**
 * The result of `millpond_recruiter_stats`. The caller frees it with
 * `millpond_recruiter_result_free`. Any thread may read it.
 */
typedef struct millpond_recruiter_result millpond_recruiter_result;

/**
 * One slice of a job's work, which the program does and ends; made by
 * `millpond_recruiter_enlist` and `millpond_recruiter_slices_next`.
 *
 * The program stops when the slice is over; it is not interrupted. It ends the slice with
 * `millpond_recruiter_slice_end` or `millpond_recruiter_slice_fail`. Until then the process
 * does no other slice. The slice belongs to its process: in the child of a fork, these two
 * fail with `MILLPOND_FORKED`.
 *
 * Any number of threads may use one slice at a time.
 *
 * Freed with `millpond_recruiter_slice_free`.
 */
typedef struct millpond_recruiter_slice millpond_recruiter_slice;

/**
 * A loop over slices, each of which its caller does, ends and frees before it asks for the
 * next. The process does not rest between two slices of the loop.
 *
 * Without a `wait_ms` the loop ends when no slice is to be had, as in the first seconds of a
 * process. It also ends when the recruiter is stopped.
 *
 * One thread at a time: a second one that calls meanwhile immediately gets
 * `MILLPOND_INVALID_ARGUMENT`.
 *
 * Freed with `millpond_recruiter_slices_free`.
 */
typedef struct millpond_recruiter_slices millpond_recruiter_slices;

/**
 * A list of messages, such as the result of a read. The caller frees it with
 * `millpond_shuffle_batch_free`. Any thread may read it.
 */
typedef struct millpond_shuffle_batch millpond_shuffle_batch;

/**
 * One consumer of a group of a queue; made by `millpond_shuffle_consumer_new`. Any number of
 * threads may use it at a time.
 *
 * A delivered message belongs to its consumer until it is acknowledged; asking for the next
 * one does not acknowledge it. When a consumer is gone, any other one can take over its
 * messages with `millpond_shuffle_reclaim`. This includes messages that no caller received,
 * because of `MILLPOND_CONNECTION_LOST`, `MILLPOND_TIMEOUT` or an interrupted call.
 *
 * Freed with `millpond_shuffle_consumer_free`.
 *
 * Any number of threads may use one consumer at a time.
 */
typedef struct millpond_shuffle_consumer millpond_shuffle_consumer;

/**
 * A list of dead letters. The caller frees it with `millpond_shuffle_dead_letters_free`. Any
 * thread may read it.
 */
typedef struct millpond_shuffle_dead_letters millpond_shuffle_dead_letters;

/**
 * Values of tracked messages whose deadline has passed, in batches. Made by
 * `millpond_shuffle_garbage_new`.
 *
 * Asking for the next batch deletes the records of the last one. If the caller stops, the last
 * batch is left for the next collection. The messages themselves stay in their streams.
 *
 * Freed with `millpond_shuffle_garbage_free`.
 *
 * One thread at a time: a second one that calls meanwhile gets `MILLPOND_INVALID_ARGUMENT` at
 * once. Threads that work together have loops of their own.
 */
typedef struct millpond_shuffle_garbage millpond_shuffle_garbage;

/**
 * A message that is being processed; created by a `millpond_shuffle_run`, which ends it.
 *
 * A native thread extends the message three times per lease, so a busy handler does not lose
 * it. The job belongs to its process: in the child of a fork, `millpond_shuffle_run_end` fails
 * with `MILLPOND_FORKED`.
 *
 * Freed with `millpond_shuffle_job_free`.
 */
typedef struct millpond_shuffle_job millpond_shuffle_job;

/**
 * The loop of a consumer: batches of messages. Made by `millpond_shuffle_messages_new`.
 *
 * A message is done only when it is acknowledged; asking for the next batch does not affect
 * the one before. So a consumer may pass messages on and continue, and if a loop is left
 * early, the unfinished messages stay with the group. Without `wait_ms` the loop ends when
 * nothing is left. A non-retryable error always ends the loop.
 *
 * Freed with `millpond_shuffle_messages_free`.
 *
 * One thread at a time: a second one that calls meanwhile gets `MILLPOND_INVALID_ARGUMENT` at
 * once. Threads that work together have loops of their own.
 */
typedef struct millpond_shuffle_messages millpond_shuffle_messages;

/**
 * A queue that many tenants share, in which one tenant's burst delays only itself; made by
 * `millpond_shuffle_queue_new`.
 *
 * A queue consists of a number of streams. Each tenant writes only to a few of them, its
 * shard, and always to the stream of the shard with the smallest backlog. Consumers read from
 * all streams in turn. A tenant that writes a thousand times more than the others fills only
 * its own streams, and the other tenants have streams that it does not fill.
 *
 * Many tenants share it, and one tenant's burst delays only that tenant. Each tenant writes to
 * a few of the queue's streams, which its key selects; consumers read from all streams in
 * turn.
 *
 * Freed with `millpond_shuffle_queue_free`.
 *
 * Any number of threads may use one queue at a time.
 */
typedef struct millpond_shuffle_queue millpond_shuffle_queue;

/**
 * What a worker reports. Freed with `millpond_shuffle_report_free`.
 */
typedef struct millpond_shuffle_report millpond_shuffle_report;

/**
 * A run of a worker, which hands out jobs and reports what became of them. Freed with
 * `millpond_shuffle_run_free`.
 *
 * Any number of threads may use one run at a time.
 */
typedef struct millpond_shuffle_run millpond_shuffle_run;

/**
 * What a queue holds for a group, stream by stream. The caller frees it with
 * `millpond_shuffle_stats_free`. Any thread may read it.
 */
typedef struct millpond_shuffle_stats millpond_shuffle_stats;

/**
 * A worker, which says how messages are worked on: with `millpond_shuffle_worker_run` until it is stopped, or
 * with `millpond_shuffle_worker_drain` until nothing is left. Freed with `millpond_shuffle_worker_free`.
 *
 * Any number of threads may use one worker at a time.
 */
typedef struct millpond_shuffle_worker millpond_shuffle_worker;

/**
 * The loop of a claimant: batches of leased tasks, by default of one task. Made by
 * `millpond_tasks_claims_new`.
 *
 * Asking for the next batch does not affect the one before: its tasks are leased until they
 * are deleted or changed, or until the lease expires. Without `wait_ms` the loop ends when
 * nothing is available. A non-retryable error always ends the loop.
 *
 * Freed with `millpond_tasks_claims_free`.
 *
 * One thread at a time: a second one that calls meanwhile gets `MILLPOND_INVALID_ARGUMENT` at
 * once. Threads that work together have loops of their own.
 */
typedef struct millpond_tasks_claims millpond_tasks_claims;

/**
 * A task that is being worked on; made by `millpond_tasks_jobs`.
 *
 * A native thread renews the task, and the documents that the job claims, three times per
 * lease, so a busy handler keeps them. A job is ended by one of the methods that say what
 * becomes of the task. They wait for a renewal that is in progress, and act on the newest
 * versions. A job that is never ended leaves the task leased until the lease expires. A job
 * belongs to its process: in the child of a fork, the methods that end it fail with
 * `MILLPOND_FORKED`.
 *
 * The job holds all of this under its own `claimant`, the task's. So no two jobs hold the same
 * task or document, and only the job can change or delete what it holds: end it by its own
 * methods, not by `millpond_tasks_modify`, which is refused.
 *
 * Freed with `millpond_tasks_job_free`.
 *
 * Any number of threads may use one job at a time.
 */
typedef struct millpond_tasks_job millpond_tasks_job;

/**
 * The jobs of a Worker. The loop ends as `millpond_tasks_claims` do, but first processes again
 * the tasks that it gave back because their documents were held by others.
 *
 * Freed with `millpond_tasks_jobs_free`.
 *
 * One thread at a time: a second one that calls meanwhile gets `MILLPOND_INVALID_ARGUMENT` at
 * once. Threads that work together have loops of their own.
 */
typedef struct millpond_tasks_jobs millpond_tasks_jobs;

/**
 * What a worker reports. Freed with `millpond_tasks_report_free`.
 */
typedef struct millpond_tasks_report millpond_tasks_report;

/**
 * The result of a step on tasks or documents. Freeing it does not affect them. The caller
 * frees it with `millpond_tasks_result_free`. Any thread may read it.
 */
typedef struct millpond_tasks_result millpond_tasks_result;

/**
 * A run of a worker, which hands out jobs and reports what became of them. Freed with
 * `millpond_tasks_run_free`.
 *
 * Any number of threads may use one run at a time.
 */
typedef struct millpond_tasks_run millpond_tasks_run;

/**
 * A named store of tasks and documents; made by `millpond_tasks_store_new`. One modification
 * stays within one store.
 *
 * There are two ways to change it: a *claim* leases an available task to one claimant, and a
 * *modification* inserts, changes and deletes tasks and documents, completely or not at all.
 * So a worker can delete the task that it has finished and insert the follow-up work in one
 * step, and nothing is lost or done twice if it crashes before or after.
 *
 * Delivery is at least once: a task is available again when its lease expires. Order is not
 * guaranteed; roughly, the oldest tasks of the highest priority come first.
 *
 * Freed with `millpond_tasks_store_free`.
 *
 * Any number of threads may use one store at a time.
 */
typedef struct millpond_tasks_store millpond_tasks_store;

/**
 * A worker, which says how tasks are worked on: with `millpond_tasks_worker_run` until it is stopped, or
 * with `millpond_tasks_worker_drain` until nothing is left. Freed with `millpond_tasks_worker_free`.
 *
 * Any number of threads may use one worker at a time.
 */
typedef struct millpond_tasks_worker millpond_tasks_worker;

/**
 * The set of ids that have work queued in a database of your own; made by
 * `millpond_tracker_new`.
 *
 * A scan adds the ids of rows, a prune removes those that have no work any more. Both are
 * meant as slices of a recruiter, or to be called regularly in any other way.
 *
 * A scan is `millpond_tracker_begin_scan`, a query of the program, and
 * `millpond_tracker_advance`. A prune is `millpond_tracker_sample`, a query, and
 * `millpond_tracker_remove`. If the query fails, the program leaves out the second call.
 *
 * Freed with `millpond_tracker_free`.
 *
 * Any number of threads may use one tracker at a time.
 */
typedef struct millpond_tracker millpond_tracker;

/**
 * The result of a call on a queue tracker. Freeing it does not affect the tracker. The caller
 * frees it with `millpond_tracker_result_free`. Any thread may read it.
 */
typedef struct millpond_tracker_result millpond_tracker_result;

/**
 * A hash whose fields expire, each at its own time, with a lock for each field; made by
 * `millpond_volatile_hash_new`.
 *
 * It is for what may be computed again: caches, sessions, results of slow calls. A field that
 * has expired is not read any more, to the microsecond, on the clock of the server. Its memory
 * is freed later, by a `millpond_volatile_reap` or a little by each `millpond_volatile_set`.
 *
 * A lock is named by a field and is independent of its value: with
 * `millpond_volatile_get_or_acquire` one caller computes a value that many ask for. The holder
 * of a lock is known by its token: two callers with the same token are one holder, so use a
 * new random token each time.
 *
 * Freed with `millpond_volatile_hash_free`.
 *
 * Any number of threads may use one hash at a time.
 */
typedef struct millpond_volatile_hash millpond_volatile_hash;

/**
 * Many volatile hashes with names of their own, such as one for each user, that are reaped
 * together; made by `millpond_volatile_hashes_new`.
 *
 * A family knows which of its hashes may have something to remove. So a reap does not look at
 * the others, however many there are.
 *
 * The hash with a base is in the shard FNV-1a-64(base) mod `shards`. The keys of a shard lie
 * in one cluster slot. All programs have to give a family the same number of shards: with
 * another one they do not see its hashes, and its locks do not exclude theirs. After a change
 * of the number, reap the old shards with a family of the old number.
 *
 * Freed with `millpond_volatile_hashes_free`.
 *
 * Any number of threads may use it at a time.
 */
typedef struct millpond_volatile_hashes millpond_volatile_hashes;

/**
 * The lock of a field, for as long as it is held; made by `millpond_volatile_lock_acquire`.
 *
 * A native thread renews it three times per `ttl`, so a busy holder keeps it. A
 * `millpond_volatile_lock_set` through the lock is refused with `MILLPOND_LEASE_LOST` once the
 * lock is lost, so a holder that was stopped for too long changes nothing in the hash. For
 * anything else that the lock protects, pass the `millpond_volatile_lock_fence` along, and
 * refuse a lower one than the last.
 *
 * `millpond_volatile_lock_is_lost` and `millpond_volatile_lock_fence` may be called from any
 * thread at any time.
 *
 * Freed with `millpond_volatile_lock_free`.
 *
 * One thread at a time: a second one that calls meanwhile gets `MILLPOND_INVALID_ARGUMENT` at
 * once.
 */
typedef struct millpond_volatile_lock millpond_volatile_lock;

/**
 * The result of a call on a volatile hash. Freeing it does not affect the hash. The caller
 * frees it with `millpond_volatile_result_free`. Any thread may read it.
 */
typedef struct millpond_volatile_result millpond_volatile_result;

/**
 * The most that one call takes. Anything above is refused with `MILLPOND_INVALID_ARGUMENT`; code that builds lists
 * from input without a known end should stop there. See `millpond_limits_data`.
 */
typedef struct {
    /**
     * Members of an add and a commit, messages of a write, an ack and an extend.
     */
    size_t items;
    /**
     * Total bytes of all strings of a call.
     */
    size_t bytes;
    /**
     * Members of an exchange, and of a commit through a lease.
     */
    size_t step_members;
    /**
     * Icks of a channel.
     */
    size_t icks;
    /**
     * Fields of a message.
     */
    size_t fields;
    /**
     * Queues of a claim.
     */
    size_t queues;
    /**
     * Ids of a fetch.
     */
    size_t ids;
    /**
     * Names and prefixes of a filter.
     */
    size_t names;
    /**
     * Entries of a modification, tasks and documents of a renewal.
     */
    size_t entries;
    /**
     * Schedules of a synchronization.
     */
    size_t schedules;
} millpond_limits;

/**
 * One row of the table of errors, the same in every language.
 */
typedef struct {
    /**
     * The number.
     */
    millpond_status code;
    /**
     * The name, such as `CONNECTION_LOST`; lives forever.
     */
    const char *name;
    /**
     * Whether a retry can help.
     */
    millpond_retry retry;
} millpond_error_kind;

/**
 * A string of bytes: any bytes, NUL among them. Its layout is fixed.
 */
typedef struct {
    /**
     * The bytes; may be NULL if there are none.
     */
    const char *data;
    /**
     * How many there are.
     */
    size_t length;
} millpond_bytes;

/**
 * The options of `millpond_connect_with`, so that nothing has to be encoded in a URL.
 * `millpond_options_init` fills it; then set what you like. The URL may hold more options.
 */
typedef struct {
    /**
     * The size of the structure in the program, in bytes; set by its `_init`.
     */
    size_t size;
    /**
     * Where the queues are; see `millpond_connect`.
     */
    millpond_bytes url;
    /**
     * The user, as it is: nothing is unescaped. NULL: not set.
     */
    millpond_bytes username;
    /**
     * The password, as it is. NULL: not set.
     */
    millpond_bytes password;
    /**
     * The name of the connections in `CLIENT LIST`. NULL: the default.
     */
    millpond_bytes client_name;
    /**
     * The longest time for one call, including connecting and retries. `MILLPOND_NOT_SET`: the
     * default, 5 seconds.
     */
    int64_t timeout_ms;
    /**
     * The longest time for one attempt to connect. `MILLPOND_NOT_SET`: the default, 1 second.
     */
    int64_t connect_timeout_ms;
    /**
     * Attempts after the first to connect, or to reach a server that is busy, loading or failing
     * over. `MILLPOND_NOT_SET`: the default, 10.
     */
    int64_t retries;
    /**
     * Whether nothing is printed to standard error when opening a `file:` finds something that
     * an operator should know, which `millpond_recovery_read` returns too.
     */
    bool quiet;
    /**
     * The clock of an embedded engine, for tests; by default the system's. Clients that share an
     * engine share its clock: a client without one uses the engine's, and a client with a
     * different one is refused with `MILLPOND_INVALID_ARGUMENT`. A clock for a server is refused
     * as well, since the server has its own time.
     */
    const millpond_clock *clock;
} millpond_options;

/**
 * The sizes and score ranges of an Ick. Scores are exact. For an empty set, the minimum and the
 * maximum are 0 and mean nothing.
 *
 * `millpond_ick_stats_init` prepares it; after that, each read fills it.
 */
typedef struct {
    /**
     * The size of the structure in the program, in bytes; set by its `_init`.
     */
    size_t size;
    /**
     * Whether the Ick exists. If not, everything else is 0.
     */
    bool exists;
    /**
     * Members that are flagged and not reserved.
     */
    uint64_t pset_size;
    /**
     * Members that are reserved and not committed.
     */
    uint64_t cset_size;
    /**
     * The sum of both; a member that is in both counts twice.
     */
    uint64_t total_size;
    /**
     * The lowest score in the producer set.
     */
    double pset_min;
    /**
     * The highest score in the producer set.
     */
    double pset_max;
    /**
     * The lowest score in the consumer set.
     */
    double cset_min;
    /**
     * The highest score in the consumer set.
     */
    double cset_max;
    /**
     * The lowest score in both sets.
     */
    double total_min;
    /**
     * The highest score in both sets.
     */
    double total_max;
} millpond_ick_stats;

/**
 * A member to flag, and its score. Its layout is fixed.
 */
typedef struct {
    /**
     * The member: any bytes. May be NULL if the length is 0.
     */
    const char *member;
    /**
     * How many bytes it has.
     */
    size_t member_length;
    /**
     * The score: any number but NaN. Lower scores come first.
     */
    double score;
    /**
     * Whether the score is the server's time in seconds, instead of `score`.
     */
    bool score_is_now;
} millpond_ick_pair;

/**
 * What an add changed. A member that is passed twice can count in both. Its layout is fixed.
 */
typedef struct {
    /**
     * Members that were not in the producer set.
     */
    uint64_t new_members;
    /**
     * Members that were in it, and whose score was lowered.
     */
    uint64_t lowered_members;
} millpond_ick_added;

/**
 * The settings of a queue.
 *
 * `millpond_shuffle_options_init` fills it; then set what you like.
 */
typedef struct {
    /**
     * The size of the structure in the program, in bytes; set by its `_init`.
     */
    size_t size;
    /**
     * How many streams the queue has. The first write to a queue sets it. A write with another
     * number is refused, with both numbers in the error, and `millpond_shuffle_resize` changes it.
     * By default writers use the queue's number, and a new queue gets 16. Readers need not know
     * the number. `MILLPOND_NOT_SET`: the default.
     */
    int64_t streams;
    /**
     * How many of the streams a tenant may write to; by default 2. `MILLPOND_NOT_SET`: the
     * default.
     */
    int64_t streams_per_shard;
    /**
     * How long a stream lives after it was last written to. **When that time is over, the stream
     * is deleted with everything in it, including unprocessed messages.** By default nothing that
     * is written expires. At least a second, at most 100 years. All writers of a queue should use
     * the same time. `MILLPOND_NOT_SET`: the default.
     */
    int64_t ttl_ms;
    /**
     * How long a dead letter is kept. By default dead letters stay until they are deleted. Each
     * `millpond_shuffle_reclaim` and `millpond_shuffle_reject` of this handle's consumers deletes
     * those that are older. At least a second, at most 100 years. `MILLPOND_NOT_SET`: the default.
     */
    int64_t dead_ttl_ms;
    /**
     * A `millpond_shuffle_track_keys`: where the records of tracked messages are. All programs
     * that write, delete or collect tracked messages of a queue have to set the same value. The
     * default is `MILLPOND_SHUFFLE_TRACK_GLOBAL`. `MILLPOND_NOT_SET`: the default.
     */
    int64_t track_keys;
} millpond_shuffle_options;

/**
 * The settings of a consumer.
 *
 * `millpond_shuffle_consumer_options_init` fills it; then set what you like.
 */
typedef struct {
    /**
     * The size of the structure in the program, in bytes; set by its `_init`.
     */
    size_t size;
    /**
     * Takes from this stream first, as much as it has; for a consumer that can process one
     * tenant's messages more cheaply together. `MILLPOND_NOT_SET`: the default.
     */
    int64_t prefer_stream;
    /**
     * Also takes from the stream at the queue's own name, in turn with the others, so that a plain
     * stream can become a sharded queue while its writers move. The group there has the queue's
     * name.
     */
    bool default_stream;
    /**
     * The number of deliveries after which a reclaimed message becomes a dead letter instead, so
     * that a message that always fails is not delivered for ever, and one that crashes its
     * consumers does not crash all of them; 20 by default; 0 means never.
     */
    uint64_t max_deliveries;
} millpond_shuffle_consumer_options;

/**
 * Where a message is; acknowledging takes this. Its layout is fixed.
 */
typedef struct {
    /**
     * The number of the stream, or -1 for the default stream.
     */
    int64_t stream;
    /**
     * The first half of the message's id, `<time>-<sequence>`: the server's time in milliseconds
     * since the Unix epoch.
     */
    uint64_t id_time_ms;
    /**
     * The second half of the id: its number among the messages of that time.
     */
    uint64_t id_sequence;
} millpond_shuffle_receipt;

/**
 * A field of a message and its value: any bytes. In a message to write, both may be NULL if their length is 0; in a
 * message that was read they are never NULL, and nothing is NUL-terminated. Its layout is fixed.
 */
typedef struct {
    /**
     * The field's name. The same name may occur more than once.
     */
    const char *field;
    /**
     * How many bytes it has.
     */
    size_t field_length;
    /**
     * The value.
     */
    const char *value;
    /**
     * How many bytes it has.
     */
    size_t value_length;
} millpond_shuffle_field;

/**
 * A message to write. `millpond_shuffle_new_message_init` fills it; then set its fields and its
 * tenant.
 */
typedef struct {
    /**
     * The size of the structure in the program, in bytes; set by its `_init`.
     */
    size_t size;
    /**
     * The key of the tenant.
     */
    const char *shard_key;
    /**
     * How many bytes it has.
     */
    size_t shard_key_length;
    /**
     * The message's fields, in their order.
     */
    const millpond_shuffle_field *fields;
    /**
     * How many there are.
     */
    size_t field_count;
} millpond_shuffle_new_message;

/**
 * The id of a dead letter: its `id_time_ms` and `id_sequence`. Its layout is fixed.
 */
typedef struct {
    /**
     * The first half, in milliseconds since the Unix epoch.
     */
    uint64_t time_ms;
    /**
     * The second half.
     */
    uint64_t sequence;
} millpond_shuffle_id;

/**
 * A message that was delivered to a consumer.
 */
typedef struct {
    /**
     * Where it is: pass this to acknowledge it.
     */
    millpond_shuffle_receipt receipt;
    /**
     * How often it was delivered, including this time: 1 for a read, more for a reclaim.
     */
    uint64_t deliveries;
    /**
     * Its fields and their values, as they were written. They are valid as long as the batch.
     */
    const millpond_shuffle_field *fields;
    /**
     * How many there are.
     */
    size_t field_count;
} millpond_shuffle_message;

/**
 * How a worker works. `millpond_shuffle_worker_options_init` fills it; then set what you like.
 */
typedef struct {
    /**
     * The size of the structure in the program, in bytes; set by its `_init`.
     */
    size_t size;
    /**
     * How long other consumers do not reclaim a message; 1 minute by default. A native thread
     * extends it three times per lease. `MILLPOND_NOT_SET`: the default.
     */
    int64_t lease_ms;
    /**
     * How many milliseconds a message is delayed after its first failure; then twice as long with each delivery, each
     * time minus a random part of up to a half, and never longer than the lease. `MILLPOND_NOT_SET`: the default,
     * 30,000.
     */
    int64_t backoff_ms;
    /**
     * The longest such delay, in milliseconds. `MILLPOND_NOT_SET`: the default, the lease.
     */
    int64_t backoff_max_ms;
    /**
     * How long an idle consumer of the group that holds no message is kept; 1 hour by default.
     * `MILLPOND_NOT_SET`: the default.
     */
    int64_t keep_consumers_ms;
    /**
     * How long a handler may work; without limit by default. `millpond_shuffle_job_time_left_ms`
     * returns the remaining time. `MILLPOND_NOT_SET`: the default.
     */
    int64_t timeout_ms;
    /**
     * How many jobs a run hands out at the same time to the threads that request them: 1 or more,
     * by default 1.
     */
    uint32_t concurrency;
    /**
     * How many more jobs `run` takes ahead, so that one step takes several; 0, the default, for
     * none. A stop gives back those that have not begun.
     */
    uint32_t prefetch;
    /**
     * Whether messages that are done are deleted for all groups, which suits a queue with one
     * group. By default they are only acknowledged.
     */
    bool delete_done;
    /**
     * Sets how long a `drain` takes jobs: after this time it begins no other one, and returns when
     * those that are running have ended. For a slice of a recruiter, give it the time that the
     * slice has left. By default it goes on until nothing is available. It does not matter to
     * `run`. `MILLPOND_NOT_SET`: the default.
     */
    int64_t budget_ms;
} millpond_shuffle_worker_options;

/**
 * A task to insert.
 *
 * `millpond_new_task_init` fills it; then set what you like.
 */
typedef struct {
    /**
     * The size of the structure in the program, in bytes; set by its `_init`.
     */
    size_t size;
    /**
     * The queue, which need not exist.
     */
    millpond_bytes queue;
    /**
     * Its id, unique in the store: 1 to 64 characters. 16 random hexadecimal digits by default.
     * With an id of its own, an insert can be repeated as long as the task exists: it is refused
     * or left out, and nothing is done twice. When the task has ended its id is free, and the same
     * insert adds a new task, unless the deduplication window of the one that has ended is not
     * over. NULL: not set.
     */
    millpond_bytes id;
    /**
     * Its value: a JSON text, which is kept byte for byte. NULL: not set.
     */
    millpond_bytes value;
    /**
     * The time from which it can be claimed, in milliseconds since the Unix epoch; a time in the
     * past counts towards its age. `MILLPOND_NOT_SET`: the default.
     */
    int64_t at_ms;
    /**
     * How long until it can be claimed, by the engine's clock. `MILLPOND_NOT_SET`: the default.
     */
    int64_t delay_ms;
    /**
     * How often it was tried before.
     */
    uint64_t attempt;
    /**
     * What went wrong before.
     */
    millpond_bytes err;
    /**
     * 0, the default, to 9: of a queue's available tasks, those with the highest priority are
     * claimed first.
     */
    uint64_t priority;
    /**
     * How long until it is deleted, whether or not it is done or leased; without limit by default.
     * `MILLPOND_NOT_SET`: the default.
     */
    int64_t ttl_ms;
    /**
     * How long its `id` stays taken after it has ended, by the engine's clock: 0, the default, up
     * to 7 days, in milliseconds. For that long an insert of the same id is refused or left out as
     * if the task still existed, at version 0. So a producer that received no reply can repeat its
     * insert for that long after the task is done. A task ends when it is deleted: by the end of
     * its job or another modification, a purge, a cancellation by force, or when its time to live
     * is over. A task that is retried, changed, moved or redriven keeps its window, and one in an
     * error queue has not ended. A store keeps the ids of up to 1,000,000 ended tasks; beyond
     * that, the one that would be free first is free early. `MILLPOND_NOT_SET`: the default.
     */
    int64_t dedup_window_ms;
    /**
     * Leaves this task out if its id is taken, instead of refusing the whole modification.
     */
    bool skip_colliding;
    /**
     * Its headers, all of them: names with any bytes as their values, as `header` adds them. NULL:
     * not set.
     */
    millpond_bytes headers;
} millpond_new_task;

/**
 * A change of a task. `millpond_task_change_init` fills it from the task; then set what you
 * like.
 */
typedef struct {
    /**
     * The size of the structure in the program, in bytes; set by its `_init`.
     */
    size_t size;
    /**
     * The task's id.
     */
    millpond_bytes id;
    /**
     * The queue; a different queue moves the task there, with its id.
     */
    millpond_bytes queue;
    /**
     * The value: a JSON text. NULL: the task has none afterwards.
     */
    millpond_bytes value;
    /**
     * What went wrong.
     */
    millpond_bytes err;
    /**
     * The version that the task must have.
     */
    uint64_t version;
    /**
     * How often the task was tried.
     */
    uint64_t attempt;
    /**
     * The time from which it can be claimed, in milliseconds since the Unix epoch. If that is in
     * the future, the claimant that changes the task holds it until then. `MILLPOND_NOT_SET`:
     * without a `delay_ms` the task is released.
     */
    int64_t at_ms;
    /**
     * How many milliseconds until it can be claimed, by the engine's clock; until then the
     * claimant that changes the task holds it. `MILLPOND_NOT_SET`: as `at_ms` says.
     */
    int64_t delay_ms;
    /**
     * Whether it was tried and failed: increments `attempt`, and appends `retry_err` to `err` on a
     * separate line.
     */
    bool retry;
    /**
     * Why it failed.
     */
    millpond_bytes retry_err;
    /**
     * Where a retry moves the task to with the attempt `quarantine_attempts`.
     */
    millpond_bytes quarantine_queue;
    /**
     * 1: with this retry; 0: never.
     */
    uint64_t quarantine_attempts;
    /**
     * What replaces the headers, in one piece; see `millpond_headers_add`. NULL: they stay.
     */
    millpond_bytes headers;
} millpond_task_change;

/**
 * A task at a version.
 *
 * The argument of deletes, depends and renewals.
 *
 * Its layout is fixed.
 *
 *     millpond_task_id done = {task->id, task->version};
 */
typedef struct {
    /**
     * The task's id.
     */
    millpond_bytes id;
    /**
     * The version that it must have.
     */
    uint64_t version;
} millpond_task_id;

/**
 * A document to insert or to put.
 *
 * `millpond_new_doc_init` fills it; then set what you like.
 */
typedef struct {
    /**
     * The size of the structure in the program, in bytes; set by its `_init`.
     */
    size_t size;
    /**
     * The namespace, 1 to 64 characters, which need not exist.
     */
    millpond_bytes namespace_name;
    /**
     * The primary key, at most 256 characters.
     */
    millpond_bytes key;
    /**
     * Its id, unique in its namespace: 1 to 1,025 characters. By default the id is derived from
     * the keys, so that a second document with the same keys is refused: it is the primary key,
     * followed by `|` and the secondary key if there is one. In the primary key `%` and `|` are
     * percent-encoded (`%25`, `%7C`), so that different keys never give the same id. Several
     * documents with the same keys need explicit ids, and so does a document whose primary key is
     * empty. NULL: not set.
     */
    millpond_bytes id;
    /**
     * Its secondary key, up to 256 characters. It sorts documents with the same primary key.
     */
    millpond_bytes secondary_key;
    /**
     * Its content: a JSON text, which is kept byte for byte. NULL: not set.
     */
    millpond_bytes content;
    /**
     * Leaves this document out if its id is taken, instead of refusing the whole modification.
     */
    bool skip_colliding;
} millpond_new_doc;

/**
 * A document at a version.
 *
 * The argument of deletes, depends and renewals.
 *
 * Its layout is fixed.
 */
typedef struct {
    /**
     * The document's namespace.
     */
    millpond_bytes namespace_name;
    /**
     * The document's id.
     */
    millpond_bytes id;
    /**
     * The version that it must have.
     */
    uint64_t version;
} millpond_doc_id;

/**
 * What becomes of a document; made by `change`.
 *
 * `millpond_doc_change_init` fills it; then set what you like.
 */
typedef struct {
    /**
     * The size of the structure in the program, in bytes; set by its `_init`.
     */
    size_t size;
    /**
     * The document, and the version that it must have.
     */
    millpond_doc_id doc;
    /**
     * The new content: a JSON text. NULL: not set.
     */
    millpond_bytes content;
    /**
     * Until when the claimant that makes the change holds it, in milliseconds since the Unix
     * epoch. A time in the past releases it. `MILLPOND_NOT_SET`: it stays as it is.
     */
    int64_t at_ms;
    /**
     * How long the claimant that makes the change holds it from now, by the engine's clock. 0
     * releases it. `MILLPOND_NOT_SET`: it stays as it is.
     */
    int64_t delay_ms;
} millpond_doc_change;

/**
 * Inserts, changes, deletes and dependencies on tasks and documents, for
 * `millpond_tasks_modify`: all of them apply or none does. At most 100,000 entries; a task or
 * document may be named only once.
 *
 * At most 100,000 entries.
 *
 * `millpond_tasks_modification_init` fills it; then set what you like.
 */
typedef struct {
    /**
     * The size of the structure in the program, in bytes; set by its `_init`.
     */
    size_t size;
    /**
     * Inserts a task. Refused if its id is taken: by a task in any queue, or by one that has ended
     * and whose deduplication window is not over.
     */
    const millpond_new_task *inserts;
    /**
     * How many there are.
     */
    size_t insert_count;
    /**
     * Changes a task. Refused if it does not exist at that version, or if another claimant holds
     * it.
     */
    const millpond_task_change *changes;
    /**
     * How many there are.
     */
    size_t change_count;
    /**
     * Deletes a task. Refused if it does not exist at that version, or if another claimant holds
     * it.
     */
    const millpond_task_id *deletes;
    /**
     * How many there are.
     */
    size_t delete_count;
    /**
     * Depends on a task. Refused if it does not exist at that version; who holds it does not
     * matter.
     */
    const millpond_task_id *depends;
    /**
     * How many there are.
     */
    size_t depend_count;
    /**
     * Inserts a document. Refused if one with that id exists in its namespace, or, without an
     * explicit `id`, if one with its keys does.
     */
    const millpond_new_doc *doc_inserts;
    /**
     * How many there are.
     */
    size_t doc_insert_count;
    /**
     * Inserts a document, or replaces the content of the document with that id. The document must
     * have a content. Refused if another claimant holds the existing document, and as a collision
     * if that has other keys. The claimant that holds it stays the same. The result lists it among
     * the inserted documents. In the modification that ends a `millpond_tasks_job`, a put of a
     * document that the job holds is a change: the document must be at the version that the job
     * holds, is released, and is listed among the changed documents.
     */
    const millpond_new_doc *doc_puts;
    /**
     * How many there are.
     */
    size_t doc_put_count;
    /**
     * Changes a document. Refused if it does not exist at that version, or if another claimant
     * holds it.
     */
    const millpond_doc_change *doc_changes;
    /**
     * How many there are.
     */
    size_t doc_change_count;
    /**
     * Deletes a document. Refused if it does not exist at that version, or if another claimant
     * holds it.
     */
    const millpond_doc_id *doc_deletes;
    /**
     * How many there are.
     */
    size_t doc_delete_count;
    /**
     * Depends on a document. Refused if it does not exist at that version; who holds it does not
     * matter.
     */
    const millpond_doc_id *doc_depends;
    /**
     * How many there are.
     */
    size_t doc_depend_count;
} millpond_tasks_modification;

/**
 * How a job is to end. It is set to "done" before a handler is called. What it points to must stay valid until that
 * handler is called again with this `context` (each thread can have its own), or until the worker's run is over; the
 * texts of the job's task do. Its layout is fixed.
 */
typedef struct {
    /**
     * A `millpond_task_end`.
     */
    uint32_t end;
    /**
     * What happens in the same step; the task is deleted unless the modification changes it.
     */
    const millpond_tasks_modification *modification;
    /**
     * Why it failed.
     */
    millpond_bytes err;
    /**
     * The queue that it is moved to.
     */
    millpond_bytes queue;
    /**
     * How many milliseconds until it is tried again or available. `MILLPOND_NOT_SET`: as the
     * worker's options say; for a release, a short random time.
     */
    int64_t delay_ms;
} millpond_task_outcome;

/**
 * How many jobs of a run ended in which way. Its layout is fixed.
 */
typedef struct {
    /**
     * Jobs that were done.
     */
    uint64_t done;
    /**
     * Jobs that failed and are tried again later, including those whose end was refused.
     */
    uint64_t retried;
    /**
     * Jobs that were put aside because they were rejected, tried too often, or crashed their workers.
     */
    uint64_t dead;
    /**
     * Jobs that were given back untried, moved to another queue, or lost.
     */
    uint64_t others;
} millpond_job_counts;

/**
 * A task as the store holds it.
 *
 * `at_ms` has two uses: a task is available from that time on, and a claim moves it to the end
 * of the lease. `id` and `version` are an optimistic lock: each claim, renewal and change adds
 * 1 to `version`, and a modification with a stale version is refused.
 *
 * All texts are UTF-8, are not NUL-terminated, and are valid as long as the result that
 * contains the task.
 */
typedef struct {
    /**
     * Unique in the store, across all queues.
     */
    millpond_bytes id;
    /**
     * Starts at 0; each claim, renewal and change adds 1.
     */
    uint64_t version;
    /**
     * The queue that it belongs to.
     */
    millpond_bytes queue;
    /**
     * The time from which it can be claimed, in milliseconds since the Unix epoch.
     */
    uint64_t at_ms;
    /**
     * When it was inserted, in milliseconds since the Unix epoch.
     */
    uint64_t created_ms;
    /**
     * When it was last inserted, claimed, renewed or changed, in milliseconds since the Unix
     * epoch.
     */
    uint64_t modified_ms;
    /**
     * The claimant that holds it until `at_ms`, or that set `at_ms`; empty if there is none. After
     * `at_ms` it still has that name, and nobody holds it.
     */
    millpond_bytes claimant;
    /**
     * How often it was claimed; renewals do not count.
     */
    uint64_t claims;
    /**
     * How often it was tried, as recorded by its workers.
     */
    uint64_t attempt;
    /**
     * What went wrong, as recorded by its workers.
     */
    millpond_bytes err;
    /**
     * Its JSON text, byte for byte as it was written; NULL is not the same as `null`. It is also
     * NULL if values were left out.
     */
    millpond_bytes value;
    /**
     * 0 to 9: of a queue's available tasks, those with the highest priority are claimed first.
     */
    uint64_t priority;
    /**
     * When it is deleted, leased or not, in milliseconds since the Unix epoch; `MILLPOND_NOT_SET`
     * for never.
     */
    int64_t expires_ms;
    /**
     * Its headers, by name: data that travels with it but is not part of its value.
     */
    millpond_bytes headers;
} millpond_task;

/**
 * A document as the store holds it: looked up by its namespace and id, sorted by its keys, and
 * leased for a time like a task, but never consumed.
 *
 * All texts are UTF-8, are not NUL-terminated, and are valid as long as the result that
 * contains the document.
 */
typedef struct {
    /**
     * The namespace that it belongs to.
     */
    millpond_bytes namespace_name;
    /**
     * Unique in its namespace; derived from its keys by default, see `id`.
     */
    millpond_bytes id;
    /**
     * Starts at 0; each claim, renewal and change adds 1.
     */
    uint64_t version;
    /**
     * Its primary key; several documents can have the same. Never changes.
     */
    millpond_bytes key;
    /**
     * Its secondary key, which sorts documents with the same primary key. Never changes.
     */
    millpond_bytes secondary_key;
    /**
     * Its JSON text, byte for byte as it was written; NULL is not the same as `null`. It is also
     * NULL if contents were left out.
     */
    millpond_bytes content;
    /**
     * Until when its claimant holds it, in milliseconds since the Unix epoch.
     */
    uint64_t at_ms;
    /**
     * The claimant that holds it until `at_ms`; empty if there is none.
     */
    millpond_bytes claimant;
    /**
     * When it was inserted, in milliseconds since the Unix epoch.
     */
    uint64_t created_ms;
    /**
     * When it was last inserted, claimed, renewed or changed, in milliseconds since the Unix
     * epoch.
     */
    uint64_t modified_ms;
} millpond_doc;

/**
 * The position of a task in the order of its queue: by time, and by id if the times are equal.
 *
 * Its layout is fixed.
 */
typedef struct {
    /**
     * The task's `at_ms`.
     */
    uint64_t at_ms;
    /**
     * The task's id.
     */
    millpond_bytes id;
} millpond_task_position;

/**
 * The position of a document in the order of its namespace.
 *
 * Its layout is fixed.
 */
typedef struct {
    /**
     * The document's primary key.
     */
    millpond_bytes key;
    /**
     * The document's secondary key.
     */
    millpond_bytes secondary_key;
    /**
     * The document's id.
     */
    millpond_bytes id;
} millpond_doc_position;

/**
 * Statistics of a queue. `size` is the sum of `available`, `claimed`, `retrying` and `future`,
 * which are counted as if the queue were not paused.
 */
typedef struct {
    /**
     * The queue's name.
     */
    millpond_bytes queue;
    /**
     * All tasks.
     */
    uint64_t size;
    /**
     * Tasks that can be claimed now.
     */
    uint64_t available;
    /**
     * Tasks that are leased now.
     */
    uint64_t claimed;
    /**
     * Tasks that cannot be claimed now and never were.
     */
    uint64_t future;
    /**
     * The highest number of claims of any of its tasks.
     */
    uint64_t max_claims;
    /**
     * Whether it is paused, so that claims find nothing in it. 1: yes, 0: no.
     */
    uint64_t paused;
    /**
     * The time since which the oldest available task has been available, in milliseconds since the
     * Unix epoch; `MILLPOND_NOT_SET` if no task is available.
     */
    int64_t oldest_available_ms;
    /**
     * When the first of the current leases ends, in milliseconds since the Unix epoch; if all
     * leases are equally long, that is the oldest one. `MILLPOND_NOT_SET` if no task is claimed.
     */
    int64_t first_lease_end_ms;
    /**
     * Tasks that were claimed before and cannot be claimed now because they are waiting to be
     * tried again.
     */
    uint64_t retrying;
} millpond_task_queue_stats;

/**
 * Statistics of a namespace.
 */
typedef struct {
    /**
     * The namespace's name.
     */
    millpond_bytes namespace_name;
    /**
     * All documents.
     */
    uint64_t size;
    /**
     * Documents that are leased now.
     */
    uint64_t claimed;
} millpond_task_namespace_stats;

/**
 * What is in a result. Which fields are set depends on the step; the others are empty.
 *
 * New versions may add fields to records, so a program must not index an array of them: use
 * `millpond_tasks_result_task` and similar functions, or advance by the number of bytes given beside the array.
 */
typedef struct {
    /**
     * The tasks; of a modification, first those that were inserted, then those that were changed.
     */
    const millpond_task *tasks;
    /**
     * How many there are.
     */
    size_t task_count;
    /**
     * How many bytes lie between the start of one and the start of the next.
     */
    size_t task_size;
    /**
     * How many of them were inserted.
     */
    size_t inserted_count;
    /**
     * The documents; of a modification, first those that were inserted, then those that were put, then those that were
     * changed.
     */
    const millpond_doc *docs;
    /**
     * How many there are.
     */
    size_t doc_count;
    /**
     * How many bytes lie between the start of one and the start of the next.
     */
    size_t doc_size;
    /**
     * How many of them were inserted or put.
     */
    size_t inserted_doc_count;
    /**
     * Of `millpond_tasks_list`: the position after which the next page starts; of `millpond_tasks_purge`,
     * `millpond_tasks_move_tasks` and `millpond_tasks_redrive`: the position after which the next step continues.
     * NULL: this was the last.
     */
    const millpond_task_position *next;
    /**
     * Of `millpond_tasks_list_docs`: the position after which the next page starts. NULL: this was the last page.
     */
    const millpond_doc_position *next_doc;
    /**
     * The queues, of `millpond_tasks_queue_stats`.
     */
    const millpond_task_queue_stats *queues;
    /**
     * How many there are.
     */
    size_t queue_count;
    /**
     * How many bytes lie between the start of one and the start of the next.
     */
    size_t queue_size;
    /**
     * The namespaces, of `millpond_tasks_namespace_stats`.
     */
    const millpond_task_namespace_stats *namespaces;
    /**
     * How many there are.
     */
    size_t namespace_count;
    /**
     * How many bytes lie between the start of one and the start of the next.
     */
    size_t namespace_size;
    /**
     * All texts, one after another without gaps: those of each task, of each document, of the next
     * position, of each queue, and of each namespace, each in the order of its fields. For
     * interpreters, which copy them in one go; not NUL-terminated.
     */
    const char *text;
    /**
     * The length of all texts, in bytes.
     */
    size_t text_length;
    /**
     * How many tasks were deleted by `millpond_tasks_purge`, or moved by `millpond_tasks_move_tasks` or
     * `millpond_tasks_redrive`.
     */
    uint64_t swept_count;
} millpond_tasks_data;

/**
 * An event as it is stored.
 */
typedef struct {
    /**
     * Its id.
     */
    millpond_bytes id;
    /**
     * Its key; empty for none.
     */
    millpond_bytes key;
    /**
     * What was published.
     */
    millpond_bytes payload;
    /**
     * Its headers.
     */
    millpond_bytes headers;
    /**
     * When it fires, in microseconds since the Unix epoch.
     */
    uint64_t fire_at_us;
    /**
     * When it was published, in microseconds since the Unix epoch.
     */
    uint64_t published_at_us;
    /**
     * When it is dropped if it was not received by then, in microseconds since the Unix epoch. It
     * does not expire once it was received. `MILLPOND_NOT_SET`: none.
     */
    int64_t expires_at_us;
    /**
     * Its deduplication id. NULL: none.
     */
    millpond_bytes dedup_id;
    /**
     * How often it was delivered, including this time, since it was published or redriven.
     */
    uint64_t attempts;
    /**
     * How often its lease expired since it was published or redriven.
     */
    uint64_t crashes;
    /**
     * How often it was redriven from the dead letters.
     */
    uint64_t redriven;
    /**
     * What the last failure said; empty if there was none.
     */
    millpond_bytes err;
    /**
     * Why it is a dead letter, if it is one. 0: none.
     */
    uint64_t reason;
    /**
     * What it waits for; `MILLPOND_EVENT_LEASED` if it was received.
     */
    uint64_t state;
    /**
     * The time of its state, in microseconds since the Unix epoch: since when it is ready or dead,
     * when its time comes or it is tried again, until when it is leased, or when it was done; 0
     * for an event that is behind another one.
     */
    uint64_t state_at_us;
    /**
     * The token of its last delivery; zeros if it was never delivered.
     */
    millpond_bytes token;
} millpond_event;

/**
 * What became of an event that was published.
 */
typedef struct {
    /**
     * The event's id; for a duplicate, the id of the existing event.
     */
    millpond_bytes id;
    /**
     * What happened.
     */
    uint64_t status;
    /**
     * When it fires, in microseconds since the Unix epoch; 0 for a duplicate.
     */
    uint64_t fire_at_us;
} millpond_published_event;

/**
 * The position of an event among those in its state: by time, and by id where the time is the
 * same.
 *
 * Its layout is fixed.
 */
typedef struct {
    /**
     * The event's `state_at_us`, in microseconds since the Unix epoch.
     */
    uint64_t state_at_us;
    /**
     * The event's id.
     */
    millpond_bytes id;
} millpond_event_position;

/**
 * How many events a queue has in each state, in all its partitions together.
 */
typedef struct {
    /**
     * Events that are not done, including dead letters.
     */
    uint64_t events;
    /**
     * Events that wait for their time, and those whose time has come since the last receive.
     */
    uint64_t scheduled;
    /**
     * Events that are ready to be received.
     */
    uint64_t ready;
    /**
     * Events that are leased.
     */
    uint64_t leased;
    /**
     * Events that failed and wait to be tried again.
     */
    uint64_t retry;
    /**
     * Events that are dead letters.
     */
    uint64_t dead;
    /**
     * Events that wait behind another event of their key.
     */
    uint64_t behind;
    /**
     * Deduplication ids that are remembered.
     */
    uint64_t dedup_ids;
    /**
     * Since when the event that has waited longest could have been received, in microseconds since
     * the Unix epoch; also one whose time has come or whose lease has expired while nobody
     * receives. `MILLPOND_NOT_SET`: none.
     */
    int64_t ready_since_us;
    /**
     * The time, in microseconds since the Unix epoch.
     */
    uint64_t now_us;
    /**
     * How many events the partitions allow to be leased at a time; 0 for any number.
     */
    uint64_t concurrency;
    /**
     * How many events a second the queue delivers at most; 0 for any number.
     */
    uint64_t rate;
    /**
     * How many events the rate lets through immediately; 0 without a rate.
     */
    uint64_t rate_left;
    /**
     * Events that are done, and kept for a time.
     */
    uint64_t done;
    /**
     * Schedules that have a tick to come; a schedule that is paused or at its end has none.
     */
    uint64_t schedules;
    /**
     * Events of the partition that has most, including those that are done. Plan at most a million
     * events, or 256 MiB, per partition: a cluster moves the keys of a partition from one server
     * to another whole.
     */
    uint64_t largest_partition;
} millpond_event_stats;

/**
 * How a queue treats its events. `millpond_event_config_change` says more of each, and changes
 * it.
 */
typedef struct {
    /**
     * How many partitions the queue has.
     */
    uint64_t partitions;
    /**
     * How long an event is leased to its receiver.
     */
    uint64_t lease_ms;
    /**
     * How often an event is delivered before it becomes a dead letter; 0 for no limit.
     */
    uint64_t max_attempts;
    /**
     * How often a lease of an event may expire before it becomes a dead letter; 0 for no limit.
     */
    uint64_t max_crashes;
    /**
     * The longest delay before the second attempt.
     */
    uint64_t backoff_min_ms;
    /**
     * The longest delay before any attempt.
     */
    uint64_t backoff_max_ms;
    /**
     * How many events a partition may hold, including dead letters; 0 for no limit.
     */
    uint64_t events_max;
    /**
     * How many deduplication ids a partition remembers.
     */
    uint64_t dedup_ids_max;
    /**
     * Whether delivery is paused. 1: yes, 0: no.
     */
    uint64_t paused;
    /**
     * How many events may be leased at a time; 0 for no limit.
     */
    uint64_t concurrency;
    /**
     * How many events per second may be delivered; 0 for no limit.
     */
    uint64_t rate;
    /**
     * How many events may be delivered in a burst; 0 for as many as in a second.
     */
    uint64_t burst;
    /**
     * How long an event can still be read after it is done; 0 if it is not kept.
     */
    uint64_t retention_ms;
} millpond_event_config;

/**
 * An existing schedule.
 */
typedef struct {
    /**
     * Its id.
     */
    millpond_bytes id;
    /**
     * The cron expression, if that is what it follows. NULL: none.
     */
    millpond_bytes cron;
    /**
     * The zone of the cron expression. NULL: none.
     */
    millpond_bytes zone;
    /**
     * The time between two ticks, if that is what it follows. `MILLPOND_NOT_SET`: none.
     */
    int64_t every_ms;
    /**
     * What its events carry.
     */
    millpond_bytes payload;
    /**
     * Whether it is paused. 1: yes, 0: no.
     */
    uint64_t paused;
    /**
     * Its next tick, in microseconds since the Unix epoch, as far as it is known.
     * `MILLPOND_NOT_SET`: none.
     */
    int64_t next_us;
    /**
     * Its last tick, in microseconds since the Unix epoch. `MILLPOND_NOT_SET`: none.
     */
    int64_t passed_us;
    /**
     * How many of its ticks were not received in time, as far as that was noticed.
     */
    uint64_t missed;
    /**
     * Its revision.
     */
    uint64_t revision;
    /**
     * The owner that synchronizes it; empty if there is none.
     */
    millpond_bytes owner;
} millpond_schedule_info;

/**
 * The result of `millpond_events_sync_schedules`.
 */
typedef struct {
    /**
     * Whether nothing was done, since the owner has a higher revision. 1: yes, 0: no.
     */
    uint64_t ignored;
    /**
     * How many did not exist before.
     */
    uint64_t created;
    /**
     * How many have changed.
     */
    uint64_t updated;
    /**
     * How many existed without a change.
     */
    uint64_t unchanged;
    /**
     * How many were removed.
     */
    uint64_t removed;
} millpond_schedules_synced;

/**
 * What is in a result. Which fields are set depends on the call; the others are empty.
 *
 * New versions may add fields to records, so a program must not index an array of them: use
 * `millpond_events_result_event` and similar functions, or advance by the number of bytes given beside the array.
 */
typedef struct {
    /**
     * The events.
     */
    const millpond_event *events;
    /**
     * How many there are.
     */
    size_t event_count;
    /**
     * How many bytes lie between the start of one and the start of the next.
     */
    size_t event_size;
    /**
     * The result for each event to publish, in the same order.
     */
    const millpond_published_event *published;
    /**
     * How many there are.
     */
    size_t published_count;
    /**
     * How many bytes lie between the start of one and the start of the next.
     */
    size_t published_size;
    /**
     * Of `millpond_events_list`: the position after which the next page starts. NULL: this was the last page.
     */
    const millpond_event_position *next;
    /**
     * Of `millpond_events_stats`.
     */
    const millpond_event_stats *stats;
    /**
     * Of `millpond_events_config`.
     */
    const millpond_event_config *config;
    /**
     * The schedules.
     */
    const millpond_schedule_info *schedules;
    /**
     * How many there are.
     */
    size_t schedule_count;
    /**
     * How many bytes lie between the start of one and the start of the next.
     */
    size_t schedule_size;
    /**
     * Of `millpond_events_sync_schedules`.
     */
    const millpond_schedules_synced *synced;
    /**
     * All texts, one after another without gaps: those of each event, of each published event, of the next position,
     * and of each schedule, each in the order of its fields. For interpreters, which copy them in one go; not
     * NUL-terminated.
     */
    const char *text;
    /**
     * The length of all texts, in bytes.
     */
    size_t text_length;
} millpond_events_data;

/**
 * What a worker reports. Everything in it lives until the report is freed.
 */
typedef struct {
    /**
     * What happened: a `millpond_report_kind`.
     */
    uint32_t kind;
    /**
     * Whether it needs attention: it is printed by default.
     */
    bool is_trouble;
    /**
     * The whole report in one line, for logs.
     */
    millpond_bytes message;
    /**
     * The cause; NULL if neither the library nor the store gave one.
     */
    const millpond_error *error;
    /**
     * The task that it happened to, as it was claimed: one of `tasks`. NULL if it concerns the whole worker.
     */
    const millpond_tasks_data *task;
    /**
     * The message of a shuffle queue that it happened to. NULL if it concerns the whole worker.
     */
    const millpond_shuffle_message *shuffle_message;
    /**
     * The event that it happened to, as it was received: one of `events`. NULL if it concerns the whole worker.
     */
    const millpond_events_data *event;
} millpond_report_data;

/**
 * Works on a job, and sets in `outcome` how it ends. The job is freed after the call.
 */
typedef void (*millpond_shuffle_handler)(millpond_shuffle_job *job,
                                         millpond_task_outcome *outcome,
                                         void *context);

/**
 * Receives what a worker reports. The report is freed after the call.
 */
typedef void (*millpond_shuffle_report_handler)(const millpond_shuffle_report *report, void *context);

/**
 * Which tasks of a queue to list.
 *
 * `millpond_task_query_init` fills it; then set what you like.
 */
typedef struct {
    /**
     * The size of the structure in the program, in bytes; set by its `_init`.
     */
    size_t size;
    /**
     * The page after this position. This is the `next` of the previous page. NULL: not set.
     */
    const millpond_task_position *after;
    /**
     * Reads at most this many tasks; 1,000 by default, at most 10,000. `MILLPOND_NOT_SET`: the
     * default.
     */
    int64_t limit;
    /**
     * Only tasks that this claimant holds or that are available. With this filter a page may hold
     * fewer tasks, or none, and still be followed by another page. NULL: not set.
     */
    millpond_bytes claimant;
    /**
     * Leaves out the values. A change made from such a task removes its value.
     */
    bool omit_values;
} millpond_task_query;

/**
 * Which documents of a namespace to list.
 *
 * `millpond_doc_query_init` fills it; then set what you like.
 */
typedef struct {
    /**
     * The size of the structure in the program, in bytes; set by its `_init`.
     */
    size_t size;
    /**
     * From this primary key on, including it. NULL: not set.
     */
    millpond_bytes start;
    /**
     * Up to this primary key, excluding it; an empty key is no limit. NULL: not set.
     */
    millpond_bytes end;
    /**
     * The page after this position. This is the `next_doc` of the previous page. NULL: not set.
     */
    const millpond_doc_position *after;
    /**
     * At most this many; 1,000 by default, at most 10,000. `MILLPOND_NOT_SET`: the default.
     */
    int64_t limit;
    /**
     * Leaves out the contents.
     */
    bool omit_contents;
} millpond_doc_query;

/**
 * Which queues or namespaces to include: those with one of the exact names or prefixes, or all
 * if none is given. Up to 10,000 names and prefixes are allowed.
 *
 * `millpond_tasks_filter_init` fills it; then set what you like.
 */
typedef struct {
    /**
     * The size of the structure in the program, in bytes; set by its `_init`.
     */
    size_t size;
    /**
     * The exact names.
     */
    const millpond_bytes *exact;
    /**
     * How many there are.
     */
    size_t exact_count;
    /**
     * The prefixes that names begin with.
     */
    const millpond_bytes *prefixes;
    /**
     * How many there are.
     */
    size_t prefix_count;
    /**
     * At most this many, the first by name; 100,000 by default. `MILLPOND_NOT_SET`: the default.
     */
    int64_t limit;
} millpond_tasks_filter;

/**
 * Which tasks of a queue to purge, move or redrive; by default, all that no other claimant
 * holds. See `millpond_tasks_purge`.
 *
 * `millpond_task_filter_init` fills it; then set what you like.
 */
typedef struct {
    /**
     * The size of the structure in the program, in bytes; set by its `_init`.
     */
    size_t size;
    /**
     * Continues after this position, such as the one that the previous step returned. NULL: not
     * set.
     */
    const millpond_task_position *after;
    /**
     * Looks at up to this many tasks; 1,000 by default, at most 2,000. A server serves no other
     * client during the step, which takes about 8 ms with 1,000 tasks. `MILLPOND_NOT_SET`: the
     * default.
     */
    int64_t limit;
    /**
     * Only tasks that can be claimed now, and those in other selected states.
     */
    bool available;
    /**
     * Only tasks that cannot be claimed now and were claimed before, and those in other selected
     * states: those that are leased, and those that wait to be tried again, which
     * `millpond_task_queue_stats` counts as `retrying`.
     */
    bool claimed;
    /**
     * Only tasks that cannot be claimed now and were never claimed, and those in other selected
     * states.
     */
    bool future;
    /**
     * Only tasks that this claimant holds or that are available. NULL: not set.
     */
    millpond_bytes claimant;
    /**
     * Only tasks whose `err` begins with this text. It has a line for each failure, the oldest
     * first, so this selects by the first one. NULL: not set.
     */
    millpond_bytes err;
    /**
     * Also tasks that another claimant holds: those that it has leased, whose jobs are then lost,
     * and those that it has postponed or inserted for a time in the future.
     */
    bool include_held;
} millpond_task_filter;

/**
 * Every reason why a modification was refused: part of an error of the kind
 * `MILLPOND_DEPENDENCY` (`dependency`). Nothing was done.
 *
 * Lives as long as the error.
 */
typedef struct {
    /**
     * Tasks to insert whose id is taken, at the version that exists; at version 0 if the task that
     * took it has ended.
     */
    const millpond_task_id *inserts;
    /**
     * How many there are.
     */
    size_t insert_count;
    /**
     * Tasks to change that do not exist at the requested version.
     */
    const millpond_task_id *changes;
    /**
     * How many there are.
     */
    size_t change_count;
    /**
     * Tasks to delete that do not exist at the requested version.
     */
    const millpond_task_id *deletes;
    /**
     * How many there are.
     */
    size_t delete_count;
    /**
     * Tasks to depend on that do not exist at the requested version.
     */
    const millpond_task_id *depends;
    /**
     * How many there are.
     */
    size_t depend_count;
    /**
     * Tasks to delete or to change that another claimant holds.
     */
    const millpond_task_id *claims;
    /**
     * How many there are.
     */
    size_t claim_count;
    /**
     * Documents to insert whose id is taken, at the version that exists.
     */
    const millpond_doc_id *doc_inserts;
    /**
     * How many there are.
     */
    size_t doc_insert_count;
    /**
     * Documents to change that do not exist at the requested version.
     */
    const millpond_doc_id *doc_changes;
    /**
     * How many there are.
     */
    size_t doc_change_count;
    /**
     * Documents to delete that do not exist at the requested version.
     */
    const millpond_doc_id *doc_deletes;
    /**
     * How many there are.
     */
    size_t doc_delete_count;
    /**
     * Documents to depend on that do not exist at the requested version.
     */
    const millpond_doc_id *doc_depends;
    /**
     * How many there are.
     */
    size_t doc_depend_count;
    /**
     * Documents to delete, to change, to put or to claim that another claimant holds.
     */
    const millpond_doc_id *doc_claims;
    /**
     * How many there are.
     */
    size_t doc_claim_count;
    /**
     * Whether a task does not exist at the requested version.
     */
    bool has_missing;
    /**
     * Whether a document does not exist at the requested version.
     */
    bool has_missing_docs;
    /**
     * Whether another claimant holds a task.
     */
    bool has_claims;
    /**
     * Whether another claimant holds a document.
     */
    bool has_claimed_docs;
    /**
     * Whether an id is taken.
     */
    bool has_collisions;
    /**
     * Whether the only problem is that other claimants hold something: the same call can succeed
     * later.
     */
    bool only_claims;
} millpond_tasks_dependency;

/**
 * How a worker works. `millpond_tasks_worker_options_init` fills it; then set what you like.
 */
typedef struct {
    /**
     * The size of the structure in the program, in bytes; set by its `_init`.
     */
    size_t size;
    /**
     * How long a task is leased; 30 seconds by default. A native thread renews it three times per
     * lease. `MILLPOND_NOT_SET`: the default.
     */
    int64_t lease_ms;
    /**
     * How long `jobs` waits for a task when none is available, instead of ending immediately. 0,
     * the default, does not wait; -1 waits without limit.
     */
    int64_t wait_ms;
    /**
     * How many milliseconds a task is delayed after its first failure; then twice as long each
     * time, each time minus a random part of up to a half. `MILLPOND_NOT_SET`: the default,
     * 30,000.
     */
    int64_t backoff_ms;
    /**
     * How many milliseconds a failed task is delayed at most. `MILLPOND_NOT_SET`: the
     * default, an hour.
     */
    int64_t backoff_max_ms;
    /**
     * After this many attempts a task goes to the error queue; 20 by default; 0 means never.
     */
    uint32_t max_attempts;
    /**
     * After how many expired leases a task goes to the error queue and not to a handler, since it
     * may be what crashes the workers; 3 by default; 0 means never. Every end of a job resets the
     * count, including a retry and a release. So does every change of the task, such as a move
     * back from the error queue. A process that ends takes all that it works on with it. So a task
     * that was left twice in a row, or once if the next time would be the last, runs alone: the
     * worker lets the jobs that it has end first, and works on nothing beside it. Until it begins,
     * its lease does not count. So what was beside a task that crashes the workers is not put
     * aside with it; with 1 it is. After one end, the task runs beside others again.
     */
    uint32_t max_crashes;
    /**
     * The queue for tasks that failed too often; by default, the name of the task's own queue
     * followed by `/err`. NULL: the default.
     */
    millpond_bytes error_queue;
    /**
     * How many jobs a run hands out at the same time to the threads that request them: 1 or more,
     * by default 1.
     */
    uint32_t concurrency;
    /**
     * How many more jobs `run` leases ahead, so that one step leases several; 0, the default, for
     * none. A stop gives back those that have not begun.
     */
    uint32_t prefetch;
    /**
     * How long a handler may work; without limit by default. `millpond_tasks_job_time_left_ms`
     * returns the remaining time. `MILLPOND_NOT_SET`: the default.
     */
    int64_t timeout_ms;
    /**
     * Sets how long a `drain` takes jobs: after this time it begins no other one, and returns when
     * those that are running have ended. For a slice of a recruiter, give it the time that the
     * slice has left. By default it goes on until nothing is available. It does not matter to
     * `run`. `MILLPOND_NOT_SET`: the default.
     */
    int64_t budget_ms;
} millpond_tasks_worker_options;

/**
 * Works on a job, and sets in `outcome` how it ends. The job is freed after the call.
 */
typedef void (*millpond_task_handler)(millpond_tasks_job *job,
                                      millpond_task_outcome *outcome,
                                      void *context);

/**
 * Receives what a worker reports. The report is freed after the call.
 */
typedef void (*millpond_task_report_handler)(const millpond_tasks_report *report, void *context);

/**
 * An event to publish.
 *
 * `millpond_new_event_init` fills it; then set what you like.
 */
typedef struct {
    /**
     * The size of the structure in the program, in bytes; set by its `_init`.
     */
    size_t size;
    /**
     * What to publish, at most 16 MiB; any bytes.
     */
    millpond_bytes payload;
    /**
     * Events of one key are delivered one at a time, in the order in which they fire. By default
     * an event has no key. NULL: not set.
     */
    millpond_bytes key;
    /**
     * When it fires, in milliseconds since the Unix epoch; a time in the past is now.
     * `MILLPOND_NOT_SET`: the default.
     */
    int64_t at_ms;
    /**
     * How long after publishing it fires. `MILLPOND_NOT_SET`: the default.
     */
    int64_t delay_ms;
    /**
     * How long after its time it is dropped if it was not received by then. Once it was received
     * it does not expire: it is delivered again if it fails, is released or its lease expires,
     * however late that is. `MILLPOND_NOT_SET`: the default.
     */
    int64_t ttl_ms;
    /**
     * Of all events of one key with this id, only one is added; for producers that may publish
     * twice. NULL: not set.
     */
    millpond_bytes dedup_id;
    /**
     * How long the id is remembered, even if the event has ended; five minutes by default. The id
     * of an event that is cancelled is free at once. `MILLPOND_NOT_SET`: the default.
     */
    int64_t dedup_window_ms;
    /**
     * What happens if the id is taken; `MILLPOND_IF_EXISTS_IGNORE` by default. `MILLPOND_NOT_SET`:
     * the default.
     */
    int64_t if_exists;
    /**
     * All its headers, as `header` adds them: each a name with any bytes as its value. NULL: not
     * set.
     */
    millpond_bytes headers;
} millpond_new_event;

/**
 * What changes of the configuration of a queue. Whatever is left out stays as it is, or has
 * its default in a queue that is new; so a default is put back by saying it.
 *
 * `millpond_event_config_change_init` fills it; then set what you like.
 */
typedef struct {
    /**
     * The size of the structure in the program, in bytes; set by its `_init`.
     */
    size_t size;
    /**
     * How many partitions a new queue has, 1 to 1,024; 1 by default. Of a queue that exists, it
     * changes nothing: `millpond_events_reshard` does. Steps of different partitions do not wait
     * for each other, and may run on different servers of a cluster. A queue that exists keeps its
     * number, whatever this says: `millpond_events_reshard` changes it. `MILLPOND_NOT_SET`: it
     * stays as it is.
     */
    int64_t partitions;
    /**
     * How long an event is leased to its receiver; 30 s in a new queue. `MILLPOND_NOT_SET`: it
     * stays as it is.
     */
    int64_t lease_ms;
    /**
     * How often an event is delivered before it becomes a dead letter; 20 in a new queue, 0 for no
     * limit. `MILLPOND_NOT_SET`: it stays as it is.
     */
    int64_t max_attempts;
    /**
     * How often a lease of an event may expire before it becomes a dead letter; 3 in a new queue,
     * 0 for no limit. A process that ends takes all that it works on with it. So an event of which
     * two leases expired, or one if the next one would be the last, is received alone, and a
     * worker works on nothing beside it: it lets the jobs that it has end first, and until it
     * begins the lease does not count. So what was beside an event that crashes the workers is not
     * given up with it; with 1 it is. `MILLPOND_NOT_SET`: it stays as it is.
     */
    int64_t max_crashes;
    /**
     * The longest delay before the second attempt, 1 s in a new queue; it doubles with each
     * attempt. `MILLPOND_NOT_SET`: it stays as it is.
     */
    int64_t backoff_min_ms;
    /**
     * The longest delay before any attempt; 1 h in a new queue. `MILLPOND_NOT_SET`: it stays as it
     * is.
     */
    int64_t backoff_max_ms;
    /**
     * How many events a partition may hold, including dead letters; 0, as in a new queue, for no
     * limit. `MILLPOND_NOT_SET`: it stays as it is.
     */
    int64_t events_max;
    /**
     * How many deduplication ids a partition remembers, 1,000,000 in a new queue. None is
     * forgotten early: while it remembers that many, an event with another one is refused.
     * `MILLPOND_NOT_SET`: it stays as it is.
     */
    int64_t dedup_ids_max;
    /**
     * Whether delivery is paused, as `millpond_events_pause` and `millpond_events_resume` do.
     * `MILLPOND_NOT_SET`: it stays as it is.
     */
    int64_t paused;
    /**
     * How many events may be leased at a time; 0, as in a new queue, for no limit. Each partition
     * allows an equal part of that, rounded down, so the number must not be below the number of
     * partitions. `MILLPOND_NOT_SET`: it stays as it is.
     */
    int64_t concurrency;
    /**
     * How many events per second may be delivered, including those that are delivered again; 0, as
     * in a new queue, for no limit. Each partition allows an equal part of that.
     * `MILLPOND_NOT_SET`: it stays as it is.
     */
    int64_t rate;
    /**
     * How many events may be delivered in a burst after a time with fewer deliveries than `rate`
     * allows; 0, as in a new queue, for as many as in a second. Each partition allows an equal
     * part of that, and at least one. `MILLPOND_NOT_SET`: it stays as it is.
     */
    int64_t burst;
    /**
     * How long an event can still be read after it is done; 0, as in a new queue, if it is not to
     * be kept. `MILLPOND_NOT_SET`: it stays as it is.
     */
    int64_t retention_ms;
} millpond_event_config_change;

/**
 * Which events are to be published, and when: an id and a calendar rule, which is either
 * `cron` or `every`.
 *
 * `millpond_schedule_init` fills it; then set what you like.
 */
typedef struct {
    /**
     * The size of the structure in the program, in bytes; set by its `_init`.
     */
    size_t size;
    /**
     * The schedule's id, up to 256 bytes, which is also the key of its events, unless they may
     * overlap.
     */
    millpond_bytes id;
    /**
     * It fires when the clock of its `zone` matches a cron expression: minute, hour, day of the
     * month, month and day of the week, or six fields with the second before these, or a word such
     * as `@daily`. NULL: not set.
     */
    millpond_bytes cron;
    /**
     * The time zone of a cron expression, a name of the tz database such as `Europe/Berlin`, whose
     * data ships with Millpond; `UTC` by default. NULL: not set.
     */
    millpond_bytes zone;
    /**
     * It fires at a fixed interval of a second or more. An event that is received late does not
     * delay the next one. `MILLPOND_NOT_SET`: the default.
     */
    int64_t every_ms;
    /**
     * One of the times of `every`, in milliseconds since the Unix epoch; 0 by default.
     * `MILLPOND_NOT_SET`: the default.
     */
    int64_t anchor_ms;
    /**
     * What its events carry, at most 16 MiB; nothing by default. NULL: not set.
     */
    millpond_bytes payload;
    /**
     * The headers of its events: each a name with any bytes as its value. NULL: not set.
     */
    millpond_bytes headers;
    /**
     * How long after its time an event is dropped if it was not received by then. Once it was
     * received it does not expire. `MILLPOND_NOT_SET`: the default.
     */
    int64_t ttl_ms;
    /**
     * What becomes of an event that was not received in time; `MILLPOND_MISSED_LATEST` by default.
     * `MILLPOND_NOT_SET`: the default.
     */
    int64_t missed;
    /**
     * How long an event can be received before it is missed, with `MILLPOND_MISSED_EXPIRE`; 60
     * seconds by default. One that was received within it is not missed, even if it is delivered
     * again later. `MILLPOND_NOT_SET`: the default.
     */
    int64_t grace_ms;
    /**
     * Whether events wait for each other; `MILLPOND_OVERLAP_WAIT` by default. `MILLPOND_NOT_SET`:
     * the default.
     */
    int64_t overlap;
    /**
     * The time before which no tick comes, in milliseconds since the Unix epoch.
     */
    uint64_t from_ms;
    /**
     * The time from which on no tick comes, in milliseconds since the Unix epoch.
     * `MILLPOND_NOT_SET`: the default.
     */
    int64_t until_ms;
    /**
     * A number that rises with each change of the program that puts the schedule: putting a
     * schedule with a lower revision than the existing one changes nothing. 0 by default.
     */
    uint64_t revision;
} millpond_schedule;

/**
 * Which events of a state to list.
 *
 * `millpond_event_query_init` fills it; then set what you like.
 */
typedef struct {
    /**
     * The size of the structure in the program, in bytes; set by its `_init`.
     */
    size_t size;
    /**
     * The key of the events to list. It is required for events that are `MILLPOND_EVENT_BEHIND`
     * another event of the key, and refused for all others. NULL: not set.
     */
    millpond_bytes key;
    /**
     * Only events whose `state_at_us` is this time or later, in microseconds since the Unix epoch.
     * `MILLPOND_NOT_SET`: the default.
     */
    int64_t since_us;
    /**
     * Only events whose `state_at_us` is earlier than this time, in microseconds since the Unix
     * epoch. `MILLPOND_NOT_SET`: the default.
     */
    int64_t before_us;
    /**
     * The page after this position. NULL: not set.
     */
    const millpond_event_position *after;
    /**
     * At most this many events; 100 by default, at most 1,000. `MILLPOND_NOT_SET`: the default.
     */
    int64_t limit;
} millpond_event_query;

/**
 * Which dead letters to redrive; by default all of them.
 *
 * `millpond_event_redrive_filter_init` fills it; then set what you like.
 */
typedef struct {
    /**
     * The size of the structure in the program, in bytes; set by its `_init`.
     */
    size_t size;
    /**
     * Only those that were given up for this reason. `MILLPOND_NOT_SET`: the default.
     */
    int64_t reason;
    /**
     * Only those that were given up at this time or later, in microseconds since the Unix epoch.
     * `MILLPOND_NOT_SET`: the default.
     */
    int64_t since_us;
    /**
     * Only those that were given up earlier than this, in microseconds since the Unix epoch.
     * `MILLPOND_NOT_SET`: the default.
     */
    int64_t before_us;
    /**
     * At most this many. `MILLPOND_NOT_SET`: the default.
     */
    int64_t max;
    /**
     * At this rate, 1 to 1,000,000,000 a second, instead of all now: those that have to wait fire
     * later, one after the other, so nobody has to stay for it. Each call counts from its own
     * beginning. `MILLPOND_NOT_SET`: the default.
     */
    int64_t per_second;
} millpond_event_redrive_filter;

/**
 * Which events of a state to remove; by default all of them.
 *
 * `millpond_event_purge_filter_init` fills it; then set what you like.
 */
typedef struct {
    /**
     * The size of the structure in the program, in bytes; set by its `_init`.
     */
    size_t size;
    /**
     * The key of the events to remove. It is required for events that are `MILLPOND_EVENT_BEHIND`
     * another event of the key, and refused for all others. NULL: not set.
     */
    millpond_bytes key;
    /**
     * Only events whose `state_at_us` is earlier than this time, in microseconds since the Unix
     * epoch. `MILLPOND_NOT_SET`: the default.
     */
    int64_t before_us;
} millpond_event_purge_filter;

/**
 * A delivery of an event, as needed to end it.
 *
 * Identifies the delivery to end.
 *
 * Its layout is fixed.
 *
 *     millpond_event_receipt receipt = {event->id, event->token};
 *     status = millpond_events_ack(queue, &receipt, &error);
 */
typedef struct {
    /**
     * The event.
     */
    millpond_bytes id;
    /**
     * The token of the delivery.
     */
    millpond_bytes token;
} millpond_event_receipt;

/**
 * How a worker works. `millpond_events_worker_options_init` fills it; then set what you like.
 */
typedef struct {
    /**
     * The size of the structure in the program, in bytes; set by its `_init`.
     */
    size_t size;
    /**
     * How many jobs a run hands out at the same time to the threads that request them: 1 or more,
     * by default 1.
     */
    uint32_t concurrency;
    /**
     * How many more jobs `run` takes ahead, so that one step takes several; 0, the default, for
     * none. A stop gives back those that have not begun.
     */
    uint32_t prefetch;
    /**
     * How long an event is leased; by default as long as the queue's configuration says. A native
     * thread extends it three times per lease. `MILLPOND_NOT_SET`: the default.
     */
    int64_t lease_ms;
    /**
     * Takes only events of this part of the key space, such as `-80`, `40-80` or `80-`, as
     * `millpond_events_deliveries_new` do. If it does not consist of whole partitions, the run
     * ends with `MILLPOND_INVALID_ARGUMENT`. NULL: the default.
     */
    millpond_bytes key_range;
    /**
     * How long a handler may work; without limit by default. `millpond_events_job_time_left_ms`
     * returns the remaining time. `MILLPOND_NOT_SET`: the default.
     */
    int64_t timeout_ms;
    /**
     * Sets how long a `drain` takes jobs: after this time it begins no other one, and returns when
     * those that are running have ended. For a slice of a recruiter, give it the time that the
     * slice has left. By default it goes on until nothing is available; it waits for events that
     * are ready as long as the queue's `rate` alone holds them up. It does not matter to `run`.
     * `MILLPOND_NOT_SET`: the default.
     */
    int64_t budget_ms;
} millpond_events_worker_options;

/**
 * Works on a job, and sets in `outcome` how it ends. The job is freed after the call.
 */
typedef void (*millpond_event_handler)(millpond_events_job *job,
                                       millpond_task_outcome *outcome,
                                       void *context);

/**
 * Receives what a worker reports. The report is freed after the call.
 */
typedef void (*millpond_event_report_handler)(const millpond_events_report *report, void *context);

/**
 * The position of a field in the order of its hash: by expiry, and by the bytes of the field
 * if the expiries are equal.
 *
 * Its layout is fixed.
 */
typedef struct {
    /**
     * The field's `expires_us`.
     */
    uint64_t expires_us;
    /**
     * The field.
     */
    millpond_bytes field;
} millpond_field_position;

/**
 * Which fields of a hash to read.
 *
 * `millpond_field_query_init` fills it; then set what you like.
 */
typedef struct {
    /**
     * The size of the structure in the program, in bytes; set by its `_init`.
     */
    size_t size;
    /**
     * The page after this position. NULL: not set.
     */
    const millpond_field_position *after;
    /**
     * Reads at most this many fields; 100 by default, at most 1,000. `MILLPOND_NOT_SET`: the
     * default.
     */
    int64_t limit;
    /**
     * Leaves out the values.
     */
    bool omit_values;
} millpond_field_query;

/**
 * A field to set, and its value: any bytes. Its layout is fixed.
 */
typedef struct {
    /**
     * The field.
     */
    millpond_bytes field;
    /**
     * Its value.
     */
    millpond_bytes value;
} millpond_hash_pair;

/**
 * A kind of background work, for `millpond_recruiter_install`: its id and how often it runs.
 * It has either a share or a rate per second.
 *
 * `millpond_new_job_init` fills it; then set what you like.
 */
typedef struct {
    /**
     * The size of the structure in the program, in bytes; set by its `_init`.
     */
    size_t size;
    /**
     * The id, 1 to 64 bytes without control characters.
     */
    millpond_bytes id;
    /**
     * How many slices of the job all processes together run in a second: one a day to 1,000. NaN,
     * the default: not set.
     */
    double per_second;
    /**
     * The part of all enlistments that run the job, 0 to 1: a lottery in the process, which makes
     * no call to a server. NaN, the default: not set.
     */
    double share;
    /**
     * How many slices may be saved up while nobody enlists, 1 to 10,000; by default as many as a
     * second has, or as five seconds have, up to five. Only for a rate per second.
     * `MILLPOND_NOT_SET`: the default.
     */
    int64_t burst;
    /**
     * The most time for one slice, 1 ms to a minute; 50 ms by default. The program can see how
     * much is left; it is not interrupted. `MILLPOND_NOT_SET`: the default.
     */
    int64_t budget_ms;
    /**
     * How many slices run at a time over all processes, up to 1,000; 0, the default, is no limit.
     * Only for a rate per second.
     */
    uint64_t max_running;
    /**
     * After how long a slice that never ended stops counting against `max_running`, from the
     * budget to an hour; by default 20 budgets, and at least 5 s. `MILLPOND_NOT_SET`: the default.
     */
    int64_t lease_ms;
    /**
     * How slowly the job runs at the slowest when it finds nothing to do: once in this time, up to
     * an hour. 10 seconds by default. With 0 it always runs at its full rate. `MILLPOND_NOT_SET`:
     * the default.
     */
    int64_t idle_max_ms;
} millpond_new_job;

/**
 * What an enlistment did. Its layout is fixed.
 */
typedef struct {
    /**
     * Whether a slice ran and found something to do. 1: yes, 0: no.
     */
    uint64_t recruited;
    /**
     * The job whose slice ran; lives as long as the slice. NULL if none ran.
     */
    millpond_bytes job;
    /**
     * How long the slice took, in microseconds.
     */
    uint64_t took_us;
    /**
     * What became of the slice, or why none ran: a `millpond_recruiter_why`. 0 while a slice runs.
     */
    uint64_t why;
} millpond_duty;

/**
 * A member and its score.
 */
typedef struct {
    /**
     * The member's bytes; not NUL-terminated. Never NULL.
     */
    const char *member;
    /**
     * How many bytes it has.
     */
    size_t member_length;
    /**
     * Its score.
     */
    double score;
} millpond_ick_entry;

/**
 * A message that was delivered too often or rejected, and its history.
 */
typedef struct {
    /**
     * The first half of its id among the dead letters, in milliseconds since the Unix epoch.
     */
    uint64_t id_time_ms;
    /**
     * The second half of that id.
     */
    uint64_t id_sequence;
    /**
     * The group that it was delivered to; not NUL-terminated.
     */
    const char *group;
    /**
     * How many bytes the group's name has.
     */
    size_t group_length;
    /**
     * The last consumer that it was delivered to; not NUL-terminated.
     */
    const char *consumer;
    /**
     * How many bytes the consumer's name has.
     */
    size_t consumer_length;
    /**
     * The message as it was, and how often it was delivered.
     */
    const millpond_shuffle_message *message;
    /**
     * Why: `exhausted: max_deliveries` if it was delivered too often, or the reason that its consumer gave when it
     * rejected the message; not NUL-terminated.
     */
    const char *reason;
    /**
     * How many bytes the reason has.
     */
    size_t reason_length;
} millpond_shuffle_dead_letter;

/**
 * What a stream holds for a group.
 */
typedef struct {
    /**
     * Entries, finished ones included.
     */
    uint64_t len;
    /**
     * Messages that were delivered to the group and not acknowledged.
     */
    uint64_t pending;
    /**
     * Messages that were not delivered to the group yet. If messages in between were deleted, and
     * on Redis before 7, it may be `len` although it should be less.
     */
    uint64_t lag;
    /**
     * How long ago the oldest pending message was last delivered. `MILLPOND_NOT_SET`: none.
     */
    int64_t oldest_idle_ms;
} millpond_shuffle_stream_stats;

/**
 * The data of a recovery; see `millpond_recovery_data`.
 */
typedef struct {
    /**
     * Records that were read from the snapshot and the log.
     */
    uint64_t records;
    /**
     * Bytes at the end of the log that did not form a whole record and were cut off. Zeros are not
     * counted, since the file grows ahead of what is written.
     */
    uint64_t torn_bytes;
    /**
     * Size of the snapshot in bytes; 0 without one.
     */
    uint64_t snapshot_bytes;
    /**
     * Size in bytes of the log after the snapshot.
     */
    uint64_t log_bytes;
    /**
     * Whether the last process closed the engine, or there was no earlier process. After a crash
     * or a kill it is false, which alone is no reason to worry.
     */
    bool closed;
    /**
     * Why acknowledged steps may have been lost, in one sentence: bytes were cut off, or damage
     * was repaired. NULL if there is no sign of it.
     */
    const char *suspicion;
    /**
     * Everything that an operator should know, one sentence each: the suspicion, and that other
     * users can enter the directory. One line for each warning. NULL if there are none.
     */
    const char *warnings;
} millpond_recovered;

/**
 * A field that is live.
 */
typedef struct {
    /**
     * The field.
     */
    millpond_bytes field;
    /**
     * Its value; NULL if the query omits values.
     */
    millpond_bytes value;
    /**
     * When it expires, in microseconds since the Unix epoch.
     */
    uint64_t expires_us;
} millpond_hash_field;

/**
 * The value of a field, or else whether its lock was taken: exactly one of the three is there.
 */
typedef struct {
    /**
     * The value, if the field is live. Its lock was left as it is. NULL: none.
     */
    millpond_bytes value;
    /**
     * The fence, if the token holds the lock now: higher than that of every earlier holder of a
     * lock of this hash. `MILLPOND_NOT_SET`: none.
     */
    int64_t fence;
    /**
     * How long until the lock of another token expires, unless it is renewed or released before.
     * Rounded up. `MILLPOND_NOT_SET`: none.
     */
    int64_t remaining_ms;
} millpond_value_or_lock;

/**
 * Whether a lock was taken: it has either a fence or the time that another holder has left.
 */
typedef struct {
    /**
     * The fence, if the token holds the lock now: higher than that of every earlier holder of a
     * lock of this hash. `MILLPOND_NOT_SET`: none.
     */
    int64_t fence;
    /**
     * How long until the lock of another token expires, unless it is renewed or released before.
     * Rounded up. `MILLPOND_NOT_SET`: none.
     */
    int64_t remaining_ms;
} millpond_lock_acquired;

/**
 * Who holds a lock.
 */
typedef struct {
    /**
     * The token.
     */
    millpond_bytes token;
    /**
     * The fence.
     */
    uint64_t fence;
    /**
     * How long until the lock expires, unless it is renewed or released before. Rounded up.
     */
    uint64_t remaining_ms;
} millpond_lock_holder;

/**
 * How much a volatile hash holds.
 */
typedef struct {
    /**
     * Fields that are live.
     */
    uint64_t fields;
    /**
     * Fields that have expired and have not been removed yet.
     */
    uint64_t expired;
    /**
     * Locks that are held.
     */
    uint64_t locks;
} millpond_hash_stats;

/**
 * What a step removed, and what is left to remove.
 */
typedef struct {
    /**
     * Fields that had expired.
     */
    uint64_t fields;
    /**
     * Locks that had expired.
     */
    uint64_t locks;
    /**
     * Fields that no longer had an expiry, because the server had evicted the expiries; they were
     * not live. Only on Redis.
     */
    uint64_t orphans;
    /**
     * Whether there is more to remove now. 1: yes, 0: no.
     */
    uint64_t more;
    /**
     * How long until there is something to remove: zero if there is already, and
     * `MILLPOND_NOT_SET` if there is nothing at all. Of a family it may be too early. Rounded up.
     */
    int64_t next_in_ms;
} millpond_hash_reaped;

/**
 * What is in a result. Which fields are set depends on the call; the others are empty.
 *
 * New versions may add fields to records, so a program must not index an array of them: use
 * `millpond_volatile_result_field`, or advance by the number of bytes given beside the array.
 */
typedef struct {
    /**
     * The fields, those first that expire first.
     */
    const millpond_hash_field *fields;
    /**
     * How many there are.
     */
    size_t field_count;
    /**
     * How many bytes lie between the start of one and the start of the next.
     */
    size_t field_size;
    /**
     * Of `millpond_volatile_fields`: the position after which the next page starts. NULL: this was the last page.
     */
    const millpond_field_position *next;
    /**
     * Of `millpond_volatile_get` and `millpond_volatile_get_many`: the values, in the order in which the fields were
     * passed. The `data` of one is NULL if its field is not live; an empty value has a `data` and the length 0.
     */
    const millpond_bytes *values;
    /**
     * How many there are.
     */
    size_t value_count;
    /**
     * Of `millpond_volatile_get_or_acquire`.
     */
    const millpond_value_or_lock *value_or_lock;
    /**
     * Of `millpond_volatile_acquire`.
     */
    const millpond_lock_acquired *acquired;
    /**
     * Of `millpond_volatile_holder`.
     */
    const millpond_lock_holder *holder;
    /**
     * Of `millpond_volatile_stats`.
     */
    const millpond_hash_stats *stats;
    /**
     * Of `millpond_volatile_reap`.
     */
    const millpond_hash_reaped *reaped;
    /**
     * All texts, one after another without gaps: those of each field, of the next position, of the values, of the
     * value or lock, and of the holder, each in the order of its fields. For interpreters, which copy them in one go;
     * not NUL-terminated.
     */
    const char *text;
    /**
     * The length of all texts, in bytes.
     */
    size_t text_length;
} millpond_volatile_data;

/**
 * What all processes have reported of a recruiter.
 */
typedef struct {
    /**
     * Enlistments: those that ran a slice, and those that the next fields count.
     */
    uint64_t enlisted;
    /**
     * Enlistments for which the lottery drew no job.
     */
    uint64_t not_drawn;
    /**
     * Enlistments of a process whose turn to ask had not come.
     */
    uint64_t not_due;
    /**
     * Asks at a moment when no job was to run.
     */
    uint64_t denied;
    /**
     * Asks at a moment when as many slices of a job were running as may.
     */
    uint64_t busy;
    /**
     * Enlistments of a process that was running a slice.
     */
    uint64_t in_slice;
    /**
     * Enlistments of a process that had given away as much of its time as it may.
     */
    uint64_t over_duty;
    /**
     * Enlistments without a job.
     */
    uint64_t no_jobs;
    /**
     * Asks to which the server did not respond in time, or with an error.
     */
    uint64_t unavailable;
} millpond_enlistment_stats;

/**
 * What all processes have reported of a job.
 */
typedef struct {
    /**
     * The id of the job.
     */
    millpond_bytes job;
    /**
     * How many times its rate is halved, because there was little to do.
     */
    uint64_t backoff;
    /**
     * When its last slice was granted, in microseconds since the Unix epoch; 0 if none was.
     */
    uint64_t last_granted_us;
    /**
     * Slices that were granted; 0 for a job by share.
     */
    uint64_t granted;
    /**
     * Slices that worked.
     */
    uint64_t worked;
    /**
     * Slices that found nothing to do.
     */
    uint64_t nothing;
    /**
     * Slices that were aborted.
     */
    uint64_t aborted;
    /**
     * Slices that failed.
     */
    uint64_t failed;
    /**
     * Slices that took longer than their budget, by more than a tenth of it and more than 10 ms.
     */
    uint64_t overran;
    /**
     * Items that were worked on.
     */
    uint64_t items;
    /**
     * The time that slices took, in microseconds.
     */
    uint64_t busy_us;
    /**
     * Slices that stopped counting against `max_running` because they had not ended by the end of
     * their lease.
     */
    uint64_t lost;
    /**
     * Slices that ended after they had stopped counting.
     */
    uint64_t late;
} millpond_recruiter_job_stats;

/**
 * What is in a result.
 *
 * New versions may add fields to records, so a program must not index an array of them: use
 * `millpond_recruiter_result_job`, or advance by the number of bytes given beside the array.
 */
typedef struct {
    /**
     * What the enlistments came to.
     */
    const millpond_enlistment_stats *stats;
    /**
     * The jobs, by their ids: those per second that a process has offered, and those by share that have run.
     */
    const millpond_recruiter_job_stats *jobs;
    /**
     * How many there are.
     */
    size_t job_count;
    /**
     * How many bytes lie between the start of one and the start of the next.
     */
    size_t job_size;
    /**
     * All texts, one after another without gaps: the ids of the jobs. For interpreters, which copy them in one go; not
     * NUL-terminated.
     */
    const char *text;
    /**
     * The length of all texts, in bytes.
     */
    size_t text_length;
} millpond_recruiter_data;

/**
 * An id that is tracked.
 */
typedef struct {
    /**
     * The id.
     */
    millpond_bytes id;
    /**
     * When it was last added, found by a scan, or checked, in microseconds since the Unix epoch.
     * Only ids of one step have the same.
     */
    uint64_t stamp;
} millpond_tracked;

/**
 * How much is tracked, and how far the scan has come.
 */
typedef struct {
    /**
     * How many ids are tracked.
     */
    uint64_t ids;
    /**
     * How often a scan has come to the end of the table and begun anew.
     */
    uint64_t rounds;
    /**
     * The oldest stamp: when the id was last checked that is checked next, in microseconds since
     * the Unix epoch. `MILLPOND_NOT_SET` if nothing is tracked.
     */
    int64_t oldest;
    /**
     * The row that the next scan comes after; NULL if it begins at the beginning.
     */
    millpond_bytes row;
} millpond_tracking_stats;

/**
 * What a scan did.
 */
typedef struct {
    /**
     * The rows that it went past; 0 if another scan did so first, and nothing was done.
     */
    uint64_t rows;
    /**
     * The ids that were not tracked before.
     */
    uint64_t added;
    /**
     * Whether there may be more rows to scan now: the page was full, or another scan was faster.
     * 1: yes, 0: no.
     */
    uint64_t more;
} millpond_tracker_scanned;

/**
 * What a prune did.
 */
typedef struct {
    /**
     * The ids that were checked.
     */
    uint64_t checked;
    /**
     * The ids that were removed.
     */
    uint64_t removed;
} millpond_tracker_pruned;

/**
 * What is in a result. Which fields are set depends on the call; the others are empty.
 *
 * New versions may add fields to records, so a program must not index an array of them: use
 * `millpond_tracker_result_entry`, or advance by the number of bytes given beside the array.
 */
typedef struct {
    /**
     * Of `millpond_tracker_ids`: the ids, those first that are checked first.
     */
    const millpond_tracked *entries;
    /**
     * How many there are.
     */
    size_t entry_count;
    /**
     * How many bytes lie between the start of one and the start of the next.
     */
    size_t entry_size;
    /**
     * Of `millpond_tracker_sample`: the ids.
     */
    const millpond_bytes *ids;
    /**
     * How many there are.
     */
    size_t id_count;
    /**
     * Of `millpond_tracker_sample`: the stamp of the ids, for `millpond_tracker_remove`.
     */
    uint64_t stamp;
    /**
     * Of `millpond_tracker_stats` and `millpond_tracker_begin_scan`.
     */
    const millpond_tracking_stats *stats;
    /**
     * Of `millpond_tracker_advance`.
     */
    const millpond_tracker_scanned *scanned;
    /**
     * Of `millpond_tracker_remove`.
     */
    const millpond_tracker_pruned *pruned;
    /**
     * All texts, one after another without gaps: those of each entry, of the ids, and of the stats, each in the order
     * of its fields. For interpreters, which copy them in one go; not NUL-terminated.
     */
    const char *text;
    /**
     * The length of all texts, in bytes.
     */
    size_t text_length;
} millpond_tracker_data;

/**
 * The Lua script of a step, for a Redis connection of your own: send
 * `EVALSHA sha1 <number of keys> keys ... arguments ...`, and on a `NOSCRIPT` error send `EVAL source` with the same.
 * An `AGAIN` error means that nothing was done yet: send the same again immediately. The comment at the end of the
 * source describes the arguments and the result. Everything in it lives forever.
 *
 * Such a connection must not resend a call automatically after a dropped connection, as some
 * client libraries do: an exchange that runs twice can lose a member. Disable that.
 */
typedef struct {
    /**
     * The step, such as `ick.add`; NUL-terminated.
     */
    const char *name;
    /**
     * The source; NUL-terminated.
     */
    const char *source;
    /**
     * How many bytes the source has, without the NUL.
     */
    size_t source_length;
    /**
     * The SHA1 of the source, in 40 hexadecimal digits; NUL-terminated.
     */
    const char *sha1;
} millpond_script;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The ABI of the library, for programs that load it at run time: it must be
 * `MILLPOND_ABI_VERSION`.
 *
 * Threads: any.
 */
uint32_t millpond_abi_version(void);

/**
 * The version of Millpond, such as `0.1.0`; lives forever.
 *
 * Threads: any.
 */
const char *millpond_version(void);

/**
 * The limits of this library; live forever.
 *
 * Threads: any.
 */
const millpond_limits *millpond_limits_data(void);

/**
 * The status of the error, which is also what the failed function returned. `MILLPOND_OK` for
 * NULL; `MILLPOND_INVALID_ARGUMENT` for a freed or invalid handle.
 *
 * Threads: any.
 */
millpond_status millpond_error_code(const millpond_error *error);

/**
 * One line for people, in UTF-8: what was being done, and what is wrong. Holds no password and
 * no payload. Never NULL; lives until the error is freed. Empty for NULL.
 *
 * Threads: any.
 */
const char *millpond_error_message(const millpond_error *error);

/**
 * The operation that failed, such as `ick.add`; empty if there was none. Never NULL; lives until
 * the error is freed.
 *
 * Threads: any.
 */
const char *millpond_error_operation(const millpond_error *error);

/**
 * The message of the underlying error from another library, such as the operating system's
 * "connection refused"; NULL if there is none. Lives until the error is freed.
 *
 * Threads: any.
 */
const char *millpond_error_cause(const millpond_error *error);

/**
 * Whether a retry can help. `MILLPOND_RETRY_NEVER` for NULL.
 *
 * Threads: any.
 */
millpond_retry millpond_error_retry(const millpond_error *error);

/**
 * Frees an error. NULL and an error that was freed before are fine.
 *
 * Threads: any.
 */
void millpond_error_free(millpond_error *error);

/**
 * How many kinds of errors there are.
 *
 * Threads: any.
 */
size_t millpond_error_kind_count(void);

/**
 * One row of the table of errors, for a binding that checks that it has a class for each kind;
 * lives forever. NULL for an index that is not below `millpond_error_kind_count`.
 *
 * Threads: any.
 */
const millpond_error_kind *millpond_error_kind_at(size_t index);

/**
 * The name of a status, such as `CONNECTION_LOST`: `millpond_status` without the prefix. Never
 * NULL; lives forever. `OK` for `MILLPOND_OK`, and `UNKNOWN` for an unknown number.
 *
 * Threads: any.
 */
const char *millpond_status_name(uint32_t status);

/**
 * Fills options with their defaults. The URL still has to be set.
 *
 *     millpond_options options;
 *     millpond_options_init(&options, sizeof options);
 *     options.url.data = "redis://db.example";
 *     options.url.length = strlen(options.url.data);
 *     options.timeout_ms = 500;
 *     millpond_status status = millpond_connect_with(&options, &client, &error);
 *
 * Does nothing for NULL.
 *
 * Threads: any.
 */
void millpond_options_init(millpond_options *options, size_t size);

/**
 * Connects to a server or opens an embedded engine.
 *
 * | URL                                        | what                                            |
 * | ------------------------------------------ | ----------------------------------------------- |
 * | `memory:`                                  | embedded, gone with the client                  |
 * | `memory:name`                              | embedded, shared in the process                 |
 * | `file:dir`                                 | embedded and durable, in this directory         |
 * | `redis://user:password@host:6379/db`       | one server; `rediss:` for TLS                   |
 * | `redis+unix:///path/to/socket`             | one server on a Unix socket                     |
 * | `redis+sentinel://host,host2/service/db`   | follows failovers; `rediss+sentinel:` for TLS   |
 * | `redis+cluster://host,host2`               | Redis Cluster; `rediss+cluster:` for TLS        |
 *
 * Options follow a `?`, as in `redis://host?timeout=500ms&pool=4`. A call takes at most `timeout`
 * (5s), including connecting (each attempt at most `connect_timeout`, 1s) and retries (at most
 * `retries`, 10); `pool` (16) idle connections are kept.
 *
 * A Redis client connects when it first has something to send, so a process can fork after this
 * call. If opening a `file:` finds something that an operator should know, such as bytes that were
 * cut off, it is printed to standard error; `millpond_recovery_read` returns it too.
 *
 * `client` is set to the client, which the caller frees with `millpond_client_free`, or on failure
 * to NULL.
 *
 *     millpond_client *client;
 *     millpond_error *error;
 *     if (millpond_connect("memory:", 7, &client, &error) != MILLPOND_OK) {
 *         fprintf(stderr, "%s\n", millpond_error_message(error));
 *         millpond_error_free(error);
 *         return 1;
 *     }
 *
 * Errors: `MILLPOND_INVALID_URL` for an unknown URL or option; for `file:`, `MILLPOND_LOCKED` if
 * another process holds the directory (to share queues between processes, use `redis:`), and
 * `MILLPOND_CORRUPT` if the directory is damaged or lacks what was on disk, unless the URL says
 * `?repair`.
 *
 * Threads: any.
 */
millpond_status millpond_connect(const char *url,
                                 size_t url_length,
                                 millpond_client **client,
                                 millpond_error **error);

/**
 * Like `millpond_connect`, with options beside the URL; the caller frees `client` in the same way.
 *
 * Errors: as `millpond_connect`; `MILLPOND_INVALID_ARGUMENT` names the invalid option.
 *
 * Threads: any.
 */
millpond_status millpond_connect_with(const millpond_options *options,
                                      millpond_client **client,
                                      millpond_error **error);

/**
 * Closes the client: from now on calls on it return `MILLPOND_CLOSED`; calls that wait are woken
 * and return it too. What an embedded engine has buffered is written. The handle still has to be
 * freed. Closing twice is fine.
 *
 * Errors: `MILLPOND_STORAGE` if the disk refuses the last write.
 *
 * Threads: any.
 */
millpond_status millpond_close(millpond_client *client, millpond_error **error);

/**
 * Frees a client. Leases, batches and channels that were created from it keep what they need of
 * it; it closes when the last of them is freed. A call that is running in another thread ends
 * normally. NULL and a client that was freed before are fine.
 *
 * Threads: any.
 */
void millpond_client_free(millpond_client *client);

/**
 * Makes a clock that is set to this time, in milliseconds since the Unix epoch, or to the present for
 * `MILLPOND_NOT_SET`. A time after the year 9999 becomes the end of that year.
 *
 * `clock` is set to the clock, which the caller frees with `millpond_clock_free`, or on failure to NULL. Sends
 * nothing.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a time before the year 1970.
 *
 * Threads: any.
 */
millpond_status millpond_clock_new(int64_t now_ms,
                                   millpond_clock **clock,
                                   millpond_error **error);

/**
 * Moves a clock forward, at most to the end of the year 9999, and wakes callers that wait for what is due then. Sends
 * nothing.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not a clock.
 *
 * Threads: any.
 */
millpond_status millpond_clock_advance(millpond_clock *clock,
                                       uint64_t time_ms,
                                       millpond_error **error);

/**
 * The time of a clock, in milliseconds since the Unix epoch. Sends nothing.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not a clock.
 *
 * Threads: any.
 */
millpond_status millpond_clock_now(const millpond_clock *clock,
                                   uint64_t *now_ms,
                                   millpond_error **error);

/**
 * Frees a clock. Engines that were opened with it keep it, and for them it stands still from then on. NULL and a clock
 * that was freed before are fine.
 *
 * Threads: any.
 */
void millpond_clock_free(millpond_clock *clock);

/**
 * Reads what opening the engine of a `file:` found. Clients of one process that share a directory
 * get the same result. The documentation of the Rust method `Client::recovery` lists what is not
 * detected.
 *
 * `recovery` is set to the recovery, which the caller frees with `millpond_recovery_free`; to NULL on failure and for
 * a client of another kind of URL.
 *
 *     millpond_recovery *recovery;
 *     if (millpond_recovery_read(client, &recovery, &error) == MILLPOND_OK && recovery) {
 *         const millpond_recovered *found = millpond_recovery_data(recovery);
 *         printf("%llu records\n", (unsigned long long)found->records);
 *         if (found->suspicion)
 *             alert_operator(found->suspicion);
 *     }
 *     millpond_recovery_free(recovery);
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not a client.
 *
 * Threads: any.
 */
millpond_status millpond_recovery_read(millpond_client *client,
                                       millpond_recovery **recovery,
                                       millpond_error **error);

/**
 * The name of a `millpond_report_kind`, the same in every language: `done`, `retried`, `released`,
 * `moved`, `dead`, `cancelled`, `refused`, `lost`, `away` or `back`. Never NULL; lives forever.
 * `unknown` for an unknown number.
 *
 * Threads: any.
 */
const char *millpond_report_kind_name(uint32_t kind);

/**
 * Prepares a structure for `millpond_ick_stats_read`. Does nothing for NULL.
 *
 * Threads: any.
 */
void millpond_ick_stats_init(millpond_ick_stats *stats, size_t size);

/**
 * Reads the sizes and score ranges of both sets. It is not an error if the Ick does not exist: see
 * `exists`.
 *
 *     millpond_ick_stats stats;
 *     millpond_ick_stats_init(&stats, sizeof stats);
 *     status = millpond_ick_stats_read(client, "files", 5, &stats, &error);
 *
 * Errors: `MILLPOND_WRONG_TYPE` and `MILLPOND_INCOMPATIBLE_VERSION` if the keys hold something
 * else; those of the connection.
 *
 * Threads: any.
 */
millpond_status millpond_ick_stats_read(millpond_client *client,
                                        const char *name,
                                        size_t name_length,
                                        millpond_ick_stats *stats,
                                        millpond_error **error);

/**
 * The version flag of every Ick, `ick.v1`; lives forever.
 *
 * Threads: any.
 */
const char *millpond_ick_version(void);

/**
 * Flags members as dirty: each keeps the lower of its old and its new score. A score of NULL
 * is the server's time in seconds, with microseconds. `added` is set to the result.
 *
 * A pair with `score_is_now` gets the server's time as its score. A call without pairs creates
 * the Ick if it does not exist. A call takes up to 1,000,000 members, and a name has up to 64
 * KiB.
 *
 * `added` may be NULL.
 *
 *     millpond_ick_pair pairs[] = {{"a.txt", 5, 1.0, false}, {"b.txt", 5, 0, true}};
 *     status = millpond_ick_add(client, "files", 5, pairs, 2, NULL, &error);
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a NaN, a member above 16 MiB or more than 1,000,000
 * members, before anything is sent; `MILLPOND_WRONG_TYPE` and `MILLPOND_INCOMPATIBLE_VERSION`
 * if the keys hold something else; those of the connection.
 *
 * Delivery: after `MILLPOND_CONNECTION_LOST` the members may or may not be flagged; adding
 * them again is safe. Above 250,000 members the call takes several steps, each atomic.
 *
 * Threads: any.
 */
millpond_status millpond_ick_add(millpond_client *client,
                                 const char *name,
                                 size_t name_length,
                                 const millpond_ick_pair *pairs,
                                 size_t pair_count,
                                 millpond_ick_added *added,
                                 millpond_error **error);

/**
 * Moves the lowest members to the consumer set until that holds `max`, and returns its first
 * `max`, lowest first. Members that were reserved before and not committed are part of the
 * batch.
 *
 * `entries` is set to the result, which the caller frees with `millpond_ick_entries_free`, or
 * on failure to NULL. `backwash`: whether to fold the whole consumer set back into the
 * producer set first.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a size of 100,000,000,000,000,000 or more;
 * `MILLPOND_WRONG_TYPE` and `MILLPOND_INCOMPATIBLE_VERSION` if the keys hold something else;
 * those of the connection.
 *
 * Delivery: at least once: a batch stays reserved until it is committed, whatever happens to
 * its consumer.
 *
 * Threads: any.
 */
millpond_status millpond_ick_reserve(millpond_client *client,
                                     const char *name,
                                     size_t name_length,
                                     uint64_t max,
                                     bool backwash,
                                     millpond_ick_entries **entries,
                                     millpond_error **error);

/**
 * Removes members that are done from the consumer set; `number` is set to how many were there.
 * A member that was added again since it was reserved stays dirty.
 *
 * `number` may be NULL.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for more than 1,000,000 members; `MILLPOND_WRONG_TYPE`
 * and `MILLPOND_INCOMPATIBLE_VERSION` if the keys hold something else; those of the
 * connection.
 *
 * Delivery: after `MILLPOND_CONNECTION_LOST` or `MILLPOND_TIMEOUT`, do not commit again:
 * reserve instead, and process what it returns. A second commit could remove a member that was
 * flagged and reserved again since. Above 250,000 members the call takes several steps, each
 * atomic.
 *
 * Threads: any.
 */
millpond_status millpond_ick_commit(millpond_client *client,
                                    const char *name,
                                    size_t name_length,
                                    const millpond_bytes *members,
                                    size_t member_count,
                                    uint64_t *number,
                                    millpond_error **error);

/**
 * Commits one batch and reserves the next in one step: one round trip per batch.
 *
 * `entries` is set to the result, which the caller frees with `millpond_ick_entries_free`, or
 * on failure to NULL. `backwash`: whether to fold the whole consumer set back into the
 * producer set first.
 *
 * Errors: as `millpond_ick_reserve`; also `MILLPOND_INVALID_ARGUMENT` for more than 250,000
 * members.
 *
 * Delivery: as `millpond_ick_reserve` and `millpond_ick_commit`: after
 * `MILLPOND_CONNECTION_LOST` or `MILLPOND_TIMEOUT` continue with an exchange that commits
 * nothing.
 *
 * Threads: any.
 */
millpond_status millpond_ick_exchange(millpond_client *client,
                                      const char *name,
                                      size_t name_length,
                                      uint64_t max,
                                      const millpond_bytes *members,
                                      size_t member_count,
                                      bool backwash,
                                      millpond_ick_entries **entries,
                                      millpond_error **error);

/**
 * The lowest members of one set; moves nothing.
 *
 * `set` is `MILLPOND_ICK_PRODUCER` or `MILLPOND_ICK_CONSUMER`; any other value returns
 * `MILLPOND_INVALID_ARGUMENT`.
 *
 * `entries` is set to the result, which the caller frees with `millpond_ick_entries_free`, or
 * on failure to NULL.
 *
 * Errors: as `millpond_ick_reserve`.
 *
 * Threads: any.
 */
millpond_status millpond_ick_peek(millpond_client *client,
                                  const char *name,
                                  size_t name_length,
                                  uint32_t set,
                                  uint64_t max,
                                  millpond_ick_entries **entries,
                                  millpond_error **error);

/**
 * Removes the Ick's three keys, whatever they hold, so a broken Ick is removed as well.
 * `number` is set to how many keys there were.
 *
 * `number` may be NULL. `unlink`: whether Redis frees the memory in the background.
 *
 * Errors: only those of the connection.
 *
 * Threads: any.
 */
millpond_status millpond_ick_delete(millpond_client *client,
                                    const char *name,
                                    size_t name_length,
                                    bool unlink,
                                    uint64_t *number,
                                    millpond_error **error);

/**
 * Takes the consumer lease, which keeps two consumers from working on one batch by mistake.
 * `lease` is set to NULL if another consumer holds it. A native thread renews the lease until
 * it is released or freed. If it is lost nevertheless (a stopped process, a network
 * partition), the steps that go through it are refused.
 *
 * `lease` is set to the result, which the caller frees with `millpond_ick_lease_free`; to NULL
 * on failure, and also on success if there is none. `ttl_ms`: how long the lease lasts without
 * a renewal.
 *
 *     millpond_ick_lease *lease;
 *     status = millpond_ick_lease_acquire(client, "files", 5, 30000, &lease, &error);
 *     if (status == MILLPOND_OK && lease == NULL)
 *         puts("somebody else is at work");
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a `ttl_ms` below one millisecond or above one day;
 * those of the connection.
 *
 * Threads: any.
 */
millpond_status millpond_ick_lease_acquire(millpond_client *client,
                                           const char *name,
                                           size_t name_length,
                                           uint64_t ttl_ms,
                                           millpond_ick_lease **lease,
                                           millpond_error **error);

/**
 * `millpond_ick_batches_new` for the holder of the lease only. Makes no call yet.
 *
 * The batches do not keep the lease alive: it has to outlive them.
 *
 * Errors: `MILLPOND_LEASE_LOST` if the lease was released; those of
 * `millpond_ick_batches_new`.
 *
 * `batches` is set to a handle, which the caller frees with `millpond_ick_batches_free`, or on
 * failure to NULL. `wait_ms`: waits up to `wait_ms` milliseconds for work when there is none,
 * instead of ending immediately; the time starts again with each batch. A waiting loop checks
 * each of its Icks every five seconds, for producers that do not announce what they add. 0
 * does not wait, -1 waits without limit. `millpond_close` on the client ends the wait.
 *
 * Threads: one at a time; see `millpond_ick_lease`.
 */
millpond_status millpond_ick_lease_batches_new(millpond_ick_lease *lease,
                                               uint64_t max,
                                               int64_t wait_ms,
                                               millpond_ick_batches **batches,
                                               millpond_error **error);

/**
 * The consumer's loop: batches of up to `max` members, each committed when the next is asked
 * for. See `millpond_ick_batches`. Makes no call yet.
 *
 * `batches` is set to a handle, which the caller frees with `millpond_ick_batches_free`, or on
 * failure to NULL. `wait_ms`: waits up to `wait_ms` milliseconds for work when there is none,
 * instead of ending immediately; the time starts again with each batch. A waiting loop checks
 * each of its Icks every five seconds, for producers that do not announce what they add. 0
 * does not wait, -1 waits without limit. `millpond_close` on the client ends the wait.
 *
 *     millpond_ick_batches *batches;
 *     millpond_ick_entries *entries;
 *     if (millpond_ick_batches_new(client, "files", 5, 100, 0, &batches, &error) != MILLPOND_OK)
 *         return failed(error);
 *     while (millpond_ick_batches_next(batches, &entries, &error) == MILLPOND_OK && entries != NULL) {
 *         work_on(entries);
 *         millpond_ick_entries_free(entries);
 *     }
 *     millpond_ick_batches_free(batches);
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a `wait_ms` below -1.
 *
 * Threads: any.
 */
millpond_status millpond_ick_batches_new(millpond_client *client,
                                         const char *name,
                                         size_t name_length,
                                         uint64_t max,
                                         int64_t wait_ms,
                                         millpond_ick_batches **batches,
                                         millpond_error **error);

/**
 * The loop of a consumer of the Icks with these numbers, which takes from each in turn. Makes
 * no call yet.
 *
 * `batches` is set to a handle, which the caller frees with `millpond_ick_batches_free`, or on
 * failure to NULL. `wait_ms`: waits up to `wait_ms` milliseconds for work when there is none,
 * instead of ending immediately; the time starts again with each batch. A waiting loop checks
 * each of its Icks every five seconds, for producers that do not announce what they add. 0
 * does not wait, -1 waits without limit. `millpond_close` on the client ends the wait.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a number that the channel does not have, for no
 * numbers, and for more than 65,536.
 *
 * Threads: any.
 */
millpond_status millpond_ick_channel_batches_new(millpond_ick_channel *channel,
                                                 const uint32_t *numbers,
                                                 size_t number_count,
                                                 uint64_t max,
                                                 int64_t wait_ms,
                                                 millpond_ick_batches **batches,
                                                 millpond_error **error);

/**
 * Commits the last batch, for a loop that is left early. `number` is set to how many members
 * were still reserved; 0 if the last batch was already committed, or if an attempt to commit
 * it failed: its members then come again if they were not committed.
 *
 * `number` may be NULL.
 *
 * Errors: as `millpond_ick_commit`.
 *
 * Threads: one at a time; see `millpond_ick_batches`.
 */
millpond_status millpond_ick_batches_commit(millpond_ick_batches *batches,
                                            uint64_t *number,
                                            millpond_error **error);

/**
 * Commits the last batch and takes the next, in one round trip. If it is unknown whether a
 * commit took effect, its batch is delivered again unless it did.
 *
 * Errors: as `millpond_ick_exchange`; `MILLPOND_LEASE_LOST` for the batches of a lease;
 * `MILLPOND_CANCELLED` if `millpond_on_interrupt` requested it; `MILLPOND_CLOSED` once the
 * client was closed.
 *
 * `entries` is set to the result, which the caller frees with `millpond_ick_entries_free`; to
 * NULL on failure, and also on success when the loop is over. After an error that a retry can
 * fix (see `millpond_error_retry`) the loop can be continued.
 *
 * Threads: one at a time; see `millpond_ick_batches`.
 */
millpond_status millpond_ick_batches_next(millpond_ick_batches *batches,
                                          millpond_ick_entries **entries,
                                          millpond_error **error);

/**
 * Frees the loop. NULL and what was freed before are fine.
 *
 * The last batch stays reserved unless it was committed: the next reserve returns it again.
 *
 * Threads: any.
 */
void millpond_ick_batches_free(millpond_ick_batches *batches);

/**
 * Whether the lease is lost, because a renewal was refused or because none has succeeded for a
 * whole lease. If so, stop working on the batch. The next step through the lease would detect
 * it as well. `lost` is set to the result.
 *
 * A lease that was released is not held either. Sends nothing.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not one.
 *
 * Threads: any.
 */
millpond_status millpond_ick_lease_is_lost(const millpond_ick_lease *lease,
                                           bool *lost,
                                           millpond_error **error);

/**
 * `millpond_ick_reserve` for the holder of the lease only.
 *
 * `entries` is set to the result, which the caller frees with `millpond_ick_entries_free`, or
 * on failure to NULL.
 *
 * Errors: as `millpond_ick_reserve`; also `MILLPOND_LEASE_LOST` if the lease is lost.
 *
 * Threads: one at a time; see `millpond_ick_lease`.
 */
millpond_status millpond_ick_lease_reserve(millpond_ick_lease *lease,
                                           uint64_t max,
                                           millpond_ick_entries **entries,
                                           millpond_error **error);

/**
 * `millpond_ick_commit` for the holder of the lease only; one step. `number` is set to the
 * result.
 *
 * `number` may be NULL.
 *
 * Errors: as `millpond_ick_commit`; also `MILLPOND_LEASE_LOST` if the lease is lost.
 *
 * Threads: one at a time; see `millpond_ick_lease`.
 */
millpond_status millpond_ick_lease_commit(millpond_ick_lease *lease,
                                          const millpond_bytes *members,
                                          size_t member_count,
                                          uint64_t *number,
                                          millpond_error **error);

/**
 * `millpond_ick_exchange` for the holder of the lease only.
 *
 * `entries` is set to the result, which the caller frees with `millpond_ick_entries_free`, or
 * on failure to NULL.
 *
 * Errors: as `millpond_ick_exchange`; also `MILLPOND_LEASE_LOST` if the lease is lost.
 *
 * Threads: one at a time; see `millpond_ick_lease`.
 */
millpond_status millpond_ick_lease_exchange(millpond_ick_lease *lease,
                                            uint64_t max,
                                            const millpond_bytes *members,
                                            size_t member_count,
                                            millpond_ick_entries **entries,
                                            millpond_error **error);

/**
 * Releases the lease, so that another consumer can take it immediately. `found` is set to
 * false if it was already lost. The child of a fork has only a copy: there this releases
 * nothing, and `found` is set to false.
 *
 * The handle still has to be freed.
 *
 * Errors: `MILLPOND_LEASE_LOST` if it was released already; those of the connection, after
 * which the lease expires.
 *
 * `found` may be NULL.
 *
 * Threads: one at a time; see `millpond_ick_lease`.
 */
millpond_status millpond_ick_lease_release(millpond_ick_lease *lease,
                                           bool *found,
                                           millpond_error **error);

/**
 * Frees a lease. NULL and what was freed before are fine.
 *
 * A lease that was not released is released in the background, but not in the child of a fork,
 * because the parent may still hold it.
 *
 * Threads: any.
 */
void millpond_ick_lease_free(millpond_ick_lease *lease);

/**
 * The channel of `shards` Icks with this name. Makes no call.
 *
 * `channel` is set to a handle, which the caller frees with `millpond_ick_channel_free`, or on
 * failure to NULL. `draining`: the same channel, for a consumer that also reads the Icks of an
 * earlier, larger number of Icks. 0: none.
 *
 *     millpond_ick_channel *channel;
 *     status = millpond_ick_channel_new(client, "files", 5, 4, 0, &channel, &error);
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for zero Icks or more than 65,536.
 *
 * Threads: any.
 */
millpond_status millpond_ick_channel_new(millpond_client *client,
                                         const char *name,
                                         size_t name_length,
                                         uint32_t shards,
                                         uint32_t draining,
                                         millpond_ick_channel **channel,
                                         millpond_error **error);

/**
 * How many Icks the members are spread over. `shards` is set to the result.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not one.
 *
 * Threads: any.
 */
millpond_status millpond_ick_channel_shards(const millpond_ick_channel *channel,
                                            uint32_t *shards,
                                            millpond_error **error);

/**
 * How many Icks consumers have to read; larger while an earlier size is being drained.
 * `readable` is set to the result.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not one.
 *
 * Threads: any.
 */
millpond_status millpond_ick_channel_readable(const millpond_ick_channel *channel,
                                              uint32_t *readable,
                                              millpond_error **error);

/**
 * The name of the Ick with this number, for calls that are made by name.
 *
 * `keys` is set to a handle, which the caller frees with `millpond_keys_free`, or on failure
 * to NULL.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not one.
 *
 * Threads: any.
 */
millpond_status millpond_ick_channel_ick_name(const millpond_ick_channel *channel,
                                              uint32_t number,
                                              millpond_keys **keys,
                                              millpond_error **error);

/**
 * The number of the Ick in which this member lives. `ick` is set to the result.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not one.
 *
 * Threads: any.
 */
millpond_status millpond_ick_channel_ick_of(const millpond_ick_channel *channel,
                                            const char *member,
                                            size_t member_length,
                                            uint32_t *ick,
                                            millpond_error **error);

/**
 * Flags members as dirty, each in its Ick; see `millpond_ick_add`. `added` is set to the
 * result.
 *
 * `added` may be NULL.
 *
 * Errors: as `millpond_ick_add`. The call takes one step per Ick: after an error some Icks may
 * already have their members; adding all of them again is safe.
 *
 * Threads: any.
 */
millpond_status millpond_ick_channel_add(millpond_ick_channel *channel,
                                         const millpond_ick_pair *pairs,
                                         size_t pair_count,
                                         millpond_ick_added *added,
                                         millpond_error **error);

/**
 * Frees a channel. NULL and what was freed before are fine.
 *
 * Batches that were created from it stay usable.
 *
 * Threads: any.
 */
void millpond_ick_channel_free(millpond_ick_channel *channel);

/**
 * The token that the lease's steps carry, for steps that you send yourself. Lives until the lease
 * is freed. Any thread may call this at any time.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not a lease.
 *
 * Threads: any.
 */
millpond_status millpond_ick_lease_token(const millpond_ick_lease *lease,
                                         millpond_bytes *token,
                                         millpond_error **error);

/**
 * Fills options with their defaults. Does nothing for NULL.
 *
 *     millpond_shuffle_options options;
 *     millpond_shuffle_options_init(&options, sizeof options);
 *     options.streams = 64;
 *     options.streams_per_shard = 4;
 *
 * Threads: any.
 */
void millpond_shuffle_options_init(millpond_shuffle_options *options, size_t size);

/**
 * Fills it with the defaults. Does nothing for NULL.
 *
 * Threads: any.
 */
void millpond_shuffle_consumer_options_init(millpond_shuffle_consumer_options *options,
                                            size_t size);

/**
 * A consumer of a group. Each message goes to one consumer of each group; a group begins with
 * the messages that the queue holds when the group first reads. Makes no call yet.
 *
 * A program that restarts should use the same name again, such as its host's. The server keeps
 * the names of all consumers that ever read, until they are removed, which workers do.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a `prefer_stream` that is not a stream number. An
 * empty group or consumer is refused by the step that needs it.
 *
 * `made` is set to a handle, which the caller frees with `millpond_shuffle_consumer_free`, or
 * on failure to NULL. `options` may be NULL.
 *
 *     millpond_shuffle_consumer *consumer;
 *     status = millpond_shuffle_consumer_new(queue, "workers", 7, "worker-1", 8, NULL, &consumer,
 *                                            &error);
 *
 * Threads: any.
 */
millpond_status millpond_shuffle_consumer_new(millpond_shuffle_queue *queue,
                                              const char *group,
                                              size_t group_length,
                                              const char *consumer,
                                              size_t consumer_length,
                                              const millpond_shuffle_consumer_options *options,
                                              millpond_shuffle_consumer **made,
                                              millpond_error **error);

/**
 * Acknowledges messages, so that the group does not get them again. `number` is set to how
 * many of them were pending. The entries stay in the queue, for other groups.
 *
 * `number` may be NULL.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for more than 1,000,000 messages; `MILLPOND_WRONG_TYPE`
 * if a key holds something else; those of the connection.
 *
 * Delivery: acknowledging twice is safe. Above 100,000 messages the call takes several steps.
 *
 * Threads: any.
 */
millpond_status millpond_shuffle_ack(millpond_shuffle_consumer *consumer,
                                     const millpond_shuffle_receipt *messages,
                                     size_t message_count,
                                     uint64_t *number,
                                     millpond_error **error);

/**
 * Acknowledges messages and deletes them for all groups, which suits a queue with one group.
 * `number` is set to the result.
 *
 * `number` may be NULL.
 *
 * Errors: as `millpond_shuffle_ack`.
 *
 * Delivery: the call can be repeated safely, as `millpond_shuffle_ack` can; a repeated call
 * returns false for what the first one acknowledged.
 *
 * Threads: any.
 */
millpond_status millpond_shuffle_ack_and_delete(millpond_shuffle_consumer *consumer,
                                                const millpond_shuffle_receipt *messages,
                                                size_t message_count,
                                                uint64_t *number,
                                                millpond_error **error);

/**
 * `millpond_shuffle_ack`, but returns for each message, in order, whether it was pending. A
 * message that was not pending is gone, or was acknowledged before, possibly by another
 * consumer that reclaimed it.
 *
 * `flags` is where `message_count` of them go; it may be NULL. On failure they are all false.
 *
 * Errors: as `millpond_shuffle_ack`.
 *
 * Delivery: the call can be repeated safely, as `millpond_shuffle_ack` can; a repeated call
 * returns false for what the first one acknowledged.
 *
 * Threads: any.
 */
millpond_status millpond_shuffle_ack_each(millpond_shuffle_consumer *consumer,
                                          const millpond_shuffle_receipt *messages,
                                          size_t message_count,
                                          bool *flags,
                                          millpond_error **error);

/**
 * `millpond_shuffle_ack_and_delete`, but returns for each message, in order, whether it was
 * pending.
 *
 * `flags` is where `message_count` of them go; it may be NULL. On failure they are all false.
 *
 * Errors: as `millpond_shuffle_ack`.
 *
 * Delivery: the call can be repeated safely, as `millpond_shuffle_ack` can; a repeated call
 * returns false for what the first one acknowledged.
 *
 * Threads: any.
 */
millpond_status millpond_shuffle_ack_and_delete_each(millpond_shuffle_consumer *consumer,
                                                     const millpond_shuffle_receipt *messages,
                                                     size_t message_count,
                                                     bool *flags,
                                                     millpond_error **error);

/**
 * Extends the time of messages that are still being worked on, so that no other consumer
 * reclaims them. `number` is set to how many are still this consumer's; the others have been
 * taken over.
 *
 * `number` may be NULL.
 *
 * Errors: as `millpond_shuffle_ack`.
 *
 * Threads: any.
 */
millpond_status millpond_shuffle_extend(millpond_shuffle_consumer *consumer,
                                        const millpond_shuffle_receipt *messages,
                                        size_t message_count,
                                        uint64_t *number,
                                        millpond_error **error);

/**
 * Gives messages back before they are done. A `millpond_shuffle_reclaim` with this `min_idle_ms`
 * takes them over after the `delay_ms`, without waiting until they have been idle for that long,
 * and this delivery does not count. `number` is set to how many were this consumer's; the
 * others have been taken over.
 *
 * `number` may be NULL. `min_idle_ms`: the `min_idle_ms` of the reclaim that is to take them
 * over. `delay_ms`: how long until they are taken over, at most `min_idle_ms`;
 * `MILLPOND_NOT_SET`: as said above.
 *
 * Errors: as `millpond_shuffle_ack`; also `MILLPOND_INVALID_ARGUMENT` for a `min_idle_ms` over
 * 100 years, and for a `delay_ms` over the `min_idle_ms`, after which they are taken over anyway.
 *
 * Delivery: a read never returns released messages, only a reclaim does. A reclaim with a
 * shorter `min_idle_ms` may take them before the `delay_ms` is over. After
 * `MILLPOND_CONNECTION_LOST` or `MILLPOND_TIMEOUT` the release may have been done; if it is
 * repeated, one more delivery does not count.
 *
 * Threads: any.
 */
millpond_status millpond_shuffle_release(millpond_shuffle_consumer *consumer,
                                         const millpond_shuffle_receipt *messages,
                                         size_t message_count,
                                         uint64_t min_idle_ms,
                                         uint64_t delay_ms,
                                         uint64_t *number,
                                         millpond_error **error);

/**
 * Rejects messages: makes dead letters of them immediately, with this reason. `number` is set
 * to how many were this consumer's; the others have been taken over and are left alone. Begin
 * a reason with a word that tells the kinds apart, such as `rejected: no such image`. The
 * reason of messages that were delivered too often is `exhausted: max_deliveries`.
 *
 * `number` may be NULL.
 *
 * Errors: as `millpond_shuffle_ack`; also `MILLPOND_INVALID_ARGUMENT` for a reason that is
 * empty or above 4 KiB.
 *
 * Delivery: rejecting twice is safe. A message is deleted from its stream if no other group
 * has joined it.
 *
 * Threads: any.
 */
millpond_status millpond_shuffle_reject(millpond_shuffle_consumer *consumer,
                                        const millpond_shuffle_receipt *messages,
                                        size_t message_count,
                                        const char *reason,
                                        size_t reason_length,
                                        uint64_t *number,
                                        millpond_error **error);

/**
 * Frees a consumer. NULL and what was freed before are fine.
 *
 * Messages that were delivered to it and not acknowledged stay pending; loops that were
 * created from it stay usable.
 *
 * Threads: any.
 */
void millpond_shuffle_consumer_free(millpond_shuffle_consumer *consumer);

/**
 * The shuffle queue with this name. Makes no call.
 *
 * Invalid settings are refused by the step that needs them.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for an option below 0 or beyond its type, and for an
 * unknown `track_keys`.
 *
 * `queue` is set to a handle, which the caller frees with `millpond_shuffle_queue_free`, or on
 * failure to NULL. `options` may be NULL.
 *
 *     millpond_shuffle_queue *queue;
 *     status = millpond_shuffle_queue_new(client, "jobs", 4, NULL, &queue, &error);
 *
 * Threads: any.
 */
millpond_status millpond_shuffle_queue_new(millpond_client *client,
                                           const char *name,
                                           size_t name_length,
                                           const millpond_shuffle_options *options,
                                           millpond_shuffle_queue **queue,
                                           millpond_error **error);

/**
 * Writes one message of a tenant, to the stream of its shard with the smallest backlog.
 * `receipt` is set to where it is.
 *
 * `receipt` may be NULL.
 *
 *     millpond_shuffle_field fields[] = {{"task", 4, "resize", 6}, {"image", 5, "a.png", 5}};
 *     status = millpond_shuffle_write(queue, "tenant-7", 8, fields, 2, NULL, &error);
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for an empty shard key, a message without fields, with
 * more than 32,768 fields or with field names or values above 64 MiB each, or invalid
 * settings, before anything is sent, and for a queue with another number of `streams` than
 * this handle was given; `MILLPOND_WRONG_TYPE` if a key holds something else, and then nothing
 * has changed; those of the connection.
 *
 * Delivery: after `MILLPOND_CONNECTION_LOST` or `MILLPOND_TIMEOUT` the message may or may not
 * have been written; if it is written again, it may be there twice.
 *
 * Threads: any.
 */
millpond_status millpond_shuffle_write(millpond_shuffle_queue *queue,
                                       const char *shard_key,
                                       size_t shard_key_length,
                                       const millpond_shuffle_field *fields,
                                       size_t field_count,
                                       millpond_shuffle_receipt *receipt,
                                       millpond_error **error);

/**
 * Writes many messages, each for its tenant, as successive calls of `millpond_shuffle_write`
 * would. Returns where they are, in order.
 *
 * `receipts` is where `message_count` of them go; it may be NULL. On failure they are all 0.
 *
 * Errors: as `millpond_shuffle_write`; if one message is refused, all are.
 * `MILLPOND_INVALID_ARGUMENT` for more than 1,000,000 messages or 1 GiB.
 *
 * Delivery: one atomic step for up to 10,000 messages, 16 MiB and 262,144 strings, several for
 * more: after an error the first of these may have been done.
 *
 * Threads: any.
 */
millpond_status millpond_shuffle_write_many(millpond_shuffle_queue *queue,
                                            const millpond_shuffle_new_message *messages,
                                            size_t message_count,
                                            millpond_shuffle_receipt *receipts,
                                            millpond_error **error);

/**
 * Writes one message of a tenant, and records where it is under the value of its field
 * `track_field`. From the `deadline_s` on, in seconds since the Unix epoch, that record may be
 * collected; NULL (or 0) is the server's time plus the `ttl_ms`, or plus 1 day without one. A
 * message in which that field is missing or empty is written but not tracked. Of two messages
 * with the same value, the later one is tracked. `receipt` is set to the result.
 *
 * `receipt` may be NULL.
 *
 *     millpond_shuffle_field fields[] = {{"job", 3, "j-1", 3}, {"task", 4, "resize", 6}};
 *     status = millpond_shuffle_write_tracked(queue, "tenant-7", 8, fields, 2, "job", 3, 0, NULL,
 *                                             &error);
 *
 * Errors: as `millpond_shuffle_write`; also `MILLPOND_INVALID_ARGUMENT` for an empty
 * `track_field` and a deadline beyond 9,007,199,254,740,992; `MILLPOND_CROSS_SLOT` on a
 * cluster with the global keys.
 *
 * Delivery: after an error, the same applies as for `millpond_shuffle_write`.
 *
 * Threads: any.
 */
millpond_status millpond_shuffle_write_tracked(millpond_shuffle_queue *queue,
                                               const char *shard_key,
                                               size_t shard_key_length,
                                               const millpond_shuffle_field *fields,
                                               size_t field_count,
                                               const char *track_field,
                                               size_t track_field_length,
                                               int64_t deadline_s,
                                               millpond_shuffle_receipt *receipt,
                                               millpond_error **error);

/**
 * Writes many messages, each for its tenant, and records where they are, as successive calls
 * of `millpond_shuffle_write_tracked` with the same field and deadline would. Returns where
 * they are, in order.
 *
 * `receipts` is where `message_count` of them go; it may be NULL. On failure they are all 0.
 *
 * Errors: as `millpond_shuffle_write_tracked`; if one message is refused, all are.
 *
 * Delivery: in steps, as `millpond_shuffle_write_many`.
 *
 * Threads: any.
 */
millpond_status millpond_shuffle_write_tracked_many(millpond_shuffle_queue *queue,
                                                    const millpond_shuffle_new_message *messages,
                                                    size_t message_count,
                                                    const char *track_field,
                                                    size_t track_field_length,
                                                    int64_t deadline_s,
                                                    millpond_shuffle_receipt *receipts,
                                                    millpond_error **error);

/**
 * Changes the queue's number of streams. More streams are added immediately; surplus streams
 * are removed as soon as they have nothing left to deliver or to acknowledge. Until then
 * writers already use only the new number, readers still take from all streams, and a later
 * write or resize removes the surplus streams. `number` is set to how many streams the queue
 * has now. A queue that was never written to is created with this number.
 *
 * Handles with another number of `streams` are refused from then on.
 *
 * `number` may be NULL.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for zero streams or more than 65,536;
 * `MILLPOND_WRONG_TYPE` if a key holds something else, and then nothing has changed; those of
 * the connection.
 *
 * Threads: any.
 */
millpond_status millpond_shuffle_resize(millpond_shuffle_queue *queue,
                                        uint32_t streams,
                                        uint32_t *number,
                                        millpond_error **error);

/**
 * Deletes the message that is tracked by this value, for all groups, whether it was taken or
 * not. Returns where it was, or nothing if there is no such message. With the global keys it
 * is found whatever the name of its queue.
 *
 * `found` is set to whether there was one, and `receipt` to it, or to 0. Both may be NULL.
 *
 * Errors: `MILLPOND_WRONG_TYPE` if a key holds something else; `MILLPOND_CORRUPT` if the
 * record of this value names no message; `MILLPOND_CROSS_SLOT` on a cluster with the global
 * keys, and then nothing has changed; those of the connection.
 *
 * Delivery: after `MILLPOND_CONNECTION_LOST` or `MILLPOND_TIMEOUT` it may have been done; a
 * repeated call then returns nothing. A consumer that has taken the message is not stopped.
 *
 * Threads: any.
 */
millpond_status millpond_shuffle_delete_tracked(millpond_shuffle_queue *queue,
                                                const char *value,
                                                size_t value_length,
                                                bool *found,
                                                millpond_shuffle_receipt *receipt,
                                                millpond_error **error);

/**
 * Takes the values whose deadline passed at most `within_ms` ago (in whole seconds) out of the
 * deadlines. This is one step, so only one of several callers gets each value. Returns the
 * values by deadline. From then on they are garbage; their messages stay until they are
 * deleted. The step has no limit, and the server does nothing else while it runs: a million
 * values take seconds.
 *
 * `keys` is set to the result, which the caller frees with `millpond_keys_free`, or on failure
 * to NULL. `within_ms`: how long ago the deadline may have passed.
 *
 * Errors: as `millpond_shuffle_delete_tracked`.
 *
 * Delivery: after `MILLPOND_CONNECTION_LOST` or `MILLPOND_TIMEOUT` values may have been
 * cordoned that no caller received; `millpond_shuffle_garbage_new` returns them again.
 *
 * Threads: any.
 */
millpond_status millpond_shuffle_cordon_deadline_exceeded(millpond_shuffle_queue *queue,
                                                          uint64_t within_ms,
                                                          millpond_keys **keys,
                                                          millpond_error **error);

/**
 * How many entries the streams hold, including finished ones that were not deleted. `len` is
 * set to the result.
 *
 * Errors: `MILLPOND_WRONG_TYPE` if a key holds something else; those of the connection.
 *
 * Threads: any.
 */
millpond_status millpond_shuffle_len(millpond_shuffle_queue *queue,
                                     uint64_t *len,
                                     millpond_error **error);

/**
 * How many messages at least one group has not received or not acknowledged yet. `backlog` is
 * set to the result.
 *
 * Errors: as `millpond_shuffle_len`.
 *
 * Threads: any.
 */
millpond_status millpond_shuffle_backlog(millpond_shuffle_queue *queue,
                                         uint64_t *backlog,
                                         millpond_error **error);

/**
 * How many messages were delivered to a group and not acknowledged. `pending` is set to the
 * result.
 *
 * Errors: as `millpond_shuffle_len`; also `MILLPOND_INVALID_ARGUMENT` for an empty group.
 *
 * Threads: any.
 */
millpond_status millpond_shuffle_pending_count(millpond_shuffle_queue *queue,
                                               const char *group,
                                               size_t group_length,
                                               uint64_t *pending,
                                               millpond_error **error);

/**
 * Up to `max` dead letters, the oldest first: messages that were delivered too often, see
 * `millpond_shuffle_reclaim`, or rejected. They are in the stream `<queue>:dead`, and stay
 * until they are deleted or requeued, or their `dead_ttl_ms` is over.
 *
 * `dead_letters` is set to the result, which the caller frees with
 * `millpond_shuffle_dead_letters_free`, or on failure to NULL.
 *
 * Errors: as `millpond_shuffle_len`; also `MILLPOND_INVALID_ARGUMENT` for a `max` of 0 or
 * above 10,000.
 *
 * Threads: any.
 */
millpond_status millpond_shuffle_dead_letters_read(millpond_shuffle_queue *queue,
                                                   size_t max,
                                                   millpond_shuffle_dead_letters **dead_letters,
                                                   millpond_error **error);

/**
 * `millpond_shuffle_dead_letters_read`, but those after another one: the next page. That
 * letter need not exist any more.
 *
 * `dead_letters` is set to the result, which the caller frees with
 * `millpond_shuffle_dead_letters_free`, or on failure to NULL.
 *
 *     millpond_shuffle_id last = {letter->id_time_ms, letter->id_sequence};
 *     status = millpond_shuffle_dead_letters_after(queue, 1000, &last, &letters, &error);
 *
 * Errors: as `millpond_shuffle_dead_letters_read`.
 *
 * Threads: any.
 */
millpond_status millpond_shuffle_dead_letters_after(millpond_shuffle_queue *queue,
                                                    size_t max,
                                                    const millpond_shuffle_id *after,
                                                    millpond_shuffle_dead_letters **dead_letters,
                                                    millpond_error **error);

/**
 * Deletes dead letters. `number` is set to how many of them existed.
 *
 * `number` may be NULL.
 *
 *     millpond_shuffle_id id = {letter->id_time_ms, letter->id_sequence};
 *     status = millpond_shuffle_delete_dead_letters(queue, &id, 1, NULL, &error);
 *
 * Errors: as `millpond_shuffle_len`.
 *
 * Delivery: deleting twice is safe. Above 100,000 letters the call takes several steps.
 *
 * Threads: any.
 */
millpond_status millpond_shuffle_delete_dead_letters(millpond_shuffle_queue *queue,
                                                     const millpond_shuffle_id *letters,
                                                     size_t letter_count,
                                                     uint64_t *number,
                                                     millpond_error **error);

/**
 * Puts dead letters back into the queue, each as a new message of the stream that it came
 * from, and removes them from the dead letters. Returns where each is now, in order, or
 * nothing for a letter that does not exist. Every group gets the message, including groups
 * that had finished it.
 *
 * For a dead letter that does not exist (any more), the receipt's `id_time_ms` and
 * `id_sequence` are 0.
 *
 * `receipts` is where `letter_count` of them go; it may be NULL. On failure they are all 0.
 *
 * Errors: as `millpond_shuffle_len`; also `MILLPOND_INVALID_ARGUMENT` for invalid settings,
 * and for more than 1,000,000 letters.
 *
 * Delivery: a letter is put back only once, even if it is requeued twice. Above 10,000 letters
 * the call takes several steps: after an error the first of these may have been done. The new
 * message is not tracked.
 *
 * Threads: any.
 */
millpond_status millpond_shuffle_requeue_dead_letters(millpond_shuffle_queue *queue,
                                                      const millpond_shuffle_id *letters,
                                                      size_t letter_count,
                                                      millpond_shuffle_receipt *receipts,
                                                      millpond_error **error);

/**
 * Removes the consumers of all groups that hold no message and have been idle for at least
 * `min_idle_ms` in all streams: the names of programs that are gone, which the server would
 * otherwise keep. `number` is set to how many. A removed consumer that reads again is added
 * again, so nothing is lost. The embedded engine keeps no such names, and removes none.
 *
 * `number` may be NULL. `min_idle_ms`: how long a consumer must have been idle.
 *
 * Errors: as `millpond_shuffle_len`; also `MILLPOND_INVALID_ARGUMENT` for a `min_idle_ms` over
 * 100 years.
 *
 * Delivery: removing twice is safe. The call is one step, and the server does nothing else
 * while it runs. A consumer that has waited that long for a message may be removed as well,
 * until it reads again.
 *
 * Threads: any.
 */
millpond_status millpond_shuffle_remove_idle_consumers(millpond_shuffle_queue *queue,
                                                       uint64_t min_idle_ms,
                                                       uint64_t *number,
                                                       millpond_error **error);

/**
 * What each stream holds for a group.
 *
 * `stats` is set to the result, which the caller frees with `millpond_shuffle_stats_free`, or
 * on failure to NULL.
 *
 * Errors: as `millpond_shuffle_pending_count`.
 *
 * Threads: any.
 */
millpond_status millpond_shuffle_stats_read(millpond_shuffle_queue *queue,
                                            const char *group,
                                            size_t group_length,
                                            millpond_shuffle_stats **stats,
                                            millpond_error **error);

/**
 * Frees a queue. NULL and what was freed before are fine.
 *
 * Consumers that were created from it stay usable.
 *
 * Threads: any.
 */
void millpond_shuffle_queue_free(millpond_shuffle_queue *queue);

/**
 * Collects the records of tracked messages whose deadline has passed, in batches of values;
 * those that were cordoned come first. See `millpond_shuffle_garbage`. Makes no call yet.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a `time_digits` below 0 or above 255; other invalid
 * values are refused when the first batch is requested.
 *
 * `garbage` is set to a handle, which the caller frees with `millpond_shuffle_garbage_free`,
 * or on failure to NULL. `time_digits`: scans only deadlines that share this many leading
 * digits with the current time, 1 to 10: with 6, those of the same 10,000 seconds. Cordoned
 * values are always scanned. `MILLPOND_NOT_SET`: the default.
 *
 *     millpond_shuffle_garbage *garbage;
 *     millpond_keys *values;
 *     if (millpond_shuffle_garbage_new(queue, MILLPOND_NOT_SET, &garbage, &error) != MILLPOND_OK)
 *         return failed(error);
 *     while (millpond_shuffle_garbage_next(garbage, &values, &error) == MILLPOND_OK &&
 *            values != NULL) {
 *         report(millpond_keys_data(values), millpond_keys_length(values));
 *         millpond_keys_free(values);
 *     }
 *     millpond_shuffle_garbage_free(garbage);
 *
 * Delivery: at least once: values that were returned but not deleted yet are returned again by
 * the next collection.
 *
 * Threads: any.
 */
millpond_status millpond_shuffle_garbage_new(millpond_shuffle_queue *queue,
                                             int64_t time_digits,
                                             millpond_shuffle_garbage **garbage,
                                             millpond_error **error);

/**
 * Deletes the records of the last batch of values, and finds the next batch. The messages
 * themselves stay in their streams.
 *
 * Errors: as `millpond_shuffle_delete_tracked`; also `MILLPOND_INVALID_ARGUMENT` for a
 * `time_digits` that is not 1 to 10.
 *
 * `keys` is set to the result, which the caller frees with `millpond_keys_free`; to NULL on
 * failure, and also on success when the loop is over. After an error that a retry can fix (see
 * `millpond_error_retry`) the loop can be continued.
 *
 * Threads: one at a time; see `millpond_shuffle_garbage`.
 */
millpond_status millpond_shuffle_garbage_next(millpond_shuffle_garbage *garbage,
                                              millpond_keys **keys,
                                              millpond_error **error);

/**
 * Frees the loop. NULL and what was freed before are fine.
 *
 * The records of the last batch stay for the next collection.
 *
 * Threads: any.
 */
void millpond_shuffle_garbage_free(millpond_shuffle_garbage *garbage);

/**
 * Whether the lease is lost, because another consumer has the message, because no extension
 * has succeeded for a whole lease, or because the job has ended after its `timeout`. If so,
 * stop working: ending the job has no effect. `lost` is set to the result.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not one.
 *
 * Threads: any.
 */
millpond_status millpond_shuffle_job_is_lost(const millpond_shuffle_job *job,
                                             bool *lost,
                                             millpond_error **error);

/**
 * Whether this is the last delivery that the consumer's `max_deliveries` allows: a failure
 * makes the message a dead letter. `last_attempt` is set to the result.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not one.
 *
 * Threads: any.
 */
millpond_status millpond_shuffle_job_is_last_attempt(const millpond_shuffle_job *job,
                                                     bool *last_attempt,
                                                     millpond_error **error);

/**
 * How much longer the handler may work under the worker's `timeout_ms`; -1 means without
 * limit. Sends nothing.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not one.
 *
 * Threads: any.
 */
millpond_status millpond_shuffle_job_time_left_ms(const millpond_shuffle_job *job,
                                                  int64_t *time_left_ms,
                                                  millpond_error **error);

/**
 * Frees a job. NULL and what was freed before are fine.
 *
 * The message of a job that did not end is taken over when its lease expires; the lease is no
 * longer extended.
 *
 * Threads: any.
 */
void millpond_shuffle_job_free(millpond_shuffle_job *job);

/**
 * The consumer's loop: batches of up to `max` messages. See `millpond_shuffle_messages`. Makes
 * no call yet.
 *
 * `messages` is set to a handle, which the caller frees with `millpond_shuffle_messages_free`,
 * or on failure to NULL. `wait_ms`: waits up to `wait_ms` milliseconds for a message when
 * there is none, instead of ending immediately; the time starts again with each batch. All
 * waiting loops of a process share one connection, and a message wakes one of them. 0 does not
 * wait, -1 waits without limit. `millpond_close` on the client ends the wait.
 *
 *     millpond_shuffle_messages *messages;
 *     millpond_shuffle_batch *batch;
 *     if (millpond_shuffle_messages_new(consumer, 100, 0, &messages, &error) != MILLPOND_OK)
 *         return failed(error);
 *     while (millpond_shuffle_messages_next(messages, &batch, &error) == MILLPOND_OK &&
 *            batch != NULL) {
 *         work_on_and_acknowledge(batch);
 *         millpond_shuffle_batch_free(batch);
 *     }
 *     millpond_shuffle_messages_free(messages);
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a `wait_ms` below -1.
 *
 * Threads: any.
 */
millpond_status millpond_shuffle_messages_new(millpond_shuffle_consumer *consumer,
                                              size_t max,
                                              int64_t wait_ms,
                                              millpond_shuffle_messages **messages,
                                              millpond_error **error);

/**
 * Takes the next batch; acknowledges nothing.
 *
 * Errors: as `millpond_shuffle_read`.
 *
 * Delivery: as `millpond_shuffle_read`.
 *
 * `batch` is set to the result, which the caller frees with `millpond_shuffle_batch_free`; to
 * NULL on failure, and also on success when the loop is over. After an error that a retry can
 * fix (see `millpond_error_retry`) the loop can be continued.
 *
 * Threads: one at a time; see `millpond_shuffle_messages`.
 */
millpond_status millpond_shuffle_messages_next(millpond_shuffle_messages *messages,
                                               millpond_shuffle_batch **batch,
                                               millpond_error **error);

/**
 * Frees the loop. NULL and what was freed before are fine.
 *
 * Messages that were not acknowledged stay pending.
 *
 * Threads: any.
 */
void millpond_shuffle_messages_free(millpond_shuffle_messages *messages);

/**
 * Fills a message to write with its defaults: no fields, and no tenant. Does nothing for NULL.
 *
 *     millpond_shuffle_field task = {"task", 4, "resize", 6};
 *     millpond_shuffle_new_message message;
 *     millpond_shuffle_new_message_init(&message, sizeof message);
 *     message.shard_key = "tenant-7";
 *     message.shard_key_length = 8;
 *     message.fields = &task;
 *     message.field_count = 1;
 *
 * Threads: any.
 */
void millpond_shuffle_new_message_init(millpond_shuffle_new_message *message, size_t size);

/**
 * The streams of a tenant: `streams_per_shard` of `streams`, in the order in which ties between
 * them are broken. The same in every language. Sends nothing.
 *
 * `streams_per_shard` numbers are written to `numbers`, here 15, 13, 2 and 12; on failure nothing
 * is written.
 *
 *     uint32_t numbers[4];
 *     status = millpond_shuffle_shard(16, 4, "tuna", 4, numbers, &error);
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for 0 or more than 65,536 streams, for a shard of 0 streams
 * or more than there are, and for an empty key.
 *
 * Threads: any.
 */
millpond_status millpond_shuffle_shard(uint32_t streams,
                                       uint32_t streams_per_shard,
                                       const char *shard_key,
                                       size_t shard_key_length,
                                       uint32_t *numbers,
                                       millpond_error **error);

/**
 * The first field with this name of a message that was read, or NULL if the message has no such
 * field. Lives as long as the message's batch. NULL for NULL.
 *
 *     const millpond_shuffle_field *image = millpond_shuffle_message_field(message, "image", 5);
 *     if (image != NULL)
 *         resize(image->value, image->value_length);
 *
 * Threads: any.
 */
const millpond_shuffle_field *millpond_shuffle_message_field(const millpond_shuffle_message *message,
                                                             const char *name,
                                                             size_t name_length);

/**
 * Reads up to `max` messages, from the streams in turn: the same ones that `max` reads of one
 * message would return. With a `wait_ms` of 0 it returns immediately. Otherwise, if there is no
 * message, it waits up to `wait_ms` milliseconds, or without limit for -1; it does not poll.
 * `millpond_close` on the client ends the wait.
 *
 * `batch` is set to the messages, which the caller frees with `millpond_shuffle_batch_free` even
 * if there are none, or on failure to NULL.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a `max` of 0 or above 10,000, a `wait_ms` below -1, an
 * empty group or consumer, a `ttl_ms` under a second or over 100 years, and a name that is empty
 * or above 64 KiB; `MILLPOND_WRONG_TYPE` if a key holds something else; `MILLPOND_CANCELLED` if
 * `millpond_on_interrupt` asked for it; `MILLPOND_CLOSED` once the client was closed; those of
 * the connection.
 *
 * Delivery: at least once. A delivered message belongs to its consumer until it is
 * acknowledged. After `MILLPOND_CONNECTION_LOST` or `MILLPOND_TIMEOUT` messages may be pending
 * that the consumer never received: `millpond_shuffle_reclaim` returns them.
 *
 * Threads: any.
 */
millpond_status millpond_shuffle_read(millpond_shuffle_consumer *consumer,
                                      size_t max,
                                      int64_t wait_ms,
                                      millpond_shuffle_batch **batch,
                                      millpond_error **error);

/**
 * Takes over up to `max` messages of consumers that are gone: messages that were delivered at
 * least `min_idle_ms` ago and neither acknowledged nor extended since. After `max_deliveries` a
 * message becomes a dead letter instead.
 *
 * A program that crashes on one message leaves behind all that it had taken. So that the
 * others do not become dead letters because of that one, a message that is taken over for at
 * least the second time, or delivered for the last time, is returned alone: the call returns
 * this one message, whatever `max` is, and the next call returns the next one. Finish the
 * message before the next call. Released messages do not count as left behind.
 *
 * `batch` is set to the messages, which the caller frees with `millpond_shuffle_batch_free`;
 * on failure it is set to NULL. `dead` is set to the number of messages that became dead
 * letters; it may be NULL.
 *
 * Errors: as `millpond_shuffle_read`; also `MILLPOND_INVALID_ARGUMENT` for a `min_idle_ms`
 * over 100 years.
 *
 * Delivery: a consumer that is only slow may still be working on a message that is taken over:
 * `min_idle_ms` must be longer than its work, or it must extend the messages that it works on.
 *
 * Threads: any.
 */
millpond_status millpond_shuffle_reclaim(millpond_shuffle_consumer *consumer,
                                         uint64_t min_idle_ms,
                                         size_t max,
                                         millpond_shuffle_batch **batch,
                                         uint64_t *dead,
                                         millpond_error **error);

/**
 * How many entries were scanned so far, and how many records were deleted. Both may be NULL.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not a collection, and while another
 * thread uses it.
 *
 * Threads: one at a time; see `millpond_shuffle_garbage`.
 */
millpond_status millpond_shuffle_garbage_counts(const millpond_shuffle_garbage *garbage,
                                                uint64_t *scanned,
                                                uint64_t *deleted,
                                                millpond_error **error);

/**
 * The message, as it was taken. Lives until the job is freed. NULL for NULL and for a freed or invalid handle.
 *
 * Threads: any.
 */
const millpond_shuffle_message *millpond_shuffle_job_data(const millpond_shuffle_job *job);

/**
 * Fills options with their defaults. Does nothing for NULL.
 *
 * Threads: any.
 */
void millpond_shuffle_worker_options_init(millpond_shuffle_worker_options *options, size_t size);

/**
 * Makes a worker of a consumer, which takes messages, extends them while they are worked on, acknowledges them,
 * retries those that failed, and takes over the messages of consumers that are gone; `options` may be NULL. All
 * workers of a group should have the same lease.
 *
 * `worker` is set to the worker, which the caller frees with `millpond_shuffle_worker_free`, or on failure to NULL.
 * Sends nothing yet.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for an option below 0. Other limits are checked when it starts to work.
 *
 * Threads: any.
 */
millpond_status millpond_shuffle_worker_new(millpond_shuffle_consumer *consumer,
                                            const millpond_shuffle_worker_options *options,
                                            millpond_shuffle_worker **worker,
                                            millpond_error **error);

/**
 * Frees a worker. NULL and what was freed before are fine. Runs and jobs that were created from the worker stay
 * usable, but can no longer be stopped.
 *
 * Threads: any.
 */
void millpond_shuffle_worker_free(millpond_shuffle_worker *worker);

/**
 * Starts a run, for a loop of your own in place of `millpond_shuffle_worker_run`. With `drains` the run is over
 * when nothing is available, and everything is reported. Otherwise the run continues until the worker is stopped; with
 * `tells_all` it also reports what went well: jobs that are done, given back or moved.
 *
 * `run` is set to the run, which the caller frees with `millpond_shuffle_run_free`, or on failure to NULL. Sends
 * nothing yet.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not a worker.
 *
 * Threads: any.
 */
millpond_status millpond_shuffle_worker_start(millpond_shuffle_worker *worker,
                                              bool drains,
                                              bool tells_all,
                                              millpond_shuffle_run **run,
                                              millpond_error **error);

/**
 * Stops the worker's runs: they take no more jobs and wait for those that are running. A job that is still running
 * after `within_ms` is given back and available immediately, and is lost to its handler. 0 stops immediately; -1 waits
 * without limit. A second stop changes the time. A stopped worker stays stopped. Returns immediately.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a `within_ms` below -1.
 *
 * Threads: any, but not from a signal handler, which must not wait for a lock: for signals there is
 * `millpond_shuffle_worker_stop_on_signals`.
 */
millpond_status millpond_shuffle_worker_stop(millpond_shuffle_worker *worker,
                                             int64_t within_ms,
                                             millpond_error **error);

/**
 * Makes SIGTERM and SIGINT stop the worker, as `millpond_shuffle_worker_stop` does with this `within_ms`. A second
 * signal stops it immediately, and a third one does what signals did before. Another call starts over, with its own
 * time. All of this ends when the worker is freed.
 *
 * From this call on, a native thread waits for the signals. Handlers that are already installed are called as well; a
 * handler that the program installs later replaces this one. In the child of a fork, signals do what they did before.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a `within_ms` below -1; `MILLPOND_INTERNAL` if the system has no
 * room for a pipe or a thread.
 *
 * Threads: any; not from a signal handler.
 */
millpond_status millpond_shuffle_worker_stop_on_signals(millpond_shuffle_worker *worker,
                                                        int64_t within_ms,
                                                        millpond_error **error);

/**
 * Takes what comes next: a job to work on, which the caller ends with `millpond_shuffle_run_end` and then frees,
 * or a report of what became of a job, which the caller frees. Waits while there is no job, and while `concurrency`
 * jobs are running.
 *
 * One of `job` and `report` is set; both are NULL on failure, and also on success when the run is over.
 *
 * Errors: the non-retryable error that ended the run, for one of the callers; `MILLPOND_CANCELLED` if
 * `millpond_on_interrupt` asked for it, after which the run continues.
 *
 * Threads: any number may wait here.
 */
millpond_status millpond_shuffle_run_next(millpond_shuffle_run *run,
                                          millpond_shuffle_job **job,
                                          millpond_shuffle_report **report,
                                          millpond_error **error);

/**
 * Ends a job of this run, and returns immediately; the result is reported. If `outcome` is NULL, the job is
 * done, and its message is acknowledged, and deleted if the worker's options say so. A message that is tried
 * again is delivered again; after the consumer's `max_deliveries` it becomes a dead letter. Nothing happens to
 * a job that the run has given back. The job still has to be freed.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a job that is not from this run, and for an invalid outcome, after
 * which the job can end in another way; `MILLPOND_FORKED` in the child of a fork.
 *
 * Delivery: if the connection fails, the end is sent again while the lease lasts.
 *
 * Threads: any.
 */
millpond_status millpond_shuffle_run_end(millpond_shuffle_run *run,
                                         millpond_shuffle_job *job,
                                         const millpond_task_outcome *outcome,
                                         millpond_error **error);

/**
 * Sets `counts` to what became of the jobs of a run so far.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT`.
 *
 * Threads: any.
 */
millpond_status millpond_shuffle_run_counts(millpond_shuffle_run *run,
                                            millpond_job_counts *counts,
                                            millpond_error **error);

/**
 * Frees a run. NULL and what was freed before are fine. What the run still holds stays leased until the lease expires.
 * To avoid that, first stop the worker, and take what comes next until the run is over.
 *
 * Threads: any.
 */
void millpond_shuffle_run_free(millpond_shuffle_run *run);

/**
 * What is in a report. Lives until the report is freed. NULL for NULL and for a freed or invalid handle.
 *
 * Threads: any.
 */
const millpond_report_data *millpond_shuffle_report_data(const millpond_shuffle_report *report);

/**
 * Frees a report. NULL and what was freed before are fine.
 *
 * Threads: any.
 */
void millpond_shuffle_report_free(millpond_shuffle_report *report);

/**
 * Works in this thread until the worker is stopped: calls `handler` with one job after another and with `context`, and
 * ends each job as the handler says. Other
 * threads may work for the same worker at the same time, with the same handlers: up to `concurrency` of them have a
 * job. If the server is unreachable, the run keeps trying until it responds.
 *
 * The handlers must return (no longjmp, no exception), and may call Millpond. An invalid `outcome` of a handler is a
 * failure of its job.
 *
 * `on_report` receives what becomes of all jobs, and reports that the server is unreachable or responds again. It may
 * be NULL: then problems and retries are printed to standard error, one line each. `counts` is set to what the run did
 * on all threads, even if the call fails; it may be NULL.
 *
 *     static void resize(millpond_shuffle_job *job, millpond_task_outcome *outcome, void *context) {
 *         if (!resize_image(millpond_shuffle_job_data(job)->fields)) {
 *             outcome->end = MILLPOND_TASK_FAIL;
 *             outcome->err = (millpond_bytes){"no such image", 13};
 *         }
 *     }
 *     status = millpond_shuffle_worker_run(worker, resize, NULL, NULL, NULL, &error);
 *
 * Errors: the non-retryable error that ended the run, for one of the threads, such as `MILLPOND_WRONG_TYPE` or
 * `MILLPOND_INVALID_ARGUMENT`. `MILLPOND_CANCELLED` if `millpond_on_interrupt` asked for it: the run still exists, and
 * the next call continues it.
 *
 * Delivery: at least once; the job of a program that ends is taken over when its lease is over.
 *
 * Threads: any.
 */
millpond_status millpond_shuffle_worker_run(millpond_shuffle_worker *worker,
                                            millpond_shuffle_handler handler,
                                            millpond_shuffle_report_handler on_report,
                                            void *context,
                                            millpond_job_counts *counts,
                                            millpond_error **error);

/**
 * Works in this thread until nothing is available; otherwise like `millpond_shuffle_worker_run`. For tests, and
 * for programs that cron starts. `counts` is set to what the run did; it may be NULL.
 *
 * Errors: as `millpond_shuffle_worker_run`; also those of the connection.
 *
 * Delivery: at least once; the job of a program that ends is taken over when its lease is over.
 *
 * Threads: any.
 */
millpond_status millpond_shuffle_worker_drain(millpond_shuffle_worker *worker,
                                              millpond_shuffle_handler handler,
                                              millpond_shuffle_report_handler on_report,
                                              void *context,
                                              millpond_job_counts *counts,
                                              millpond_error **error);

/**
 * Fills a task to insert with its defaults. The queue still has to be set. Does nothing for
 * NULL.
 *
 *     millpond_new_task task;
 *     millpond_new_task_init(&task, sizeof task);
 *     task.queue = (millpond_bytes){"mail", 4};
 *     task.value = (millpond_bytes){"{\"to\": \"ann\"}", 13};
 *     task.delay_ms = 60000;
 *
 * Threads: any.
 */
void millpond_new_task_init(millpond_new_task *options, size_t size);

/**
 * Fills a document to insert or to put with its defaults. The namespace still has to be set,
 * and usually the key. Does nothing for NULL.
 *
 *     millpond_new_doc doc;
 *     millpond_new_doc_init(&doc, sizeof doc);
 *     doc.namespace_name = (millpond_bytes){"accounts", 8};
 *     doc.key = (millpond_bytes){"ann", 3};
 *
 * Threads: any.
 */
void millpond_new_doc_init(millpond_new_doc *options, size_t size);

/**
 * Makes a modification empty. Does nothing for NULL.
 *
 *     millpond_tasks_modification modification;
 *     millpond_tasks_modification_init(&modification, sizeof modification);
 *     modification.deletes = &done;
 *     modification.delete_count = 1;
 *
 * Threads: any.
 */
void millpond_tasks_modification_init(millpond_tasks_modification *options, size_t size);

/**
 * Fills it with the defaults. Does nothing for NULL.
 *
 * Threads: any.
 */
void millpond_task_query_init(millpond_task_query *options, size_t size);

/**
 * Fills it with the defaults. Does nothing for NULL.
 *
 * Threads: any.
 */
void millpond_doc_query_init(millpond_doc_query *options, size_t size);

/**
 * Fills a filter with its defaults. Does nothing for NULL.
 *
 *     millpond_bytes prefix = {"mail/", 5};
 *     millpond_tasks_filter filter;
 *     millpond_tasks_filter_init(&filter, sizeof filter);
 *     filter.prefixes = &prefix;
 *     filter.prefix_count = 1;
 *
 * Threads: any.
 */
void millpond_tasks_filter_init(millpond_tasks_filter *options, size_t size);

/**
 * Fills it with the defaults. Does nothing for NULL.
 *
 * Threads: any.
 */
void millpond_task_filter_init(millpond_task_filter *options, size_t size);

/**
 * Fills a change with the current state of the document, at its version: such a change leaves
 * everything as it is, including the claimant. The change points to the texts of the document,
 * whose result must not be freed before the change was made. `doc` may be NULL; then everything
 * else has to be set.
 *
 * Does nothing if `change` is NULL.
 *
 * Threads: any.
 */
void millpond_doc_change_init(millpond_doc_change *change, size_t size, const millpond_doc *doc);

/**
 * Takes the first header off the headers of a task, which are in one piece: `name` and `value` are set to point into
 * that piece, and `headers` to what is left. Returns whether there was a header; it returns false after the last
 * header, and for one that is truncated.
 *
 *     millpond_bytes headers = task->headers, name, value;
 *     while (millpond_headers_next(&headers, &name, &value)) {
 *         printf("%.*s: %zu bytes\n", (int)name.length, name.data, value.length);
 *     }
 *
 * Threads: any.
 */
bool millpond_headers_next(millpond_bytes *headers,
                           millpond_bytes *name,
                           millpond_bytes *value);

/**
 * Adds a header to headers in one piece, as `millpond_new_task` and `millpond_task_change` take them: to the `length`
 * bytes at `headers`, where there is room for `size`. Returns the new number of bytes. The order of headers does not
 * matter.
 *
 * If there is no room for the header, or its name or value has more than 65,535 bytes, it writes nothing and returns
 * `SIZE_MAX`. So does every later call with that length, and a task or event with headers of that length is refused
 * with `MILLPOND_INVALID_ARGUMENT`: no header is lost unnoticed.
 *
 *     char headers[256];
 *     size_t length = 0;
 *     length = millpond_headers_add(headers, length, sizeof headers, "tenant", 6, "7", 1);
 *     length = millpond_headers_add(headers, length, sizeof headers, "trace", 5, "4bf92f", 6);
 *     task.headers = (millpond_bytes){headers, length};
 *
 * Threads: any.
 */
size_t millpond_headers_add(char *headers,
                            size_t length,
                            size_t size,
                            const char *name,
                            size_t name_length,
                            const char *value,
                            size_t value_length);

/**
 * Fills a change with the current state of the task, at its version: such a change only releases
 * the task. The change points to the texts of the task, whose result must not be freed before the
 * change was made. `task` may be NULL; then everything else has to be set.
 *
 *     millpond_task_change change;
 *     millpond_task_change_init(&change, sizeof change, task);
 *     change.retry = true;
 *     change.retry_err = (millpond_bytes){"no such address", 15};
 *     change.delay_ms = 60000;
 *
 * Does nothing if `change` is NULL.
 *
 * Threads: any.
 */
void millpond_task_change_init(millpond_task_change *change,
                               size_t size,
                               const millpond_task *task);

/**
 * The claimant of this store. Lives until the store is freed.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not a store.
 *
 * Threads: any.
 */
millpond_status millpond_tasks_claimant(const millpond_tasks_store *store,
                                        millpond_bytes *claimant,
                                        millpond_error **error);

/**
 * The task store with this name. Makes no call.
 *
 * An invalid name is refused by the step that needs it.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a claimant that is not UTF-8.
 *
 * `store` is set to a handle, which the caller frees with `millpond_tasks_store_free`, or on
 * failure to NULL. `claimant`: the name under which this handle claims and holds tasks and
 * documents: 1 to 64 characters. By default, each new handle gets 16 random hexadecimal
 * digits. The name is not a secret: a program that uses another claimant's name can do
 * whatever that claimant can. The handle's own claims, renewals, inserts and changes are made
 * under this claimant. Each job of a `worker` has its own claimant: this one cut to 47
 * characters, `/` and 16 random hexadecimal digits. So two jobs never hold the same task or
 * document, even if they share this handle, and only a job can change what it holds: use
 * `millpond_tasks_job_finish`, since `millpond_tasks_modify` is refused. If a job ends by
 * postponing its task, this claimant holds the task until then. NULL: the default.
 *
 *     millpond_tasks_store *store;
 *     status = millpond_tasks_store_new(client, "shop", 4, NULL, 0, &store, &error);
 *
 * Threads: any.
 */
millpond_status millpond_tasks_store_new(millpond_client *client,
                                         const char *name,
                                         size_t name_length,
                                         const char *claimant,
                                         size_t claimant_length,
                                         millpond_tasks_store **store,
                                         millpond_error **error);

/**
 * Applies a modification completely or not at all: inserts, changes and deletes of tasks and
 * documents, and dependencies on tasks and documents that must not have changed.
 *
 * `result` is set to what was inserted and changed, which the caller frees with
 * `millpond_tasks_result_free`, or on failure to NULL. `result` may be NULL.
 *
 *     millpond_task_id done = {task->id, task->version};
 *     millpond_tasks_modification modification;
 *     millpond_tasks_modification_init(&modification, sizeof modification);
 *     modification.deletes = &done;
 *     modification.delete_count = 1;
 *     status = millpond_tasks_modify(store, &modification, NULL, &error);
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for names, values and times beyond their limits, values
 * that are not JSON texts, and a task or document that is named twice, before anything is
 * sent; `MILLPOND_DEPENDENCY` if something is not in the required state, with a list of every
 * such problem (`dependency`), in which case nothing has changed; `MILLPOND_WRONG_TYPE` and
 * `MILLPOND_INCOMPATIBLE_VERSION` if the keys hold something else; those of the connection.
 *
 * Delivery: after `MILLPOND_CONNECTION_LOST` or `MILLPOND_TIMEOUT` the modification has been
 * applied completely or not at all; `millpond_tasks_fetch` tells which. If it is sent again,
 * what it changed or deleted no longer exists at that version, so nothing is done twice. The
 * exception is a modification that neither changes nor deletes anything: give the tasks that
 * it inserts explicit ids. Each is then inserted once, until it has ended and its
 * deduplication window is over. A document that it puts replaces what others have put since.
 *
 * Threads: any.
 */
millpond_status millpond_tasks_modify(millpond_tasks_store *store,
                                      const millpond_tasks_modification *modification,
                                      millpond_tasks_result **result,
                                      millpond_error **error);

/**
 * Cancels claimed tasks: the next renewal (`cancelled`), such as a worker's, tells the
 * claimant to stop. Returns whether the task of each id is claimed, so that its claimant will
 * be told. A task that is not claimed is not cancelled; delete it instead. The task itself
 * stays as it is: its claimant can end it in any way, and is not refused. The next claim of
 * the task and every change remove the cancellation. A claimant that hangs is not told: with
 * `force` its tasks are deleted immediately. Its next renewal and whatever it does with them
 * later are refused with `MILLPOND_DEPENDENCY`, and a worker's job is lost.
 *
 * `flags` is where `id_count` of them go; it may be NULL. On failure they are all false.
 * `force`: whether claimed tasks are deleted, immediately.
 *
 * Errors: as `millpond_tasks_fetch`.
 *
 * Delivery: after `MILLPOND_CONNECTION_LOST` or `MILLPOND_TIMEOUT` it may have been done;
 * cancelling again is safe. A task that `force` has deleted is not claimed any more, so
 * repeating the call returns false for it.
 *
 * Threads: any.
 */
millpond_status millpond_tasks_cancel(millpond_tasks_store *store,
                                      const millpond_bytes *ids,
                                      size_t id_count,
                                      bool force,
                                      bool *flags,
                                      millpond_error **error);

/**
 * The tasks with these ids, from any queue, in the same order; missing ones are left out.
 *
 * `result` is set to what was found, which the caller frees with `millpond_tasks_result_free`,
 * or on failure to NULL.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for no id, more than 10,000 and ids beyond their limits;
 * `MILLPOND_WRONG_TYPE` and `MILLPOND_INCOMPATIBLE_VERSION` if the keys hold something else;
 * those of the connection.
 *
 * Threads: any.
 */
millpond_status millpond_tasks_fetch(millpond_tasks_store *store,
                                     const millpond_bytes *ids,
                                     size_t id_count,
                                     millpond_tasks_result **result,
                                     millpond_error **error);

/**
 * A page of a queue's tasks, by time and id. Pages are not one snapshot: a task that is
 * claimed between two pages may be on both or on neither.
 *
 * `result` is set to what was found, which the caller frees with `millpond_tasks_result_free`,
 * or on failure to NULL. `query` may be NULL.
 *
 *     const millpond_tasks_data *data = millpond_tasks_result_data(result);
 *     query.after = data->next; // the result has to be there until the next page is
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for names beyond their limits and a limit of 0 or above
 * 10,000; `MILLPOND_WRONG_TYPE` and `MILLPOND_INCOMPATIBLE_VERSION` if the keys hold something
 * else; those of the connection.
 *
 * Threads: any.
 */
millpond_status millpond_tasks_list(millpond_tasks_store *store,
                                    const char *queue,
                                    size_t queue_length,
                                    const millpond_task_query *query,
                                    millpond_tasks_result **result,
                                    millpond_error **error);

/**
 * Whether none of these queues holds a task. `empty` is set to the result.
 *
 * `filter` may be NULL.
 *
 * Errors: as `millpond_tasks_queue_stats`; also `MILLPOND_INVALID_ARGUMENT` for a filter that
 * names nothing.
 *
 * Threads: any.
 */
millpond_status millpond_tasks_are_empty(millpond_tasks_store *store,
                                         const millpond_tasks_filter *filter,
                                         bool *empty,
                                         millpond_error **error);

/**
 * Statistics of the queues that hold tasks or are paused, by name: those that the filter
 * selects, or all. They are exact at one point in time for each queue, and are computed
 * without reading the tasks.
 *
 * `result` is set to what was found, which the caller frees with `millpond_tasks_result_free`,
 * or on failure to NULL. `filter` may be NULL.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for names beyond their limits and a limit of 0 or above
 * 100,000; `MILLPOND_WRONG_TYPE` and `MILLPOND_INCOMPATIBLE_VERSION` if the keys hold
 * something else; those of the connection.
 *
 * Threads: any.
 */
millpond_status millpond_tasks_queue_stats(millpond_tasks_store *store,
                                           const millpond_tasks_filter *filter,
                                           millpond_tasks_result **result,
                                           millpond_error **error);

/**
 * Pauses a queue: claims find nothing in it, as if it held no available task, until it is
 * resumed. Everything else continues: tasks are inserted, changed and renewed, leases end and
 * expire, and workers finish the tasks that they hold. The pause is kept in the store, whether
 * the queue holds tasks or not, and `millpond_tasks_queue_stats` shows it: a queue that is
 * paused exists, even if no task was ever in it.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for names beyond their limits; `MILLPOND_WRONG_TYPE` and
 * `MILLPOND_INCOMPATIBLE_VERSION` if the keys hold something else; those of the connection.
 *
 * Threads: any.
 */
millpond_status millpond_tasks_pause(millpond_tasks_store *store,
                                     const char *queue,
                                     size_t queue_length,
                                     millpond_error **error);

/**
 * Ends the `millpond_tasks_pause` of a queue, if it is paused, and wakes the claims that wait
 * for its tasks.
 *
 * Errors: as `millpond_tasks_pause`.
 *
 * Threads: any.
 */
millpond_status millpond_tasks_resume(millpond_tasks_store *store,
                                      const char *queue,
                                      size_t queue_length,
                                      millpond_error **error);

/**
 * Deletes the tasks of a queue that match a filter, one step per call. A step looks at up to
 * `limit` tasks by time and id, and returns how many it deleted and the position where the
 * next step continues. So a caller can watch the progress, stop after any step, and limit the
 * rate by waiting between steps. Tasks that another claimant holds are kept, unless
 * `include_held` is set.
 *
 * `result` is set to what was found, which the caller frees with `millpond_tasks_result_free`,
 * or on failure to NULL. `filter` may be NULL.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for names beyond their limits and a limit of 0 or above
 * 2,000; `MILLPOND_WRONG_TYPE` and `MILLPOND_INCOMPATIBLE_VERSION` if the keys hold something
 * else; those of the connection.
 *
 * Delivery: after `MILLPOND_CONNECTION_LOST` or `MILLPOND_TIMEOUT` the step may have been
 * done. It can be repeated: it finds what is left.
 *
 * Threads: any.
 */
millpond_status millpond_tasks_purge(millpond_tasks_store *store,
                                     const char *queue,
                                     size_t queue_length,
                                     const millpond_task_filter *filter,
                                     millpond_tasks_result **result,
                                     millpond_error **error);

/**
 * Moves tasks that match a filter from one queue to another, one step per call like
 * `millpond_tasks_purge`. They keep everything but their version, including their time,
 * claimant, attempts and err. If a job holds a task that is moved, the job is lost.
 *
 * `result` is set to what was found, which the caller frees with `millpond_tasks_result_free`,
 * or on failure to NULL. `filter` may be NULL.
 *
 * Errors: as `millpond_tasks_purge`; also `MILLPOND_INVALID_ARGUMENT` for a move to the same
 * queue.
 *
 * Delivery: after `MILLPOND_CONNECTION_LOST` or `MILLPOND_TIMEOUT` the step may have been
 * done. It can be repeated: it finds what is left.
 *
 * Threads: any.
 */
millpond_status millpond_tasks_move_tasks(millpond_tasks_store *store,
                                          const char *queue,
                                          size_t queue_length,
                                          const char *to,
                                          size_t to_length,
                                          const millpond_task_filter *filter,
                                          millpond_tasks_result **result,
                                          millpond_error **error);

/**
 * Moves tasks as `millpond_tasks_move_tasks` does, and clears their attempts and err: for
 * tasks of an error queue, such as `inbox/err`, that should be tried again. They keep their
 * time, so tasks that are available keep their age.
 *
 * One call is one step, which looks at up to the limit of its filter. To redrive at a rate,
 * such as 100 tasks a second, set that number as the limit and wait a second between calls,
 * until a step returns no next position. You can stop after any step: each one is atomic, and
 * the remaining tasks stay where they are.
 *
 * `result` is set to what was found, which the caller frees with `millpond_tasks_result_free`,
 * or on failure to NULL. `filter` may be NULL.
 *
 * Errors: as `millpond_tasks_move_tasks`.
 *
 * Delivery: after `MILLPOND_CONNECTION_LOST` or `MILLPOND_TIMEOUT` the step may have been
 * done. It can be repeated: it finds what is left.
 *
 * Threads: any.
 */
millpond_status millpond_tasks_redrive(millpond_tasks_store *store,
                                       const char *queue,
                                       size_t queue_length,
                                       const char *to,
                                       size_t to_length,
                                       const millpond_task_filter *filter,
                                       millpond_tasks_result **result,
                                       millpond_error **error);

/**
 * Leases all documents with these primary keys, or none if another claimant holds one of them.
 * They are in the order of the given keys, and within one key sorted by secondary key. The
 * claimant that holds them can claim them again.
 *
 * `result` is set to what was found, which the caller frees with `millpond_tasks_result_free`,
 * or on failure to NULL. `lease_ms`: how long to lease, at most 100 years; `MILLPOND_NOT_SET`
 * is 30,000.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for an empty key, no key or more than 1,000, and names
 * beyond their limits; `MILLPOND_DEPENDENCY` if another claimant holds one of the documents;
 * those of the connection.
 *
 * Delivery: after `MILLPOND_CONNECTION_LOST` or `MILLPOND_TIMEOUT` they may have been leased;
 * claiming them again is safe.
 *
 * Threads: any.
 */
millpond_status millpond_tasks_claim_docs(millpond_tasks_store *store,
                                          const char *namespace_name,
                                          size_t namespace_name_length,
                                          const millpond_bytes *keys,
                                          size_t key_count,
                                          int64_t lease_ms,
                                          millpond_tasks_result **result,
                                          millpond_error **error);

/**
 * Inserts a document, or replaces the content of the document with the same id, in one step,
 * and returns it as it is now. Without an explicit `id`, that is the document with the same
 * keys. A claimant that holds the document keeps holding it.
 *
 * `result` is set to what was inserted and changed, which the caller frees with
 * `millpond_tasks_result_free`, or on failure to NULL. `result` may be NULL.
 *
 *     millpond_new_doc doc;
 *     millpond_new_doc_init(&doc, sizeof doc);
 *     doc.namespace_name = (millpond_bytes){"rates", 5};
 *     doc.key = (millpond_bytes){"eur", 3};
 *     doc.content = (millpond_bytes){"1.1", 3};
 *     status = millpond_tasks_put_doc(store, &doc, NULL, &error);
 *
 * Errors: as `millpond_tasks_modify`; `MILLPOND_INVALID_ARGUMENT` also for a document without
 * a content; `MILLPOND_DEPENDENCY` if another claimant holds the document, or one with other
 * keys has its id.
 *
 * Delivery: after `MILLPOND_CONNECTION_LOST` or `MILLPOND_TIMEOUT` it may have been done; if
 * it is sent again, it overwrites what others have put since.
 *
 * Threads: any.
 */
millpond_status millpond_tasks_put_doc(millpond_tasks_store *store,
                                       const millpond_new_doc *doc,
                                       millpond_tasks_result **result,
                                       millpond_error **error);

/**
 * The documents with these ids, in the same order; missing ones are left out.
 *
 * `result` is set to what was found, which the caller frees with `millpond_tasks_result_free`,
 * or on failure to NULL.
 *
 * Errors: as `millpond_tasks_fetch`.
 *
 * Threads: any.
 */
millpond_status millpond_tasks_fetch_docs(millpond_tasks_store *store,
                                          const char *namespace_name,
                                          size_t namespace_name_length,
                                          const millpond_bytes *ids,
                                          size_t id_count,
                                          millpond_tasks_result **result,
                                          millpond_error **error);

/**
 * A page of a namespace's documents, by primary key, secondary key and id.
 *
 * `result` is set to what was found, which the caller frees with `millpond_tasks_result_free`,
 * or on failure to NULL. `query` may be NULL.
 *
 * Errors: as `millpond_tasks_list`.
 *
 * Threads: any.
 */
millpond_status millpond_tasks_list_docs(millpond_tasks_store *store,
                                         const char *namespace_name,
                                         size_t namespace_name_length,
                                         const millpond_doc_query *query,
                                         millpond_tasks_result **result,
                                         millpond_error **error);

/**
 * Statistics of the namespaces that hold documents, by name.
 *
 * `result` is set to what was found, which the caller frees with `millpond_tasks_result_free`,
 * or on failure to NULL. `filter` may be NULL.
 *
 * Errors: as `millpond_tasks_queue_stats`.
 *
 * Threads: any.
 */
millpond_status millpond_tasks_namespace_stats(millpond_tasks_store *store,
                                               const millpond_tasks_filter *filter,
                                               millpond_tasks_result **result,
                                               millpond_error **error);

/**
 * The time on the clock that decides when tasks become available and leases expire, in
 * milliseconds since the Unix epoch. `time` is set to the result.
 *
 * Errors: only those of the connection.
 *
 * Threads: any.
 */
millpond_status millpond_tasks_time(millpond_tasks_store *store,
                                    uint64_t *time,
                                    millpond_error **error);

/**
 * Frees a store. NULL and what was freed before are fine.
 *
 * Loops and jobs that were created from it stay usable.
 *
 * Threads: any.
 */
void millpond_tasks_store_free(millpond_tasks_store *store);

/**
 * A loop of claims that yields leased tasks, one at a time or in batches, and can wait for
 * them. See `millpond_tasks_claims`. Makes no call yet.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a lease below 0, for a `wait_ms` below -1, and for a
 * name that is not UTF-8. Other limits are checked by `millpond_tasks_claims_next`.
 *
 * `claims` is set to a handle, which the caller frees with `millpond_tasks_claims_free`, or on
 * failure to NULL. `lease_ms`: how long tasks are leased; 30 seconds by default.
 * `MILLPOND_NOT_SET`: the default. `max`: up to `max` tasks per batch; one by default.
 * `wait_ms`: waits up to `wait_ms` milliseconds for a task when none is available, instead of
 * ending immediately; the time starts again with each batch. All waiting loops of a process
 * share one connection. A task that becomes available, by a step or because its time has come,
 * wakes one of them. 0 does not wait, -1 waits without limit. `millpond_close` on the client
 * ends the wait.
 *
 * Threads: any.
 */
millpond_status millpond_tasks_claims_new(millpond_tasks_store *store,
                                          const millpond_bytes *queues,
                                          size_t queue_count,
                                          int64_t lease_ms,
                                          size_t max,
                                          int64_t wait_ms,
                                          millpond_tasks_claims **claims,
                                          millpond_error **error);

/**
 * Leases the next batch.
 *
 * Errors: as `millpond_tasks_claim`.
 *
 * Delivery: as `millpond_tasks_claim`.
 *
 * `result` is set to what was found, which the caller frees with `millpond_tasks_result_free`;
 * to NULL on failure, and also on success when the loop is over. After an error that a retry
 * can fix (see `millpond_error_retry`) the loop can be continued.
 *
 * Threads: one at a time; see `millpond_tasks_claims`.
 */
millpond_status millpond_tasks_claims_next(millpond_tasks_claims *claims,
                                           millpond_tasks_result **result,
                                           millpond_error **error);

/**
 * Frees the loop. NULL and what was freed before are fine.
 *
 * Tasks that were neither deleted nor changed stay leased until their leases expire.
 *
 * Threads: any.
 */
void millpond_tasks_claims_free(millpond_tasks_claims *claims);

/**
 * Whether the lease is lost, because a renewal was refused, because none has succeeded for a
 * whole lease, or because a run has ended the job after its `timeout`. If so, stop working:
 * ending the job is refused. `lost` is set to the result.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not one.
 *
 * Threads: any.
 */
millpond_status millpond_tasks_job_is_lost(const millpond_tasks_job *job,
                                           bool *lost,
                                           millpond_error **error);

/**
 * Whether this is the last attempt that the worker's `max_attempts` allows: a failure puts the
 * task aside, into the error queue. `last_attempt` is set to the result.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not one.
 *
 * Threads: any.
 */
millpond_status millpond_tasks_job_is_last_attempt(const millpond_tasks_job *job,
                                                   bool *last_attempt,
                                                   millpond_error **error);

/**
 * How much longer the handler may work under the worker's `timeout_ms`; -1 means without
 * limit. Sends nothing.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not one.
 *
 * Threads: any.
 */
millpond_status millpond_tasks_job_time_left_ms(const millpond_tasks_job *job,
                                                int64_t *time_left_ms,
                                                millpond_error **error);

/**
 * Whether the task was cancelled, as of the last renewal. If so, stop working: a handler that
 * fails now ends the job, and the task is deleted. Always false in the child of a fork.
 * `cancelled` is set to the result.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not one.
 *
 * Threads: any.
 */
millpond_status millpond_tasks_job_is_cancelled(const millpond_tasks_job *job,
                                                bool *cancelled,
                                                millpond_error **error);

/**
 * Whether one of the methods that end the job has succeeded. Sends nothing. `ended` is set to
 * the result.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not one.
 *
 * Threads: any.
 */
millpond_status millpond_tasks_job_is_ended(const millpond_tasks_job *job,
                                            bool *ended,
                                            millpond_error **error);

/**
 * Leases all documents with these primary keys until the job ends, or none of them. No other
 * job gets them in that time. The end of the job releases them, unless its modification
 * deletes them or sets until when they are held.
 *
 * Claim all that a job needs in one call. Jobs that claim one key after another can wait for
 * each other, so every wait ends after 15 to 30 s, at random, even a wait without a limit: the
 * job whose wait ends first gives back its task, and with it the documents that it holds.
 *
 * Waiters are not served in order: the claimant that held the documents may get them again
 * first. After `MILLPOND_DEPENDENCY`, end the job with `millpond_tasks_job_fail` and the
 * error's message: that releases the task without counting an attempt.
 *
 * `result` is set to what was found, which the caller frees with `millpond_tasks_result_free`,
 * or on failure to NULL. `wait_ms`: how long to wait for documents that other claimants hold,
 * at most 30 seconds; without it the call is refused immediately; 0 does not wait, -1 is the
 * longest. `millpond_close` on the client ends the wait.
 *
 * Errors: as `millpond_tasks_claim_docs`; `MILLPOND_DEPENDENCY` if another claimant holds one
 * of them, in which case none is leased: a handler that passes this error on has not failed,
 * and the task is given back, as `millpond_tasks_job_fail` says; `MILLPOND_LEASE_LOST` if the
 * job has ended, or ends during the call: nothing is held then.
 *
 * Threads: any.
 */
millpond_status millpond_tasks_job_claim_docs(millpond_tasks_job *job,
                                              const char *namespace_name,
                                              size_t namespace_name_length,
                                              const millpond_bytes *keys,
                                              size_t key_count,
                                              int64_t wait_ms,
                                              millpond_tasks_result **result,
                                              millpond_error **error);

/**
 * Ends the job with a modification, which applies to the newest versions of the task and the
 * documents that the job holds. The task is deleted unless the modification changes it.
 *
 * `result` is set to what was inserted and changed, which the caller frees with
 * `millpond_tasks_result_free`, or on failure to NULL. `result` may be NULL.
 *
 * Errors: as `millpond_tasks_modify`; `MILLPOND_LEASE_LOST` if the lease was lost.
 *
 * Delivery: after an error it is as with `millpond_tasks_modify`. The call can be repeated, or
 * the job ended in another way, while the lease lasts; the lease is no longer renewed.
 * `MILLPOND_LEASE_LOST` after a connection error can mean that the earlier call was in fact
 * done.
 *
 * Threads: any.
 */
millpond_status millpond_tasks_job_finish(millpond_tasks_job *job,
                                          const millpond_tasks_modification *modification,
                                          millpond_tasks_result **result,
                                          millpond_error **error);

/**
 * Ends the job and deletes the task.
 *
 * Errors: as `millpond_tasks_job_finish`.
 *
 * Threads: any.
 */
millpond_status millpond_tasks_job_done(millpond_tasks_job *job, millpond_error **error);

/**
 * Ends the job as an error of its handler does: as `millpond_tasks_job_retry`, with this text
 * as the reason. There are two exceptions, in which the job has not failed. If the text
 * contains the error of the job's last claim of documents, because another claimant held one,
 * the task is given back untried for a short random time: 8 to 16 ms, doubled each time its
 * worker finds no document free, up to 128 ms. If the text contains the error that refused an
 * end of the job, and the only reason was documents that others had changed, the task is given
 * back untried for 10 to 100 ms, with a growing delay. If this happens 20 times in a row in
 * one run, the last time is an attempt.
 *
 * Errors: as `millpond_tasks_job_finish`.
 *
 * Threads: any.
 */
millpond_status millpond_tasks_job_fail(millpond_tasks_job *job,
                                        const char *err,
                                        size_t err_length,
                                        millpond_error **error);

/**
 * Ends the job and postpones the task for another attempt, as set on the Worker, or moves it
 * to the error queue if that was the last.
 *
 * `delay_ms`: how long until the task is available again, instead of the worker's delay;
 * `MILLPOND_NOT_SET`: as said above.
 *
 * Errors: as `millpond_tasks_job_finish`.
 *
 * Threads: any.
 */
millpond_status millpond_tasks_job_retry(millpond_tasks_job *job,
                                         const char *err,
                                         size_t err_length,
                                         int64_t delay_ms,
                                         millpond_error **error);

/**
 * Ends the job and moves the task to this queue, with one more attempt and this reason.
 *
 * Errors: as `millpond_tasks_job_finish`.
 *
 * Threads: any.
 */
millpond_status millpond_tasks_job_move(millpond_tasks_job *job,
                                        const char *queue,
                                        size_t queue_length,
                                        const char *err,
                                        size_t err_length,
                                        millpond_error **error);

/**
 * Ends the job and gives the task back untried. It is available again after 100 milliseconds,
 * shortened at random by up to half, so that it is not handed out and given back in a tight
 * loop. This counts neither as an attempt nor as an expired lease.
 *
 * `delay_ms`: how long until the task is available again; 0 is immediately, and without it the
 * time is random; `MILLPOND_NOT_SET`: as said above.
 *
 * Errors: as `millpond_tasks_job_finish`.
 *
 * Threads: any.
 */
millpond_status millpond_tasks_job_release(millpond_tasks_job *job,
                                           int64_t delay_ms,
                                           millpond_error **error);

/**
 * Frees a job. NULL and what was freed before are fine.
 *
 * The task of a job that did not end stays leased until its lease expires; the lease is no
 * longer renewed.
 *
 * Threads: any.
 */
void millpond_tasks_job_free(millpond_tasks_job *job);

/**
 * Takes the next job, which the caller ends and frees.
 *
 * Errors: as `millpond_tasks_claim`.
 *
 * Delivery: as `millpond_tasks_claim`.
 *
 * `job` is set to the result, which the caller frees with `millpond_tasks_job_free`; to NULL
 * on failure, and also on success when the loop is over. After an error that a retry can fix
 * (see `millpond_error_retry`) the loop can be continued.
 *
 * Threads: one at a time; see `millpond_tasks_jobs`.
 */
millpond_status millpond_tasks_jobs_next(millpond_tasks_jobs *jobs,
                                         millpond_tasks_job **job,
                                         millpond_error **error);

/**
 * Frees the loop. NULL and what was freed before are fine.
 *
 * Its jobs stay usable.
 *
 * Threads: any.
 */
void millpond_tasks_jobs_free(millpond_tasks_jobs *jobs);

/**
 * Inserts one task that is available immediately. `value` is its JSON text, or NULL for none.
 *
 * `result` is set to the task, which the caller frees with `millpond_tasks_result_free`, or on
 * failure to NULL. `result` may be NULL.
 *
 * Errors: as `millpond_tasks_modify`.
 *
 * Delivery: as `millpond_tasks_modify`.
 *
 * Threads: any.
 */
millpond_status millpond_tasks_insert(millpond_tasks_store *store,
                                      const char *queue,
                                      size_t queue_length,
                                      const char *value,
                                      size_t value_length,
                                      millpond_tasks_result **result,
                                      millpond_error **error);

/**
 * Leases up to `max` available tasks of these queues for `lease_ms` milliseconds (`MILLPOND_NOT_SET` is 30,000). Of
 * each queue one of the oldest is picked at random, the oldest with a probability of one half, so that a task that
 * fails repeatedly does not block the others; the order of the queues is random too. With a `wait_ms` of 0 it returns
 * immediately. Otherwise, if no task is available, it waits up to `wait_ms` milliseconds, or without limit for -1; it
 * does not poll. `millpond_close` on the client ends the wait.
 *
 * `result` is set to the tasks, which the caller frees with `millpond_tasks_result_free`. It is
 * set to NULL on failure, and also on success if there are no tasks.
 *
 *     millpond_bytes inbox = {"inbox", 5};
 *     millpond_tasks_result *result;
 *     status = millpond_tasks_claim(store, &inbox, 1, MILLPOND_NOT_SET, 1, 0, &result, &error);
 *     if (status == MILLPOND_OK && result == NULL)
 *         puts("nothing to do");
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for no queue or more than 1,000, names beyond their limits,
 * a lease below 0 or above 100 years, a `max` of 0 or above 1,000, and a `wait_ms` below -1;
 * `MILLPOND_WRONG_TYPE` and `MILLPOND_INCOMPATIBLE_VERSION` if the keys hold something else;
 * `MILLPOND_CANCELLED` if `millpond_on_interrupt` asked for it; `MILLPOND_CLOSED` once the client
 * was closed; those of the connection.
 *
 * Delivery: at least once. A task is available again when its lease expires, unless it was deleted
 * or changed before. After `MILLPOND_CONNECTION_LOST` or `MILLPOND_TIMEOUT`, tasks may be leased
 * that no caller received.
 *
 * Threads: any.
 */
millpond_status millpond_tasks_claim(millpond_tasks_store *store,
                                     const millpond_bytes *queues,
                                     size_t queue_count,
                                     int64_t lease_ms,
                                     size_t max,
                                     int64_t wait_ms,
                                     millpond_tasks_result **result,
                                     millpond_error **error);

/**
 * Renews the leases of tasks and documents for `lease_ms` milliseconds (`MILLPOND_NOT_SET` is
 * 30,000) from now, all of them or none.
 *
 * `task_versions` and `doc_versions` receive one new version for each task and document, in
 * the same order. `cancelled` receives for each task whether it was cancelled, and `at_ms` the
 * time until which all are held, in milliseconds since the Unix epoch. Each may be NULL. On
 * failure no versions are written, so a new version may be written where the old one was read
 * from.
 *
 *     millpond_task_id held = {task->id, task->version};
 *     status = millpond_tasks_renew(store, &held, 1, NULL, 0, 60000, &held.version, NULL, NULL,
 *                                   NULL, &error);
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for nothing to renew, more than 100,000 entries, and a
 * task or document that is named twice; `MILLPOND_DEPENDENCY` if one of them does not exist at
 * that version or another claimant holds it, in which case nothing has changed; those of the
 * connection.
 *
 * Delivery: after `MILLPOND_CONNECTION_LOST` or `MILLPOND_TIMEOUT` all may have been renewed,
 * at versions that no caller received.
 *
 * Threads: any.
 */
millpond_status millpond_tasks_renew(millpond_tasks_store *store,
                                     const millpond_task_id *tasks,
                                     size_t task_count,
                                     const millpond_doc_id *docs,
                                     size_t doc_count,
                                     int64_t lease_ms,
                                     uint64_t *task_versions,
                                     uint64_t *doc_versions,
                                     bool *cancelled,
                                     uint64_t *at_ms,
                                     millpond_error **error);

/**
 * The document of these keys that was inserted without an explicit id. A document with an
 * explicit id is found by that id, with `millpond_tasks_fetch_docs`.
 *
 * `result` is set to the document, or to no document if it does not exist; the caller frees it
 * with `millpond_tasks_result_free`. On failure it is NULL. `secondary_key` may be NULL, for
 * none.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for an empty key and names beyond their limits;
 * `MILLPOND_WRONG_TYPE` and `MILLPOND_INCOMPATIBLE_VERSION` if the keys hold something else;
 * those of the connection.
 *
 * Threads: any.
 */
millpond_status millpond_tasks_get_doc(millpond_tasks_store *store,
                                       const char *namespace_name,
                                       size_t namespace_name_length,
                                       const char *key,
                                       size_t key_length,
                                       const char *secondary_key,
                                       size_t secondary_key_length,
                                       millpond_tasks_result **result,
                                       millpond_error **error);

/**
 * The names of all task stores that hold tasks or documents, or that have a paused queue, by
 * name.
 *
 * On Redis there is no list of stores, since maintaining one would make every insert more
 * expensive. Instead, this call scans all keys of the server, or, in a cluster, those of one
 * master after another. A step scans about 1,000 keys and takes less than a millisecond, so a
 * server with a million keys takes about 1,000 steps. A store that exists during the whole
 * scan is found, unless its slot moves to another server in that time. A user sees only the
 * stores that it may access.
 *
 * `names` is set to the names, which the caller frees with `millpond_keys_free`; on failure it
 * is set to NULL.
 *
 * Errors: `MILLPOND_UNAVAILABLE` if the cluster changes during the scan, in which case try
 * again; otherwise only those of the connection.
 *
 * Threads: any.
 */
millpond_status millpond_client_task_stores(millpond_client *client,
                                            millpond_keys **names,
                                            millpond_error **error);

/**
 * Everything that is not as a modification requires; NULL for an error that is not
 * `MILLPOND_DEPENDENCY`. Lives until the error is freed.
 *
 *     const millpond_tasks_dependency *refused = millpond_error_dependency(error);
 *     if (refused != NULL && refused->only_claims)
 *         puts("somebody else holds it: later, then");
 *
 * Threads: any.
 */
const millpond_tasks_dependency *millpond_error_dependency(const millpond_error *error);

/**
 * The task, as it was claimed: one of `tasks`. Lives until the job is freed. NULL for NULL and for
 * a freed or invalid handle.
 *
 * Threads: any.
 */
const millpond_tasks_data *millpond_tasks_job_data(const millpond_tasks_job *job);

/**
 * The task's newest version, which changes with each renewal; in the child of a fork, the version
 * that was claimed.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not a job.
 *
 * Threads: any.
 */
millpond_status millpond_tasks_job_version(const millpond_tasks_job *job,
                                           uint64_t *version,
                                           millpond_error **error);

/**
 * Fills options with their defaults. Does nothing for NULL.
 *
 * Threads: any.
 */
void millpond_tasks_worker_options_init(millpond_tasks_worker_options *options, size_t size);

/**
 * Makes a worker for these queues, which renews the tasks that it works on, retries those that failed, and moves those
 * that failed too often to the error queue; `options` may be NULL.
 *
 * `worker` is set to the worker, which the caller frees with `millpond_tasks_worker_free`, or on failure to NULL.
 * Sends nothing yet.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for an option below 0, a `wait_ms` below -1, and a name that is not UTF-8. Other
 * limits are checked when it starts to work.
 *
 * Threads: any.
 */
millpond_status millpond_tasks_worker_new(millpond_tasks_store *store,
                                          const millpond_bytes *queues,
                                          size_t queue_count,
                                          const millpond_tasks_worker_options *options,
                                          millpond_tasks_worker **worker,
                                          millpond_error **error);

/**
 * The jobs of a worker, one after another, for a loop that ends each one by a function of the job.
 * `millpond_close` on the client ends the wait for a job.
 *
 * `jobs` is set to the loop, which the caller frees with `millpond_tasks_jobs_free`, or on failure
 * to NULL. Sends nothing yet.
 *
 *     millpond_tasks_job *job;
 *     while (millpond_tasks_jobs_next(jobs, &job, &error) == MILLPOND_OK && job != NULL) {
 *         const char *failure = work_on(millpond_tasks_job_data(job)->tasks);
 *         status = failure == NULL
 *             ? millpond_tasks_job_done(job, &error)
 *             : millpond_tasks_job_fail(job, failure, strlen(failure), &error);
 *         if (status == MILLPOND_LEASE_LOST)
 *             millpond_error_free(error); // another claimant has the task
 *         else if (status != MILLPOND_OK)
 *             return failed(error);
 *         millpond_tasks_job_free(job);
 *     }
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not a worker.
 *
 * Threads: any.
 */
millpond_status millpond_tasks_worker_jobs(millpond_tasks_worker *worker,
                                           millpond_tasks_jobs **jobs,
                                           millpond_error **error);

/**
 * Frees a worker. NULL and what was freed before are fine. Runs and jobs that were created from the worker stay
 * usable, but can no longer be stopped.
 *
 * Threads: any.
 */
void millpond_tasks_worker_free(millpond_tasks_worker *worker);

/**
 * Starts a run, for a loop of your own in place of `millpond_tasks_worker_run`. With `drains` the run is over
 * when nothing is available, and everything is reported. Otherwise the run continues until the worker is stopped; with
 * `tells_all` it also reports what went well: jobs that are done, given back or moved.
 *
 * `run` is set to the run, which the caller frees with `millpond_tasks_run_free`, or on failure to NULL. Sends
 * nothing yet.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not a worker.
 *
 * Threads: any.
 */
millpond_status millpond_tasks_worker_start(millpond_tasks_worker *worker,
                                            bool drains,
                                            bool tells_all,
                                            millpond_tasks_run **run,
                                            millpond_error **error);

/**
 * Stops the worker's runs: they take no more jobs and wait for those that are running. A job that is still running
 * after `within_ms` is given back and available immediately, and is lost to its handler. 0 stops immediately; -1 waits
 * without limit. A second stop changes the time. A stopped worker stays stopped. Returns immediately.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a `within_ms` below -1.
 *
 * Threads: any, but not from a signal handler, which must not wait for a lock: for signals there is
 * `millpond_tasks_worker_stop_on_signals`.
 */
millpond_status millpond_tasks_worker_stop(millpond_tasks_worker *worker,
                                           int64_t within_ms,
                                           millpond_error **error);

/**
 * Makes SIGTERM and SIGINT stop the worker, as `millpond_tasks_worker_stop` does with this `within_ms`. A second
 * signal stops it immediately, and a third one does what signals did before. Another call starts over, with its own
 * time. All of this ends when the worker is freed.
 *
 * From this call on, a native thread waits for the signals. Handlers that are already installed are called as well; a
 * handler that the program installs later replaces this one. In the child of a fork, signals do what they did before.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a `within_ms` below -1; `MILLPOND_INTERNAL` if the system has no
 * room for a pipe or a thread.
 *
 * Threads: any; not from a signal handler.
 */
millpond_status millpond_tasks_worker_stop_on_signals(millpond_tasks_worker *worker,
                                                      int64_t within_ms,
                                                      millpond_error **error);

/**
 * Takes what comes next: a job to work on, which the caller ends with `millpond_tasks_run_end` and then frees,
 * or a report of what became of a job, which the caller frees. Waits while there is no job, and while `concurrency`
 * jobs are running.
 *
 * One of `job` and `report` is set; both are NULL on failure, and also on success when the run is over.
 *
 * Errors: the non-retryable error that ended the run, for one of the callers; `MILLPOND_CANCELLED` if
 * `millpond_on_interrupt` asked for it, after which the run continues.
 *
 * Threads: any number may wait here.
 */
millpond_status millpond_tasks_run_next(millpond_tasks_run *run,
                                        millpond_tasks_job **job,
                                        millpond_tasks_report **report,
                                        millpond_error **error);

/**
 * Ends a job of this run, and returns immediately; the result is reported. If `outcome` is NULL, the job is
 * done. Nothing happens to a job that was ended by one of its own functions, or that the run has given back.
 * The job still has to be freed.
 *
 * A modification that is invalid, or refused because something that it depends on has changed, is a failure:
 * the task is immediately given back as by `millpond_tasks_job_fail`.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a job that is not from this run, and for an invalid outcome, after
 * which the job can end in another way; `MILLPOND_FORKED` in the child of a fork.
 *
 * Delivery: if the connection fails, the end is sent again while the lease lasts.
 *
 * Threads: any.
 */
millpond_status millpond_tasks_run_end(millpond_tasks_run *run,
                                       millpond_tasks_job *job,
                                       const millpond_task_outcome *outcome,
                                       millpond_error **error);

/**
 * Sets `counts` to what became of the jobs of a run so far.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT`.
 *
 * Threads: any.
 */
millpond_status millpond_tasks_run_counts(millpond_tasks_run *run,
                                          millpond_job_counts *counts,
                                          millpond_error **error);

/**
 * Frees a run. NULL and what was freed before are fine. What the run still holds stays leased until the lease expires.
 * To avoid that, first stop the worker, and take what comes next until the run is over.
 *
 * Threads: any.
 */
void millpond_tasks_run_free(millpond_tasks_run *run);

/**
 * What is in a report. Lives until the report is freed. NULL for NULL and for a freed or invalid handle.
 *
 * Threads: any.
 */
const millpond_report_data *millpond_tasks_report_data(const millpond_tasks_report *report);

/**
 * Frees a report. NULL and what was freed before are fine.
 *
 * Threads: any.
 */
void millpond_tasks_report_free(millpond_tasks_report *report);

/**
 * Works in this thread until the worker is stopped: calls `handler` with one job after another and with `context`, and
 * ends each job as the handler says, unless the handler ended it itself. Other
 * threads may work for the same worker at the same time, with the same handlers: up to `concurrency` of them have a
 * job. If the server is unreachable, the run keeps trying until it responds.
 *
 * The handlers must return (no longjmp, no exception), and may call Millpond. An invalid `outcome` of a handler is a
 * failure of its job.
 *
 * `on_report` receives what becomes of all jobs, and reports that the server is unreachable or responds again. It may
 * be NULL: then problems and retries are printed to standard error, one line each. `counts` is set to what the run did
 * on all threads, even if the call fails; it may be NULL.
 *
 *     static void resize(millpond_tasks_job *job, millpond_task_outcome *outcome, void *context) {
 *         if (!resize_image(millpond_tasks_job_data(job)->tasks->value)) {
 *             outcome->end = MILLPOND_TASK_FAIL;
 *             outcome->err = (millpond_bytes){"no such image", 13};
 *         }
 *     }
 *     status = millpond_tasks_worker_run(worker, resize, NULL, NULL, NULL, &error);
 *
 * Errors: the non-retryable error that ended the run, for one of the threads, such as `MILLPOND_WRONG_TYPE` or
 * `MILLPOND_INVALID_ARGUMENT`. `MILLPOND_CANCELLED` if `millpond_on_interrupt` asked for it: the run still exists, and
 * the next call continues it.
 *
 * Delivery: as `millpond_tasks_claim`.
 *
 * Threads: any.
 */
millpond_status millpond_tasks_worker_run(millpond_tasks_worker *worker,
                                          millpond_task_handler handler,
                                          millpond_task_report_handler on_report,
                                          void *context,
                                          millpond_job_counts *counts,
                                          millpond_error **error);

/**
 * Works in this thread until nothing is available; otherwise like `millpond_tasks_worker_run`. For tests, and
 * for programs that cron starts. `counts` is set to what the run did; it may be NULL.
 *
 * Errors: as `millpond_tasks_worker_run`; also those of the connection.
 *
 * Delivery: as `millpond_tasks_claim`.
 *
 * Threads: any.
 */
millpond_status millpond_tasks_worker_drain(millpond_tasks_worker *worker,
                                            millpond_task_handler handler,
                                            millpond_task_report_handler on_report,
                                            void *context,
                                            millpond_job_counts *counts,
                                            millpond_error **error);

/**
 * Fills an event to publish with its defaults. Does nothing for NULL.
 *
 *     millpond_new_event event;
 *     millpond_new_event_init(&event, sizeof event);
 *     event.payload = (millpond_bytes){"remind", 6};
 *     event.key = (millpond_bytes){"customer-12", 11};
 *     event.delay_ms = 3600000;
 *
 * Threads: any.
 */
void millpond_new_event_init(millpond_new_event *options, size_t size);

/**
 * Fills it with the defaults. Does nothing for NULL.
 *
 * Threads: any.
 */
void millpond_event_config_change_init(millpond_event_config_change *options, size_t size);

/**
 * Fills a schedule with its defaults. Does nothing for NULL.
 *
 *     millpond_schedule schedule;
 *     millpond_schedule_init(&schedule, sizeof schedule);
 *     schedule.id = (millpond_bytes){"nightly", 7};
 *     schedule.cron = (millpond_bytes){"30 3 * * *", 10};
 *     schedule.zone = (millpond_bytes){"Europe/Berlin", 13};
 *
 * Threads: any.
 */
void millpond_schedule_init(millpond_schedule *options, size_t size);

/**
 * Fills it with the defaults. Does nothing for NULL.
 *
 * Threads: any.
 */
void millpond_event_query_init(millpond_event_query *options, size_t size);

/**
 * Fills it with the defaults. Does nothing for NULL.
 *
 * Threads: any.
 */
void millpond_event_redrive_filter_init(millpond_event_redrive_filter *options, size_t size);

/**
 * Fills it with the defaults. Does nothing for NULL.
 *
 * Threads: any.
 */
void millpond_event_purge_filter_init(millpond_event_purge_filter *options, size_t size);

/**
 * The queue of events with this name. Makes no call: a queue is created when it is first used,
 * with one partition and the defaults of `millpond_event_config_change`, unless it was
 * configured before.
 *
 * `queue` is set to a handle, which the caller frees with `millpond_events_queue_free`, or on
 * failure to NULL.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not one.
 *
 * Threads: any.
 */
millpond_status millpond_events_queue_new(millpond_client *client,
                                          const char *name,
                                          size_t name_length,
                                          millpond_events_queue **queue,
                                          millpond_error **error);

/**
 * The events with these ids, in the same order, with what they are waiting for; events that
 * have ended or never existed are left out. Creates no queue.
 *
 * An event is returned as the last step left it: one whose time has come or whose lease has
 * expired stays scheduled or leased until the next receive, and an expired event stays until
 * its turn comes.
 *
 * `result` is set to what was found, which the caller frees with
 * `millpond_events_result_free`, or on failure to NULL.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for more than 1,000,000 ids; `MILLPOND_WRONG_TYPE` if a
 * key holds something else; those of the connection.
 *
 * Threads: any.
 */
millpond_status millpond_events_fetch(millpond_events_queue *queue,
                                      const millpond_bytes *ids,
                                      size_t id_count,
                                      millpond_events_result **result,
                                      millpond_error **error);

/**
 * Lists the events in one state over all partitions, by the time of the state and by id, page
 * by page. Does not make the queue.
 *
 * Events that are `MILLPOND_EVENT_BEHIND` another one are listed by its key, in the order in
 * which they come; a page after an event that no longer exists begins with the first one. A
 * page may hold fewer events than its limit and still have a next one: it ends when its
 * payloads exceed 8 MiB, and leaves out what was cancelled in a long lane. Events are as the
 * last step left them, as for a `millpond_events_fetch`.
 *
 * The pages together have each event once that is in the state for as long as they are read,
 * also if the queue is resharded meanwhile. An event that was ready or behind another one is
 * scheduled by its time once it has moved, until a consumer receives; while the events of a
 * key move, its list of those behind may be empty.
 *
 * `result` is set to what was found, which the caller frees with
 * `millpond_events_result_free`, or on failure to NULL. `query` may be NULL.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a limit of 0 or above 1,000; for events that are
 * behind another one without a key or with time limits, and for others with a key;
 * `MILLPOND_WRONG_TYPE` if a key holds something else; those of the connection.
 *
 * Threads: any.
 */
millpond_status millpond_events_list(millpond_events_queue *queue,
                                     uint32_t state,
                                     const millpond_event_query *query,
                                     millpond_events_result **result,
                                     millpond_error **error);

/**
 * Makes dead letters events again, which are ready or come behind the others of their keys,
 * and returns the result for each.
 *
 * Their attempts and crashes count from 0 again, and their number of times `redriven` rises by
 * one. Such an event keeps its id, no longer expires, and does not take its deduplication id
 * again, which another event may have by now. Its earlier deliveries can no longer be ended.
 *
 * `outcomes` is where `id_count` of them go; it may be NULL. On failure they are all 0.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for an event that is listed twice, and for more than
 * 1,000,000; those of the connection.
 *
 * Delivery: a step that is sent again after a lost connection does not redrive an event that
 * has died again since.
 *
 * Threads: any.
 */
millpond_status millpond_events_redrive(millpond_events_queue *queue,
                                        const millpond_bytes *ids,
                                        size_t id_count,
                                        uint32_t *outcomes,
                                        millpond_error **error);

/**
 * Makes all dead letters that match the filter events again, as `millpond_events_redrive`
 * does, and `number` is set to how many. Those of each partition are redriven in the order in
 * which they died. Events that die while this runs stay dead. Does not make the queue. If the
 * queue is resharded meanwhile, each is redriven once, and the call helps to move what is on
 * its way.
 *
 * With `per_second` they fire one after the other at that rate, so that what they failed for
 * is not flooded; until then they are scheduled, and can be cancelled and rescheduled.
 *
 * `number` may be NULL. `filter` may be NULL.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a filter with a maximum of 0 or a rate outside its
 * limits; `MILLPOND_WRONG_TYPE` if a key holds something else; those of the connection.
 *
 * Delivery: the call takes steps of up to 1,000 dead letters each: after an error some may
 * have been redriven.
 *
 * Threads: any.
 */
millpond_status millpond_events_redrive_all(millpond_events_queue *queue,
                                            const millpond_event_redrive_filter *filter,
                                            uint64_t *number,
                                            millpond_error **error);

/**
 * Removes all events of a state, or those that match the filter, and `number` is set to how
 * many. No consumer is told. Does not make the queue.
 *
 * Leased events are never removed, so `MILLPOND_EVENT_LEASED` is refused. Events that are
 * `MILLPOND_EVENT_BEHIND` another event are removed by its key. When the first event of a key
 * is removed, the next one becomes ready, and stays. The deduplication ids of removed events
 * are remembered as long as those of others.
 *
 * If the queue is resharded meanwhile, no event of the state is left, and the call helps to
 * move what is on its way. An event that was ready or behind another one is scheduled by its
 * time once it has moved, until a consumer receives: purge what is scheduled, too, or after
 * the reshard.
 *
 * `number` may be NULL. `filter` may be NULL.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for events that are leased, for events that are behind
 * another one without a key or with a time limit, and for others with a key;
 * `MILLPOND_WRONG_TYPE` if a key holds something else; those of the connection.
 *
 * Delivery: the call takes steps of up to 1,000 events each: after an error some may have been
 * removed.
 *
 * Threads: any.
 */
millpond_status millpond_events_purge(millpond_events_queue *queue,
                                      uint32_t state,
                                      const millpond_event_purge_filter *filter,
                                      uint64_t *number,
                                      millpond_error **error);

/**
 * Deletes the queue with all its events, including leased ones, its configuration and what it
 * remembers. A delivery that ends later finds its event gone. Using the queue afterwards makes
 * it again, as a new one. On a server a small key of each partition stays for ten minutes, so
 * that calls that began before find the queue deleted.
 *
 * Errors: `MILLPOND_WRONG_TYPE` if a key holds something else; those of the connection.
 *
 * Delivery: the call takes several steps. If it fails, part of the queue may be left. The next
 * `delete` removes the rest, and so does the next call that uses the queue, which then makes
 * it again.
 *
 * Threads: any.
 */
millpond_status millpond_events_delete(millpond_events_queue *queue, millpond_error **error);

/**
 * Makes a command that publishes an event, for a transaction of your own: a change of data on
 * the same Redis and the event that announces it happen together or not at all. It sends
 * nothing.
 *
 * The command is a list of byte strings, `EVAL` and its arguments, to queue after a `MULTI`
 * over a connection to the same database. Whenever it runs, it publishes as
 * `millpond_events_publish` does: it makes the queue if that does not exist, finds the
 * partition if the queue was resharded, and counts a delay from then on. Its reply is the id
 * of the event as text, or for a duplicate the id of the existing event.
 *
 * Redis does not roll back when a command of a transaction fails, so this command does not
 * fail because of what the queue holds. It adds an event even to a full queue. An event that
 * is to be refused if its deduplication id is taken is refused by this call.
 *
 * On a cluster a transaction stays in one slot: the keys that it changes and the queue's name
 * need the same `{tag}`.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for an event beyond its limits, for
 * `MILLPOND_IF_EXISTS_ERROR`, and with `memory:` and `file:`, which have no transactions;
 * `MILLPOND_CROSS_SLOT` for a name without a tag on a cluster.
 *
 * `redisCommandArgv` of hiredis takes the pointers and the lengths of the list's entries.
 *
 * `call` is set to the command, which the caller frees with `millpond_keys_free`, or on
 * failure to NULL. `call` may be NULL.
 *
 *     millpond_keys *call;
 *     status = millpond_events_publish_call(queue, &event, &call, &error);
 *     if (status == MILLPOND_OK) {
 *         send_in_transaction(millpond_keys_data(call), millpond_keys_length(call));
 *         millpond_keys_free(call);
 *     }
 *
 * Delivery: the command publishes each time it runs; with a deduplication id, a repeated
 * transaction publishes once. The command fails, while the rest of the transaction does not,
 * if the queue is being deleted, and if a key of the queue holds something else or was written
 * by a version that this one does not know.
 *
 * Threads: any.
 */
millpond_status millpond_events_publish_call(millpond_events_queue *queue,
                                             const millpond_new_event *event,
                                             millpond_keys **call,
                                             millpond_error **error);

/**
 * Publishes an event, which fires now or at a given time.
 *
 * `result` is set to what became of each, which the caller frees with
 * `millpond_events_result_free`, or on failure to NULL. `result` may be NULL.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for an event beyond its limits, before anything is sent;
 * `MILLPOND_ALREADY_EXISTS` if its deduplication id is taken and the event asks for this
 * error; `MILLPOND_QUEUE_FULL` if its partition holds as much as its configuration allows;
 * `MILLPOND_WRONG_TYPE` if a key holds something else. In all cases nothing was added. Also
 * those of the connection.
 *
 * Delivery: a step that is sent again after a lost connection adds nothing twice. After
 * `MILLPOND_CONNECTION_LOST` or `MILLPOND_TIMEOUT` the event may or may not have been added;
 * if it is published again with the same deduplication id, it is there once.
 *
 * Threads: any.
 */
millpond_status millpond_events_publish(millpond_events_queue *queue,
                                        const millpond_new_event *event,
                                        millpond_events_result **result,
                                        millpond_error **error);

/**
 * Publishes many events, each as `millpond_events_publish` would, and returns the result for
 * each, in order.
 *
 * `result` is set to what became of each, which the caller frees with
 * `millpond_events_result_free`, or on failure to NULL.
 *
 * Errors: as `millpond_events_publish`; also `MILLPOND_INVALID_ARGUMENT` for more than
 * 1,000,000 events or 1 GiB.
 *
 * Delivery: the events of each partition take one atomic step for up to 1,000 events and 8
 * MiB, and several for more: after an error some of these steps may have been done.
 *
 * Threads: any.
 */
millpond_status millpond_events_publish_many(millpond_events_queue *queue,
                                             const millpond_new_event *events,
                                             size_t event_count,
                                             millpond_events_result **result,
                                             millpond_error **error);

/**
 * Leases up to `max` events that are ready, those that have been ready for longest first, for
 * as long as the configuration says. No other consumer gets them until they fail or the lease
 * expires. Fewer than `max` mean that no other event may be received now, that these have more
 * than 8 MiB, or that 256 steps were not enough for all that had become due.
 *
 * `result` is set to what was found, which the caller frees with
 * `millpond_events_result_free`, or on failure to NULL.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a `max` of 0 or above 1,000; `MILLPOND_WRONG_TYPE`
 * if a key holds something else; those of the connection.
 *
 * Delivery: at least once. After `MILLPOND_CONNECTION_LOST` or `MILLPOND_TIMEOUT` events may
 * have been leased that no caller received: they are delivered again when their lease expires.
 *
 * Threads: any.
 */
millpond_status millpond_events_receive(millpond_events_queue *queue,
                                        size_t max,
                                        millpond_events_result **result,
                                        millpond_error **error);

/**
 * Ends a delivery: the event is done, and it is deleted or kept for the `retention` of the
 * queue.
 *
 * Errors: `MILLPOND_LEASE_LOST` if the event was delivered again since, or its delivery ended
 * in another way. It is not an error if this delivery has already ended the event. Also those
 * of the connection.
 *
 * Delivery: an event whose lease has expired can still be acknowledged as long as no other
 * consumer has received it.
 *
 * Threads: any.
 */
millpond_status millpond_events_ack(millpond_events_queue *queue,
                                    const millpond_event_receipt *delivery,
                                    millpond_error **error);

/**
 * Reports that working on an event failed, and why. The event is delivered again after the
 * backoff of the configuration, or after this time; if that was its last attempt, it becomes a
 * dead letter. The other events of its key wait until then.
 *
 * The last 1,024 bytes of `err` are kept.
 *
 * Errors: as `millpond_events_ack`; `MILLPOND_INVALID_ARGUMENT` for a time above 100 years.
 *
 * Threads: any.
 */
millpond_status millpond_events_nack(millpond_events_queue *queue,
                                     const millpond_event_receipt *delivery,
                                     const char *err,
                                     size_t err_length,
                                     int64_t delay_ms,
                                     millpond_error **error);

/**
 * Gives an event back, as if it had not been delivered. It is available immediately or after
 * this time.
 *
 * Errors: as `millpond_events_nack`.
 *
 * Threads: any.
 */
millpond_status millpond_events_release(millpond_events_queue *queue,
                                        const millpond_event_receipt *delivery,
                                        int64_t delay_ms,
                                        millpond_error **error);

/**
 * Gives an event up: it becomes a dead letter for this reason, and the next event of its key
 * becomes ready.
 *
 * Errors: as `millpond_events_ack`.
 *
 * Threads: any.
 */
millpond_status millpond_events_dead_letter(millpond_events_queue *queue,
                                            const millpond_event_receipt *delivery,
                                            const char *reason,
                                            size_t reason_length,
                                            millpond_error **error);

/**
 * Ends many deliveries as `millpond_events_ack` does, and returns the result for each, in
 * order.
 *
 * `outcomes` is where `delivery_count` of them go; it may be NULL. On failure they are all 0.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for an event that is listed twice, and for more than
 * 1,000,000; those of the connection.
 *
 * Threads: any.
 */
millpond_status millpond_events_ack_many(millpond_events_queue *queue,
                                         const millpond_event_receipt *deliveries,
                                         size_t delivery_count,
                                         uint32_t *outcomes,
                                         millpond_error **error);

/**
 * Ends a delivery as `millpond_events_ack` does, and publishes follow-up events in the same
 * step: both or neither, but for follow-up events that belong to another partition, which are
 * published before. Follow-up events are never refused because the queue is full. Returns the
 * result for each event, in order.
 *
 * `result` is set to what became of each, which the caller frees with
 * `millpond_events_result_free`, or on failure to NULL.
 *
 * Errors: as `millpond_events_ack` and `millpond_events_publish_many`, in which case the
 * delivery has not ended and no follow-up event of its partition was added, but those of other
 * partitions may have been; `MILLPOND_LEASE_LOST` also for an event that has ended, since its
 * follow-up events can no longer be published. `MILLPOND_INVALID_ARGUMENT` for more than 100
 * events; nothing was done then.
 *
 * Delivery: in a queue with several partitions, follow-up events with other keys may belong to
 * another partition than the delivery. These are published first, and stay if the call fails
 * afterwards. A follow-up event with a key has a deduplication id that is derived from the
 * delivered event and from its place among the follow-up events, unless it has one of its own;
 * in other partitions the id is remembered for 24 hours. So if the call is repeated, or the
 * event delivered again, the same follow-up events in the same order are added once, also if
 * the number of partitions has changed.
 *
 * Threads: any.
 */
millpond_status millpond_events_ack_with(millpond_events_queue *queue,
                                         const millpond_event_receipt *delivery,
                                         const millpond_new_event *events,
                                         size_t event_count,
                                         millpond_events_result **result,
                                         millpond_error **error);

/**
 * Extends the leases of events: they last this long from now, or as long as the configuration
 * says. Returns for each whether it is still held.
 *
 * `outcomes` is where `delivery_count` of them go; it may be NULL. On failure they are all 0.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a lease below a millisecond or above 100 years, and
 * more than 1,000,000 events; those of the connection.
 *
 * Threads: any.
 */
millpond_status millpond_events_extend(millpond_events_queue *queue,
                                       const millpond_event_receipt *deliveries,
                                       size_t delivery_count,
                                       int64_t lease_ms,
                                       uint32_t *outcomes,
                                       millpond_error **error);

/**
 * Removes events that are not leased, whatever they wait for, and dead letters. With
 * `also_running`, the holders of leased events are told to stop when they next extend the
 * lease, and these events are not tried again. With `force`, leased events are removed too,
 * immediately: the next event of the key becomes ready, and what their holders do later is
 * refused with `MILLPOND_LEASE_LOST`. This is the call that takes a hung delivery away. The
 * deduplication id of an event that is cancelled is free at once. Returns the result for each.
 *
 * `outcomes` is where `id_count` of them go; it may be NULL. On failure they are all 0.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for an event that is listed twice, and for more than
 * 1,000,000; those of the connection.
 *
 * Delivery: after `MILLPOND_CONNECTION_LOST` or `MILLPOND_TIMEOUT` the events may or may not
 * have been cancelled; cancelling again is safe and says which: for ten minutes it says of an
 * event that was cancelled that it was removed, also of one whose holder stopped as it was
 * told. One that does not exist has ended in another way, such as by an `ack`. A partition
 * remembers up to 100,000 of them, and a reshard forgets those of the keys that it moves.
 *
 * Threads: any.
 */
millpond_status millpond_events_cancel(millpond_events_queue *queue,
                                       const millpond_bytes *ids,
                                       size_t id_count,
                                       bool also_running,
                                       bool force,
                                       uint32_t *outcomes,
                                       millpond_error **error);

/**
 * Reschedules events whose time has not come: they fire this long from now. One that waits to
 * be tried again is tried this long from now. Returns the result for each.
 *
 * `outcomes` is where `id_count` of them go; it may be NULL. On failure they are all 0.
 * `delay_ms`: how long from now.
 *
 * Errors: as `millpond_events_cancel`; `MILLPOND_INVALID_ARGUMENT` for a delay above 100
 * years.
 *
 * Threads: any.
 */
millpond_status millpond_events_reschedule(millpond_events_queue *queue,
                                           const millpond_bytes *ids,
                                           size_t id_count,
                                           uint64_t delay_ms,
                                           uint32_t *outcomes,
                                           millpond_error **error);

/**
 * Reschedules events whose time has not come, and those that wait to be tried again, to a time
 * in milliseconds since the Unix epoch; a time in the past is now. Returns the result for
 * each.
 *
 * `outcomes` is where `id_count` of them go; it may be NULL. On failure they are all 0.
 *
 * Errors: as `millpond_events_cancel`; `MILLPOND_INVALID_ARGUMENT` for a time after the year
 * 2199.
 *
 * Threads: any.
 */
millpond_status millpond_events_reschedule_at_ms(millpond_events_queue *queue,
                                                 const millpond_bytes *ids,
                                                 size_t id_count,
                                                 uint64_t at_ms,
                                                 uint32_t *outcomes,
                                                 millpond_error **error);

/**
 * How many events there are in each state, over all partitions. Does not make the queue.
 *
 * Partitions are read one after the other. If the queue is resharded meanwhile, each event is
 * counted once, unless events move faster than two partitions can be read, 16 times in a row:
 * then those that move just then may be counted twice or not at all.
 *
 * `result` is set to what was found, which the caller frees with
 * `millpond_events_result_free`, or on failure to NULL.
 *
 * Errors: `MILLPOND_WRONG_TYPE` if a key holds something else; those of the connection.
 *
 * Threads: any.
 */
millpond_status millpond_events_stats(millpond_events_queue *queue,
                                      millpond_events_result **result,
                                      millpond_error **error);

/**
 * Changes the configuration of the queue, and makes the queue if it does not exist. What the
 * change leaves out stays as it is, or has its default in a queue that is new: slowing a queue
 * undoes nothing else. Programs that configure different things do not undo each other;
 * programs that set the same thing to different values do, each time that one of them starts.
 * When the call returns, every partition has it. A program can make this call at each of its
 * starts: that ends neither a pause, unless it says so, nor a `millpond_events_reshard`, as
 * the number of partitions is that of a queue that is new. If the server cannot be reached,
 * the call fails; the run of a worker waits until the server responds.
 *
 * `change` may be NULL.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for what is beyond its limits, and for what does not go
 * with the rest of the configuration, such as a `concurrency` below the number of partitions
 * that the queue has, or a `burst` without a `rate`; those of the connection.
 *
 * Threads: any.
 */
millpond_status millpond_events_configure(millpond_events_queue *queue,
                                          const millpond_event_config_change *change,
                                          millpond_error **error);

/**
 * The configuration of the queue; NULL if the queue does not exist.
 *
 * `result` is set to what was found, which the caller frees with
 * `millpond_events_result_free`; to NULL on failure, and also on success if there is none.
 *
 * Errors: `MILLPOND_WRONG_TYPE` if a key holds something else; those of the connection.
 *
 * Threads: any.
 */
millpond_status millpond_events_config(millpond_events_queue *queue,
                                       millpond_events_result **result,
                                       millpond_error **error);

/**
 * Stops the delivery of events: when the call returns, no consumer receives an event. Leased
 * events can still be ended, and events can still be published.
 *
 * Errors: `MILLPOND_WRONG_TYPE` if a key holds something else; those of the connection.
 *
 * Threads: any.
 */
millpond_status millpond_events_pause(millpond_events_queue *queue, millpond_error **error);

/**
 * Resumes delivery after a `millpond_events_pause`.
 *
 * Errors: `MILLPOND_WRONG_TYPE` if a key holds something else; those of the connection.
 *
 * Threads: any.
 */
millpond_status millpond_events_resume(millpond_events_queue *queue, millpond_error **error);

/**
 * Changes the queue's number of partitions, and moves as few events as possible. The queue is
 * made if it does not exist.
 *
 * The queue stays in use, but the two partitions between which events move deliver nothing
 * until those events have arrived: some 40 s for a million events. Nothing is lost or
 * delivered out of order, and leases and their tokens stay valid. A repeated call continues
 * where an earlier one stopped. Consumers that wait for events also complete a move that no
 * caller drives any more, but begin no other one: until the call has returned, `config` shows
 * how far it is. Consumers of a `key_range` fail with `MILLPOND_INVALID_ARGUMENT` when a
 * partition owns only a part of it.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a number outside 1 to 1,024, or above the queue's
 * `concurrency`; `MILLPOND_WRONG_TYPE` if a key holds something else; those of the connection.
 *
 * Delivery: the call takes many steps. After an error some events have moved and the others
 * have not: make the call again.
 *
 * Threads: any.
 */
millpond_status millpond_events_reshard(millpond_events_queue *queue,
                                        size_t partitions,
                                        millpond_error **error);

/**
 * Does a part of `millpond_events_reshard`, of about 10,000 events at most, for a caller that
 * shows its progress or that may stop. `number` is set to how many events and other things
 * this call has moved; 0 if nothing is left to do. Call it until then, since two partitions
 * deliver nothing before that.
 *
 * `number` may be NULL.
 *
 * Errors: as `millpond_events_reshard`.
 *
 * Threads: any.
 */
millpond_status millpond_events_reshard_step(millpond_events_queue *queue,
                                             size_t partitions,
                                             uint64_t *number,
                                             millpond_error **error);

/**
 * Adds a schedule, or changes the one with its id; a schedule publishes an event at the times
 * of a calendar rule. An identical schedule is left as it is, so a program may put its
 * schedules whenever it starts; only if the program has newer data of time zones the ticks
 * that come are computed anew. It is the whole schedule that is put: what is left out has its
 * default, whatever the one before had. A paused schedule stays paused. `outcome` is set to
 * the result.
 *
 * No separate process fires schedules. A consumer that receives from the queue turns the ticks
 * that have come into events, so each tick fires once, however many processes there are. While
 * no consumer receives, nothing fires; what is due then fires late, as the schedule's `missed`
 * says.
 *
 * Schedules are stored with the queue: after a `millpond_events_delete` of the queue, a
 * `FLUSHALL` or another loss of the server's data they are gone, and nothing fires until a
 * program puts them again. If the server cannot be reached, the call fails, as
 * `millpond_events_configure` does.
 *
 * `outcome` may be NULL.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for an id that is empty or has more than 256 bytes, for
 * an invalid cron expression or time zone, for a schedule without a rule, and for a value
 * beyond its limits, before anything is sent; those of the connection.
 *
 * Delivery: a tick that is due fires once, according to the schedule that existed when it
 * came.
 *
 * Threads: any.
 */
millpond_status millpond_events_put_schedule(millpond_events_queue *queue,
                                             const millpond_schedule *schedule,
                                             uint32_t *outcome,
                                             millpond_error **error);

/**
 * Removes a schedule, and `found` is set to whether it existed. Events of ticks that have come
 * stay.
 *
 * `found` may be NULL.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for an id that is empty or too long; those of the
 * connection.
 *
 * Threads: any.
 */
millpond_status millpond_events_remove_schedule(millpond_events_queue *queue,
                                                const char *id,
                                                size_t id_length,
                                                bool *found,
                                                millpond_error **error);

/**
 * Reads a schedule, if it exists.
 *
 * `result` is set to what was found, which the caller frees with
 * `millpond_events_result_free`; to NULL on failure, and also on success if there is none.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for an id that is empty or too long; those of the
 * connection.
 *
 * Threads: any.
 */
millpond_status millpond_events_get_schedule(millpond_events_queue *queue,
                                             const char *id,
                                             size_t id_length,
                                             millpond_events_result **result,
                                             millpond_error **error);

/**
 * Reads all schedules, by their ids.
 *
 * `result` is set to what was found, which the caller frees with
 * `millpond_events_result_free`, or on failure to NULL.
 *
 * Errors: `MILLPOND_WRONG_TYPE` if a key holds something else; those of the connection.
 *
 * Threads: any.
 */
millpond_status millpond_events_list_schedules(millpond_events_queue *queue,
                                               millpond_events_result **result,
                                               millpond_error **error);

/**
 * Pauses a schedule: its ticks pass without events. `found` is set to whether it exists.
 *
 * `found` may be NULL.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for an id that is empty or too long; those of the
 * connection.
 *
 * Threads: any.
 */
millpond_status millpond_events_pause_schedule(millpond_events_queue *queue,
                                               const char *id,
                                               size_t id_length,
                                               bool *found,
                                               millpond_error **error);

/**
 * Resumes a schedule after a `millpond_events_pause_schedule`, with its first tick after now.
 * `found` is set to whether it exists.
 *
 * `found` may be NULL.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for an id that is empty or too long; those of the
 * connection.
 *
 * Threads: any.
 */
millpond_status millpond_events_resume_schedule(millpond_events_queue *queue,
                                                const char *id,
                                                size_t id_length,
                                                bool *found,
                                                millpond_error **error);

/**
 * Publishes an event of a schedule now, even if it is paused; its ticks stay as they are.
 * Returns the result, if there is such a schedule.
 *
 * `result` is set to what became of each, which the caller frees with
 * `millpond_events_result_free`; to NULL on failure, and also on success if there is none.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for an id that is empty or too long; those of the
 * connection.
 *
 * Threads: any.
 */
millpond_status millpond_events_trigger_schedule(millpond_events_queue *queue,
                                                 const char *id,
                                                 size_t id_length,
                                                 millpond_events_result **result,
                                                 millpond_error **error);

/**
 * Makes the schedules of an owner match a list: puts each of them, and removes all others that
 * were put for this owner. For a program that says at each start which schedules it has. The
 * revision counts for all of them: a call with a lower revision than an earlier call for this
 * owner changes nothing. An id is for one owner: of two that have it in their lists the one
 * with the higher revision gets it. Returns the result.
 *
 * `result` is set to what it came to, which the caller frees with
 * `millpond_events_result_free`, or on failure to NULL.
 *
 * Errors: as `millpond_events_put_schedule`; also for an owner that is empty, and for an id
 * that is listed twice.
 *
 * Delivery: the call is not one step: after an error a part of it may have been done, and the
 * same call again does the rest.
 *
 * Threads: any.
 */
millpond_status millpond_events_sync_schedules(millpond_events_queue *queue,
                                               const char *owner,
                                               size_t owner_length,
                                               uint64_t revision,
                                               const millpond_schedule *schedules,
                                               size_t schedule_count,
                                               millpond_events_result **result,
                                               millpond_error **error);

/**
 * Frees a queue. NULL and what was freed before are fine.
 *
 * Threads: any.
 */
void millpond_events_queue_free(millpond_events_queue *queue);

/**
 * The consumer's loop: batches of events, as they become ready. See
 * `millpond_events_deliveries`. Makes no call yet.
 *
 * `deliveries` is set to a handle, which the caller frees with
 * `millpond_events_deliveries_free`, or on failure to NULL. `lease_ms`: how long events are
 * leased; by default as long as the queue's configuration says. `MILLPOND_NOT_SET`: the
 * default. `max`: up to `max` events per batch; one by default. `wait_ms`: waits up to
 * `wait_ms` milliseconds for an event when none is ready, instead of ending immediately; the
 * time starts again with each batch. All waiting loops of a process share one connection. An
 * event that becomes ready, by a step or because its time has come, wakes one of them. 0 does
 * not wait, -1 waits without limit. `millpond_close` on the client ends the wait. `key_range`:
 * takes only events of this part of the key space, in the notation of Vitess: such as `-80`,
 * `40-80` or `80-`, or several parts, `-40,c0-`. It has to consist of whole partitions: the
 * two of a new queue own `-80` and `80-`, and twice as many partitions own halves of what they
 * owned. Any other `millpond_events_reshard` moves as little as possible, and so can leave a
 * partition with several parts, as the error says. An event with neither a key nor a
 * deduplication id belongs to some part. By default events come from all partitions. NULL: the
 * default.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a `wait_ms` below -1.
 *
 * Threads: any.
 */
millpond_status millpond_events_deliveries_new(millpond_events_queue *queue,
                                               int64_t lease_ms,
                                               size_t max,
                                               int64_t wait_ms,
                                               const char *key_range,
                                               size_t key_range_length,
                                               millpond_events_deliveries **deliveries,
                                               millpond_error **error);

/**
 * `result` is set to what was found, which the caller frees with
 * `millpond_events_result_free`; to NULL on failure, and also on success when the loop is
 * over. After an error that a retry can fix (see `millpond_error_retry`) the loop can be
 * continued.
 *
 * Errors: those of the connection.
 *
 * Threads: one at a time; see `millpond_events_deliveries`.
 */
millpond_status millpond_events_deliveries_next(millpond_events_deliveries *deliveries,
                                                millpond_events_result **result,
                                                millpond_error **error);

/**
 * Frees the loop. NULL and what was freed before are fine.
 *
 * Threads: any.
 */
void millpond_events_deliveries_free(millpond_events_deliveries *deliveries);

/**
 * Whether the lease is lost, because another consumer has the event, because no extension has
 * succeeded for a whole lease, or because the job has ended after its `timeout`. If so, stop
 * working: ending the job has no effect. `lost` is set to the result.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not one.
 *
 * Threads: any.
 */
millpond_status millpond_events_job_is_lost(const millpond_events_job *job,
                                            bool *lost,
                                            millpond_error **error);

/**
 * Whether this is the last attempt that the queue's `max_attempts` allowed when the event was
 * received: a failure makes it a dead letter. `last_attempt` is set to the result.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not one.
 *
 * Threads: any.
 */
millpond_status millpond_events_job_is_last_attempt(const millpond_events_job *job,
                                                    bool *last_attempt,
                                                    millpond_error **error);

/**
 * How long the handler may still run, by the worker's `timeout`; NULL if there is no limit.
 * `time_left_ms` is set to the result.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not one.
 *
 * Threads: any.
 */
millpond_status millpond_events_job_time_left_ms(const millpond_events_job *job,
                                                 int64_t *time_left_ms,
                                                 millpond_error **error);

/**
 * Whether the event was cancelled, as of the last extension. If so, stop working: a handler
 * that fails now ends the job, and the event is deleted. Always false in the child of a fork.
 * `cancelled` is set to the result.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not one.
 *
 * Threads: any.
 */
millpond_status millpond_events_job_is_cancelled(const millpond_events_job *job,
                                                 bool *cancelled,
                                                 millpond_error **error);

/**
 * Frees a job. NULL and what was freed before are fine.
 *
 * Threads: any.
 */
void millpond_events_job_free(millpond_events_job *job);

/**
 * The event, as it was received: one of `events`. Lives until the job is freed. NULL for NULL and for a freed or
 * invalid handle.
 *
 * Threads: any.
 */
const millpond_events_data *millpond_events_job_data(const millpond_events_job *job);

/**
 * Fills options with their defaults. Does nothing for NULL.
 *
 * Threads: any.
 */
void millpond_events_worker_options_init(millpond_events_worker_options *options, size_t size);

/**
 * Makes a worker of a queue, which receives events, extends them while they are worked on, and ends them; `options`
 * may be NULL.
 *
 * `worker` is set to the worker, which the caller frees with `millpond_events_worker_free`, or on failure to NULL.
 * Sends nothing yet.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for an option below 0. Other limits are checked when it starts to work.
 *
 * Threads: any.
 */
millpond_status millpond_events_worker_new(millpond_events_queue *queue,
                                           const millpond_events_worker_options *options,
                                           millpond_events_worker **worker,
                                           millpond_error **error);

/**
 * Frees a worker. NULL and what was freed before are fine. Runs and jobs that were created from the worker stay
 * usable, but can no longer be stopped.
 *
 * Threads: any.
 */
void millpond_events_worker_free(millpond_events_worker *worker);

/**
 * Starts a run, for a loop of your own in place of `millpond_events_worker_run`. With `drains` the run is over
 * when nothing is available, and everything is reported. Otherwise the run continues until the worker is stopped; with
 * `tells_all` it also reports what went well: jobs that are done, given back or moved.
 *
 * `run` is set to the run, which the caller frees with `millpond_events_run_free`, or on failure to NULL. Sends
 * nothing yet.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not a worker.
 *
 * Threads: any.
 */
millpond_status millpond_events_worker_start(millpond_events_worker *worker,
                                             bool drains,
                                             bool tells_all,
                                             millpond_events_run **run,
                                             millpond_error **error);

/**
 * Stops the worker's runs: they take no more jobs and wait for those that are running. A job that is still running
 * after `within_ms` is given back and available immediately, and is lost to its handler. 0 stops immediately; -1 waits
 * without limit. A second stop changes the time. A stopped worker stays stopped. Returns immediately.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a `within_ms` below -1.
 *
 * Threads: any, but not from a signal handler, which must not wait for a lock: for signals there is
 * `millpond_events_worker_stop_on_signals`.
 */
millpond_status millpond_events_worker_stop(millpond_events_worker *worker,
                                            int64_t within_ms,
                                            millpond_error **error);

/**
 * Makes SIGTERM and SIGINT stop the worker, as `millpond_events_worker_stop` does with this `within_ms`. A second
 * signal stops it immediately, and a third one does what signals did before. Another call starts over, with its own
 * time. All of this ends when the worker is freed.
 *
 * From this call on, a native thread waits for the signals. Handlers that are already installed are called as well; a
 * handler that the program installs later replaces this one. In the child of a fork, signals do what they did before.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a `within_ms` below -1; `MILLPOND_INTERNAL` if the system has no
 * room for a pipe or a thread.
 *
 * Threads: any; not from a signal handler.
 */
millpond_status millpond_events_worker_stop_on_signals(millpond_events_worker *worker,
                                                       int64_t within_ms,
                                                       millpond_error **error);

/**
 * Takes what comes next: a job to work on, which the caller ends with `millpond_events_run_end` and then frees,
 * or a report of what became of a job, which the caller frees. Waits while there is no job, and while `concurrency`
 * jobs are running.
 *
 * One of `job` and `report` is set; both are NULL on failure, and also on success when the run is over.
 *
 * Errors: the non-retryable error that ended the run, for one of the callers; `MILLPOND_CANCELLED` if
 * `millpond_on_interrupt` asked for it, after which the run continues.
 *
 * Threads: any number may wait here.
 */
millpond_status millpond_events_run_next(millpond_events_run *run,
                                         millpond_events_job **job,
                                         millpond_events_report **report,
                                         millpond_error **error);

/**
 * Ends a job of this run, and returns immediately; the result is reported. If `outcome` is NULL, the job is
 * done, and its event is deleted. An event that is tried again is delayed by the queue's backoff; after its
 * `max_attempts` it becomes a dead letter. Nothing happens to a job that the run has given back. The job
 * still has to be freed.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a job that is not from this run, and for an invalid outcome, after
 * which the job can end in another way; `MILLPOND_FORKED` in the child of a fork.
 *
 * Delivery: if the connection fails, the end is sent again while the lease lasts.
 *
 * Threads: any.
 */
millpond_status millpond_events_run_end(millpond_events_run *run,
                                        millpond_events_job *job,
                                        const millpond_task_outcome *outcome,
                                        millpond_error **error);

/**
 * Sets `counts` to what became of the jobs of a run so far.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT`.
 *
 * Threads: any.
 */
millpond_status millpond_events_run_counts(millpond_events_run *run,
                                           millpond_job_counts *counts,
                                           millpond_error **error);

/**
 * Frees a run. NULL and what was freed before are fine. What the run still holds stays leased until the lease expires.
 * To avoid that, first stop the worker, and take what comes next until the run is over.
 *
 * Threads: any.
 */
void millpond_events_run_free(millpond_events_run *run);

/**
 * What is in a report. Lives until the report is freed. NULL for NULL and for a freed or invalid handle.
 *
 * Threads: any.
 */
const millpond_report_data *millpond_events_report_data(const millpond_events_report *report);

/**
 * Frees a report. NULL and what was freed before are fine.
 *
 * Threads: any.
 */
void millpond_events_report_free(millpond_events_report *report);

/**
 * Works in this thread until the worker is stopped: calls `handler` with one job after another and with `context`, and
 * ends each job as the handler says. Other
 * threads may work for the same worker at the same time, with the same handlers: up to `concurrency` of them have a
 * job. If the server is unreachable, the run keeps trying until it responds.
 *
 * The handlers must return (no longjmp, no exception), and may call Millpond. An invalid `outcome` of a handler is a
 * failure of its job.
 *
 * `on_report` receives what becomes of all jobs, and reports that the server is unreachable or responds again. It may
 * be NULL: then problems and retries are printed to standard error, one line each. `counts` is set to what the run did
 * on all threads, even if the call fails; it may be NULL.
 *
 *     static void resize(millpond_events_job *job, millpond_task_outcome *outcome, void *context) {
 *         if (!resize_image(millpond_events_job_data(job)->events->payload)) {
 *             outcome->end = MILLPOND_TASK_FAIL;
 *             outcome->err = (millpond_bytes){"no such image", 13};
 *         }
 *     }
 *     status = millpond_events_worker_run(worker, resize, NULL, NULL, NULL, &error);
 *
 * Errors: the non-retryable error that ended the run, for one of the threads, such as `MILLPOND_WRONG_TYPE` or
 * `MILLPOND_INVALID_ARGUMENT`. `MILLPOND_CANCELLED` if `millpond_on_interrupt` asked for it: the run still exists, and
 * the next call continues it.
 *
 * Delivery: as `millpond_events_receive`.
 *
 * Threads: any.
 */
millpond_status millpond_events_worker_run(millpond_events_worker *worker,
                                           millpond_event_handler handler,
                                           millpond_event_report_handler on_report,
                                           void *context,
                                           millpond_job_counts *counts,
                                           millpond_error **error);

/**
 * Works in this thread until nothing is available; otherwise like `millpond_events_worker_run`. For tests, and
 * for programs that cron starts. `counts` is set to what the run did; it may be NULL.
 *
 * Errors: as `millpond_events_worker_run`; also those of the connection.
 *
 * Delivery: as `millpond_events_receive`.
 *
 * Threads: any.
 */
millpond_status millpond_events_worker_drain(millpond_events_worker *worker,
                                             millpond_event_handler handler,
                                             millpond_event_report_handler on_report,
                                             void *context,
                                             millpond_job_counts *counts,
                                             millpond_error **error);

/**
 * Fills a query with its defaults: the first page of all fields. Does nothing for NULL.
 *
 *     millpond_field_query query;
 *     millpond_field_query_init(&query, sizeof query);
 *     query.after = millpond_volatile_result_data(page)->next;
 *     query.omit_values = true;
 *
 * Threads: any.
 */
void millpond_field_query_init(millpond_field_query *options, size_t size);

/**
 * The volatile hash with this name. Makes no call.
 *
 * `hash` is set to a handle, which the caller frees with `millpond_volatile_hash_free`, or on
 * failure to NULL.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not one.
 *
 * Threads: any.
 */
millpond_status millpond_volatile_hash_new(millpond_client *client,
                                           const char *name,
                                           size_t name_length,
                                           millpond_volatile_hash **hash,
                                           millpond_error **error);

/**
 * The hash with this base, of 1 to 64 KiB. Makes no call: a name, a base or a number of shards
 * beyond its limit is reported by the first step.
 *
 * `hash` is set to a handle, which the caller frees with `millpond_volatile_hash_free`, or on
 * failure to NULL.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not one.
 *
 * Threads: any.
 */
millpond_status millpond_volatile_hashes_hash_new(millpond_volatile_hashes *hashes,
                                                  const char *base,
                                                  size_t base_length,
                                                  millpond_volatile_hash **hash,
                                                  millpond_error **error);

/**
 * Sets a field to a value, which expires after `ttl_ms`. Also removes up to two fields that have
 * expired.
 *
 * `ttl_ms`: how long until it expires, from 1 ms to 100 years.
 *
 * Errors: as `millpond_volatile_set_many`.
 *
 * Delivery: after `MILLPOND_CONNECTION_LOST` or `MILLPOND_TIMEOUT` it may have been set. A set
 * that is sent again could overwrite what others have set since.
 *
 * Threads: any.
 */
millpond_status millpond_volatile_set(millpond_volatile_hash *hash,
                                      const char *field,
                                      size_t field_length,
                                      const char *value,
                                      size_t value_length,
                                      uint64_t ttl_ms,
                                      millpond_error **error);

/**
 * Sets fields to values, which expire after `ttl_ms`, all in one step. Also removes up to two
 * fields that have expired.
 *
 * `ttl_ms`: how long until it expires, from 1 ms to 100 years.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for no field or more than 10,000, a field above 64 KiB,
 * a value above 16 MiB, more than 1 GiB and a `ttl_ms` below one millisecond or above 100 years;
 * `MILLPOND_WRONG_TYPE` if the keys hold something else; `MILLPOND_OUT_OF_MEMORY` if the
 * memory of the server is full. In all cases nothing was set. Also those of the connection.
 *
 * Delivery: after `MILLPOND_CONNECTION_LOST` or `MILLPOND_TIMEOUT` all may have been set, or
 * none. A set that is sent again could overwrite what others have set since.
 *
 * Threads: any.
 */
millpond_status millpond_volatile_set_many(millpond_volatile_hash *hash,
                                           const millpond_hash_pair *fields,
                                           size_t field_count,
                                           uint64_t ttl_ms,
                                           millpond_error **error);

/**
 * Sets a field if it is not live, because it is absent or has expired; `done` is set to
 * whether it was set. Also removes up to two fields that have expired.
 *
 * `done` may be NULL. `ttl_ms`: how long until it expires, from 1 ms to 100 years.
 *
 * Errors: as `millpond_volatile_set_many`.
 *
 * Delivery: after `MILLPOND_CONNECTION_LOST` or `MILLPOND_TIMEOUT` it may have been set. A set
 * that is sent again could overwrite what others have set since.
 *
 * Threads: any.
 */
millpond_status millpond_volatile_set_if_absent(millpond_volatile_hash *hash,
                                                const char *field,
                                                size_t field_length,
                                                const char *value,
                                                size_t value_length,
                                                uint64_t ttl_ms,
                                                bool *done,
                                                millpond_error **error);

/**
 * Sets a field if it is live; `done` is set to whether it was set. Also removes up to two
 * fields that have expired.
 *
 * `done` may be NULL. `ttl_ms`: how long until it expires, from 1 ms to 100 years.
 *
 * Errors: as `millpond_volatile_set_many`.
 *
 * Delivery: after `MILLPOND_CONNECTION_LOST` or `MILLPOND_TIMEOUT` it may have been set. A set
 * that is sent again could overwrite what others have set since.
 *
 * Threads: any.
 */
millpond_status millpond_volatile_set_if_present(millpond_volatile_hash *hash,
                                                 const char *field,
                                                 size_t field_length,
                                                 const char *value,
                                                 size_t value_length,
                                                 uint64_t ttl_ms,
                                                 bool *done,
                                                 millpond_error **error);

/**
 * Sets a field if the token holds the lock of the field, which is checked in the same step.
 *
 * `ttl_ms`: how long until it expires, from 1 ms to 100 years.
 *
 * Errors: as `millpond_volatile_set_many`; also `MILLPOND_INVALID_ARGUMENT` for a token that
 * is empty or above 64 bytes, `MILLPOND_LEASE_LOST` if the lock has expired or another token
 * holds it; `MILLPOND_INCOMPATIBLE_VERSION` or `MILLPOND_CORRUPT` if the locks cannot be read.
 * In all cases nothing was set.
 *
 * Delivery: after `MILLPOND_CONNECTION_LOST` or `MILLPOND_TIMEOUT` it may have been set. A set
 * that is sent again could overwrite what others have set since.
 *
 * Threads: any.
 */
millpond_status millpond_volatile_set_locked(millpond_volatile_hash *hash,
                                             const char *field,
                                             size_t field_length,
                                             const char *token,
                                             size_t token_length,
                                             const char *value,
                                             size_t value_length,
                                             uint64_t ttl_ms,
                                             millpond_error **error);

/**
 * Sets a field and releases its lock, all in one step, if the token holds the lock: the end of
 * what `millpond_volatile_get_or_acquire` began. If the set is refused for another reason than
 * a lost lock, the token still holds the lock.
 *
 * `ttl_ms`: how long until it expires, from 1 ms to 100 years.
 *
 * Errors: as `millpond_volatile_set_locked`.
 *
 * Delivery: after `MILLPOND_CONNECTION_LOST` or `MILLPOND_TIMEOUT` both may have been done, or
 * nothing. If it was done, repeating it fails with `MILLPOND_LEASE_LOST`.
 *
 * Threads: any.
 */
millpond_status millpond_volatile_set_and_release(millpond_volatile_hash *hash,
                                                  const char *field,
                                                  size_t field_length,
                                                  const char *token,
                                                  size_t token_length,
                                                  const char *value,
                                                  size_t value_length,
                                                  uint64_t ttl_ms,
                                                  millpond_error **error);

/**
 * The value of a field, or NULL if it is not live.
 *
 * `millpond_volatile_result_value(result, 0)` is the value.
 *
 * `result` is set to the result, which the caller frees with `millpond_volatile_result_free`;
 * to NULL on failure, and also on success if there is none.
 *
 *     millpond_volatile_result *result;
 *     status = millpond_volatile_get(hash, "ann", 3, &result, &error);
 *     if (result != NULL)
 *         printf("%.*s\n", (int)millpond_volatile_result_value(result, 0)->length,
 *                millpond_volatile_result_value(result, 0)->data);
 *     millpond_volatile_result_free(result);
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a field above 64 KiB; `MILLPOND_WRONG_TYPE` if the
 * keys hold something else; those of the connection.
 *
 * Threads: any.
 */
millpond_status millpond_volatile_get(millpond_volatile_hash *hash,
                                      const char *field,
                                      size_t field_length,
                                      millpond_volatile_result **result,
                                      millpond_error **error);

/**
 * The values of fields, in the same order, at one point in time; NULL for each that is not
 * live.
 *
 * `result` is set to the result, which the caller frees with `millpond_volatile_result_free`,
 * or on failure to NULL.
 *
 * Errors: as `millpond_volatile_get`; also `MILLPOND_INVALID_ARGUMENT` for no field or more
 * than 10,000.
 *
 * Threads: any.
 */
millpond_status millpond_volatile_get_many(millpond_volatile_hash *hash,
                                           const millpond_bytes *fields,
                                           size_t field_count,
                                           millpond_volatile_result **result,
                                           millpond_error **error);

/**
 * A page of the fields that are live, in the order of expiry, and by their bytes if they
 * expire at the same time. Pages are not one snapshot: a field that is set or touched between
 * two pages may be on both, and on neither if it now expires sooner. Every other field is on
 * one page. A page may have fewer fields than its limit and still be followed by another one.
 *
 * `result` is set to the result, which the caller frees with `millpond_volatile_result_free`,
 * or on failure to NULL. `query` may be NULL.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a limit of 0 or above 1,000 and a position whose
 * field is above 64 KiB; `MILLPOND_WRONG_TYPE` if the keys hold something else; those of the
 * connection.
 *
 * Threads: any.
 */
millpond_status millpond_volatile_fields(millpond_volatile_hash *hash,
                                         const millpond_field_query *query,
                                         millpond_volatile_result **result,
                                         millpond_error **error);

/**
 * `ttl_ms` is set to how long a field is still live, rounded up to milliseconds, or to -1 if
 * it is not live.
 *
 * Errors: as `millpond_volatile_get`.
 *
 * Threads: any.
 */
millpond_status millpond_volatile_ttl(millpond_volatile_hash *hash,
                                      const char *field,
                                      size_t field_length,
                                      int64_t *ttl_ms,
                                      millpond_error **error);

/**
 * How many fields are live. If the server has evicted the values of a hash, it may still count
 * them until they would have expired. `len` is set to the result.
 *
 * Errors: as `millpond_volatile_stats`.
 *
 * Threads: any.
 */
millpond_status millpond_volatile_len(millpond_volatile_hash *hash,
                                      uint64_t *len,
                                      millpond_error **error);

/**
 * How many fields are live, how many have expired and are still in memory, and how many locks
 * are held. If the server has evicted a part of a hash, it may still count that until it would
 * have expired.
 *
 * `result` is set to the result, which the caller frees with `millpond_volatile_result_free`,
 * or on failure to NULL.
 *
 * Errors: `MILLPOND_WRONG_TYPE` if the keys hold something else;
 * `MILLPOND_INCOMPATIBLE_VERSION` if the locks are of another version; those of the
 * connection.
 *
 * Threads: any.
 */
millpond_status millpond_volatile_stats(millpond_volatile_hash *hash,
                                        millpond_volatile_result **result,
                                        millpond_error **error);

/**
 * Makes a field expire after `ttl_ms` from now, if it is live; `done` is set to whether it was. A
 * field that has expired is never revived.
 *
 * `done` may be NULL. `ttl_ms`: how long until it expires, from 1 ms to 100 years.
 *
 * Errors: as `millpond_volatile_get`; also `MILLPOND_INVALID_ARGUMENT` for a `ttl_ms` below one
 * millisecond or above 100 years.
 *
 * Delivery: after `MILLPOND_CONNECTION_LOST` or `MILLPOND_TIMEOUT` it may have been done.
 *
 * Threads: any.
 */
millpond_status millpond_volatile_touch(millpond_volatile_hash *hash,
                                        const char *field,
                                        size_t field_length,
                                        uint64_t ttl_ms,
                                        bool *done,
                                        millpond_error **error);

/**
 * Removes fields; `number` is set to how many of them were live. Their locks stay.
 *
 * `number` may be NULL.
 *
 * Errors: as `millpond_volatile_get_many`.
 *
 * Delivery: after `MILLPOND_CONNECTION_LOST` or `MILLPOND_TIMEOUT` it may have been done.
 *
 * Threads: any.
 */
millpond_status millpond_volatile_delete(millpond_volatile_hash *hash,
                                         const millpond_bytes *fields,
                                         size_t field_count,
                                         uint64_t *number,
                                         millpond_error **error);

/**
 * Removes all fields; `number` is set to how many of them were live. Locks stay with their
 * holders.
 *
 * `number` may be NULL.
 *
 * Errors: `MILLPOND_WRONG_TYPE` if the keys hold something else; those of the connection.
 *
 * Delivery: after `MILLPOND_CONNECTION_LOST` or `MILLPOND_TIMEOUT` it may have been done.
 *
 * Threads: any.
 */
millpond_status millpond_volatile_clear(millpond_volatile_hash *hash,
                                        uint64_t *number,
                                        millpond_error **error);

/**
 * Frees the memory of up to `limit` fields and locks that have expired, in the order of
 * expiry, in one short step. Repeat it while it says that there is `more`. No read returns
 * what has expired, whether it is removed or not.
 *
 * `result` is set to the result, which the caller frees with `millpond_volatile_result_free`,
 * or on failure to NULL.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a limit of 0 or above 1,000; otherwise as
 * `millpond_volatile_stats`; those of the connection.
 *
 * Delivery: after `MILLPOND_CONNECTION_LOST` or `MILLPOND_TIMEOUT` it may have been done. It
 * can be repeated: it finds what is left.
 *
 * Threads: any.
 */
millpond_status millpond_volatile_reap(millpond_volatile_hash *hash,
                                       size_t limit,
                                       millpond_volatile_result **result,
                                       millpond_error **error);

/**
 * Takes the lock of a field for `ttl_ms` if it is free or has expired; it does not wait. If the
 * token already holds it, the lock keeps its fence and runs for `ttl_ms` from now. Two callers
 * with the same token are one holder, so use a new random token each time. Also removes up to
 * two locks that have expired.
 *
 * Each holder gets a higher fence than all before it in this hash. Only
 * `millpond_volatile_set_locked` and `millpond_volatile_set_and_release` check the lock where
 * they write. For anything else that the lock protects, pass the fence along and refuse a
 * lower one than the last: a holder that was stopped for longer than its `ttl_ms` does not notice
 * by itself. On servers with replicas a failover can lose a lock that was just taken. The
 * fence still grows, unless the clock of the new server is behind by more than what was lost.
 *
 * `result` is set to the result, which the caller frees with `millpond_volatile_result_free`,
 * or on failure to NULL. `ttl_ms`: how long until it expires, from 1 ms to 100 years.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a field above 64 KiB, a token that is empty or above
 * 64 bytes, and a `ttl_ms` below one millisecond or above 100 years; `MILLPOND_WRONG_TYPE` if the
 * keys hold something else; `MILLPOND_INCOMPATIBLE_VERSION` or `MILLPOND_CORRUPT` if the locks
 * cannot be read; `MILLPOND_OUT_OF_MEMORY` if the memory of the server is full and the lock is
 * a new one; those of the connection.
 *
 * Delivery: after `MILLPOND_CONNECTION_LOST` or `MILLPOND_TIMEOUT` the token may hold the
 * lock. Acquiring it again with the same token is safe and returns the same fence.
 *
 * Threads: any.
 */
millpond_status millpond_volatile_acquire(millpond_volatile_hash *hash,
                                          const char *field,
                                          size_t field_length,
                                          const char *token,
                                          size_t token_length,
                                          uint64_t ttl_ms,
                                          millpond_volatile_result **result,
                                          millpond_error **error);

/**
 * The value of a field if it is live; otherwise takes the lock of the field for `ttl_ms`, as
 * `millpond_volatile_acquire` does, so that one caller computes the value. All in one step.
 *
 * `result` is set to the result, which the caller frees with `millpond_volatile_result_free`,
 * or on failure to NULL. `ttl_ms`: how long until it expires, from 1 ms to 100 years.
 *
 *     const millpond_value_or_lock *found = millpond_volatile_result_data(result)->value_or_lock;
 *     if (found->value.data != NULL)
 *         use(found->value);
 *     else if (found->fence != MILLPOND_NOT_SET)
 *         compute_and_set();
 *     else
 *         wait_up_to(found->remaining_ms);
 *
 * Errors: as `millpond_volatile_acquire`.
 *
 * Delivery: after `MILLPOND_CONNECTION_LOST` or `MILLPOND_TIMEOUT` the token may hold the
 * lock. Repeating the call with the same token is safe.
 *
 * Threads: any.
 */
millpond_status millpond_volatile_get_or_acquire(millpond_volatile_hash *hash,
                                                 const char *field,
                                                 size_t field_length,
                                                 const char *token,
                                                 size_t token_length,
                                                 uint64_t ttl_ms,
                                                 millpond_volatile_result **result,
                                                 millpond_error **error);

/**
 * Takes the lock of a field if it is free, without waiting, and renews it until it is
 * released; NULL if another holder has it. `ttl_ms` is how long the others wait if this process
 * dies.
 *
 * `lock` is set to the result, which the caller frees with `millpond_volatile_lock_free`; to
 * NULL on failure, and also on success if there is none. `ttl_ms`: how long others wait for
 * the lock if this process dies, from 1 ms to 100 years.
 *
 *     millpond_volatile_lock *lock;
 *     status = millpond_volatile_lock_acquire(hash, "/", 1, 10000, &lock, &error);
 *     if (status == MILLPOND_OK && lock == NULL)
 *         puts("somebody else computes it");
 *
 * Errors: as `millpond_volatile_acquire`.
 *
 * Delivery: after `MILLPOND_CONNECTION_LOST` or `MILLPOND_TIMEOUT` it may have been taken
 * although nobody holds it; then it expires after `ttl_ms`.
 *
 * Threads: any.
 */
millpond_status millpond_volatile_lock_acquire(millpond_volatile_hash *hash,
                                               const char *field,
                                               size_t field_length,
                                               uint64_t ttl_ms,
                                               millpond_volatile_lock **lock,
                                               millpond_error **error);

/**
 * Makes the lock of a field run for `ttl_ms` from now, if the token holds it, and `done` is
 * set to whether it does; otherwise nothing changes.
 *
 * `done` may be NULL. `ttl_ms`: how long until it expires, from 1 ms to 100 years.
 *
 * Errors: as `millpond_volatile_acquire`.
 *
 * Delivery: after `MILLPOND_CONNECTION_LOST` or `MILLPOND_TIMEOUT` it may have been done;
 * renewing again is safe.
 *
 * Threads: any.
 */
millpond_status millpond_volatile_renew(millpond_volatile_hash *hash,
                                        const char *field,
                                        size_t field_length,
                                        const char *token,
                                        size_t token_length,
                                        uint64_t ttl_ms,
                                        bool *done,
                                        millpond_error **error);

/**
 * Releases the lock of a field, if the token holds it, and `done` is set to whether it did;
 * otherwise nothing changes.
 *
 * Delivery: after `MILLPOND_CONNECTION_LOST` or `MILLPOND_TIMEOUT` it may have been done;
 * after another release `done` is then false.
 *
 * `done` may be NULL.
 *
 * Errors: as `millpond_volatile_acquire`.
 *
 * Threads: any.
 */
millpond_status millpond_volatile_release(millpond_volatile_hash *hash,
                                          const char *field,
                                          size_t field_length,
                                          const char *token,
                                          size_t token_length,
                                          bool *done,
                                          millpond_error **error);

/**
 * Who holds the lock of a field, or NULL if it is free.
 *
 * `result` is set to the result, which the caller frees with `millpond_volatile_result_free`;
 * to NULL on failure, and also on success if there is none.
 *
 * Errors: as `millpond_volatile_acquire`.
 *
 * Threads: any.
 */
millpond_status millpond_volatile_holder(millpond_volatile_hash *hash,
                                         const char *field,
                                         size_t field_length,
                                         millpond_volatile_result **result,
                                         millpond_error **error);

/**
 * Frees a hash. NULL and what was freed before are fine.
 *
 * Threads: any.
 */
void millpond_volatile_hash_free(millpond_volatile_hash *hash);

/**
 * The fence: higher than that of every earlier holder of a lock of this hash. `fence` is set
 * to the result.
 *
 * It can be read after the release too. Sends nothing.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not one.
 *
 * Threads: any.
 */
millpond_status millpond_volatile_lock_fence(const millpond_volatile_lock *lock,
                                             uint64_t *fence,
                                             millpond_error **error);

/**
 * Whether the lock is lost, because a renewal was refused or because none has succeeded for a
 * whole `ttl`. A set through the lock would detect it as well. `lost` is set to the result.
 *
 * A lock that was released is not held either. Sends nothing.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not one.
 *
 * Threads: any.
 */
millpond_status millpond_volatile_lock_is_lost(const millpond_volatile_lock *lock,
                                               bool *lost,
                                               millpond_error **error);

/**
 * Sets the field to a value, which expires after `ttl_ms`, as `millpond_volatile_set_locked`
 * does.
 *
 * `ttl_ms`: how long until it expires, from 1 ms to 100 years.
 *
 * Errors: as `millpond_volatile_set_locked`.
 *
 * Delivery: after `MILLPOND_CONNECTION_LOST` or `MILLPOND_TIMEOUT` it may have been set.
 *
 * Threads: one at a time; see `millpond_volatile_lock`.
 */
millpond_status millpond_volatile_lock_set(millpond_volatile_lock *lock,
                                           const char *value,
                                           size_t value_length,
                                           uint64_t ttl_ms,
                                           millpond_error **error);

/**
 * Releases the lock, so that another holder can take it immediately. `done` is set to false if
 * it was already lost. The child of a fork has only a copy: there this releases nothing, and
 * `done` is set to false.
 *
 * The handle still has to be freed.
 *
 * Errors: `MILLPOND_LEASE_LOST` if it was released already; those of the connection, after
 * which the lock expires.
 *
 * `done` may be NULL.
 *
 * Threads: one at a time; see `millpond_volatile_lock`.
 */
millpond_status millpond_volatile_lock_release(millpond_volatile_lock *lock,
                                               bool *done,
                                               millpond_error **error);

/**
 * Frees a lock. NULL and what was freed before are fine.
 *
 * A lock that was not released is released in the background, but not in the child of a fork,
 * because the parent may still hold it.
 *
 * Threads: any.
 */
void millpond_volatile_lock_free(millpond_volatile_lock *lock);

/**
 * The family of volatile hashes with this name. Makes no call.
 *
 * `shards`: 1 to 1,024; in other languages 16 by default.
 *
 * `hashes` is set to a handle, which the caller frees with `millpond_volatile_hashes_free`, or
 * on failure to NULL.
 *
 *     millpond_volatile_hashes *carts;
 *     millpond_volatile_hash *cart;
 *     if (millpond_volatile_hashes_new(client, "carts", 5, 16, &carts, &error) == MILLPOND_OK)
 *         status = millpond_volatile_hashes_hash_new(carts, "ann", 3, &cart, &error);
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not one.
 *
 * Threads: any.
 */
millpond_status millpond_volatile_hashes_new(millpond_client *client,
                                             const char *name,
                                             size_t name_length,
                                             uint32_t shards,
                                             millpond_volatile_hashes **hashes,
                                             millpond_error **error);

/**
 * Frees the memory of up to `limit` fields and locks that have expired. It looks at all
 * shards, beginning with one at random, and there only at hashes that may have something to
 * remove: a step for each shard and each of these hashes, of which it looks at no more than
 * `limit`, or 16 if that is more. Repeat it while it says that there is `more`.
 *
 * `result` is set to the result, which the caller frees with `millpond_volatile_result_free`,
 * or on failure to NULL.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a limit of 0 or above 1,000, and for a name or a
 * number of shards beyond its limit; otherwise the first error of a hash or a shard. The
 * others are reaped all the same. Also those of the connection.
 *
 * Delivery: after an error a part of it may have been done. It can be repeated: it finds what
 * is left.
 *
 * Threads: any.
 */
millpond_status millpond_volatile_hashes_reap(millpond_volatile_hashes *hashes,
                                              size_t limit,
                                              millpond_volatile_result **result,
                                              millpond_error **error);

/**
 * Frees it. NULL and what was freed before are fine.
 *
 * Threads: any.
 */
void millpond_volatile_hashes_free(millpond_volatile_hashes *hashes);

/**
 * Fills a job with its defaults. The id and either `per_second` or `share` still have to be
 * set. Does nothing for NULL.
 *
 *     millpond_new_job mail;
 *     millpond_new_job_init(&mail, sizeof mail);
 *     mail.id = (millpond_bytes){"mail", 4};
 *     mail.per_second = 2;
 *
 * Threads: any.
 */
void millpond_new_job_init(millpond_new_job *options, size_t size);

/**
 * The recruiter with this name. Makes no call.
 *
 * A name beyond its limits is refused by the first step that needs it.
 *
 * `recruiter` is set to a handle, which the caller frees with `millpond_recruiter_free`, or on
 * failure to NULL.
 *
 *     millpond_recruiter *site;
 *     if (millpond_recruiter_new(client, "site", 4, &site, &error) == MILLPOND_OK)
 *         status = millpond_recruiter_install(site, &mail, &error);
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not one.
 *
 * Threads: any.
 */
millpond_status millpond_recruiter_new(millpond_client *client,
                                       const char *name,
                                       size_t name_length,
                                       millpond_recruiter **recruiter,
                                       millpond_error **error);

/**
 * Sets the part of the process's time that slices of this recruiter take at most, 0.001 to 1;
 * 0.1 by default. After a slice the process rests until that is so again, at most an hour.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for anything else.
 *
 * Threads: any.
 */
millpond_status millpond_recruiter_set_duty_max(const millpond_recruiter *recruiter,
                                                double part,
                                                millpond_error **error);

/**
 * Sets how long an enlistment waits at most for the server's decision, 1 ms to 1 s; 20
 * milliseconds by default. Without a decision by then the enlistment does nothing. A
 * connection that takes longer is there for the next one.
 *
 * `timeout_ms`: how long to wait, 1 ms to 1 s.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for anything else.
 *
 * Threads: any.
 */
millpond_status millpond_recruiter_set_decision_timeout(const millpond_recruiter *recruiter,
                                                        uint64_t timeout_ms,
                                                        millpond_error **error);

/**
 * Removes a job; `found` is set to whether it was installed. A slice that is running goes on.
 *
 * `found` may be NULL.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not one.
 *
 * Threads: any.
 */
millpond_status millpond_recruiter_uninstall(const millpond_recruiter *recruiter,
                                             const char *job,
                                             size_t job_length,
                                             bool *found,
                                             millpond_error **error);

/**
 * Whether an enlistment would ask the server now. Makes no call. `due` is set to the result.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not one.
 *
 * Threads: any.
 */
millpond_status millpond_recruiter_is_due(const millpond_recruiter *recruiter,
                                          bool *due,
                                          millpond_error **error);

/**
 * Lets a job that runs less often, because there was little to do, run at its full rate again:
 * for producers of its work. Of a job by share, and of one that has not run yet, it changes
 * nothing.
 *
 * Errors: `MILLPOND_WRONG_TYPE`, `MILLPOND_INCOMPATIBLE_VERSION` or `MILLPOND_CORRUPT` if the
 * recruiter's keys cannot be read; those of the connection.
 *
 * Threads: any.
 */
millpond_status millpond_recruiter_wake(millpond_recruiter *recruiter,
                                        const char *job,
                                        size_t job_length,
                                        millpond_error **error);

/**
 * Stops this recruiter: no slice begins from now on, and its loops end. A slice that is
 * running goes on. What has not been reported yet is reported in the background. A stopped
 * recruiter stays stopped. Returns immediately. For signals there is
 * `millpond_recruiter_stop_on_signals`.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not one.
 *
 * Threads: any.
 */
millpond_status millpond_recruiter_stop(const millpond_recruiter *recruiter,
                                        millpond_error **error);

/**
 * Reads what all processes have reported. A process reports when it asks, when it is stopped,
 * and at the end of a slice if its last report was five seconds ago, so the counts are a
 * little behind. Of a job per second, the slices that were granted and are in no other count
 * are running, or their process was killed.
 *
 * `result` is set to what was found, which the caller frees with
 * `millpond_recruiter_result_free`, or on failure to NULL.
 *
 *     millpond_recruiter_result *result;
 *     status = millpond_recruiter_stats(site, &result, &error);
 *     const millpond_recruiter_job_stats *job;
 *     for (size_t i = 0; (job = millpond_recruiter_result_job(result, i)) != NULL; i++)
 *         printf("%.*s: %" PRIu64 " slices\n", (int)job->job.length, job->job.data, job->granted);
 *     millpond_recruiter_result_free(result);
 *
 * Errors: `MILLPOND_WRONG_TYPE`, `MILLPOND_INCOMPATIBLE_VERSION` or `MILLPOND_CORRUPT` if the
 * recruiter's keys cannot be read; those of the connection.
 *
 * Threads: any.
 */
millpond_status millpond_recruiter_stats(millpond_recruiter *recruiter,
                                         millpond_recruiter_result **result,
                                         millpond_error **error);

/**
 * Frees a recruiter. NULL and what was freed before are fine.
 *
 * Its slices and loops stay usable.
 *
 * Threads: any.
 */
void millpond_recruiter_free(millpond_recruiter *recruiter);

/**
 * The id of the job. `job` is set to the result.
 *
 * It lives as long as the slice.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not one.
 *
 * Threads: any.
 */
millpond_status millpond_recruiter_slice_job(const millpond_recruiter_slice *slice,
                                             millpond_bytes *job,
                                             millpond_error **error);

/**
 * The time for the slice: the job's budget, or less if the process offered less. `budget_ms`
 * is set to the result.
 *
 * Rounded down.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not one.
 *
 * Threads: any.
 */
millpond_status millpond_recruiter_slice_budget(const millpond_recruiter_slice *slice,
                                                uint64_t *budget_ms,
                                                millpond_error **error);

/**
 * How much of the budget is left. `remaining_ms` is set to the result.
 *
 * Rounded down.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not one.
 *
 * Threads: any.
 */
millpond_status millpond_recruiter_slice_remaining(const millpond_recruiter_slice *slice,
                                                   uint64_t *remaining_ms,
                                                   millpond_error **error);

/**
 * Whether nothing of the budget is left. `over` is set to the result.
 *
 * It is also set to true on failure.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not one.
 *
 * Threads: any.
 */
millpond_status millpond_recruiter_slice_is_over(const millpond_recruiter_slice *slice,
                                                 bool *over,
                                                 millpond_error **error);

/**
 * A number that grows with each slice of a job per second, over all processes; 0 for a job by
 * share. `fence` is set to the result.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not one.
 *
 * Threads: any.
 */
millpond_status millpond_recruiter_slice_fence(const millpond_recruiter_slice *slice,
                                               uint64_t *fence,
                                               millpond_error **error);

/**
 * Whether its lease is over: it no longer counts against `max_running`, and another slice may
 * run in its place. `lost` is set to the result.
 *
 * It is also set to true on failure.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not one.
 *
 * Threads: any.
 */
millpond_status millpond_recruiter_slice_is_lost(const millpond_recruiter_slice *slice,
                                                 bool *lost,
                                                 millpond_error **error);

/**
 * Says that there is more to do: the job runs at its full rate again.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not one.
 *
 * Threads: any.
 */
millpond_status millpond_recruiter_slice_more(const millpond_recruiter_slice *slice,
                                              millpond_error **error);

/**
 * Says that another process was at the same work, or that for another reason this slice tells
 * nothing about how much there is to do: it does not change how often the job runs.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not one.
 *
 * Threads: any.
 */
millpond_status millpond_recruiter_slice_abort(const millpond_recruiter_slice *slice,
                                               millpond_error **error);

/**
 * Frees a slice. NULL and what was freed before are fine.
 *
 * A slice that did not end was aborted, but not in the child of a fork, because the parent may
 * still do it.
 *
 * Threads: any.
 */
void millpond_recruiter_slice_free(millpond_recruiter_slice *slice);

/**
 * Loops over slices, for a process with nothing else to do, so that work is done where nobody
 * enlists; any number of processes may do so. Sends nothing yet.
 *
 * `slices` is set to a handle, which the caller frees with `millpond_recruiter_slices_free`,
 * or on failure to NULL. `wait_ms`: waits up to `wait_ms` milliseconds for a slice, instead of
 * ending immediately; the time starts again with each slice. 0 does not wait, -1 waits without
 * limit. `millpond_close` on the client ends the wait.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a `wait_ms` below -1.
 *
 * Threads: any.
 */
millpond_status millpond_recruiter_slices_new(millpond_recruiter *recruiter,
                                              int64_t wait_ms,
                                              millpond_recruiter_slices **slices,
                                              millpond_error **error);

/**
 * Waits until it is this process's turn, asks the server and takes the next slice, which the
 * caller ends and frees.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` if no job has a rate per second; `MILLPOND_WRONG_TYPE`,
 * `MILLPOND_INCOMPATIBLE_VERSION` or `MILLPOND_CORRUPT` if the recruiter's keys cannot be
 * read; `MILLPOND_CANCELLED` if `millpond_on_interrupt` requested it; `MILLPOND_CLOSED` once
 * the client was closed; those of the connection, after which a loop that is continued waits a
 * while before it asks again.
 *
 * `slice` is set to the result, which the caller frees with `millpond_recruiter_slice_free`;
 * to NULL on failure, and also on success when the loop is over. After an error that a retry
 * can fix (see `millpond_error_retry`) the loop can be continued.
 *
 *     millpond_recruiter_slice *slice;
 *     while (millpond_recruiter_slices_next(slices, &slice, &error) == MILLPOND_OK && slice != NULL) {
 *         status = millpond_recruiter_slice_end(slice, work_on(slice), NULL, &error);
 *         millpond_recruiter_slice_free(slice);
 *     }
 *
 * Threads: one at a time; see `millpond_recruiter_slices`.
 */
millpond_status millpond_recruiter_slices_next(millpond_recruiter_slices *slices,
                                               millpond_recruiter_slice **slice,
                                               millpond_error **error);

/**
 * Frees the loop. NULL and what was freed before are fine.
 *
 * Its slices stay usable.
 *
 * Threads: any.
 */
void millpond_recruiter_slices_free(millpond_recruiter_slices *slices);

/**
 * Installs a job, whose slices the program does itself: `millpond_recruiter_enlist` and
 * `millpond_recruiter_slices_next` hand them out.
 *
 *     millpond_new_job job;
 *     millpond_new_job_init(&job, sizeof job);
 *     job.id = (millpond_bytes){"mail", 4};
 *     job.per_second = 2;
 *     status = millpond_recruiter_install(recruiter, &job, &error);
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a job beyond its limits, an id that is installed
 * already, more than 64 jobs, and shares that come to more than 100 %, whose sum it names. Nothing
 * is installed then.
 *
 * Threads: any.
 */
millpond_status millpond_recruiter_install(millpond_recruiter *recruiter,
                                           const millpond_new_job *job,
                                           millpond_error **error);

/**
 * Offers a moment of this thread's time, after a page or when a queue was empty: begins a slice of one of the jobs,
 * if it is its turn. It takes no longer than the decision of the server, if it asks; most enlistments do not, and
 * take a fraction of a microsecond.
 *
 * `slice` is set to the slice, which the caller ends with `millpond_recruiter_slice_end` or
 * `millpond_recruiter_slice_fail` and frees with `millpond_recruiter_slice_free`. It is set to NULL on failure, and also
 * on success if nothing is to be done; `duty` then says why. `budget_ms`: the most time for the slice;
 * `MILLPOND_NOT_SET`: as the job says. A server that does not respond is no failure: `unavailable` is then set to its
 * error, for a log, which the caller frees with `millpond_error_free`, and otherwise to NULL. `duty` and `unavailable` may
 * be NULL.
 *
 *     millpond_recruiter_slice *slice;
 *     status = millpond_recruiter_enlist(recruiter, MILLPOND_NOT_SET, NULL, &slice, NULL, &error);
 *     if (slice != NULL) {
 *         uint64_t sent = 0;
 *         bool is_over = false;
 *         while (!is_over && send_a_mail()) {
 *             sent++;
 *             millpond_recruiter_slice_is_over(slice, &is_over, NULL);
 *         }
 *         status = millpond_recruiter_slice_end(slice, sent, NULL, &error);
 *         millpond_recruiter_slice_free(slice);
 *     }
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a `budget_ms` below 0.
 *
 * Threads: any; while one asks or has a slice, the others get `MILLPOND_WHY_NOT_DUE` or
 * `MILLPOND_WHY_IN_SLICE`.
 */
millpond_status millpond_recruiter_enlist(millpond_recruiter *recruiter,
                                          int64_t budget_ms,
                                          millpond_duty *duty,
                                          millpond_recruiter_slice **slice,
                                          millpond_error **unavailable,
                                          millpond_error **error);

/**
 * Begins an enlistment as `millpond_recruiter_enlist` does, but waits for nothing: for interpreters, which keep their
 * lock during such a call. Where the server has to be asked, `asks` is set to true and nothing else happens;
 * `millpond_recruiter_ask` has to follow, as no other enlistment of the process asks before it.
 *
 * `slice` and `duty` are set as by `millpond_recruiter_enlist`. `duty` may be NULL.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a `budget_ms` below 0.
 *
 * Threads: any.
 */
millpond_status millpond_recruiter_decide(millpond_recruiter *recruiter,
                                          int64_t budget_ms,
                                          millpond_duty *duty,
                                          millpond_recruiter_slice **slice,
                                          bool *asks,
                                          millpond_error **error);

/**
 * Goes on with an enlistment for which `millpond_recruiter_decide` said that the server has to be asked.
 *
 * `slice`, `duty` and `unavailable` are set as by `millpond_recruiter_enlist`. `duty` and `unavailable` may be NULL.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a `budget_ms` below 0.
 *
 * Threads: any.
 */
millpond_status millpond_recruiter_ask(millpond_recruiter *recruiter,
                                       int64_t budget_ms,
                                       millpond_duty *duty,
                                       millpond_recruiter_slice **slice,
                                       millpond_error **unavailable,
                                       millpond_error **error);

/**
 * Makes SIGTERM and SIGINT stop the recruiter, as `millpond_recruiter_stop` does. A second signal changes nothing, and
 * a third one does what signals did before. All of this ends when the recruiter is freed.
 *
 * From this call on, a native thread waits for the signals. Handlers that are already installed are called as well; a
 * handler that the program installs later replaces this one. In the child of a fork, signals do what they did before.
 *
 * Errors: `MILLPOND_INTERNAL` if the system has no room for a pipe or a thread.
 *
 * Threads: any; not from a signal handler.
 */
millpond_status millpond_recruiter_stop_on_signals(millpond_recruiter *recruiter,
                                                   millpond_error **error);

/**
 * Ends the slice, which worked on this many items; 0 says that there was nothing to do: then the job runs less often for
 * a while. Only the first end of a slice counts.
 *
 * `duty` is set to what the enlistment did. It may be NULL.
 *
 * Errors: `MILLPOND_FORKED` in the child of a fork, for a slice of its parent.
 *
 * Threads: any.
 */
millpond_status millpond_recruiter_slice_end(millpond_recruiter_slice *slice,
                                             uint64_t items,
                                             millpond_duty *duty,
                                             millpond_error **error);

/**
 * Ends the slice, which failed. Nothing is tried again: the next slice of the job does it. Only the first end of a slice
 * counts.
 *
 * `duty` is set to what the enlistment did. It may be NULL.
 *
 * Errors: `MILLPOND_FORKED` in the child of a fork, for a slice of its parent.
 *
 * Threads: any.
 */
millpond_status millpond_recruiter_slice_fail(millpond_recruiter_slice *slice,
                                              millpond_duty *duty,
                                              millpond_error **error);

/**
 * The queue tracker with this name. Makes no call.
 *
 * A name beyond its limits is refused by the first step that needs it.
 *
 * `tracker` is set to a handle, which the caller frees with `millpond_tracker_free`, or on
 * failure to NULL.
 *
 *     millpond_tracker *tracker;
 *     if (millpond_tracker_new(client, "orders", 6, &tracker, &error) == MILLPOND_OK)
 *         status = millpond_tracker_is_queued(tracker, "ann", 3, &queued, &error);
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not one.
 *
 * Threads: any.
 */
millpond_status millpond_tracker_new(millpond_client *client,
                                     const char *name,
                                     size_t name_length,
                                     millpond_tracker **tracker,
                                     millpond_error **error);

/**
 * Adds ids, for programs that insert rows: insert the rows first, and then add their ids. An
 * id that is tracked already stays, also if a check that is under way finds no work for it.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for no id or more than 1,000 and an id that is empty or
 * above 512 bytes; `MILLPOND_WRONG_TYPE` if the keys hold something else;
 * `MILLPOND_INCOMPATIBLE_VERSION` or `MILLPOND_CORRUPT` if they cannot be read;
 * `MILLPOND_OUT_OF_MEMORY` if the memory of the server is full; those of the connection.
 *
 * Delivery: after `MILLPOND_CONNECTION_LOST` or `MILLPOND_TIMEOUT` they may have been added.
 * Adding them again is safe.
 *
 * Threads: any.
 */
millpond_status millpond_tracker_add(millpond_tracker *tracker,
                                     const millpond_bytes *ids,
                                     size_t id_count,
                                     millpond_error **error);

/**
 * Whether an id has work queued, as far as the tracker knows. `queued` is set to the result.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for an id that is empty or above 512 bytes;
 * `MILLPOND_WRONG_TYPE` if the keys hold something else; those of the connection.
 *
 * Threads: any.
 */
millpond_status millpond_tracker_is_queued(millpond_tracker *tracker,
                                           const char *id,
                                           size_t id_length,
                                           bool *queued,
                                           millpond_error **error);

/**
 * Whether ids have work queued, in the same order.
 *
 * `flags` is where `id_count` of them go; it may be NULL. On failure they are all false.
 *
 * Errors: as `millpond_tracker_is_queued`; also `MILLPOND_INVALID_ARGUMENT` for no id or more
 * than 1,000.
 *
 * Threads: any.
 */
millpond_status millpond_tracker_are_queued(millpond_tracker *tracker,
                                            const millpond_bytes *ids,
                                            size_t id_count,
                                            bool *flags,
                                            millpond_error **error);

/**
 * How many ids are tracked. `len` is set to the result.
 *
 * Errors: as `millpond_tracker_stats`.
 *
 * Threads: any.
 */
millpond_status millpond_tracker_len(millpond_tracker *tracker,
                                     uint64_t *len,
                                     millpond_error **error);

/**
 * How many ids are tracked, and how far the scan has come.
 *
 * `result` is set to the result, which the caller frees with `millpond_tracker_result_free`,
 * or on failure to NULL.
 *
 * Errors: `MILLPOND_WRONG_TYPE` if the keys hold something else;
 * `MILLPOND_INCOMPATIBLE_VERSION` or `MILLPOND_CORRUPT` if they cannot be read; those of the
 * connection.
 *
 * Threads: any.
 */
millpond_status millpond_tracker_stats(millpond_tracker *tracker,
                                       millpond_tracker_result **result,
                                       millpond_error **error);

/**
 * A page of the ids whose stamps come after `after`, in the order of their stamps: first those
 * that are checked first. It has up to `limit` ids; or more, if the last ones have the same
 * stamp. The next page comes after the stamp of the last id of this one, and an empty page is
 * the end. An id that is checked between two pages may be on both.
 *
 * `result` is set to the result, which the caller frees with `millpond_tracker_result_free`,
 * or on failure to NULL.
 *
 *     millpond_tracker_result *page;
 *     const millpond_tracked *entry;
 *     status = millpond_tracker_ids(tracker, 0, 100, &page, &error);
 *     for (size_t i = 0; (entry = millpond_tracker_result_entry(page, i)) != NULL; i++)
 *         printf("%.*s\n", (int)entry->id.length, entry->id.data);
 *     millpond_tracker_result_free(page);
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a limit of 0 or above 1,000; `MILLPOND_WRONG_TYPE`
 * if the keys hold something else; those of the connection.
 *
 * Threads: any.
 */
millpond_status millpond_tracker_ids(millpond_tracker *tracker,
                                     uint64_t after,
                                     size_t limit,
                                     millpond_tracker_result **result,
                                     millpond_error **error);

/**
 * Forgets all ids, and lets the next scan begin at the beginning; `number` is set to how many
 * ids there were.
 *
 * `number` may be NULL.
 *
 * Errors: as `millpond_tracker_stats`.
 *
 * Delivery: after `MILLPOND_CONNECTION_LOST` or `MILLPOND_TIMEOUT` it may have been done.
 *
 * Threads: any.
 */
millpond_status millpond_tracker_clear(millpond_tracker *tracker,
                                       uint64_t *number,
                                       millpond_error **error);

/**
 * The first half of a scan: the stats, whose `row` is the one after which the scan goes on.
 * Then the program reads up to `limit` rows of its table that come after this one, in their
 * order, and calls `millpond_tracker_advance`. It changes nothing, and has the arguments of
 * the second half so that wrong ones are refused before the program reads any rows.
 *
 * `result` is set to the result, which the caller frees with `millpond_tracker_result_free`,
 * or on failure to NULL. `round_min_ms`: how long a round of scans lasts at least, up to 100
 * years; usually 60,000.
 *
 *     millpond_tracker_result *begun, *advanced;
 *     if (millpond_tracker_begin_scan(tracker, 25, 60000, &begun, &error) == MILLPOND_OK) {
 *         millpond_bytes after = millpond_tracker_result_data(begun)->stats->row;
 *         size_t count = read_rows(after, 25, rows, ids);
 *         status = millpond_tracker_advance(tracker, after.data, after.length, rows, count, ids, count, 25, 60000,
 *                                           &advanced, &error);
 *     }
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a limit of 0 or above 1,000, and a `round_min_ms` above
 * 100 years; otherwise as `millpond_tracker_stats`; those of the connection.
 *
 * Threads: any.
 */
millpond_status millpond_tracker_begin_scan(millpond_tracker *tracker,
                                            size_t limit,
                                            uint64_t round_min_ms,
                                            millpond_tracker_result **result,
                                            millpond_error **error);

/**
 * The second half of a scan: moves it past rows of the table and adds their ids.
 *
 * The rows are those after `after`, which is the row that `millpond_tracker_begin_scan`
 * returned, or empty if it returned none. Each has an id, or an empty one if it has none.
 * Fewer rows than `limit` are the last ones.
 *
 * After the last rows the next scan begins at the beginning, at most once in `round_min_ms`,
 * and otherwise waits at the end for rows that are new. With 100 years, 3,155,760,000,000, it
 * stays there. Rows are compared by your database alone.
 *
 * `result` is set to the result, which the caller frees with `millpond_tracker_result_free`,
 * or on failure to NULL. `round_min_ms`: how long a round of scans lasts at least, up to 100
 * years; usually 60,000.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for rows and ids of different number, a row that is
 * empty, above 1 KiB or no UTF-8, an id above 512 bytes, more than 1,000 rows, a full page
 * whose last row is `after`, a limit of 0 or above 1,000, and a `round_min_ms` above 100 years;
 * otherwise as `millpond_tracker_add`; those of the connection.
 *
 * Delivery: after `MILLPOND_CONNECTION_LOST` or `MILLPOND_TIMEOUT` it may have been done.
 * Repeating it changes nothing then.
 *
 * Threads: any.
 */
millpond_status millpond_tracker_advance(millpond_tracker *tracker,
                                         const char *after,
                                         size_t after_length,
                                         const millpond_bytes *rows,
                                         size_t row_count,
                                         const millpond_bytes *ids,
                                         size_t id_count,
                                         size_t limit,
                                         uint64_t round_min_ms,
                                         millpond_tracker_result **result,
                                         millpond_error **error);

/**
 * The first half of a prune: the ids that were checked longest ago, which get a new stamp. A
 * single one, if the last sample was not followed by its `millpond_tracker_remove`. Then the
 * program finds those of them that have no work any more, in data that is not older than the
 * call, and passes them to `millpond_tracker_remove`.
 *
 * `result` is set to the result, which the caller frees with `millpond_tracker_result_free`,
 * or on failure to NULL.
 *
 *     millpond_tracker_result *sample, *removed;
 *     if (millpond_tracker_sample(tracker, 25, &sample, &error) == MILLPOND_OK) {
 *         const millpond_tracker_data *data = millpond_tracker_result_data(sample);
 *         size_t count = without_work(data->ids, data->id_count, done);
 *         status = millpond_tracker_remove(tracker, done, count, data->ids, data->id_count, data->stamp, &removed,
 *                                          &error);
 *     }
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a limit of 0 or above 1,000; otherwise as
 * `millpond_tracker_stats`; those of the connection.
 *
 * Delivery: after `MILLPOND_CONNECTION_LOST` or `MILLPOND_TIMEOUT` it may have been done; then
 * the next one samples a single id.
 *
 * Threads: any.
 */
millpond_status millpond_tracker_sample(millpond_tracker *tracker,
                                        size_t limit,
                                        millpond_tracker_result **result,
                                        millpond_error **error);

/**
 * The second half of a prune: removes those of the sampled ids that have no work any more. One
 * that was added, scanned or sampled since stays. Call it also if there are none to remove,
 * since that ends the sample.
 *
 * `result` is set to the result, which the caller frees with `millpond_tracker_result_free`,
 * or on failure to NULL.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for an id that was not sampled and more than 1,000 ids;
 * otherwise as `millpond_tracker_stats`; those of the connection.
 *
 * Delivery: after `MILLPOND_CONNECTION_LOST` or `MILLPOND_TIMEOUT` it may have been done.
 * Repeating it is safe.
 *
 * Threads: any.
 */
millpond_status millpond_tracker_remove(millpond_tracker *tracker,
                                        const millpond_bytes *ids,
                                        size_t id_count,
                                        const millpond_bytes *sampled,
                                        size_t sampled_count,
                                        uint64_t stamp,
                                        millpond_tracker_result **result,
                                        millpond_error **error);

/**
 * Frees a tracker. NULL and what was freed before are fine.
 *
 * Threads: any.
 */
void millpond_tracker_free(millpond_tracker *tracker);

/**
 * The keys as an array of `millpond_keys_length`. Lives until the list is freed. NULL for NULL
 * and for a freed or invalid handle.
 *
 * Threads: any.
 */
const millpond_bytes *millpond_keys_data(const millpond_keys *keys);

/**
 * How many keys there are; 0 where `millpond_keys_data` is NULL.
 *
 * Threads: any.
 */
size_t millpond_keys_length(const millpond_keys *keys);

/**
 * Frees it. NULL and what was freed before are fine.
 *
 * Threads: any.
 */
void millpond_keys_free(millpond_keys *keys);

/**
 * The entry with this number, from 0, lowest score first. Lives until the list is freed. NULL
 * past the end, for NULL, and for a freed or invalid handle.
 *
 *     const millpond_ick_entry *entry;
 *     for (size_t i = 0; (entry = millpond_ick_entries_at(entries, i)) != NULL; i++)
 *         index_document(entry->member, entry->member_length);
 *
 * Threads: any.
 */
const millpond_ick_entry *millpond_ick_entries_at(const millpond_ick_entries *entries,
                                                  size_t index);

/**
 * The first of the entries, `millpond_ick_entries_length` of which lie one after the other,
 * `millpond_ick_entries_stride` bytes apart. Lives until the list is freed. NULL for NULL and
 * for a freed or invalid handle.
 *
 * Threads: any.
 */
const millpond_ick_entry *millpond_ick_entries_data(const millpond_ick_entries *entries);

/**
 * How many entries there are; 0 where `millpond_ick_entries_data` is NULL.
 *
 * Threads: any.
 */
size_t millpond_ick_entries_length(const millpond_ick_entries *entries);

/**
 * How many bytes lie between the start of one element and the start of the next. This is constant within one
 * version of the library, but may differ from the size that the structure has in the program, because new
 * versions may add fields.
 *
 * Threads: any.
 */
size_t millpond_ick_entries_stride(void);

/**
 * The bytes of all members, one after the other without gaps, in the order of the entries, for
 * interpreters, which copy them in one go. Lives until the list is freed. NULL as in
 * `millpond_ick_entries_data`.
 *
 * Threads: any.
 */
const char *millpond_ick_entries_bytes(const millpond_ick_entries *entries);

/**
 * How many bytes these are in total.
 *
 * Threads: any.
 */
size_t millpond_ick_entries_bytes_length(const millpond_ick_entries *entries);

/**
 * Frees it. NULL and what was freed before are fine.
 *
 * Threads: any.
 */
void millpond_ick_entries_free(millpond_ick_entries *entries);

/**
 * The message with this number, from 0, in the order in which they were read. Lives until the
 * list is freed. NULL past the end, for NULL, and for a freed or invalid handle.
 *
 *     const millpond_shuffle_message *message;
 *     for (size_t i = 0; (message = millpond_shuffle_batch_at(batch, i)) != NULL; i++) {
 *         work_on(message->fields, message->field_count);
 *         millpond_shuffle_ack(consumer, &message->receipt, 1, NULL, &error);
 *     }
 *
 * Threads: any.
 */
const millpond_shuffle_message *millpond_shuffle_batch_at(const millpond_shuffle_batch *batch,
                                                          size_t index);

/**
 * The first of the messages, `millpond_shuffle_batch_length` of which lie one after the other,
 * `millpond_shuffle_batch_stride` bytes apart. Lives until the list is freed. NULL for NULL
 * and for a freed or invalid handle.
 *
 * Threads: any.
 */
const millpond_shuffle_message *millpond_shuffle_batch_messages(const millpond_shuffle_batch *batch);

/**
 * How many messages there are; 0 where `millpond_shuffle_batch_messages` is NULL.
 *
 * Threads: any.
 */
size_t millpond_shuffle_batch_length(const millpond_shuffle_batch *batch);

/**
 * How many bytes lie between the start of one element and the start of the next. This is constant within one
 * version of the library, but may differ from the size that the structure has in the program, because new
 * versions may add fields.
 *
 * Threads: any.
 */
size_t millpond_shuffle_batch_stride(void);

/**
 * The fields of all messages, one after the other without gaps, in the order of the messages,
 * for interpreters, which copy them in one go. Lives until the list is freed. NULL as in
 * `millpond_shuffle_batch_messages`.
 *
 * Threads: any.
 */
const millpond_shuffle_field *millpond_shuffle_batch_fields(const millpond_shuffle_batch *batch);

/**
 * How many fields all messages have in total.
 *
 * Threads: any.
 */
size_t millpond_shuffle_batch_fields_length(const millpond_shuffle_batch *batch);

/**
 * The bytes of all fields, each field's name and then its value, one after the other without
 * gaps, in the order of the fields, for interpreters, which copy them in one go. Lives until
 * the list is freed. NULL as in `millpond_shuffle_batch_messages`.
 *
 * Threads: any.
 */
const char *millpond_shuffle_batch_bytes(const millpond_shuffle_batch *batch);

/**
 * How many bytes these are in total.
 *
 * Threads: any.
 */
size_t millpond_shuffle_batch_bytes_length(const millpond_shuffle_batch *batch);

/**
 * Frees it. Its messages stay pending until they are acknowledged. NULL and what was freed
 * before are fine.
 *
 * Threads: any.
 */
void millpond_shuffle_batch_free(millpond_shuffle_batch *batch);

/**
 * The dead letter with this number, from 0, the oldest first. Lives until the list is freed.
 * NULL past the end, for NULL, and for a freed or invalid handle.
 *
 * Threads: any.
 */
const millpond_shuffle_dead_letter *millpond_shuffle_dead_letters_at(const millpond_shuffle_dead_letters *letters,
                                                                     size_t index);

/**
 * The first of the dead letters, `millpond_shuffle_dead_letters_length` of which lie one after
 * the other, `millpond_shuffle_dead_letters_stride` bytes apart. Lives until the list is
 * freed. NULL for NULL and for a freed or invalid handle.
 *
 * Threads: any.
 */
const millpond_shuffle_dead_letter *millpond_shuffle_dead_letters_data(const millpond_shuffle_dead_letters *letters);

/**
 * How many dead letters there are; 0 where `millpond_shuffle_dead_letters_data` is NULL.
 *
 * Threads: any.
 */
size_t millpond_shuffle_dead_letters_length(const millpond_shuffle_dead_letters *letters);

/**
 * How many bytes lie between the start of one element and the start of the next. This is constant within one
 * version of the library, but may differ from the size that the structure has in the program, because new
 * versions may add fields.
 *
 * Threads: any.
 */
size_t millpond_shuffle_dead_letters_stride(void);

/**
 * Frees it. They stay in the queue. NULL and what was freed before are fine.
 *
 * Threads: any.
 */
void millpond_shuffle_dead_letters_free(millpond_shuffle_dead_letters *letters);

/**
 * The stream with this number, from 0. Lives until the list is freed. NULL past the end, for
 * NULL, and for a freed or invalid handle.
 *
 * Threads: any.
 */
const millpond_shuffle_stream_stats *millpond_shuffle_stats_at(const millpond_shuffle_stats *stats,
                                                               size_t index);

/**
 * The first of the streams, `millpond_shuffle_stats_length` of which lie one after the other,
 * `millpond_shuffle_stats_stride` bytes apart. Lives until the list is freed. NULL for NULL
 * and for a freed or invalid handle.
 *
 * Threads: any.
 */
const millpond_shuffle_stream_stats *millpond_shuffle_stats_streams(const millpond_shuffle_stats *stats);

/**
 * How many streams there are; 0 where `millpond_shuffle_stats_streams` is NULL.
 *
 * Threads: any.
 */
size_t millpond_shuffle_stats_length(const millpond_shuffle_stats *stats);

/**
 * How many bytes lie between the start of one element and the start of the next. This is constant within one
 * version of the library, but may differ from the size that the structure has in the program, because new
 * versions may add fields.
 *
 * Threads: any.
 */
size_t millpond_shuffle_stats_stride(void);

/**
 * All streams together: their sums, and the longest of the idle times. Lives until the list is
 * freed. NULL as in `millpond_shuffle_stats_streams`.
 *
 * Threads: any.
 */
const millpond_shuffle_stream_stats *millpond_shuffle_stats_total(const millpond_shuffle_stats *stats);

/**
 * Frees it. NULL and what was freed before are fine.
 *
 * Threads: any.
 */
void millpond_shuffle_stats_free(millpond_shuffle_stats *stats);

/**
 * What was found, with its texts. Lives until the list is freed. NULL for NULL and for a freed
 * or invalid handle.
 *
 * Threads: any.
 */
const millpond_recovered *millpond_recovery_data(const millpond_recovery *recovery);

/**
 * Frees it. NULL and what was freed before are fine.
 *
 * Threads: any.
 */
void millpond_recovery_free(millpond_recovery *recovery);

/**
 * What is in the result. Lives until the list is freed. NULL for NULL and for a freed or
 * invalid handle.
 *
 * Threads: any.
 */
const millpond_tasks_data *millpond_tasks_result_data(const millpond_tasks_result *result);

/**
 * The task with this number, from 0; see `millpond_tasks_data`. Lives until the list is freed.
 * NULL past the end, for NULL, and for a freed or invalid handle.
 *
 *     const millpond_task *task;
 *     for (size_t i = 0; (task = millpond_tasks_result_task(result, i)) != NULL; i++)
 *         work_on(task->value.data, task->value.length);
 *
 * Threads: any.
 */
const millpond_task *millpond_tasks_result_task(const millpond_tasks_result *result, size_t index);

/**
 * The doc with this number, from 0; see `millpond_tasks_data`. Lives until the list is freed.
 * NULL past the end, for NULL, and for a freed or invalid handle.
 *
 * Threads: any.
 */
const millpond_doc *millpond_tasks_result_doc(const millpond_tasks_result *result, size_t index);

/**
 * The queue with this number, from 0, of `millpond_tasks_queue_stats`; see
 * `millpond_tasks_data`. Lives until the list is freed. NULL past the end, for NULL, and for a
 * freed or invalid handle.
 *
 * Threads: any.
 */
const millpond_task_queue_stats *millpond_tasks_result_queue(const millpond_tasks_result *result,
                                                             size_t index);

/**
 * The namespace with this number, from 0, of `millpond_tasks_namespace_stats`; see
 * `millpond_tasks_data`. Lives until the list is freed. NULL past the end, for NULL, and for a
 * freed or invalid handle.
 *
 * Threads: any.
 */
const millpond_task_namespace_stats *millpond_tasks_result_namespace(const millpond_tasks_result *result,
                                                                     size_t index);

/**
 * Frees it. NULL and what was freed before are fine.
 *
 * Threads: any.
 */
void millpond_tasks_result_free(millpond_tasks_result *result);

/**
 * What is in the result. Lives until the list is freed. NULL for NULL and for a freed or
 * invalid handle.
 *
 * Threads: any.
 */
const millpond_events_data *millpond_events_result_data(const millpond_events_result *result);

/**
 * The event with this number, from 0; see `millpond_events_data`. Lives until the list is
 * freed. NULL past the end, for NULL, and for a freed or invalid handle.
 *
 *     const millpond_event *event;
 *     for (size_t i = 0; (event = millpond_events_result_event(result, i)) != NULL; i++)
 *         work_on(event->payload.data, event->payload.length);
 *
 * Threads: any.
 */
const millpond_event *millpond_events_result_event(const millpond_events_result *result,
                                                   size_t index);

/**
 * The published with this number, from 0, in the order in which they were passed; see
 * `millpond_events_data`. Lives until the list is freed. NULL past the end, for NULL, and for
 * a freed or invalid handle.
 *
 * Threads: any.
 */
const millpond_published_event *millpond_events_result_published(const millpond_events_result *result,
                                                                 size_t index);

/**
 * The schedule with this number, from 0; see `millpond_events_data`. Lives until the list is
 * freed. NULL past the end, for NULL, and for a freed or invalid handle.
 *
 * Threads: any.
 */
const millpond_schedule_info *millpond_events_result_schedule(const millpond_events_result *result,
                                                              size_t index);

/**
 * Frees it. NULL and what was freed before are fine.
 *
 * Threads: any.
 */
void millpond_events_result_free(millpond_events_result *result);

/**
 * What is in the result. Lives until the list is freed. NULL for NULL and for a freed or
 * invalid handle.
 *
 * Threads: any.
 */
const millpond_volatile_data *millpond_volatile_result_data(const millpond_volatile_result *result);

/**
 * The field with this number, from 0; see `millpond_volatile_data`. Lives until the list is
 * freed. NULL past the end, for NULL, and for a freed or invalid handle.
 *
 *     const millpond_hash_field *field;
 *     for (size_t i = 0; (field = millpond_volatile_result_field(result, i)) != NULL; i++)
 *         work_on(field->value.data, field->value.length);
 *
 * Threads: any.
 */
const millpond_hash_field *millpond_volatile_result_field(const millpond_volatile_result *result,
                                                          size_t index);

/**
 * The value with this number, from 0, in the order in which the fields were passed; see
 * `millpond_volatile_data`. Lives until the list is freed. NULL past the end, for NULL, and
 * for a freed or invalid handle.
 *
 * Threads: any.
 */
const millpond_bytes *millpond_volatile_result_value(const millpond_volatile_result *result,
                                                     size_t index);

/**
 * Frees it. NULL and what was freed before are fine.
 *
 * Threads: any.
 */
void millpond_volatile_result_free(millpond_volatile_result *result);

/**
 * What is in the result. Lives until the list is freed. NULL for NULL and for a freed or
 * invalid handle.
 *
 * Threads: any.
 */
const millpond_recruiter_data *millpond_recruiter_result_data(const millpond_recruiter_result *result);

/**
 * The job with this number, from 0, by their ids; see `millpond_recruiter_data`. Lives until
 * the list is freed. NULL past the end, for NULL, and for a freed or invalid handle.
 *
 * Threads: any.
 */
const millpond_recruiter_job_stats *millpond_recruiter_result_job(const millpond_recruiter_result *result,
                                                                  size_t index);

/**
 * Frees it. NULL and what was freed before are fine.
 *
 * Threads: any.
 */
void millpond_recruiter_result_free(millpond_recruiter_result *result);

/**
 * What is in the result. Lives until the list is freed. NULL for NULL and for a freed or
 * invalid handle.
 *
 * Threads: any.
 */
const millpond_tracker_data *millpond_tracker_result_data(const millpond_tracker_result *result);

/**
 * The entry with this number, from 0; see `millpond_tracker_data`. Lives until the list is
 * freed. NULL past the end, for NULL, and for a freed or invalid handle.
 *
 * Threads: any.
 */
const millpond_tracked *millpond_tracker_result_entry(const millpond_tracker_result *result,
                                                      size_t index);

/**
 * The id with this number, from 0; see `millpond_tracker_data`. Lives until the list is freed.
 * NULL past the end, for NULL, and for a freed or invalid handle.
 *
 *     const millpond_bytes *id;
 *     for (size_t i = 0; (id = millpond_tracker_result_id(result, i)) != NULL; i++)
 *         check(id->data, id->length);
 *
 * Threads: any.
 */
const millpond_bytes *millpond_tracker_result_id(const millpond_tracker_result *result,
                                                 size_t index);

/**
 * Frees it. NULL and what was freed before are fine.
 *
 * Threads: any.
 */
void millpond_tracker_result_free(millpond_tracker_result *result);

/**
 * Installs a callback that tells a waiting call whether to stop. If it returns true, the call
 * returns `MILLPOND_CANCELLED`. For interpreters, which have to run their signal handlers while a
 * call waits.
 *
 * It is called on the waiting thread: in a call that waits for work, about every 50 milliseconds
 * and whenever a signal arrives; in a call that waits for a server's reply, whenever a signal
 * arrives. It must return (no longjmp, no exception), and must not call Millpond. A callback that
 * was installed before is replaced; NULL removes it. There is one callback for the whole process.
 *
 * Threads: any.
 */
void millpond_on_interrupt(bool (*check)(void));

/**
 * Finds the script of a step by its name, such as `ick.add`. Sends nothing.
 *
 * `script` is set to the script, which lives forever, or on failure to NULL.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a name that no step has.
 *
 * Threads: any.
 */
millpond_status millpond_script_find(const char *name,
                                     const millpond_script **script,
                                     millpond_error **error);

/**
 * How many scripts there are.
 *
 * Threads: any.
 */
size_t millpond_script_count(void);

/**
 * The script with this number, from 0, to load all scripts in advance. `script` is set as by `millpond_script_find`.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for an index that is not below `millpond_script_count`.
 *
 * Threads: any.
 */
millpond_status millpond_script_at(size_t index,
                                   const millpond_script **script,
                                   millpond_error **error);

/**
 * Translates an error that a server returned for a script on your own connection:
 * `reply` is its text, such as `WRONGTYPE the key ...`, without the `-` of the protocol.
 *
 * Errors: the error that Millpond's own call would have returned; so this always fails.
 *
 * Threads: any.
 */
millpond_status millpond_script_error(const char *reply,
                                      size_t reply_length,
                                      millpond_error **error);

/**
 * The KEYS of every script of an Ick except the lease scripts, in order: the flag (which is
 * the name itself), the producer set, the consumer set. For connections of your own; sends
 * nothing. A step that is fenced by a lease takes the key of `millpond_ick_lease_keys` as its
 * fourth.
 *
 * `keys` is set to the keys, which the caller frees with `millpond_keys_free`, or on failure to NULL.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a name that is above 64 KiB.
 *
 * Threads: any.
 */
millpond_status millpond_ick_keys(const char *name,
                                  size_t name_length,
                                  millpond_keys **keys,
                                  millpond_error **error);

/**
 * The KEYS of the scripts `ick.acquire`, `ick.renew` and `ick.release`, a single key: the
 * lease. For connections of your own; sends nothing.
 *
 * `keys` is set to the keys, which the caller frees with `millpond_keys_free`, or on failure to NULL.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a name that is above 64 KiB.
 *
 * Threads: any.
 */
millpond_status millpond_ick_lease_keys(const char *name,
                                        size_t name_length,
                                        millpond_keys **keys,
                                        millpond_error **error);

/**
 * The KEYS of the scripts of a shuffle queue, in order: the name itself, the meta hash, the
 * notifications and the dead letters. `shuffle.reclaim`, `shuffle.reject` and the dead-letter
 * scripts take all four, the others the first three. For connections of your own; sends
 * nothing.
 *
 * `keys` is set to the keys, which the caller frees with `millpond_keys_free`, or on failure to NULL.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a name that is empty or above 64 KiB.
 *
 * Threads: any.
 */
millpond_status millpond_shuffle_keys(const char *name,
                                      size_t name_length,
                                      millpond_keys **keys,
                                      millpond_error **error);

/**
 * The KEYS of the scripts `shuffle.delete_tracked`, `shuffle.cordon`, `shuffle.scan_expired`
 * and `shuffle.forget_expired`, in order. For connections of your own; sends nothing.
 * `track_keys` is `MILLPOND_SHUFFLE_TRACK_GLOBAL` or `MILLPOND_SHUFFLE_TRACK_QUEUE`. A
 * `shuffle.write` of a tracked message has the first two of these after three of
 * `millpond_shuffle_keys`.
 *
 * `keys` is set to the keys, which the caller frees with `millpond_keys_free`, or on failure to NULL.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a name that is empty or above 64 KiB, and for any
 * other `track_keys`.
 *
 * Threads: any.
 */
millpond_status millpond_shuffle_tracking_keys(const char *name,
                                               size_t name_length,
                                               uint32_t track_keys,
                                               millpond_keys **keys,
                                               millpond_error **error);

/**
 * The KEYS of the scripts of a store of tasks. For connections of your own; sends nothing.
 *
 * There are ten. A script takes the first keys of these, as many as the comment at the end of
 * its source names: all ten if it involves documents, one for `tasks.time`, otherwise seven.
 *
 * `keys` is set to the keys, which the caller frees with `millpond_keys_free`, or on failure to NULL.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a name that is empty or above 64 KiB.
 *
 * Threads: any.
 */
millpond_status millpond_tasks_keys(const char *name,
                                    size_t name_length,
                                    millpond_keys **keys,
                                    millpond_error **error);

/**
 * The KEYS of the scripts of a volatile hash, in order: the values, the expiries, the locks,
 * when those expire, and what belongs to the hash as a whole. For connections of your own;
 * sends nothing. A script takes the first two of these or all five, as the comment at the
 * start of its last part says.
 *
 * `keys` is set to the keys, which the caller frees with `millpond_keys_free`, or on failure to NULL.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a name that is empty or above 64 KiB.
 *
 * Threads: any.
 */
millpond_status millpond_volatile_keys(const char *name,
                                       size_t name_length,
                                       millpond_keys **keys,
                                       millpond_error **error);

/**
 * The KEYS of the scripts of a recruiter, in order: the state and the counters. For
 * connections of your own; sends nothing. The key of the slices of a job that are running,
 * which is the first of these followed by `:running:` and the job's id, comes after them.
 *
 * `keys` is set to the keys, which the caller frees with `millpond_keys_free`, or on failure to NULL.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a name that is empty or above 64 KiB.
 *
 * Threads: any.
 */
millpond_status millpond_recruiter_keys(const char *name,
                                        size_t name_length,
                                        millpond_keys **keys,
                                        millpond_error **error);

/**
 * The KEYS of every script of a queue tracker, in order: the scan and the ids. For connections
 * of your own; sends nothing.
 *
 * `keys` is set to the keys, which the caller frees with `millpond_keys_free`, or on failure to NULL.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a name that is empty or above 64 KiB.
 *
 * Threads: any.
 */
millpond_status millpond_tracker_keys(const char *name,
                                      size_t name_length,
                                      millpond_keys **keys,
                                      millpond_error **error);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* MILLPOND_H */
