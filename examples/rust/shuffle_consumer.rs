//! Works on what `shuffle_producer` writes, until Ctrl-C or SIGTERM.
//!
//! `cargo run -p millpond-examples --features redis --example shuffle_consumer redis://localhost`
//!
//! Any number of consumers may run, each with a name of its own. With the default, `memory:`, it
//! works off a few messages of its own.

use std::time::Duration;

use millpond::shuffle::Job;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// The work, which must be safe to do twice: a message is delivered at least once.
fn print(job: &Job) {
    let text = |name| String::from_utf8_lossy(job.message().field(name).unwrap_or_default());
    println!("printing page {} for {}", text("page"), text("tenant"));
}

fn main() -> millpond::Result<()> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "memory:".to_owned());
    let client = millpond::connect(&url)?;
    let queue = client.shuffle_queue("{examples/jobs}");
    let name = format!("printer-{}", std::process::id());

    // A message is renewed while `print` runs, and then acknowledged and deleted. One whose handler
    // fails is delivered again, later; one that was tried five times becomes a dead letter. What a
    // consumer left that is gone is taken over after the lease, which all workers share. What goes
    // wrong is logged.
    let consumer = queue.consumer("printers", name).max_deliveries(5);
    let worker = consumer.worker().lease(Duration::from_secs(60)).concurrency(4).delete(true);
    let worker = worker.on_report(|report| eprintln!("{}: {}", report.kind.name(), report.message));

    if url == "memory:" {
        let jobs = ["ann", "bob", "cy"].map(|tenant| (tenant, [("tenant", tenant), ("page", "1")]));
        queue.write_many(jobs)?;
        assert_eq!(worker.drain(print)?.done, 3);
    } else {
        // The first signal lets pages that are being printed be printed, for up to 25 s; a second one
        // does not.
        let mut signals = Signals::new([SIGINT, SIGTERM]).expect("they can be handled");
        let stop = worker.clone();
        std::thread::spawn(move || {
            for within in [25, 0].map(Duration::from_secs) {
                signals.forever().next();
                stop.stop(within);
            }
        });
        worker.run(print)?;
    }

    println!("{} still with others", queue.pending_count("printers")?);
    client.close()
}
