//! What events are for: things that happen at their time, in order for each customer, until somebody has done them.
//!
//! `cargo run -p millpond-examples --features redis --example events redis://localhost`

use std::time::Duration;

use millpond::events::{Cancelled, NewEvent, Rescheduled, Status};

fn main() -> millpond::Result<()> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "memory:".to_owned());
    let client = millpond::connect(&url)?;
    let queue = client.events("examples/shop");
    let day = Duration::from_secs(24 * 60 * 60);

    // A cart is left: a reminder tomorrow, once, however often the page says so.
    let reminder = || NewEvent::new("remind ann").delay(day).dedup_id("cart-of-ann");
    let first = queue.publish(reminder())?;
    let again = queue.publish(reminder())?;
    assert_eq!((again.status, again.id), (Status::Duplicate, first.id));

    // She looks at it again: a day later. She buys: no reminder.
    assert_eq!(queue.reschedule([first.id], 2 * day)?, [Rescheduled::Rescheduled]);
    assert_eq!(queue.cancel([first.id], false, false)?, [Cancelled::Removed]);

    // What happens to one order happens in order; other orders do not wait for it.
    queue.publish_many([
        NewEvent::new("order 7 is paid").key("order-7"),
        NewEvent::new("order 7 is sent").key("order-7"),
        NewEvent::new("order 8 is paid").key("order-8"),
    ])?;
    let events = queue.receive(10)?;
    let texts: Vec<_> =
        events.iter().map(|event| String::from_utf8_lossy(&event.payload)).collect();
    assert_eq!(texts, ["order 7 is paid", "order 8 is paid"]);

    // The printer is out of paper: this one comes again at once, and before what follows in its order.
    queue.nack(&events[0], "out of paper", Duration::ZERO)?;
    queue.ack(&events[1])?;
    for text in ["order 7 is paid", "order 7 is sent"] {
        let events = queue.receive(10)?;
        assert_eq!(&*events[0].payload, text.as_bytes());
        println!("{text} (attempt {})", events[0].attempts);
        queue.ack(&events[0])?;
    }
    assert_eq!(queue.stats()?.events, 0);
    client.close()
}
