//! One case: its steps as they are written, looked through for what cannot be meant.

use std::collections::BTreeSet;

use serde_json::Value;

use super::volatile;
use crate::Result;
use crate::languages::ABILITIES;

/// The requests of cases in patterns.
const REQUESTS: [&str; 122] = [
    "task_stores",
    "tasks_insert",
    "tasks_modify",
    "tasks_claim",
    "tasks_claim_many",
    "tasks_claims",
    "tasks_renew",
    "tasks_cancel",
    "tasks_fetch",
    "tasks_list",
    "tasks_queues",
    "tasks_are_empty",
    "tasks_queue_stats",
    "tasks_pause",
    "tasks_resume",
    "tasks_purge",
    "tasks_move_tasks",
    "tasks_redrive",
    "tasks_claim_docs",
    "tasks_get_doc",
    "tasks_put_doc",
    "tasks_fetch_docs",
    "tasks_list_docs",
    "tasks_namespace_stats",
    "tasks_time",
    "tasks_work",
    "tasks_drain",
    "tasks_run",
    "shuffle_write",
    "shuffle_write_many",
    "shuffle_read_many",
    "shuffle_ack",
    "shuffle_reclaim",
    "shuffle_len",
    "shuffle_backlog",
    "shuffle_pending_count",
    "shuffle_stats",
    "shuffle_dead_letters",
    "shuffle_drain",
    "shuffle_run",
    "events_publish",
    "events_publish_call",
    "events_publish_many",
    "events_receive",
    "events_deliveries",
    "events_ack",
    "events_ack_many",
    "events_ack_with",
    "events_nack",
    "events_release",
    "events_dead_letter",
    "events_renew",
    "events_cancel",
    "events_reschedule",
    "events_reschedule_at_ms",
    "events_fetch",
    "events_list",
    "events_redrive",
    "events_redrive_all",
    "events_purge",
    "events_delete",
    "events_stats",
    "events_configure",
    "events_config",
    "events_pause",
    "events_resume",
    "events_reshard",
    "events_reshard_step",
    "events_put_schedule",
    "events_sync_schedules",
    "events_remove_schedule",
    "events_get_schedule",
    "events_list_schedules",
    "events_pause_schedule",
    "events_resume_schedule",
    "events_trigger_schedule",
    "events_drain",
    "events_run",
    "vhash_set",
    "vhash_set_many",
    "vhash_set_if_absent",
    "vhash_set_if_present",
    "vhash_set_locked",
    "vhash_set_and_release",
    "vhash_get",
    "vhash_get_many",
    "vhash_fields",
    "vhash_ttl",
    "vhash_len",
    "vhash_stats",
    "vhash_touch",
    "vhash_delete",
    "vhash_clear",
    "vhash_reap",
    "vhash_acquire",
    "vhash_get_or_acquire",
    "vhash_renew",
    "vhash_release",
    "vhash_holder",
    "steal_install",
    "steal_uninstall",
    "steal_enlist",
    "steal_run",
    "steal_is_due",
    "steal_wake",
    "steal_stop",
    "steal_stats",
    "steal_set_duty_max",
    "steal_set_decision_timeout",
    "tracker_add",
    "tracker_is_queued",
    "tracker_are_queued",
    "tracker_len",
    "tracker_stats",
    "tracker_ids",
    "tracker_clear",
    "tracker_begin_scan",
    "tracker_advance",
    "tracker_sample",
    "tracker_remove",
    "tracker_scan",
    "tracker_prune",
];

/// What the calls of queues other than task stores begin with.
const QUEUES: [(&str, &str); 5] = [
    ("shuffle_", "shuffle"),
    ("events_", "events"),
    ("vhash_", "volatile"),
    ("steal_", "recruiter"),
    ("tracker_", "tracker"),
];

/// The store of a request that names none.
pub(super) const STORE: &str = "shop";

/// Steps, beginning with nothing stored.
pub(crate) struct Plan {
    /// The name of the case, and that of the recruiter of a request that names none: what recruiters of a name have
    /// done and stopped stays in the process.
    pub(super) name: String,
    pub(super) steps: Vec<Value>,
    /// The backends that the case is for; all where none is named.
    pub(super) only: Option<Vec<String>>,
    /// The names of all stores.
    pub(super) stores: BTreeSet<String>,
    /// Whether there are raw commands, after which a store may be in any state.
    pub(super) has_raw_set_up: bool,
    /// The queue that the case is about.
    pub(crate) queue: &'static str,
}

impl Plan {
    /// Reads a case.
    pub(crate) fn read(case: &Value) -> Result<Self> {
        let backends = case.get("backends").map(|names| {
            names.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned)
        });
        let mut plan = Self {
            name: case["name"].as_str().unwrap_or_default().to_owned(),
            steps: case["steps"].as_array().cloned().unwrap_or_default(),
            only: backends.map(Iterator::collect),
            stores: BTreeSet::new(),
            has_raw_set_up: false,
            queue: "tasks",
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
            "stored" => volatile::check_stored_step(step)?,
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
                for (ability, has) in step["if"].as_object().into_iter().flatten() {
                    if !ABILITIES.contains(&ability.as_str()) || !has.is_boolean() {
                        return Err(format!("no language has or lacks this: {ability}"));
                    }
                }
                for (of, queue) in QUEUES {
                    if call.starts_with(of) {
                        self.queue = queue;
                        return Ok(());
                    }
                }
                // A store that is refused does not come into being.
                if !says("error") && call != "task_stores" {
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
