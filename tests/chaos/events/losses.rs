//! Replies that are lost, each in its turn: a client sends the step again, and all is as if nothing had been lost. Of a
//! cancel it does not, and says that the connection was lost.

use std::time::Duration;

use millpond::Client;
use millpond::events::{Event, NewEvent, Published};
use millpond_tests::proxy::Proxy;
use millpond_tests::servers::Redis;

use super::{Outcome, queue};
use crate::{said, watchdog};

/// Publishes, receives and ends deliveries in each way; what was returned, but for ids and times.
fn life(client: &Client) -> millpond::Result<String> {
    let queue = queue(client);
    let mut seen = Vec::new();
    let statuses = |published: &[Published]| {
        published.iter().map(|event| format!("{:?}", event.status)).collect::<Vec<_>>()
    };
    let shown = |events: &[Event]| {
        let payload = |event: &Event| String::from_utf8_lossy(&event.payload).into_owned();
        events.iter().map(|event| (payload(event), event.attempts)).collect::<Vec<_>>()
    };
    let event = |payload: &str| NewEvent::new(payload).key("k");
    for dedup in ["x", "y", "x"] {
        let published = queue.publish(event("first").dedup_id(dedup))?;
        seen.push(format!("{:?}", statuses(&[published])));
    }
    let published = queue.publish_many(["b", "c", "d"].map(NewEvent::new))?;
    seen.push(format!("{:?}", statuses(&published)));
    let held = queue.receive(2)?;
    seen.push(format!("{:?}", shown(&held)));
    seen.push(format!("{:?}", queue.renew(&held, None)?));
    queue.ack(&held[0])?;
    queue.nack(&held[1], "no", Duration::ZERO)?;
    let held = queue.receive(10)?;
    seen.push(format!("{:?}", shown(&held)));
    let published = queue.ack_with(&held[0], [event("follows").delay(Duration::from_secs(60))])?;
    seen.push(format!("{:?}", statuses(&published)));
    queue.dead_letter(&held[1], "never")?;
    seen.push(format!("{:?}", queue.redrive([held[1].id])?));
    queue.release(&held[2], None)?;
    let held = queue.receive(10)?;
    seen.push(format!("{:?}", shown(&held)));
    // The first of these may have been done by a step whose reply was lost.
    seen.push(format!("{}", queue.ack_many(&held)?.len()));
    let stats = queue.stats()?;
    seen.push(format!("{:?}", (stats.events, stats.scheduled, stats.ready, stats.leased)));
    Ok(seen.join("\n"))
}

/// Loses the reply of every number of a life, from the first on.
///
/// # Errors
/// What was another than without a loss.
pub(super) fn run() -> Outcome<()> {
    let server = Redis::start();
    let expected = life(&millpond::connect(&server.url()).map_err(said)?).map_err(said)?;
    for number in 1.. {
        watchdog::alive();
        server.cli(&["FLUSHALL"]);
        let proxy = Proxy::start(server.port());
        proxy.lose_reply(number);
        let seen = millpond::connect(&proxy.url()).and_then(|client| life(&client));
        let lost = proxy.swallowed();
        let seen = seen.map_err(|error| format!("reply {number} was lost: {error:?}"))?;
        if seen != expected {
            return Err(format!("reply {number} was lost:\n{seen}\nand without it:\n{expected}"));
        }
        if lost == 0 {
            println!("events: each of {} replies lost, nothing wrong", number - 1);
            return Ok(());
        }
    }
    Ok(())
}
