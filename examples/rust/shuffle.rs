//! What a shuffle queue is for: one tenant's burst does not delay the others, and what a worker
//! that dies has taken is not lost.
//!
//! `cargo run -p millpond-examples --example shuffle [URL]`

use std::time::Duration;

fn main() -> millpond::Result<()> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "memory:".to_owned());
    let client = millpond::connect(&url)?;
    let queue = client.shuffle_queue("{examples/shuffle}").streams(64).streams_per_shard(4);
    let consumer = queue.consumer("workers", "worker-1");
    // What an interrupted earlier run left. Two at once would see each other's messages.
    loop {
        let left = consumer.reclaim(Duration::ZERO, 1_000)?.messages;
        if left.is_empty() {
            break;
        }
        consumer.ack_and_delete(&left)?;
    }
    for batch in consumer.messages(1_000) {
        consumer.ack_and_delete(&batch?)?;
    }

    // One tenant writes a thousand messages, and then another one writes one.
    queue.write_many((0..1_000).map(|_| ("busy", [("image", "many.png")])))?;
    queue.write("quiet", [("image", "one.png"), ("size", "40x40")])?;

    // The busy one has four of the streams, and consumers read from all that have messages, in
    // turn: the quiet one's message is among the first five.
    let first = consumer.read_many(5)?;
    let quiet = first.iter().find(|message| message.field("image") == Some(b"one.png"));
    assert_eq!(quiet.and_then(|message| message.field("size")), Some(b"40x40".as_slice()));
    println!("the message of the quiet tenant had not to wait for a thousand others");

    // worker-1 dies here, with five messages that it has not acknowledged. Another one reclaims
    // them. In production the idle time is much longer than the longest job.
    let other = queue.consumer("workers", "worker-2").max_deliveries(5);
    let reclaimed = other.reclaim(Duration::ZERO, 100)?;
    assert_eq!(reclaimed.messages.len(), 5);
    assert!(reclaimed.messages.iter().all(|message| message.deliveries == 2));
    assert_eq!(other.ack_and_delete(&reclaimed.messages)?, 5);
    println!("what a worker had taken that died was taken over");

    // Done is what is acknowledged.
    for batch in other.messages(500) {
        other.ack_and_delete(&batch?)?;
    }
    assert_eq!(queue.backlog()?, 0);
    client.close()
}
