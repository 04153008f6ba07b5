//! What workers of all queues have in common: how a job comes in, is kept, and goes out.
//!
//! A *queue* ([`queue::Queue`]) takes jobs, keeps them under leases, and ends them. A *run* ([`run::Run`]) is one call of a
//! worker's `run` or `drain`. It hands jobs out to its callers, which are threads, tasks or hosts, and calls no handler
//! itself. What it holds and does next is decided by a *machine* ([`machine`]), which is fed with what happened and with
//! the time; its driver is the lock, the calls and the alarm around it.
//!
//! ```text
//!            the queue                                                        reported
//!                │ took                                                           ▲
//!                ▼           next              end                sent            │
//!  suspect?  ┌───────┐   ┌─────────┐      ┌──────────┐       ┌─────────┐     ┌─────────┐
//!   no ────▶ │ ready │──▶│ running │─────▶│ gathered │──────▶│ sending │────▶│  over   │
//!            └───────┘   └─────────┘      └──────────┘       └─────────┘     └─────────┘
//!                ▲            │ limit           ▲ ▲               │
//!   yes          │ begun      ▼                 │ │ after a pause │ the connection failed
//!    │           │       ┌─────────┐  time_out  │ └───────────────┤
//!    ▼           │       │ overdue │────────────┘                 │ it must end otherwise
//! ┌──────────┐ when it   └─────────┘            ▲ ◀───────────────┘
//! │ suspects │─ is alone                        │
//! └──────────┘                                  │ give_back: a stop, of what is ready or a suspect;
//!                                               │ after its deadline, of what is running
//! ```
//!
//! How a job comes in and goes out, by file:
//!
//! 1. A caller asks for what comes next (`run.rs`, `driver.rs`). If there is room, the machine tells it to take jobs, and it drives the
//!    loop that asks the queue and waits (`poll_loop.rs`), as one caller at a time does.
//! 2. Each job that was taken has a lease, renewed by a native thread (`lease.rs`; `renewal.rs` decides when).
//! 3. The machine hands the job out (`machine.rs`). The caller runs the handler (`drive.rs` does that in Rust), and says
//!    how it went: done, or a `Failure` (`failure.rs`).
//! 4. That becomes an `End` (`end.rs`). The lease ends, and with the newest version of what it kept the queue makes an
//!    `Ending` from it: the part of a step, and what is told.
//! 5. The machine gathers endings and has them sent, one step at a time. The queue says what each result means: the job is
//!    over, it must end in another way, or the same is sent again after a pause.
//! 6. What has happened is a `Report` (`report.rs`), for a caller. `outage.rs` makes one report of many failures.
//!
//! A stop (`stop.rs`) reaches all runs of a worker. `settings.rs` has what all workers can be set to. Queues use no other
//! clock, random source or timer than what is here.

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
