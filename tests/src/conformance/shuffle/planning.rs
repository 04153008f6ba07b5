//! A plan that is being made.

use std::collections::{BTreeSet, HashMap};

use millpond_tests::shuffle::model::{Rules, Text};
use millpond_tests::shuffle::trace::{is_recorded, key, string};
use serde_json::Value;

use super::embedded::Deferred;
use super::names::Names;
use super::place::Kind;
use super::plan::{Plan, Planned};
use super::play::Player;
use super::result::{Failed, StepResult};
use super::rules::refusal;
use super::step::{Call, Step, Target, Unmade};

const RAW: &str = "raw Redis set-up";

/// A plan that is being made.
pub(super) struct Planning {
    kind: Kind,
    /// Whether to say if the case is right.
    judges: bool,
    /// The case was written for ours: there is no recording.
    is_ours: bool,
    /// The recorded system does something wrong, which its rules need not contain, and the case
    /// does not say what would be right.
    is_known_bug: bool,
    names: Names,
    first_name: Text,
    ours: Player,
    /// As long as it gives what was recorded.
    original: Option<Player>,
    deferred: Deferred,
    /// What ours call the messages of the recording.
    aliases: HashMap<Text, Text>,
    recorded: u64,
    used: BTreeSet<Text>,
    groups: BTreeSet<(Text, Text)>,
    plan: Plan,
}

impl Planning {
    /// Begins with a case on a kind of backend.
    pub(super) fn new(case: &Value, kind: Kind, judges: bool) -> Self {
        let mut names = Vec::new();
        for step in case["steps"].as_array().into_iter().flatten() {
            if let Some(name) = step["args"].get("name").map(string)
                && !names.contains(&name)
            {
                names.push(name);
            }
        }
        let is_ours = case["ours"] == true;
        let rules = if case["fixed_steps"].is_array() { Rules::Repaired } else { Rules::Original };
        Self {
            kind,
            judges,
            is_ours,
            is_known_bug: case["known_bug"] == true && !case["fixed_steps"].is_array(),
            first_name: names.first().cloned().unwrap_or_else(|| "q".to_owned()),
            names: Names::new(names),
            ours: Player::new(Rules::Ours, kind),
            original: (!is_ours).then(|| Player::new(rules, Kind::Server)),
            deferred: Deferred::default(),
            aliases: HashMap::new(),
            recorded: 0,
            used: BTreeSet::new(),
            groups: BTreeSet::new(),
            plan: Plan {
                steps: Vec::new(),
                last: Vec::new(),
                left_out: None,
                problem: None,
                explained: Vec::new(),
            },
        }
    }

    /// Plans all steps of the case.
    pub(super) fn plan(mut self, case: &Value) -> Plan {
        let steps = case["steps"].as_array().map_or(&[][..], Vec::as_slice);
        // With the mistake corrected, what was recorded lies beside the steps.
        let recorded = case["fixed_steps"].as_array().map_or(steps, Vec::as_slice);
        for (index, (step, recorded)) in steps.iter().zip(recorded).enumerate() {
            let before = index.checked_sub(1).map(|index| &steps[index]["state"]);
            let goes_on = self.step(index, step, recorded, before);
            if !goes_on || self.plan.problem.is_some() {
                break;
            }
        }
        self.plan.last = self.observations(self.kind == Kind::Embedded || self.is_ours);
        self.plan
    }

    /// Plans a step; returns whether what follows it can be checked.
    fn step(
        &mut self,
        index: usize,
        json: &Value,
        recorded: &Value,
        before: Option<&Value>,
    ) -> bool {
        let step = match Step::read(json, &self.first_name) {
            Ok(step) => step,
            Err(Unmade::Unreadable(why)) => {
                self.plan.problem = Some((index, why));
                return false;
            }
            Err(Unmade::Inexpressible(why)) => {
                self.plan.left_out = Some(why.to_owned());
                let (state, nothing) = (&recorded["state"], Value::Object(Default::default()));
                let is_error = recorded["returns"].get("error").is_some();
                let is_unchanged = !state.is_null() && *state == *before.unwrap_or(&nothing);
                return is_unchanged || state.is_null() && is_error;
            }
        };
        let is_explained = self.is_explained(index, &step, recorded);
        let is_write = matches!(step.call, Call::Write { .. });
        let is_added = matches!(&step.call, Call::Redis(words) if words[0] == "XADD");
        let mut step = self.renamed(step);
        if self.kind == Kind::Cluster {
            step = self.names.on_cluster(step);
        }
        if let (Kind::Embedded, Call::Redis(words)) = (self.kind, &step.call) {
            match self.deferred.translate(words, &self.ours.model) {
                Some(Some(translated)) => step = translated,
                Some(None) => return true,
                None => {
                    self.plan.left_out = Some(RAW.to_owned());
                    return false;
                }
            }
        } else if self.kind == Kind::Embedded
            && (!self.deferred.is_empty() || !step.meanwhile.is_empty())
        {
            self.plan.left_out = Some(RAW.to_owned());
            return false;
        }
        self.resize_first(index, &step);
        let result = match self.ours.play(&step) {
            Ok(result) => result,
            Err(why) => {
                self.plan.left_out = Some(why.to_owned());
                return false;
            }
        };
        let (messages, notifications) = self.ours.model.counts();
        if is_added {
            self.recorded += 1;
        }
        if is_write
            && let Some(id) = recorded["returns"].as_str().and_then(|id| id.strip_prefix('#'))
        {
            self.recorded = id.parse().unwrap_or(self.recorded + 1);
        }
        if is_added || is_write && !matches!(result, StepResult::Error(_)) {
            self.aliases.insert(format!("#{}", self.recorded), format!("#{messages}"));
        }
        if !is_explained && self.judges {
            let is_expected =
                result.is_expected(&recorded["returns"]) && self.holds(&recorded["state"]);
            if !is_expected {
                self.plan.problem = Some((index, contradiction(&result, recorded, self.is_ours)));
            }
        }
        self.note(&step);
        let is_call = !matches!(step.call, Call::Redis(_));
        let can_read = is_call && self.kind != Kind::Embedded;
        self.plan.steps.push(Planned {
            index,
            result,
            counts: (messages, notifications),
            keys: can_read.then(|| self.ours.model.keys.clone()),
            observed: match self.kind {
                Kind::Embedded => self.observations(true),
                _ => Vec::new(),
            },
            is_lag_exact: self.kind == Kind::Embedded || self.is_ours,
            step,
        });
        true
    }

