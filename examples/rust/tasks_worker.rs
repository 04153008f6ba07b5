//! Works on what `tasks_producer` inserts, until nothing has come for a second.
//!
//! `cargo run -p millpond-examples --features redis --example tasks_worker redis://localhost`
//!
//! Any number of workers may run. With the default, `memory:`, it inserts a few tasks for itself first.

use std::time::Duration;

use millpond::tasks::{Failure, Job, Modification, NewTask};

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
    if url == "memory:" {
        for to in ["ann", "bob", "cy"] {
            store.insert("mails", format!(r#"{{"to": "{to}"}}"#))?;
        }
    }

    // A task is leased and renewed while `send` runs. If it fails it is retried, later each time; after
    // five attempts, or if its workers died ten times while they worked on it, it goes to `mails/err`.
    let worker =
        store.worker(["mails"]).max_attempts(5).max_claims(10).wait(Duration::from_secs(1));
    worker.run(send)?;

    let mut archived = 0;
    for batch in store.claims(["archive"]).max(100) {
        let batch = batch?;
        archived += batch.len();
        store.modify(batch.iter().fold(Modification::new(), |all, task| all.delete(task)))?;
    }
    assert!(archived == 3 || url != "memory:");
    println!("{archived} mails archived");
    client.close()
}
