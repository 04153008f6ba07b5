//! What has to come of a case: worked out once, before any language is asked.

use std::collections::BTreeMap;

use millpond_tests::shuffle::model::{Key, Text};
use serde_json::Value;

use super::place::Kind;
use super::planning::Planning;
use super::result::StepResult;
use super::step::Step;

/// What has to come of a case on each kind of backend.
pub(crate) struct Plans {
    embedded: Plan,
    server: Plan,
    cluster: Plan,
    /// The backends that it is for, where it is not for all.
    pub(super) only: Option<Vec<String>>,
}

pub(super) struct Plan {
    pub(super) steps: Vec<Planned>,
    /// What has to be the same after the last step.
    pub(super) last: Vec<(Step, StepResult)>,
    /// Why a part of the case is not checked.
    pub(super) left_out: Option<String>,
    /// The step at which the case cannot be right, and why.
    pub(super) problem: Option<(usize, String)>,
    /// The steps that the original took as it was recorded to.
    pub(super) explained: Vec<usize>,
}

/// A step and what has to come of it.
pub(super) struct Planned {
    /// Where it is in the case.
    pub(super) index: usize,
    pub(super) step: Step,
    pub(super) result: StepResult,
    /// How many messages and notifications there are then.
    pub(super) counts: (u64, u64),
    /// All keys after it, where they can be read.
    pub(super) keys: Option<BTreeMap<Text, Key>>,
    /// What else is queried after it, where they cannot.
    pub(super) observed: Vec<(Step, StepResult)>,
    /// Whether nothing was deleted that makes a server forget how much a group has left.
    pub(super) is_lag_exact: bool,
}

impl Plans {
    pub(crate) fn new(case: &Value) -> Self {
        let only = case["backends"].as_array().map(|names| {
            let names = names.iter().filter_map(Value::as_str).map(str::to_owned);
            names.collect::<Vec<_>>()
        });
        // The case is held to the specification once, where nothing is renamed.
        let is_for_clusters = only.as_ref().is_some_and(|only| only == &["cluster"]);
        let judge = if is_for_clusters { Kind::Cluster } else { Kind::Server };
        let plan = |kind| Planning::new(case, kind, kind == judge).plan(case);
        let mut plans = Self {
            embedded: plan(Kind::Embedded),
            server: plan(Kind::Server),
            cluster: plan(Kind::Cluster),
            only,
        };
        let problem = plans.of(judge).problem.clone();
        for plan in [&mut plans.embedded, &mut plans.server, &mut plans.cluster] {
            plan.problem.clone_from(&problem);
        }
        plans
    }

    /// The plan for a kind of backend.
    pub(super) fn of(&self, kind: Kind) -> &Plan {
        match kind {
            Kind::Embedded => &self.embedded,
            Kind::Server => &self.server,
            Kind::Cluster => &self.cluster,
        }
    }
}
