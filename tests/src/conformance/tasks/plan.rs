//! One case: its steps as they are written, looked through for what cannot be meant.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::Result;

/// The requests that an adapter knows of a task store.
const REQUESTS: [&str; 20] = [
    "tasks_insert",
    "tasks_modify",
    "tasks_claim",
    "tasks_claim_many",
    "tasks_claims",
    "tasks_renew",
    "tasks_fetch",
    "tasks_list",
    "tasks_queues",
    "tasks_are_empty",
    "tasks_queue_stats",
    "tasks_claim_docs",
    "tasks_get_doc",
    "tasks_put_doc",
    "tasks_fetch_docs",
    "tasks_list_docs",
    "tasks_namespace_stats",
    "tasks_time",
    "tasks_work",
    "tasks_run",
];

/// The store of a request that names none.
pub(super) const STORE: &str = "shop";

/// Steps, beginning with nothing stored.
pub(crate) struct Plan {
    pub(super) steps: Vec<Value>,
    /// The backends that the case is for; all where none is named.
    pub(super) only: Option<Vec<String>>,
    /// The names of all stores.
    pub(super) stores: BTreeSet<String>,
    /// Whether there are raw commands, after which a store may be in any state.
    pub(super) has_raw_set_up: bool,
}

impl Plan {
    /// Reads a case.
    pub(crate) fn read(case: &Value) -> Result<Self> {
        let backends = case.get("backends").map(|names| {
            names.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned)
        });
        let mut plan = Self {
            steps: case["steps"].as_array().cloned().unwrap_or_default(),
            only: backends.map(Iterator::collect),
            stores: BTreeSet::new(),
            has_raw_set_up: false,
        };
        for (index, step) in plan.steps.clone().iter().enumerate() {
            plan.check_step(step).map_err(|why| format!("step {index}: {why}"))?;
        }
        Ok(plan)
    }

    fn check_step(&mut self, step: &Value) -> Result<()> {
        match step["call"].as_str().unwrap_or_default() {
            "sleep" => step["ms"].as_u64().map(|_| ()).ok_or("a sleep says how many ms")?,
            "redis" => self.has_raw_set_up = true,
            "repeat" => {
                step["times"].as_u64().ok_or("a repeat says how many times")?;
                let steps = step["steps"].as_array().ok_or("a repeat has steps")?;
                steps.iter().try_for_each(|step| self.check_step(step))?;
            }
            call if REQUESTS.contains(&call) => {
                let says = |what| step.get(what).is_some();
                if !(says("returns") || says("error") || says("as")) {
                    return Err("the result is not given".to_owned());
                }
                // A store that is refused does not come into being.
                if !says("error") {
                    self.stores.insert(step["store"].as_str().unwrap_or(STORE).to_owned());
                }
                if let Some(meanwhile) = step.get("meanwhile") {
                    meanwhile["after_ms"].as_u64().ok_or("meanwhile is after some ms")?;
                    self.stores.insert(meanwhile["store"].as_str().unwrap_or(STORE).to_owned());
                }
            }
            unknown => return Err(format!("unknown call \"{unknown}\"")),
        }
        Ok(())
    }
}
