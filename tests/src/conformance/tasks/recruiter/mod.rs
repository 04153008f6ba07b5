//! Recruiters in cases: what a server holds of them after each step, and at the end that the library counts the same.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::raw::{self, Bytes, Content, Keys};
use super::record::{self, Item};
use super::store::shown;
use super::volatile::tagged;
use crate::Result;
use crate::adapter::{Adapter, Response};
use crate::backend::Backend;
use crate::value::bytes;
use crate::wire;

const VERSION: &[u8] = b"steal.v1";

/// How often a rate is halved at most.
const BACKOFF_MAX: u64 = 24;

/// The longest lease of a slice.
const LEASE_US_MAX: u64 = 3_600_000_000;

/// The ends of enlistments that are no slices.
const DISMISSALS: [&str; 8] =
    ["not_drawn", "not_due", "denied", "busy", "in_slice", "over_duty", "no_jobs", "unavailable"];

/// The ends of slices.
const ENDS: [&str; 4] = ["worked", "nothing", "aborted", "failed"];

/// What else is counted of the slices of a job.
const COUNTS: [&str; 6] = ["granted", "overran", "items", "busy_us", "lost", "late"];

/// For how long a report may be on its way that nothing waits for.
const REPORT: Duration = Duration::from_secs(10);

/// The names of the recruiters that a case has used.
#[derive(Default)]
pub(super) struct Recruiters(BTreeMap<Bytes, Value>);

/// What a server holds of a recruiter.
#[derive(Debug, Default)]
struct Layout {
    /// By field.
    steal: BTreeMap<Bytes, Bytes>,
    /// By field.
    stats: BTreeMap<Bytes, Bytes>,
    /// By the ids of jobs: fences, and the ends of leases.
    running: BTreeMap<Bytes, BTreeMap<Bytes, Bytes>>,
}

impl Recruiters {
    /// Notes the recruiter of a request that was not refused, and that a report may come late.
    pub(super) fn note(&mut self, request: &Value, late: &mut BTreeSet<Bytes>) -> Result<()> {
        if request["call"].as_str().is_some_and(|call| call.starts_with("steal_")) {
            let name = request["name"].clone();
            let key = [&*tagged(&bytes(&name)?), b":steal"].concat();
            late.insert([&*key, b":stats"].concat());
            self.0.insert(key, name);
        }
        Ok(())
    }

    /// Whether what the servers hold is sound, and nothing but these recruiters and reports that came late.
    pub(super) fn check(&self, keys: &Keys, late: &BTreeSet<Bytes>) -> Result<()> {
        let (layouts, known) = self.read(keys);
        let is_known = |key| known.contains(key) || late.contains(key);
        if let Some((key, content)) = keys.iter().find(|(key, _)| !is_known(*key)) {
            return Err(format!("the key {} is of no recruiter: {content:?}", shown(key)));
        }
        layouts.iter().try_for_each(|(key, layout)| {
            let of = |why| format!("{} {why}\n      of       {layout:?}", shown(key));
            layout.check().map_err(of)
        })
    }

    /// What there is of each, and the keys of that.
    fn read<'a>(&self, keys: &'a Keys) -> (BTreeMap<&Bytes, Layout>, BTreeSet<&'a Bytes>) {
        let (mut layouts, mut known) = (BTreeMap::new(), BTreeSet::new());
        for begin in self.0.keys() {
            let mut layout = Layout::default();
            for (key, content) in keys {
                let Some(rest) = key.strip_prefix(&**begin) else { continue };
                match (rest, rest.strip_prefix(b":running:"), content) {
                    (b"", _, Content::Hash(fields)) => layout.steal = fields.clone(),
                    (b":stats", _, Content::Hash(fields)) => layout.stats = fields.clone(),
                    (_, Some(job), Content::Sorted(slices)) => {
                        layout.running.insert(job.to_vec(), slices.clone());
                    }
                    _ => continue,
                }
                known.insert(key);
            }
            layouts.insert(begin, layout);
        }
        (layouts, known)
    }

    /// Whether every enlistment has one end, and each counter is what the server holds. A report may come late, since
    /// nothing waits for it.
    pub(super) fn check_stats(&self, adapter: &mut Adapter, backend: &mut Backend) -> Result<()> {
        let begin = Instant::now();
        for (key, name) in &self.0 {
            while let Some(difference) = self.difference(adapter, backend, key, name)? {
                if begin.elapsed() > REPORT {
                    return Err(difference);
                }
                thread::sleep(Duration::from_millis(5));
            }
        }
        Ok(())
    }

    fn difference(
        &self,
        adapter: &mut Adapter,
        backend: &mut Backend,
        key: &Bytes,
        name: &Value,
    ) -> Result<Option<String>> {
        let request = json!({"call": "steal_stats", "name": name});
        let stats = match adapter.call(wire::of_step(&request))? {
            Response::Result(stats) => stats,
            other => return Err(format!("the stats cannot be read: {other:?}")),
        };
        check_sum(&stats)?;
        if backend.is_embedded() {
            return Ok(None);
        }
        let keys = raw::read(backend)?;
        let (layouts, _) = self.read(&keys);
        let counted = layouts.get(key).map(Layout::counted).transpose()?.unwrap_or_default();
        let is_same = counted == listed(&stats);
        Ok((!is_same).then(|| format!("the server has {counted:?}, and not {stats}")))
    }
}

