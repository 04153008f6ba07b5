//! Works on what `shuffle_producer` writes, until nothing has come for a second.
//!
//! `cargo run -p millpond-examples --features redis --example shuffle_consumer redis://localhost`
//!
//! Any number of consumers may run, each with a name of its own. With the default, `memory:`, it
//! writes a few messages for itself first.

use std::time::Duration;

use millpond::shuffle::Message;

fn print(message: &Message) {
    let text = |name| String::from_utf8_lossy(message.field(name).unwrap_or_default());
    println!("printing page {} for {}", text("page"), text("tenant"));
}

fn main() -> millpond::Result<()> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "memory:".to_owned());
    let client = millpond::connect(&url)?;
    let queue = client.shuffle_queue("{examples/jobs}");
    if url == "memory:" {
        let jobs = ["ann", "bob", "cy"].map(|tenant| (tenant, [("tenant", tenant), ("page", "1")]));
        queue.write_many(jobs)?;
    }

    let name = format!("printer-{}", std::process::id());
    let consumer = queue.consumer("printers", name).max_deliveries(5);
    let mut printed = 0;

    // What was delivered to others a minute ago and is not finished comes first. A message
    // that was tried five times becomes a dead letter.
    let reclaimed = consumer.reclaim(Duration::from_secs(60), 100)?;
    for message in &reclaimed.messages {
        print(message);
        consumer.ack_and_delete([message])?;
        printed += 1;
    }

    // A message is done when it is acknowledged. An error leaves the rest of the batch pending,
    // and another consumer reclaims it: at least once.
    for batch in consumer.messages(10).wait(Duration::from_secs(1)) {
        for message in &batch? {
            print(message);
            consumer.ack_and_delete([message])?;
            printed += 1;
        }
    }

    assert!(printed == 3 || url != "memory:");
    let pending = queue.pending_count("printers")?;
    println!("{printed} pages, {} given up, {pending} still with others", reclaimed.dead);
    client.close()
}
