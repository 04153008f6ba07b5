//! Runs a case in one language on one backend.

use std::thread;
use std::time::{Duration, Instant};

use millpond_tests::servers::Reply;
use serde_json::{Map, Value, json};

use super::invariants;
use super::names::Names;
use super::pattern;
use super::plan::{Plan, STORE};
use super::raw::{self, Keys};
use super::recruiter::Recruiters;
use super::refusal::{check_dependency, check_mentions};
use super::tracker::Trackers;
use super::view::View;
use super::volatile::{self, Hashes};
use crate::Result;
use crate::adapter::{Adapter, Response};
use crate::backend::Backend;
use crate::runner::Outcome;
use crate::wire;

/// The parts of a step for the kit, and not for an adapter.
const OUR_FIELDS: [&str; 10] = [
    "returns",
    "error",
    "dependency",
    "mentions",
    "as",
    "took_ms",
    "meanwhile",
    "optional",
    "if",
    "eventually",
];

/// The claimant of a request that names none.
const CLAIMANT: &str = "A";

/// For how long a request is repeated whose result is to become what a step says.
const EVENTUALLY: Duration = Duration::from_secs(30);

/// Runs one case.
pub(crate) fn run(plan: &Plan, adapter: &mut Adapter, backend: &mut Backend) -> Result<Outcome> {
    if plan.only.as_ref().is_some_and(|only| !only.iter().any(|name| name == backend.name())) {
        return Ok(Outcome::Skipped("the case is for other backends".to_owned()));
    }
    if plan.has_raw_set_up && backend.is_embedded() {
        return Ok(Outcome::Skipped("raw Redis set-up".to_owned()));
    }
    backend.begin(adapter)?;
    let (names, keys) = (Names::default(), Keys::new());
    let (hashes, recruiters) = (Hashes::default(), Recruiters::default());
    let trackers = Trackers::default();
    let (checked, left_out) = (0, None);
    let run = Run {
        plan,
        adapter,
        backend,
        names,
        keys,
        hashes,
        recruiters,
        trackers,
        checked,
        left_out,
    };
    run.finish()
}

/// A case that is under way.
struct Run<'a> {
    plan: &'a Plan,
    adapter: &'a mut Adapter,
    backend: &'a mut Backend,
    names: Names,
    /// What the servers held after the last step.
    keys: Keys,
    hashes: Hashes,
    recruiters: Recruiters,
    trackers: Trackers,
    checked: usize,
    /// Why a step, or everything behind it, could not be done in this language.
    left_out: Option<String>,
}

/// Whether a case goes on.
enum Next {
    Step,
    End,
}

