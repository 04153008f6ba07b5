//! Runs a case in one language on one backend.

use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use millpond_tests::servers::Reply;
use millpond_tests::shuffle::model::{NOW, Text, deadline_text};
use millpond_tests::shuffle::trace::{Ids, bytes};

use crate::Result;
use crate::adapter::{Adapter, Response};
use crate::backend::Backend;
use crate::runner::Outcome;
use crate::wire::is_unknown;

use super::names::key_at;
use super::place::{await_a_waiter, difference, found_keys};
use super::plan::{Plan, Planned, Plans};
use super::play::tracked_seconds;
use super::request::{Places, request};
use super::response;
use super::result::StepResult;
use super::step::{Call, Deadline, Step};

/// Runs one case.
pub(crate) fn run(plans: &Plans, adapter: &mut Adapter, backend: &mut Backend) -> Result<Outcome> {
    if plans.only.as_ref().is_some_and(|only| !only.iter().any(|name| name == backend.name())) {
        return Ok(Outcome::Skipped("the case is for other backends".to_owned()));
    }
    let plan = plans.of(backend.kind());
    let is_call = |planned: &Planned| !matches!(planned.step.call, Call::Redis(_));
    if !plan.steps.iter().any(is_call) && plan.problem.is_none() {
        let why = plan.left_out.clone().unwrap_or_else(|| "there are no calls".to_owned());
        return Ok(Outcome::Skipped(why));
    }
    backend.begin(adapter)?;
    let (ids, places) = (Ids::default(), Places::new());
    let letters = Vec::new();
    Run { plan, adapter, backend, ids, places, letters, checked: 0, unsupported: None }.finish()
}

/// A case that is under way.
struct Run<'a> {
    plan: &'a Plan,
    adapter: &'a mut Adapter,
    backend: &'a mut Backend,
    ids: Ids,
    places: Places,
    /// The ids of the dead letters that were last returned.
    letters: Vec<String>,
    checked: usize,
    /// Why a step could not be expressed in this language.
    unsupported: Option<String>,
}

