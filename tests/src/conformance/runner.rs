//! Runs one case in one language on one backend.

use serde_json::Value;

use crate::Result;
use crate::adapter::{Adapter, Response};
use crate::backend::Backend;
use crate::call::{Argument, Call};
use crate::case::{Body, Case, Step, Steps};
use crate::keys;
use crate::model;
use crate::result::StepResult;
use crate::returns::Returns;
use crate::shuffle;
use crate::state::{Expected, State};
use crate::tasks;

/// The outcome of a case.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// All of it, except for steps that this language cannot express, and why.
    Passed(Option<String>),
    /// Where it failed, what was expected and what was found.
    Failed(String),
    /// Why it cannot be run here.
    Skipped(String),
}

/// Runs one case.
pub(crate) fn run(case: &Case, adapter: &mut Adapter, backend: &mut Backend) -> Outcome {
    let outcome = match &case.body {
        Body::Unreadable(why) => Err(format!("the case cannot be read: {why}")),
        Body::Shuffle(plans) => shuffle::run(plans, adapter, backend),
        Body::Shards(shards) => shards.run(adapter, backend).map(|()| Outcome::Passed(None)),
        Body::Tasks(plan) => tasks::run(plan, adapter, backend),
        Body::Keys(keys) => keys::run(keys, adapter, backend).map(|()| Outcome::Passed(None)),
        Body::Steps(steps) => match reason_to_skip(steps, backend) {
            Some(why) => Ok(Outcome::Skipped(why)),
            None => Run::new(steps, adapter, backend).and_then(Run::finish),
        },
    };
    outcome.unwrap_or_else(Outcome::Failed)
}

fn reason_to_skip(case: &Steps, backend: &mut Backend) -> Option<String> {
    let needs_server = |step: &Step| match &step.call {
        Call::Redis(command) => backend.is_embedded() && !backend.can_leave_out(command),
        _ => false,
    };
    if case.steps.iter().any(needs_server) {
        return Some("raw Redis set-up".to_owned());
    }
    let can_hold = case.names.iter().all(|name| backend.can_hold(name));
    (!can_hold).then(|| "the name's keys lie in different slots of a cluster".to_owned())
}

/// A case that is under way.
struct Run<'a> {
    case: &'a Steps,
    adapter: &'a mut Adapter,
    backend: &'a mut Backend,
    /// The states of the case's Icks, as they were found last.
    states: Vec<State>,
    /// Whether the specification says what comes, and no longer the recording.
    follows_model: bool,
    checked: usize,
    /// Why a step could not be expressed in this language.
    unsupported: Option<String>,
}

impl<'a> Run<'a> {
    fn new(case: &'a Steps, adapter: &'a mut Adapter, backend: &'a mut Backend) -> Result<Self> {
        backend.begin(adapter)?;
        let states = vec![State::NOTHING; case.names.len()];
        let (follows_model, checked, unsupported) = (false, 0, None);
        Ok(Self { case, adapter, backend, states, follows_model, checked, unsupported })
    }

    fn finish(mut self) -> Result<Outcome> {
        let middle = self.case.steps.len() / 2;
        for (index, step) in self.case.steps.iter().enumerate() {
            if index == middle && self.backend.reopens_in_the_middle() {
                self.check_durable()?;
            }
            let at = |problem| format!("step {index} ({}): {problem}", step.recorded_call);
            self.step(index, step).map_err(at)?;
        }
        self.check_durable()?;
        match self.unsupported {
            Some(why) if self.checked == 0 => Ok(Outcome::Skipped(why)),
            left_out => Ok(Outcome::Passed(left_out)),
        }
    }

    fn step(&mut self, index: usize, step: &Step) -> Result<()> {
        let (returns, state) = self.expectation(index, step);
        let Some(found) = self.perform(step, &returns)? else { return Ok(()) };
        let before = std::mem::replace(&mut self.states, found);
        for (ick, (before, after)) in before.iter().zip(&self.states).enumerate() {
            if ick == step.told {
                if state.as_ref().is_some_and(|state| !state.accepts(after)) {
                    let state = state.map(|state| state.to_string()).unwrap_or_default();
                    return Err(differs("state", &state, after));
                }
            } else if before != after {
                return Err(differs("state of another Ick", before, after));
            }
        }
        self.checked += 1;
        Ok(())
    }