impl Run<'_> {
    fn finish(mut self) -> Result<Outcome> {
        let plan = self.plan;
        let middle = plan.steps.len() / 2;
        for (index, step) in plan.steps.iter().enumerate() {
            let call = step["call"].as_str().unwrap_or_default();
            let at = |problem| format!("step {index} ({call}): {problem}");
            // Recruiters are in memory alone.
            let is_middle = index == middle && index > 0 && plan.queue != "recruiter";
            if is_middle && self.backend.reopens_in_the_middle() {
                self.check_durable().map_err(at)?;
            }
            if let Next::End = self.step(step).map_err(at)? {
                break;
            }
        }
        let at_the_end = |problem| format!("after the last step: {problem}");
        if !self.plan.has_raw_set_up {
            self.check_lists().map_err(at_the_end)?;
            self.check_durable().map_err(at_the_end)?;
        }
        match self.left_out {
            Some(why) if self.checked == 0 => Ok(Outcome::Skipped(why)),
            why => Ok(Outcome::Passed(why)),
        }
    }

    fn step(&mut self, step: &Value) -> Result<Next> {
        match step["call"].as_str().unwrap_or_default() {
            "sleep" => {
                thread::sleep(Duration::from_millis(step["ms"].as_u64().unwrap_or_default()));
            }
            "redis" => self.redis(step)?,
            "stored" if self.backend.is_embedded() => {}
            "stored" => volatile::check_stored(&self.names.filled(step)?, &self.keys)?,
            "repeat" => {
                for number in 0..step["times"].as_u64().unwrap_or_default() {
                    self.names.count("i", number);
                    for inner in step["steps"].as_array().into_iter().flatten() {
                        let at = |problem| format!("round {number}: {}: {problem}", inner["call"]);
                        if let Next::End = self.step(inner).map_err(at)? {
                            return Ok(Next::End);
                        }
                    }
                }
            }
            _ if self.is_left_out(step) => {}
            _ => return self.call(step),
        }
        Ok(Next::Step)
    }

    /// Whether a step is for languages that differ from this one.
    fn is_left_out(&self, step: &Value) -> bool {
        let abilities = step["if"].as_object().into_iter().flatten();
        abilities.into_iter().any(|(ability, has)| self.adapter.has(ability) != (*has == true))
    }

    fn call(&mut self, step: &Value) -> Result<Next> {
        let request = self.request(step)?;
        if step["eventually"] == true {
            self.call_until_it_is_so(step, &request)?;
            return self.finish_call(step, &request);
        }
        let meanwhile = match step.get("meanwhile") {
            Some(meanwhile) => {
                let mut request = self.request(meanwhile)?;
                let after = request["after_ms"].take();
                Some((request, after))
            }
            None => None,
        };
        let start = Instant::now();
        let response = match meanwhile {
            None => self.adapter.call(wire::of_step(&request))?,
            Some((meanwhile, after)) if self.backend.is_embedded() => {
                let later = wire::of_step(&meanwhile);
                let later = json!({"call": "later", "ms": after, "request": later});
                if let Response::Unsupported(why) = self.adapter.call(later)? {
                    self.left_out = Some(why);
                    return Ok(Next::End);
                }
                self.adapter.call(wire::of_step(&request))?
            }
            Some((meanwhile, after)) => self.call_meanwhile(&request, meanwhile, &after)?,
        };
        let took = start.elapsed();
        if let (Response::Unsupported(why), true) = (&response, step["optional"] == true)
            && !wire::is_unknown(why)
        {
            self.left_out = Some(why.clone());
            return Ok(Next::End);
        }
        self.check_response(step, response)?;
        if let Some(range) = step["took_ms"].as_array() {
            let bound = |index: usize| range.get(index).and_then(Value::as_u64).unwrap_or_default();
            let took = took.as_millis() as u64;
            if !(bound(0)..=bound(1)).contains(&took) {
                return Err(format!("it took {took} ms, not {} to {}", bound(0), bound(1)));
            }
        }
        self.finish_call(step, &request)
    }

    /// Makes a request again and again, until its result is what the step says.
    fn call_until_it_is_so(&mut self, step: &Value, request: &Value) -> Result<()> {
        let begin = Instant::now();
        loop {
            let response = self.adapter.call(wire::of_step(request))?;
            match self.check_response(step, response) {
                Err(_) if begin.elapsed() < EVENTUALLY => thread::sleep(Duration::from_millis(1)),
                outcome => return outcome,
            }
        }
    }

    /// Looks at what the servers hold after a request.
    fn finish_call(&mut self, step: &Value, request: &Value) -> Result<Next> {
        let is_refused = step.get("error").is_some();
        if !is_refused {
            self.hashes.note(request)?;
            self.recruiters.note(request, &mut self.adapter.late)?;
            self.trackers.note(request)?;
        }
        self.look(Some(request), is_refused)?;
        Ok(Next::Step)
    }

    /// Makes a call while another process of the same language makes another one.
    fn call_meanwhile(
        &mut self,
        request: &Value,
        meanwhile: Value,
        after: &Value,
    ) -> Result<Response> {
        let mut other = self.adapter.sibling();
        other.open(&self.backend.url())?;
        let after = Duration::from_millis(after.as_u64().unwrap_or_default());
        let responses = self.adapter.call_meanwhile(vec![wire::of_step(request)], || {
            thread::sleep(after);
            match other.call(wire::of_step(&meanwhile))? {
                Response::Result(_) => Ok(()),
                failed => Err(format!("what was to happen meanwhile failed: {failed:?}")),
            }
        })?;
        responses.into_iter().next().ok_or_else(|| "no response".to_owned())
    }

    /// The request to an adapter.
    fn request(&mut self, step: &Value) -> Result<Value> {
        let fields = step.as_object().ok_or("a step is an object")?.iter();
        let fields = fields.filter(|(name, _)| !OUR_FIELDS.contains(&name.as_str()));
        let plain: Map<String, Value> = fields.map(|(k, v)| (k.clone(), v.clone())).collect();
        let mut request = self.names.filled(&Value::Object(plain))?;
        let call = request["call"].as_str().unwrap_or_default();
        let defaults: &[(&str, &str)] = match call.split_once('_') {
            Some(("tasks", _)) => &[("store", STORE), ("claimant", CLAIMANT)],
            Some(("steal", _)) => &[("name", &self.plan.name)],
            _ => &[],
        };
        for (field, default) in defaults {
            if request.get(field).is_none() {
                request[field] = json!(default);
            }
        }
        Ok(request)
    }

    fn check_response(&mut self, step: &Value, response: Response) -> Result<()> {
        let error = step["error"].as_str();
        match (response, error) {
            (Response::Result(result), None) => {
                if let Some(pattern) = step.get("returns") {
                    let pattern = self.names.filled(pattern)?;
                    pattern::compare(&pattern, &result, &mut self.names)
                        .map_err(|at| format!("{at}\n      of       {result}"))?;
                }
                if let Some(name) = step["as"].as_str() {
                    self.names.name(name, result);
                }
            }
            (Response::Error(refusal), Some(name)) if refusal.kind.name() == name => {
                let dependency = self.names.filled(&step["dependency"])?;
                check_dependency(&refusal, &dependency)?;
                let mentions = self.names.filled(&step["mentions"])?;
                check_mentions(&refusal, &mentions)?;
            }
            (Response::Unsupported(why), Some(_)) => {
                // That a call is not there at all is no matter of types.
                if wire::is_unknown(&why) {
                    return Err(format!("the adapter does not have this call: {why}"));
                }
                self.left_out = Some(why);
                return Ok(());
            }
            (Response::Unsupported(why), None) => {
                return Err(format!("the adapter has no way to say this: {why}"));
            }
            (Response::Result(result), Some(name)) => {
                return Err(format!("the error {name} was expected, and found was {result}"));
            }
            (Response::Error(found), expected) => {
                let expected = expected.unwrap_or("no error");
                let found = format!("{}: {}", found.kind.name(), found.message);
                return Err(format!("{expected} was expected, and found was {found}"));
            }
        }
        self.checked += 1;
        Ok(())
    }

    /// Reads what the servers hold after a request, or after a raw command: it has to be sound, and the same after a
    /// refusal.
    fn look(&mut self, request: Option<&Value>, was_refused: bool) -> Result<()> {
        if self.backend.is_embedded() {
            return Ok(());
        }
        let keys = raw::read(self.backend)?;
        if self.plan.queue == "tasks"
            && !self.plan.has_raw_set_up
            && let Some(problem) = invariants::problem(&keys, &self.plan.stores)
        {
            return Err(problem);
        }
        if self.plan.queue == "recruiter" && !self.plan.has_raw_set_up {
            self.recruiters.check(&keys, &self.adapter.late)?;
        }
        if self.plan.queue == "tracker" && !self.plan.has_raw_set_up {
            self.trackers.check(&keys)?;
        }
        let before = std::mem::replace(&mut self.keys, keys);
        if let ("volatile", Some(request)) = (self.plan.queue, request) {
            self.hashes.check(request, &before, &self.keys)?;
        }
        let expires = |key: &Vec<u8>| key.ends_with(b":expiry");
        if was_refused && before != self.keys && !before.keys().any(expires) {
            return Err(format!("a refused call has changed the store\n      from {before:?}"));
        }
        Ok(())
    }

    /// What is listed is what is stored, and what the statistics say.
    fn check_lists(&mut self) -> Result<()> {
        self.recruiters.check_stats(self.adapter, self.backend)?;
        for store in &self.plan.stores {
            let view = View::of(self.adapter, store)?;
            if !self.backend.is_embedded() {
                view.compare(&self.keys, store)?;
            }
        }
        match self.backend.is_embedded() {
            true => self.hashes.views(self.adapter).map(drop),
            false => self.hashes.compare(self.adapter, &self.keys),
        }
    }

    /// Closes a durable engine and opens it again: the same has to be there.
    fn check_durable(&mut self) -> Result<()> {
        if self.backend.name() != "file" {
            return Ok(());
        }
        let views = |run: &mut Self| -> Result<Vec<View>> {
            run.plan.stores.iter().map(|store| View::of(run.adapter, store)).collect()
        };
        let (before, hashes) = (views(self)?, self.hashes.views(self.adapter)?);
        self.backend.reopen(self.adapter)?;
        let after = views(self)?;
        volatile::check_same(&hashes, &self.hashes.views(self.adapter)?)
            .map_err(|at| format!("after the engine was opened again: {at}"))?;
        for (before, after) in before.iter().zip(&after) {
            if let Some(at) = before.difference(after) {
                return Err(format!("after the engine was opened again: before, {at}"));
            }
        }
        Ok(())
    }

    /// Sends a raw command to the server that has its key.
    fn redis(&mut self, step: &Value) -> Result<()> {
        let words = self.names.filled(&step["command"])?;
        let words = words.as_array().into_iter().flatten().filter_map(Value::as_str);
        let words: Vec<&str> = words.collect();
        let key = words.get(1).ok_or("a raw command has no key")?;
        match self.backend.server(key.as_bytes())?.call(&words)? {
            Reply::Error(error) => Err(format!("the raw command fails: {error}")),
            _ => self.look(None, false),
        }
    }
}
