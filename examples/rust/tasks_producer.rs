//! Inserts tasks, now and for later; run `tasks_worker` with the same URL to work on them.
//!
//! `cargo run -p millpond-examples --features redis --example tasks_producer redis://localhost`
//!
//! Any number of producers may run. With the default, `memory:`, other programs do not see what is
//! inserted.

use std::time::Duration;

use millpond::tasks::{Modification, NewTask};

fn main() -> millpond::Result<()> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "memory:".to_owned());
    let client = millpond::connect(&url)?;
    let store = client.tasks("examples/mail");

    // Many tasks in one step: all of them or none.
    let mut mails = ["ann", "bob", "cy"].into_iter().fold(Modification::new(), |all, to| {
        all.insert(NewTask::new("mails").value(format!(r#"{{"to": "{to}"}}"#)))
    });
    // One that has to go first, one for later, and one that is sent once, however often this runs
    // within a day of it.
    let welcome = NewTask::new("mails").value(r#"{"to": "all"}"#).id("welcome");
    let welcome = welcome.dedup_window(Duration::from_secs(86_400));
    mails = mails
        .insert(NewTask::new("mails").value(r#"{"to": "dee"}"#).priority(9))
        .insert(NewTask::new("mails").value(r#"{"to": "eve"}"#).after(Duration::from_millis(500)))
        .insert(welcome.skip_colliding());
    let inserted = store.modify(mails)?.inserted.len();

    assert!(inserted == 6 || url != "memory:");
    println!("{inserted} mails to send");
    client.close()
}
