//! The tests in Rust that need servers, processes or files: one program, since linking each of these modules
//! with the whole core took minutes. `tests/suites.py` runs each module in a process of its own, a few at a time.

mod access_rights;
mod agreement;
mod connections;
mod crash;
mod events_agreement;
mod events_linearizable;
mod events_queue;
mod events_resharding;
mod events_rules;
mod events_transactions;
mod events_waiting;
mod fixtures;
mod full_memory;
mod hostile_peers;
mod ick_on_redis;
mod limited;
mod limits;
mod redis_rs;
mod schedules;
mod schedules_calendar;
mod scripts;
#[path = "../../conformance/selftest/selftest.rs"]
mod selftest;
mod servers;
mod shuffle_agreement;
mod shuffle_fairness;
mod shuffle_on_redis;
mod shuffle_poison;
mod shuffle_processes;
mod shuffle_traces;
mod shuffle_tracking;
mod shuffle_under_load;
mod shuffle_waiting;
mod tasks_agreement;
mod tasks_contention;
mod tasks_linearizable;
mod tasks_on_redis;
mod tasks_recovery;
mod tasks_renewal;
mod tasks_waiting;
mod tasks_worker;
mod topology;
mod volatile_agreement;
mod volatile_on_redis;
