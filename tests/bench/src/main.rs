//! Measures Millpond against what its users have and writes `tests/bench/RESULTS.md`.
//!
//! Machines are noisy, so nothing here is a verdict on one time: what is compared runs in turn,
//! round by round in one process, and the tables show medians and the median of the ratios.
//!
//! `millpond-bench [part …]` measures only the named parts and replaces their sections in the file:
//! `server`, `rust`, `python`, `node`, `c`, `ruby`, `php`, `shuffle`, `shuffle-node`,
//! `shuffle-python`, `fairness`, `tasks-sizes`, `tasks`, `tasks-looking`, `tasks-waking`,
//! `tasks-server`, `events-server`, `events-peer`, `events-bodies`, `events-lateness`,
//! `events-minute`, `events-waiting`, `events-together`, `events-embedded`, `events-partitions`, `events-resharding`,
//! `volatile`, `recruiter`, `pages`, `worker`, `worker-node`, `worker-python`, `worker-ruby`, `embedded`. `events` is all that begin so.

mod embedded;
mod events;
mod fairness;
mod languages;
mod measure;
mod pages;
mod plot;
mod recruiter;
mod report;
mod rust_calls;
mod server_time;
mod shuffle;
mod tasks;
mod volatile;
mod worker;

use std::error::Error;

/// What a benchmark does with any failure: it stops.
pub(crate) type Outcome<T = ()> = Result<T, Box<dyn Error>>;

type Part = (&'static str, fn(&mut report::Report) -> Outcome);

const PARTS: [Part; 34] = [
    ("server", server_time::measure),
    ("shuffle", shuffle::measure),
    ("shuffle-node", |report| languages::SHUFFLE_NODE.measure(report)),
    ("shuffle-python", |report| languages::SHUFFLE_PYTHON.measure(report)),
    ("fairness", fairness::measure),
    ("rust", rust_calls::measure),
    ("python", |report| languages::PYTHON.measure(report)),
    ("node", |report| languages::NODE.measure(report)),
    ("c", |report| languages::C.measure(report)),
    ("ruby", |report| languages::RUBY.measure(report)),
    ("php", |report| languages::PHP.measure(report)),
    ("tasks-sizes", tasks::sizes),
    ("tasks", tasks::throughput),
    ("tasks-looking", tasks::looking),
    ("tasks-waking", tasks::waking),
    ("tasks-server", tasks::server_time),
    ("events-server", events::server_time),
    ("events-peer", events::peer),
    ("events-bodies", events::bodies),
    ("events-lateness", events::lateness),
    ("events-minute", events::minute),
    ("events-waiting", events::waiting),
    ("events-together", events::together),
    ("events-embedded", events::embedded),
    ("events-partitions", events::power),
    ("events-resharding", events::resharding),
    ("volatile", volatile::measure),
    ("recruiter", recruiter::measure),
    ("pages", pages::measure),
    ("worker", worker::measure),
    ("worker-node", |report| languages::WORKER_NODE.measure(report)),
    ("worker-python", |report| languages::WORKER_PYTHON.measure(report)),
    ("worker-ruby", |report| languages::WORKER_RUBY.measure(report)),
    ("embedded", embedded::measure),
];

fn main() -> Outcome {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    if let [role, url, threads, block_ms] = &wanted[..]
        && role == "waiters"
    {
        return fairness::wait(url, threads, block_ms);
    }
    // `events` is all that begin so.
    let is_of = |part: &str, name: &str| {
        part == name
            || part.strip_prefix(name).is_some_and(|rest| name == "events" && rest.starts_with('-'))
    };
    if let Some(unknown) =
        wanted.iter().find(|name| !PARTS.iter().any(|(part, _)| is_of(part, name)))
    {
        return Err(format!("there is no part {unknown}").into());
    }
    let mut report = report::Report::default();
    for (name, measure) in PARTS {
        if wanted.is_empty() || wanted.iter().any(|wanted| is_of(name, wanted)) {
            eprintln!("measuring {name} …");
            measure(&mut report)?;
        }
    }
    print!("{report}");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/RESULTS.md");
    let written = match wanted.is_empty() {
        true => report.to_string(),
        false => report.replace_in(&std::fs::read_to_string(path)?),
    };
    std::fs::write(path, written)?;
    Ok(())
}
