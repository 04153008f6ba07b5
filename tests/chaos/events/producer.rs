//! Publishes until it is killed, and reports how each publishing ended. See [`super::lines`].

use std::time::Duration;

use millpond::Client;
use millpond::events::NewEvent;

use super::{Outcome, queue};
use crate::random::Random;

const KEYS: [&str; 8] = ["", "", "", "a", "b", "c", "d", "e"];

/// Publishes one event or several of a key, so of a partition, whose names begin with `name`.
///
/// # Errors
/// None so far: it only ends by being killed.
pub(super) fn publish(
    client: &Client,
    name: &str,
    mut random: Random,
    say: impl Fn(String),
) -> Outcome<()> {
    let queue = queue(client);
    for index in 0_u64.. {
        let key = random.of(&KEYS);
        let count = if random.one_in(4) { 1 + random.below(8) } else { 1 };
        let events: Vec<_> = (0..count).map(|number| format!("{name}.{index}.{number}")).collect();
        say(format!("i {name}.{index} {}", events.join(" ")));
        let events = events.iter().map(|event| {
            let event = NewEvent::new(event.as_bytes()).key(key);
            match random.one_in(4) {
                true => event.delay(Duration::from_millis(random.below(200))),
                false => event,
            }
        });
        match queue.publish_many(events) {
            Ok(_) => say(format!("a {name}.{index}")),
            Err(error) => say(format!("e {name}.{index} {}", error.kind().name())),
        }
        // Slower than consumers are, so that the events of a key come soon.
        std::thread::sleep(Duration::from_millis(2 + random.below(8)));
    }
    Ok(())
}
