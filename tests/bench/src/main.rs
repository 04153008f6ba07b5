//! Measures Millpond against what its users have and writes `tests/bench/RESULTS.md`.
//!
//! Machines are noisy, so nothing here is a verdict on one time: what is compared runs in turn,
//! round by round in one process, and the tables show medians and the median of the ratios.
//!
//! `millpond-bench [part …]` measures only the named parts and replaces their sections in the file:
//! `server`, `rust`, `python`, `node`, `c`, `ruby`, `php`, `shuffle`, `shuffle-node`,
//! `shuffle-python`, `fairness`, `tasks-sizes`, `tasks`,
//! `tasks-looking`, `tasks-waking`, `tasks-server`, `embedded`.

mod embedded;
mod fairness;
mod languages;
mod measure;
mod report;
mod rust_calls;
mod server_time;
mod shuffle;
mod tasks;

use std::error::Error;

/// What a benchmark does with any failure: it stops.
pub(crate) type Outcome<T = ()> = Result<T, Box<dyn Error>>;

type Part = (&'static str, fn(&mut report::Report) -> Outcome);

const PARTS: [Part; 17] = [
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
    ("embedded", embedded::measure),
];

fn main() -> Outcome {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    if let [role, url, threads, block_ms] = &wanted[..]
        && role == "waiters"
    {
        return fairness::wait(url, threads, block_ms);
    }
    if let Some(unknown) = wanted.iter().find(|name| PARTS.iter().all(|(part, _)| part != name)) {
        return Err(format!("there is no part {unknown}").into());
    }
    let mut report = report::Report::default();
    for (name, measure) in PARTS {
        if wanted.is_empty() || wanted.iter().any(|part| part == name) {
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
