//! Writes messages of several tenants; run `shuffle_consumer` with the same URL to work on them.
//!
//! `cargo run -p millpond-examples --features redis --example shuffle_producer redis://localhost`
//!
//! Any number of producers may run. With the default, `memory:`, other programs do not see what is
//! written.

use millpond::shuffle::TrackKeys;

fn main() -> millpond::Result<()> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "memory:".to_owned());
    let client = millpond::connect(&url)?;
    // The braces tie all keys of the queue to one slot, for a cluster.
    let queue = client.shuffle_queue("{examples/jobs}");
    let queue = queue.streams(16).streams_per_shard(4).track_keys(TrackKeys::Queue);

    // Many messages in one step, each for its tenant.
    let tenants = ["ann", "bob", "cy"];
    let jobs = tenants.iter().flat_map(|tenant| {
        ["1", "2", "3"].map(|page| (tenant, [("tenant", *tenant), ("page", page)]))
    });
    let receipts = queue.write_many(jobs)?;
    assert_eq!(receipts.len(), 9);

    // One that can be deleted by its number.
    let number = format!("ann/4/{}", std::process::id());
    let job = [("tenant", "ann"), ("page", "4"), ("job", &*number)];
    queue.write_tracked("ann", job, "job", None)?;
    let deleted = queue.delete_tracked(&number)?;
    // A consumer may have been faster.
    assert!(deleted.is_some() || url != "memory:");

    assert!(queue.backlog()? >= 9 || url != "memory:");
    println!("{} messages written", receipts.len());
    client.close()
}
