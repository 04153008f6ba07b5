//! Queues of several partitions: what they add to a cluster's power, and how fast they are resharded.

use std::time::Instant;

use millpond::Client;
use millpond::events::{Config, NewEvent};
use millpond_tests::servers::{Cluster, Redis};

use super::{DAY, PAYLOAD};
use crate::Outcome;
use crate::measure::median;
use crate::report::{Report, number, ratio};
use crate::server_time::spent;

const ROUNDS: usize = 5;
const PARTITIONS: [u16; 4] = [1, 2, 4, 16];

/// How many are published, received and acknowledged.
const EVENTS: usize = 40_000;

/// How many of them a partition gets with each call.
const A_STEP: usize = 100;

/// How many wait for their time while a queue is resharded.
const WAITING: usize = 1_000_000;

pub(crate) fn power(report: &mut Report) -> Outcome {
    let cluster = Cluster::start();
    let section = report.section(
        "Partitions of a queue of events",
        "Microseconds of redis-server's own time, in all masters of a cluster together, for one event with a \
         different key each that is published, received and acknowledged (`INFO commandstats`): by 100 a step, through the calls \
         of a client. The fullest partition is the most that one has of 40 thousand keys, as a share of an even part. \
         From both follows how much more a queue does than one of one partition, where each has a core to itself. Aim \
         for four: 3.4 times.",
        &["partitions", "events, µs", "fullest partition", "times one partition"],
    );
    let mut first = None;
    for partitions in PARTITIONS {
        let (mut times, mut fullest) = (Vec::new(), 0.0);
        for round in 0..=ROUNDS {
            let (time, share) = lives(&cluster, partitions)?;
            if round > 0 {
                times.push(time);
            }
            fullest = share;
        }
        let time = median(times);
        let of_one = *first.get_or_insert(time);
        let power = of_one / time * f64::from(partitions) / fullest;
        let aim = (partitions == 4).then_some(("aim 3.4", power >= 3.4));
        section.row([
            partitions.to_string(),
            number(time),
            format!("{fullest:.2}"),
            ratio(power, aim),
        ]);
    }
    Ok(())
}

/// Microseconds for an event of a queue of this many partitions, and how much the fullest has of an even part.
fn lives(cluster: &Cluster, partitions: u16) -> Outcome<(f64, f64)> {
    let nodes = cluster.nodes();
    nodes.iter().for_each(|node| drop(node.cli(&["FLUSHALL"])));
    let queue = millpond::connect(&cluster.url())?.events("bench");
    let mut config = Config::default();
    config.partitions = partitions;
    queue.configure(config)?;
    nodes.iter().for_each(|node| drop(node.cli(&["CONFIG", "RESETSTAT"])));
    let numbers: Vec<_> = (0..EVENTS).collect();
    for numbers in numbers.chunks(A_STEP * usize::from(partitions)) {
        let event = |number: &usize| NewEvent::new(PAYLOAD).key(format!("customer-{number}"));
        queue.publish_many(numbers.iter().map(event))?;
    }
    let fullest = queue.stats()?.largest_partition as f64 / EVENTS as f64;
    let mut ended = 0;
    while ended < EVENTS {
        let events = queue.receive(A_STEP)?;
        ended += queue.ack_many(&events)?.len();
    }
    let time = nodes.iter().map(|node| spent(node, &["evalsha", "eval"], EVENTS)).sum();
    Ok((time, fullest * f64::from(partitions)))
}

pub(crate) fn resharding(report: &mut Report) -> Outcome {
    let section = report.section(
        "Resharding of events",
        "A million events with a payload of 100 bytes, each with a different key, are scheduled, and one client calls \
         `reshard` while no other client uses the queue: events moved per second, and the duration in seconds. The two \
         partitions between which events move deliver nothing during the call. Aim: 50,000 a second.",
        &["queue", "partitions", "events moved", "a second", "seconds"],
    );
    for (name, url) in [("Redis", None), ("memory:", Some("memory:"))] {
        let server = url.is_none().then(Redis::start);
        let url = server.as_ref().map_or("memory:".to_owned(), Redis::url);
        let client = millpond::connect(&url)?;
        fill(&client)?;
        for (from, to, moved) in [(1, 2, WAITING / 2), (2, 4, WAITING / 2), (4, 1, WAITING / 4 * 3)]
        {
            let begin = Instant::now();
            client.events("bench").reshard(to)?;
            let seconds = begin.elapsed().as_secs_f64();
            let rate = moved as f64 / seconds;
            let aim = if rate >= 50_000.0 { "" } else { " (aim 50,000 missed)" };
            section.row([
                name.into(),
                format!("{from} to {to}"),
                moved.to_string(),
                format!("{}{aim}", number(rate)),
                number(seconds),
            ]);
        }
        assert_eq!(client.events("bench").stats()?.scheduled, WAITING as u64);
    }
    Ok(())
}

fn fill(client: &Client) -> Outcome {
    let queue = client.events("bench");
    let numbers: Vec<_> = (0..WAITING).collect();
    for numbers in numbers.chunks(10_000) {
        let later =
            |number: &usize| NewEvent::new(PAYLOAD).key(format!("customer-{number}")).delay(DAY);
        queue.publish_many(numbers.iter().map(later))?;
    }
    Ok(())
}