impl Layout {
    fn check(&self) -> Result<()> {
        self.counted()?;
        if self.steal.is_empty() {
            return match self.running.is_empty() {
                true => Ok(()),
                false => Err("has slices of no job".to_owned()),
            };
        }
        let field = |name: &str| self.steal.get(name.as_bytes()).ok_or(format!("has no {name}"));
        if field("version")? != VERSION {
            return Err("has not the version of the layout".to_owned());
        }
        let [fence, latest, _] = numbers(field("all")?)?;
        for (name, record) in &self.steal {
            match name.as_slice() {
                b"version" | b"all" => {}
                job if job.starts_with(b"j:") => {
                    let [_, last, backoff, _] = numbers(record)?;
                    if last > latest || backoff > BACKOFF_MAX {
                        return Err(format!("has a job that cannot be: {}", shown(job)));
                    }
                }
                other => return Err(format!("has a field {}", shown(other))),
            }
        }
        for (job, slices) in &self.running {
            if !self.steal.contains_key(&[b"j:", &**job].concat()) {
                return Err(format!("has slices of no job: {}", shown(job)));
            }
            for (slice, end) in slices {
                if number(slice)? > fence || number(end)? > latest + LEASE_US_MAX {
                    return Err(format!("has a slice that cannot be: {}", shown(slice)));
                }
            }
        }
        Ok(())
    }

    /// The counters that are above 0.
    fn counted(&self) -> Result<BTreeMap<String, u64>> {
        let mut counted = BTreeMap::new();
        for (field, count) in &self.stats {
            let field = String::from_utf8_lossy(field).into_owned();
            let (job, name) = field.rsplit_once(':').ok_or(format!("has a counter {field}"))?;
            let is_listed = match job {
                "" => DISMISSALS.contains(&name),
                _ => COUNTS.contains(&name) || ENDS.contains(&name),
            };
            // The jobs have the ends of slices, and after a stop nothing is offered.
            if !is_listed && !(job.is_empty() && (ENDS.contains(&name) || name == "stopped")) {
                return Err(format!("has a counter {field}"));
            }
            let count = number(count)?;
            if count > 0 && is_listed {
                counted.insert(field, count);
            }
        }
        Ok(counted)
    }
}

/// The same counters as the library returns them.
fn listed(stats: &Value) -> BTreeMap<String, u64> {
    let counters = |of: &Value, job: &str, names: &[&str]| -> Vec<(String, u64)> {
        let count = |name: &&str| (format!("{job}:{name}"), of[*name].as_u64().unwrap_or_default());
        names.iter().map(count).filter(|(_, count)| *count > 0).collect()
    };
    let mut listed = counters(stats, "", &DISMISSALS);
    for job in stats["jobs"].as_array().into_iter().flatten() {
        let id = job["job"].as_str().unwrap_or_default();
        listed.extend(counters(job, id, &COUNTS));
        listed.extend(counters(job, id, &ENDS));
    }
    listed.into_iter().collect()
}

/// Whether each enlistment has one end.
fn check_sum(stats: &Value) -> Result<()> {
    let sum = |of: &Value, names: &[&str]| -> u64 {
        names.iter().filter_map(|name| of[*name].as_u64()).sum()
    };
    let jobs = stats["jobs"].as_array().ok_or_else(|| format!("no stats: {stats}"))?;
    let ends = sum(stats, &DISMISSALS) + jobs.iter().map(|job| sum(job, &ENDS)).sum::<u64>();
    match stats["enlisted"].as_u64() == Some(ends) {
        true => Ok(()),
        false => Err(format!("{ends} enlistments have ended, and not as many as in {stats}")),
    }
}

/// A record of this many whole numbers.
fn numbers<const COUNT: usize>(record: &[u8]) -> Result<[u64; COUNT]> {
    let items = record::read(record)?.into_iter().map(|item| match item {
        Item::Number(number) => Ok(number),
        Item::Text(text) => Err(format!("has a text: {}", shown(&text))),
    });
    let items: Vec<u64> = items.collect::<Result<_>>()?;
    items.try_into().map_err(|items| format!("has a record of other numbers: {items:?}"))
}

/// A whole number as a server writes it.
fn number(text: &[u8]) -> Result<u64> {
    let number = str::from_utf8(text).ok().and_then(|text| text.parse::<f64>().ok());
    let whole = number.filter(|number| *number >= 0.0 && number.fract() == 0.0);
    whole.map(|number| number as u64).ok_or_else(|| format!("has no number: {}", shown(text)))
}