    /// The original changes the number of streams with a write. Ours refuse that write, so the queue is
    /// resized before it.
    fn resize_first(&mut self, index: usize, step: &Step) {
        let Call::Write { to, .. } = &step.call else { return };
        if self.is_ours && self.kind != Kind::Embedded
            || refusal(step, Rules::Ours, self.kind).is_some()
        {
            return;
        }
        let shape = self.ours.model.shape(&to.name).ok().flatten();
        if shape.is_none() || to.streams.is_none() || shape == to.streams {
            return;
        }
        let step = Step::plain(Call::Resize(Target { per_shard: None, ..to.clone() }));
        let Ok(result) = self.ours.play(&step) else { return };
        self.plan.steps.push(Planned {
            index,
            step,
            result,
            counts: self.ours.model.counts(),
            keys: (self.kind != Kind::Embedded).then(|| self.ours.model.keys.clone()),
            observed: Vec::new(),
            is_lag_exact: true,
        });
    }

    /// Whether the original's rules give what was recorded; or nothing has to be explained.
    fn is_explained(&mut self, index: usize, step: &Step, recorded: &Value) -> bool {
        let Some(original) = &mut self.original else { return !self.is_ours && self.is_known_bug };
        let gives = match original.play(step) {
            Ok(result) => {
                result.is_expected(&recorded["returns"]) && holds(original, &recorded["state"])
            }
            Err(_) => false,
        };
        if gives {
            self.plan.explained.push(index);
        } else {
            self.original = None;
        }
        gives || self.is_known_bug
    }

    fn holds(&self, state: &Value) -> bool {
        holds(&self.ours, state)
    }

    /// The step with our names of messages.
    fn renamed(&self, mut step: Step) -> Step {
        let rename = |id: &mut Text| {
            if let Some(alias) = self.aliases.get(id) {
                id.clone_from(alias);
            }
        };
        match &mut step.call {
            Call::Redis(words) => words.iter_mut().for_each(rename),
            Call::Ack { ids, .. } | Call::Renew { ids, .. } if !self.is_ours => {
                ids.iter_mut().for_each(rename);
            }
            _ => {}
        }
        step
    }

    /// Notes which queues and groups there are.
    fn note(&mut self, step: &Step) {
        match &step.call {
            Call::Write { to, .. }
            | Call::WriteMany { to, .. }
            | Call::Resize(to)
            | Call::Redrive(to, _) => {
                self.used.insert(to.name.clone());
            }
            Call::Read { by, .. } => {
                self.used.insert(by.name.clone());
                self.groups.insert((by.name.clone(), by.group.clone()));
            }
            _ => {}
        }
    }

    /// What all queries of the queues return now.
    fn observations(&self, is_exact: bool) -> Vec<(Step, StepResult)> {
        let mut calls = Vec::new();
        for name in self.used.iter().filter(|name| !name.is_empty()) {
            calls.push(Call::Len(name.clone()));
            if is_exact {
                calls.push(Call::Backlog(name.clone()));
            }
        }
        for (name, group) in &self.groups {
            if !name.is_empty() && !group.is_empty() {
                calls.push(Call::Stats(name.clone(), group.clone()));
            }
        }
        let mut player = self.ours.clone();
        let observation = |call| {
            let step = Step::plain(call);
            let result = player.play(&step).ok()?;
            Some((step, result))
        };
        calls.into_iter().filter_map(observation).collect()
    }
}

/// Whether a model holds what a case says, if it says anything.
fn holds(player: &Player, state: &Value) -> bool {
    let Some(state) = state.as_object() else { return true };
    let keys = &player.model.keys;
    let is_held = |(name, said): (&String, &Value)| {
        keys.get(&key(name)).is_some_and(|key| is_recorded(key, said))
    };
    state.len() == keys.len() && state.iter().all(is_held)
}

fn contradiction(result: &StepResult, recorded: &Value, is_ours: bool) -> String {
    let whose = match is_ours {
        true => "the case does not say what the specification does",
        false => "the recording is neither what the original's rules give nor what ours do",
    };
    let result = match result {
        StepResult::Error(Failed::Kind(kind, _)) => kind.name().to_owned(),
        result => result.to_string(),
    };
    let said: String = recorded["returns"].to_string().chars().take(2_000).collect();
    format!("{whose}\n      expected {said}\n      found    {result}, or another state")
}