impl Run<'_> {
    fn finish(mut self) -> Result<Outcome> {
        let plan = self.plan;
        let middle = plan.steps.len() / 2;
        for (number, planned) in plan.steps.iter().enumerate() {
            let at = |problem| format!("step {} ({}): {problem}", planned.index, name(planned));
            if number == middle && number > 0 && self.backend.reopens_in_the_middle() {
                self.backend.reopen(self.adapter)?;
                self.observe(&plan.steps[number - 1].observed, true).map_err(at)?;
            }
            self.step(planned).map_err(at)?;
        }
        if let Some((index, why)) = &plan.problem {
            return Err(format!("step {index}: {why}"));
        }
        self.backend.reopen(self.adapter)?;
        let is_lag_exact = plan.steps.last().is_some_and(|last| last.is_lag_exact);
        let at_the_end = |problem| format!("after the last step: {problem}");
        self.observe(&plan.last, is_lag_exact).map_err(at_the_end)?;
        match self.unsupported {
            Some(why) if self.checked == 0 => Ok(Outcome::Skipped(why)),
            why => Ok(Outcome::Passed(why.or_else(|| plan.left_out.clone()))),
        }
    }

    fn step(&mut self, planned: &Planned) -> Result<()> {
        if let Call::Redis(words) = &planned.step.call {
            return self.redis(words, planned);
        }
        let before = now();
        let mut requests = vec![request(&planned.step, &self.places, &self.letters, before)?];
        let mut responses = if planned.step.meanwhile.is_empty() {
            for (step, _) in &planned.observed {
                requests.push(request(step, &self.places, &self.letters, before)?);
            }
            self.adapter.call_all(requests)?
        } else {
            let (backend, ids) = (&mut *self.backend, &self.ids);
            let mut replies = Vec::new();
            let responses = self.adapter.call_meanwhile(requests, || {
                await_a_waiter(backend)?;
                for words in &planned.step.meanwhile {
                    replies.push((words, raw(backend, ids, words)?));
                }
                Ok(())
            })?;
            replies.retain(|(words, _)| is_message(words));
            for ((words, reply), number) in replies.iter().rev().zip((1..=planned.counts.0).rev()) {
                self.name_added(words, reply, number);
            }
            responses
        };
        if responses.is_empty() {
            return Err("no response".to_owned());
        }
        let returned = responses.remove(0);
        self.name_ids(planned, &returned, before);
        if matches!(planned.step.call, Call::DeadLetters(..)) {
            self.letters = response::letters(&returned);
        }
        let found = response::read(&planned.step.call, &returned, &self.ids)?;
        let Some(found) = found else { return self.leave_out(planned, &returned) };
        compare("result", &planned.result, found, planned.is_lag_exact)?;
        self.checked += 1;
        for ((step, expected), response) in planned.observed.iter().zip(&responses) {
            self.compare_observed(step, expected, response, true)?;
        }
        let Some(keys) = &planned.keys else { return Ok(()) };
        let (_, notifications) = planned.counts;
        let found = found_keys(self.backend, &mut self.ids, notifications);
        difference(keys, &found).map_or(Ok(()), Err)
    }

    /// Names what a step has written, as it has to be named if it is right.
    fn name_ids(&mut self, planned: &Planned, returned: &Response, before: i64) {
        let receipts = response::receipts(&planned.step.call, returned);
        let expected: Vec<_> = match &planned.result {
            StepResult::Written(places) => places.iter().collect(),
            StepResult::Redriven(places) => places.iter().flatten().collect(),
            _ => Vec::new(),
        };
        for ((_, id), (key, real)) in expected.into_iter().zip(receipts) {
            self.ids.name(&key, &real, id.clone());
            self.places.insert(id.clone(), (key, real));
        }
        let (Call::Write { to, tracked: Some(tracked), .. }
        | Call::WriteMany { to, tracked: Some(tracked), .. }) = &planned.step.call
        else {
            return;
        };
        let (from_now, latest) = match tracked.deadline {
            Deadline::At(_) => return,
            Deadline::FromNow(from_now) => (from_now, before),
            // The server reads the clock at some time in between.
            Deadline::Default => (tracked_seconds(to), now() + 1),
        };
        let earliest = if latest == before { before } else { before - 1 };
        for time in earliest..=latest {
            self.ids.name_time(time + from_now, deadline_text(NOW + from_now));
        }
    }

    fn redis(&mut self, words: &[Text], planned: &Planned) -> Result<()> {
        let reply = raw(self.backend, &self.ids, words)?;
        let is_right = match &planned.result {
            StepResult::Number(number) => reply.integer() == *number as i64,
            _ => true,
        };
        if !is_right {
            return Err(format!("the reply is another: {reply:?}, not {}", planned.result));
        }
        if is_message(words) {
            self.name_added(words, &reply, planned.counts.0);
        }
        if words[0] == "DEL" {
            // A stream that is made anew must not give an id a second time.
            thread::sleep(Duration::from_millis(2));
        }
        Ok(())
    }

    /// Names a message that a raw command put into its stream.
    fn name_added(&mut self, words: &[Text], reply: &Reply, number: u64) {
        let (id, key) = (format!("#{number}"), words[1].clone());
        self.ids.name(&key, &reply.text(), id.clone());
        self.places.insert(id, (key, reply.text()));
    }

    /// Skips a step that this language cannot express, which is fine where it would be refused.
    fn leave_out(&mut self, planned: &Planned, returned: &Response) -> Result<()> {
        let Response::Unsupported(why) = returned else { return Ok(()) };
        // That a call is not there at all is no matter of types.
        if is_unknown(why) {
            return Err(format!("the adapter does not have this call: {why}"));
        }
        self.unsupported = Some(why.clone());
        match planned.result {
            StepResult::Error(_) => Ok(()),
            _ => Err(format!("the adapter has no way to say this: {why}")),
        }
    }

    fn observe(&mut self, observed: &[(Step, StepResult)], is_lag_exact: bool) -> Result<()> {
        let requests =
            observed.iter().map(|(step, _)| request(step, &self.places, &self.letters, 0));
        let responses = self.adapter.call_all(requests.collect::<Result<_>>()?)?;
        for ((step, expected), response) in observed.iter().zip(&responses) {
            self.compare_observed(step, expected, response, is_lag_exact)?;
        }
        Ok(())
    }

    fn compare_observed(
        &self,
        step: &Step,
        expected: &StepResult,
        response: &Response,
        is_lag_exact: bool,
    ) -> Result<()> {
        let what = format!("result to {:?}", step.call);
        match response::read(&step.call, response, &self.ids)? {
            Some(found) => compare(&what, expected, found, is_lag_exact),
            None => Err(format!("the {what} is missing: {response:?}")),
        }
    }
}

/// Whether a raw command adds a message, and not a notification.
fn is_message(words: &[Text]) -> bool {
    words[0] == "XADD" && words.get(2).is_some_and(|word| word == "*")
}

fn compare(what: &str, expected: &StepResult, found: StepResult, is_lag_exact: bool) -> Result<()> {
    let found = match (found, expected) {
        // A server that had entries deleted out of order may not know how much is left.
        (StepResult::Stats(mut found), StepResult::Stats(expected)) if !is_lag_exact => {
            for (found, expected) in found.iter_mut().zip(expected) {
                found.lag = expected.lag;
            }
            StepResult::Stats(found)
        }
        (found, _) => found,
    };
    if found == *expected {
        return Ok(());
    }
    Err(format!("the {what} is another\n      expected {expected}\n      found    {found}"))
}

/// Runs a raw command on the server that has its key.
fn raw(backend: &mut Backend, ids: &Ids, words: &[Text]) -> Result<Reply> {
    let real = |word: &Text| bytes(ids.real(word).unwrap_or(word));
    let command: Vec<Vec<u8>> = words.iter().map(real).collect();
    let key = command.get(key_at(words)).ok_or("a raw command has no key")?;
    match backend.server(key)?.call(&command)? {
        Reply::Error(error) => Err(format!("the raw command fails: {error}")),
        reply => Ok(reply),
    }
}

/// What a step calls, for people.
fn name(planned: &Planned) -> String {
    let text = format!("{:?}", planned.step.call);
    text.chars().take_while(|c| c.is_alphanumeric()).collect()
}

/// The time in seconds; the servers are on this machine.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs() as i64)
}
