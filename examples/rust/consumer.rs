//! Works on what `producer` flags, until nothing has come for a second.
//!
//! `cargo run -p millpond-examples --features redis --example consumer redis://localhost`
//!
//! One consumer an Ick. With the default, `memory:`, it flags a few documents for itself first.

use std::time::Duration;

fn main() -> millpond::Result<()> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "memory:".to_owned());
    let client = millpond::connect(&url)?;
    let ick = client.ick("examples/documents");
    if url == "memory:" {
        ick.add([(None, "a.txt"), (None, "b.txt"), (None, "c.txt")])?;
    }

    // The lease makes sure that there is no second consumer; a crashed one's lease expires.
    let Some(lease) = ick.lease(Duration::from_secs(10))? else {
        println!("another consumer is at work");
        return Ok(());
    };
    let mut worked = 0;
    // Asking for the next batch commits the one before. A loop that is left by an error leaves
    // its batch reserved, and the next consumer gets it again: at least once.
    for batch in lease.batches(100).wait(Duration::from_secs(1)) {
        for entry in batch?.iter() {
            println!("working on {}", String::from_utf8_lossy(&entry.member));
            worked += 1;
        }
    }
    lease.release()?;

    let reserved = ick.stats()?.map_or(0, |stats| stats.consumer_size);
    assert_eq!(reserved, 0, "what was worked on is committed");
    assert!(worked == 3 || url != "memory:");
    println!("{worked} documents; nothing is left");
    client.close()
}
