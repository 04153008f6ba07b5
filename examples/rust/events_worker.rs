//! Delivers what `events_producer` publishes, until Ctrl-C or SIGTERM.
//!
//! `cargo run -p millpond-examples --features redis --example events_worker redis://localhost`
//!
//! Any number of workers may run. With the default, `memory:`, it delivers a few webhooks of its own.

use std::time::Duration;

use millpond::events::{Failure, Job, NewEvent};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Delivers a webhook. The customer's next one comes when this one has ended.
fn deliver(job: &Job) -> Result<(), Failure> {
    let event = job.event();
    let text = String::from_utf8_lossy(&event.payload);
    if job.is_lost() {
        return Err(Failure::Release);
    }
    if &*event.key == b"nobody" {
        return Err(Failure::Reject("no such address".to_owned()));
    }
    // A server that is busy is asked again: what fails is put off, each time longer, and holds up its own customer only.
    if &*event.key == b"bob" && event.attempts == 1 {
        return Err(Failure::RetryAfter(
            "bob's server is busy".to_owned(),
            Duration::from_millis(20),
        ));
    }
    println!("deliver {text}");
    Ok(())
}

fn main() -> millpond::Result<()> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "memory:".to_owned());
    let client = millpond::connect(&url)?;
    let queue = client.events("examples/webhooks");

    // An event is leased and renewed while `deliver` runs. What goes wrong is logged.
    let worker = queue.worker().concurrency(4);
    let worker = worker.on_report(|report| eprintln!("{}: {}", report.kind.name(), report.message));

    if url == "memory:" {
        for customer in ["ann", "bob", "nobody"] {
            queue.publish(NewEvent::new(r#"{"what": "paid"}"#).key(customer))?;
        }
        let drained = worker.drain(deliver)?;
        assert_eq!((drained.done, drained.dead), (1, 1));
        std::thread::sleep(Duration::from_millis(30));
        assert_eq!(worker.drain(deliver)?.done, 1);
    } else {
        // The first signal lets webhooks that are being delivered be delivered, for up to 25 s; a second one does not.
        let mut signals = Signals::new([SIGINT, SIGTERM]).expect("they can be handled");
        let stop = worker.clone();
        std::thread::spawn(move || {
            for within in [25, 0].map(Duration::from_secs) {
                signals.forever().next();
                stop.stop(within);
            }
        });
        worker.run(deliver)?;
    }

    println!("{} webhooks could not be delivered", queue.stats()?.dead);
    client.close()
}
