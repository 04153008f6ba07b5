//! Publishes webhooks, in order for each customer, and reminders for later; run `events_worker` with the same URL to
//! deliver them.
//!
//! `cargo run -p millpond-examples --features redis --example events_producer redis://localhost`
//!
//! Any number of producers may run. With the default, `memory:`, other programs do not see what is published.

use std::time::Duration;

use millpond::events::{NewEvent, Status};

fn main() -> millpond::Result<()> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "memory:".to_owned());
    let client = millpond::connect(&url)?;
    let queue = client.events("examples/webhooks");

    // Those of a customer are delivered one after the other, in this order.
    let mut events = Vec::new();
    for customer in ["ann", "bob"] {
        for what in ["paid", "packed", "sent"] {
            let text = format!(r#"{{"to": "{customer}", "what": "{what}"}}"#);
            events.push(NewEvent::new(text).key(customer).header("version", "1"));
        }
    }
    // One whose address does not exist, one for later, and one that is published once, however often this runs.
    events.push(NewEvent::new(r#"{"to": "nobody", "what": "paid"}"#).key("nobody"));
    let soon = Duration::from_millis(500);
    events.push(NewEvent::new(r#"{"to": "ann", "what": "reviewed?"}"#).key("ann").delay(soon));
    events.push(NewEvent::new(r#"{"to": "all", "what": "welcome"}"#).dedup_id("welcome"));

    let published = queue.publish_many(events)?;
    let created = published.iter().filter(|event| event.status == Status::Created).count();
    assert!(created == 9 || url != "memory:");
    println!("{created} webhooks to deliver");
    client.close()
}
