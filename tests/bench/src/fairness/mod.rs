//! What a burst of one tenant costs the others in a shuffle queue, and what waiting costs.

mod load;
mod waiting;

use millpond_tests::servers::Redis;

use crate::Outcome;
use crate::plot::{self, Picture, Run};
use crate::report::{Report, number};
use load::Load;

pub(crate) use waiting::wait;

const PICTURE: Picture = Picture {
    title: "How long light tenants’ messages wait beside one that writes 1,000 times as much",
    delay: "from write to pick-up",
    at: "time of the write, s",
    all: "percentile of messages",
    lasts: load::DURATION,
};

const RUNS: [(&str, &str, Load); 3] = [
    ("plain stream", "#d55e00", Load { streams: 1, heavy: true }),
    ("64 streams, 4 a tenant", "#0072b2", Load { streams: 64, heavy: true }),
    ("64 streams, nobody heavy (idle)", "#6b6b6b", Load { streams: 64, heavy: false }),
];

pub(crate) fn measure(report: &mut Report) -> Outcome {
    let mut runs = Vec::new();
    for (name, color, load) in RUNS {
        // A server each, so that none finds what another one has left.
        let server = Redis::start();
        runs.push(Run { name, color, pickups: load.run(&server)? });
    }
    let section = report.section(
        "Fairness of a shuffle queue",
        &format!(
            "One of {} tenants writes {} messages a second, 1,000 times as many as each of the \
             others, to {} consumers that work {} ms on each: it alone writes more than they can \
             do, and its backlog grows for {} s. Milliseconds from the write of another tenant's \
             message to its pick-up, over all {} of them; once each. The delay of a message on \
             the queue with nobody heavy is that of a write and a wake-up; with somebody heavy \
             all consumers are at work, and a message waits until one is free.\n\n\
             ![Delay of the light tenants' messages](fairness.svg)",
            load::TENANTS,
            load::HEAVY_PER_SECOND,
            load::CONSUMERS,
            load::WORK.as_millis(),
            load::DURATION.as_secs(),
            runs[0].pickups.len(),
        ),
        &["queue", "p50, ms", "p90, ms", "p99, ms", "longest, ms"],
    );
    for run in &runs {
        let delay = |share| match run.percentile(share).as_secs_f64() * 1e3 {
            long if long >= 1e4 => format!("{long:.0}"),
            short => number(short),
        };
        section.row([run.name.into(), delay(0.5), delay(0.9), delay(0.99), delay(1.0)]);
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/fairness.svg");
    std::fs::write(path, plot::draw(&PICTURE, &runs))?;
    waiting::measure(report)
}