    /// What has to come of a step: in a case that marks where we differ just what it says, else
    /// what was recorded, up to where the recorded system goes another way than the specification.
    fn expectation(&mut self, index: usize, step: &Step) -> (Returns, Option<Expected>) {
        let before = &self.states[step.told];
        if let (Call::Delete { .. }, Argument::Plain(name)) = (&step.call, &step.name)
            && !self.adapter.has("deletes_broken_icks")
            && let Some(refusal) = model::refusal(before, name)
        {
            // The marks of later steps rest on the delete that every other language does here.
            self.follows_model = true;
            return (refusal, Some(before.clone().into()));
        }
        let is_decided = match &step.call {
            Call::Delete { .. } => step.returns.is_error() && step.name.is_plain(),
            call => {
                let moved = step.state.as_ref().is_some_and(|state| !state.accepts(before));
                model::is_invalid(call) && (!step.returns.is_error() || moved)
            }
        };
        let diverges = self.case.diverges_at.is_some_and(|first| index >= first);
        self.follows_model |= !self.case.is_marked && (is_decided || diverges);
        if self.follows_model {
            return match &step.name {
                Argument::Odd(_) => (model::invalid_argument(), Some(before.clone().into())),
                Argument::Plain(name) => match model::outcome(before, name, &step.call) {
                    Some((returns, after)) => (returns, Some(after.into())),
                    None => (Returns::Unspecified, None),
                },
            };
        }
        // The recorded texts of errors are not ours; ours name the key and what was found.
        let refusal = match &step.name {
            Argument::Plain(name) if step.returns.is_error() && !model::is_invalid(&step.call) => {
                model::refusal(before, name)
            }
            _ => None,
        };
        (refusal.unwrap_or_else(|| step.returns.clone()), step.state.clone())
    }

    /// Does a step, compares what it returns and returns the states after it; nothing if the step
    /// cannot be expressed in this language and changes nothing.
    fn perform(&mut self, step: &Step, returns: &Returns) -> Result<Option<Vec<State>>> {
        let names = &self.case.names;
        if let Call::Redis(command) = &step.call {
            if !self.backend.can_leave_out(command) {
                let reply = self.backend.redis(&names[step.told], command)?;
                check_reply(returns, &reply)?;
            }
            return self.observe().map(Some);
        }
        let Some(request) = step.call.request(&step.name) else {
            let what = match &step.call {
                Call::Inexpressible(what) => what,
                _ => "the call",
            };
            return self.leave_out(returns, what);
        };
        let mut requests = vec![request];
        requests.extend(self.backend.observations(names));
        let mut responses = self.adapter.call_all(requests)?.into_iter();
        let result = match responses.next() {
            Some(Response::Result(result)) => StepResult::read(&step.call, &result)?,
            Some(Response::Error(refusal)) => StepResult::Error(refusal),
            Some(Response::Unsupported(why)) => return self.leave_out(returns, &why),
            None => return Err("no response".to_owned()),
        };
        if !returns.accepts(&result) {
            return Err(differs("result", returns, &result));
        }
        let observations: Vec<_> = responses.collect();
        self.backend.states(names, &observations).map(Some)
    }

    /// Skips a step that this language cannot express, which is fine where it would be refused.
    fn leave_out(&mut self, returns: &Returns, why: &str) -> Result<Option<Vec<State>>> {
        self.unsupported = Some(why.to_owned());
        if returns.is_error() {
            return Ok(None);
        }
        Err(format!("expected {returns}, but the adapter has no way to say this: {why}"))
    }

    fn observe(&mut self) -> Result<Vec<State>> {
        let observations = self.backend.observations(&self.case.names);
        let responses = self.adapter.call_all(observations)?;
        self.backend.states(&self.case.names, &responses)
    }

    /// Closes a durable engine and opens it again: the same has to be there.
    fn check_durable(&mut self) -> Result<()> {
        if !self.backend.reopen(self.adapter)? {
            return Ok(());
        }
        let reopened = self.observe()?;
        for (before, after) in self.states.iter().zip(&reopened) {
            if before != after {
                return Err(differs("state after the engine was opened again", before, after));
            }
        }
        Ok(())
    }
}

/// Compares the reply to a raw command; one that fails unexpectedly is no set-up.
fn check_reply(returns: &Returns, reply: &Value) -> Result<()> {
    let is_error = reply.get("error").is_some();
    let accepted = match returns {
        Returns::Reply(expected) => expected == reply,
        Returns::Error { .. } => is_error,
        _ => !is_error,
    };
    if accepted { Ok(()) } else { Err(differs("reply", returns, reply)) }
}

fn differs(what: &str, expected: impl std::fmt::Display, found: impl std::fmt::Display) -> String {
    format!("the {what} is another\n      expected {expected}\n      found    {found}")
}
