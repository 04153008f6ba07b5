//! Works on what `tasks_producer` inserts, until Ctrl-C or SIGTERM.
//!
//! `cargo run -p millpond-examples --features redis --example tasks_worker redis://localhost`
//!
//! Any number of workers may run. With the default, `memory:`, it works off a few tasks of its own.

use std::time::Duration;

use millpond::tasks::{Failure, Job, Modification, NewTask};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Sends a mail. What follows from it happens in the same step as the end of the task: here a note
/// for the archive.
fn send(job: &Job) -> Result<Modification, Failure> {
    let mail = job.task().value.as_deref().unwrap_or("null");
    if job.is_lost() {
        return Err(Failure::Release);
    }
    println!("sending {mail}");
    Ok(job.delete().insert(NewTask::new("archive").value(mail)))
}

fn main() -> millpond::Result<()> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "memory:".to_owned());
    let client = millpond::connect(&url)?;
    let store = client.tasks("examples/mail");

    // A task is leased and renewed while `send` runs. If it fails it is retried, later each time; after
    // five attempts, or if its workers died ten times while they worked on it, it goes to `mails/err`.
    // What goes wrong is logged.
    let worker = store.worker(["mails"]).concurrency(4).max_attempts(5).max_crashes(10);
    let worker = worker.on_report(|report| eprintln!("{}: {}", report.kind.name(), report.message));

    if url == "memory:" {
        for to in ["ann", "bob", "cy"] {
            store.insert("mails", format!(r#"{{"to": "{to}"}}"#))?;
        }
        assert_eq!(worker.drain(send)?.done, 3);
    } else {
        // The first signal lets mails that are being sent be sent, for up to 25 s; a second one does not.
        let mut signals = Signals::new([SIGINT, SIGTERM]).expect("they can be handled");
        let stop = worker.clone();
        std::thread::spawn(move || {
            for within in [25, 0].map(Duration::from_secs) {
                signals.forever().next();
                stop.stop(within);
            }
        });
        worker.run(send)?;
    }

    let archive = store.worker(["archive"]).drain(|_| ())?;
    println!("{} mails archived", archive.done);
    client.close()
}
