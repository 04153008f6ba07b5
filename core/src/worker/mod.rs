//! The worker of all queues: how a job comes in, is kept, and goes out.
//!
//! A *queue* ([`queue::Queue`]) takes jobs, keeps them under leases, and ends them. A *worker* ([`handle::Worker`]) is
//! a queue and settings. A *run* ([`run::Run`]) is one call of a worker's `run` or `drain`: it hands jobs out to its
//! callers, which are threads, tasks or hosts, and calls no handler itself. A *machine* ([`machine`]) decides what a
//! run holds and does next; its inputs are events and the time. Its *driver* ([`driver`]) is the lock, the calls and
//! the alarm around it.
//!
//! ```text
//!           took           next             end              take_to_send            sent
//!   queue ────────▶ ready ──────▶ running ───────▶ gathered ──────────────▶ sending ──────▶ over
//!     │               ▲                              ▲  ▲                      │
//!     │ a suspect     │ begun                        │  └── wake ── resting ◀──┤ the connection failed
//!     └──────────▶ suspects                          └─────────────────────────┘ it must end in another way
//! ```
//!
//! The other transitions of a job, each with its call:
//!
//! | from | to | call | when |
//! | --- | --- | --- | --- |
//! | ready, suspects | gathered, as given back | any | the run closes: a stop, the end of a budget, a final error |
//! | suspects | gathered, as given back | `begun` | another consumer may have it; its end says that it is lost |
//! | running | gathered, as failed | `wake`, `check_limit` | its timeout is over; it is *overdue* until its handler returns |
//! | overdue | a report that the end came late | `end` | its handler ends it after all |
//! | running | nothing: it is delivered again when its lease expires | `leave` | its handler panicked, or the job was dropped |
//! | running | gathered, as given back | `wake`, `stop` | the deadline of a stop has passed |
//! | sending | over, reported as lost | `sent` | the connection still fails 2 s after that deadline |
//!
//! How a job comes in and goes out, by file:
//!
//! 1. A caller asks for the next item (`run.rs`, `driver.rs`). If there is room, the machine tells it to take jobs. It
//!    then drives the loop that asks the queue and waits (`poll_loop.rs`), as one caller at a time does.
//! 2. Each job has a lease, which a native thread renews (`lease.rs`; `renewal.rs` decides when).
//! 3. The machine hands the job out (`machine.rs`), as a `Job` (`job.rs`). The caller runs the handler (`drive.rs` does
//!    that in Rust), and reports the outcome: done, or a `Failure` (`failure.rs`).
//! 4. The outcome becomes an `End` (`end.rs`). The lease ends, and from the `End` and the newest version of the leased
//!    item the queue (`queue.rs`) makes an `Ending`: the part of a step, and the report.
//! 5. The machine gathers endings and has them sent, one step at a time. The queue decides what each result means: the
//!    job is over, it must end in another way, or the same ending is sent again after a pause.
//! 6. The outcome is counted. A failure is also a `Report` (`report.rs`) for a caller; with `tell_all`, so is every other
//!    outcome. `outage.rs` makes one report of many failures of the connection.
//! 7. When nothing is held, and nothing more is taken, the queue does its final work (`depart`), and the run is over.
//!
//! `handle.rs` is the public worker, and `settings.rs` has the settings that all workers share. A stop (`stop.rs`)
//! reaches all runs of a worker.

pub(crate) mod backoff;
pub(crate) mod drive;
mod driver;
pub(crate) mod due;
pub(crate) mod end;
pub(crate) mod failure;
pub(crate) mod groups;
pub(crate) mod handle;
pub(crate) mod ids;
pub(crate) mod job;
pub(crate) mod lease;
pub(crate) mod machine;
mod outage;
pub(crate) mod per_fork;
pub(crate) mod poll_loop;
pub(crate) mod queue;
mod renewal;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod settings;
pub(crate) mod stop;
mod term;
