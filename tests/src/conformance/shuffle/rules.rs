//! Which steps are refused before anything is looked at.

use millpond::shuffle::{FIELDS_MAX, READ_MESSAGES_MAX, STREAMS_MAX, TTL_MAX};
use millpond_tests::shuffle::model::{Failure, INVALID, Rules};

use super::names::has_tag;
use super::place::Kind;
use super::step::{Call, Deadline, Reader, Step, Target, Tenant};

/// The longest deadline, in seconds: what a double holds exactly.
const DEADLINE_MAX: i64 = 1 << 53;

/// The keys of a step lie in several slots of a cluster.
pub(super) const CROSS_SLOT: Failure = "CROSS_SLOT";

/// Why a step is refused, whatever there is. The original looks at less.
pub(super) fn refusal(step: &Step, rules: Rules, kind: Kind) -> Option<Failure> {
    let ours = rules == Rules::Ours;
    let is_ttl = |ms: i64| !ours || (1_000..=TTL_MAX.as_millis() as i64).contains(&ms);
    let is_target = |to: &Target| {
        is_ttl(to.ttl_ms)
            && (1..=i64::from(STREAMS_MAX)).contains(&to.streams)
            && (1..=to.streams).contains(&to.per_shard)
    };
    let is_message = |message: &Tenant| {
        let fields_max = if ours { FIELDS_MAX } else { usize::MAX };
        !message.key.is_empty() && (1..=fields_max).contains(&message.fields.len())
    };
    let is_reader = |by: &Reader| !by.group.is_empty() && !by.consumer.is_empty();
    let is_max = |max: i64| (1..=READ_MESSAGES_MAX as i64).contains(&max);
    let (name, is_right) = match &step.call {
        Call::Write { to, message, tracked } => {
            let is_tracked = tracked.as_ref().is_none_or(|tracked| match tracked.deadline {
                Deadline::At(at) => !ours || at.abs() <= DEADLINE_MAX,
                Deadline::Default | Deadline::FromNow(_) => true,
            });
            let has_field = tracked.as_ref().is_none_or(|tracked| !tracked.field.is_empty());
            (&to.name, is_target(to) && is_message(message) && is_tracked && has_field)
        }
        Call::WriteMany { to, messages } => {
            (&to.name, is_target(to) && messages.iter().all(is_message))
        }
        Call::Read { by, max, .. } => {
            (&by.name, is_reader(by) && is_ttl(by.ttl_ms) && is_max(*max))
        }
        Call::Reclaim { by, min_idle_ms, max, .. } => {
            let is_right = is_reader(by) && is_ttl(by.ttl_ms) && is_max(*max);
            (&by.name, is_right && *min_idle_ms >= 0)
        }
        Call::Ack { by, .. } => (&by.name, !by.group.is_empty()),
        Call::Extend { by, .. } => (&by.name, is_reader(by)),
        Call::Len(name) | Call::Backlog(name) => (name, true),
        Call::PendingCount(name, group) | Call::Stats(name, group) => (name, !group.is_empty()),
        Call::DeadLetters(name, max) => (name, is_max(*max)),
        Call::DeleteTracked { of, .. } => (&of.name, true),
        Call::Cordon { of, within } => (&of.name, *within >= 0),
        Call::Gc { of, digits } => (&of.name, digits.is_none_or(|n| (1..=10).contains(&n))),
        Call::Redis(_) => return None,
    };
    if !is_right || name.is_empty() || !step.raw.is_empty() {
        return Some(INVALID);
    }
    let is_global = match &step.call {
        Call::Write { tracked: Some(tracked), .. } => tracked.of.is_global,
        Call::DeleteTracked { of, .. } | Call::Cordon { of, .. } | Call::Gc { of, .. } => {
            of.is_global
        }
        _ => false,
    };
    let is_split = kind == Kind::Cluster && (!has_tag(name) || is_global);
    is_split.then_some(CROSS_SLOT)
}
