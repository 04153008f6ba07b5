//! A nightly job, by a cron expression, on a fleet of workers: one of them does it each night, once.
//!
//! `cargo run -p millpond-examples --features redis --example events_nightly redis://localhost`
//!
//! Any number of these may run. Seconds behind the URL stand for the night. With the default, `memory:`, the job is done
//! at once.

use std::time::Duration;

use millpond::events::{Failure, Job, Schedule};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Does the job. Which night's it is says the time at which the event was to fire.
fn clean_up(job: &Job) -> Result<(), Failure> {
    println!("clean up for {} s since 1970", job.event().fire_at_us / 1_000_000);
    Ok(())
}

fn main() -> millpond::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().unwrap_or_else(|| "memory:".to_owned());
    let seconds = arguments.next().and_then(|seconds| seconds.parse().ok());
    let client = millpond::connect(&url)?;
    let queue = client.events("examples/jobs");

    // Every process puts it when it starts: one that is there just so stays as it is.
    let nightly = Schedule::new("nightly");
    queue.put_schedule(match seconds {
        Some(seconds) => nightly.every(Duration::from_secs(seconds)),
        None => nightly.cron("30 3 * * *").zone("Europe/Berlin"),
    })?;
    let schedule = queue.get_schedule("nightly")?.expect("it was put");
    println!("next at {} s since 1970", schedule.next_us.unwrap_or(0) / 1_000_000);

    let worker = queue.worker();
    let worker = worker.on_report(|report| eprintln!("{}: {}", report.kind.name(), report.message));
    if url == "memory:" {
        queue.trigger_schedule("nightly")?; // now, and the night stays as it is
        assert_eq!(worker.drain(clean_up)?.done, 1);
        assert_eq!(queue.get_schedule("nightly")?, Some(schedule));
    } else {
        let mut signals = Signals::new([SIGINT, SIGTERM]).expect("they can be handled");
        let stop = worker.clone();
        std::thread::spawn(move || {
            for within in [25, 0].map(Duration::from_secs) {
                signals.forever().next();
                stop.stop(within);
            }
        });
        worker.run(clean_up)?;
    }
    client.close()
}
