//! Which steps are refused before anything is read.

use millpond::shuffle::{FIELDS_MAX, READ_MESSAGES_MAX, REASON_BYTES_MAX, STREAMS_MAX, TTL_MAX};
use millpond_tests::shuffle::model::{Failure, INVALID, Rules};
use millpond_tests::shuffle::trace::bytes;

use super::names::has_tag;
use super::place::Kind;
use super::step::{Call, Deadline, Reader, Step, Target, Tenant, Tracked};

/// The longest deadline, in seconds: what a double holds exactly.
const DEADLINE_MAX: i64 = 1 << 53;

/// The keys of a step lie in several slots of a cluster.
pub(super) const CROSS_SLOT: Failure = "CROSS_SLOT";

/// Why a step is refused in any state. The original checks less.
pub(super) fn refusal(step: &Step, rules: Rules, kind: Kind) -> Option<Failure> {
    let ours = rules == Rules::Ours;
    let is_ttl = |ms: Option<i64>| {
        ms.is_none_or(|ms| !ours || (1_000..=TTL_MAX.as_millis() as i64).contains(&ms))
    };
    let is_target = |to: &Target| {
        // What goes with the streams that a queue has is seen when these are known.
        let streams = to.streams.unwrap_or(i64::from(STREAMS_MAX));
        is_ttl(to.ttl_ms)
            && (1..=i64::from(STREAMS_MAX)).contains(&streams)
            && to.per_shard.is_none_or(|per_shard| (1..=streams).contains(&per_shard))
    };
    let is_message = |message: &Tenant| {
        let fields_max = if ours { FIELDS_MAX } else { usize::MAX };
        !message.key.is_empty() && (1..=fields_max).contains(&message.fields.len())
    };
    let is_reader = |by: &Reader| !by.group.is_empty() && !by.consumer.is_empty();
    let is_max = |max: i64| (1..=READ_MESSAGES_MAX as i64).contains(&max);
    let is_tracked = |tracked: &Option<Tracked>| {
        tracked.as_ref().is_none_or(|tracked| {
            let is_deadline = match tracked.deadline {
                Deadline::At(at) => !ours || at.abs() <= DEADLINE_MAX,
                Deadline::Default | Deadline::FromNow(_) => true,
            };
            is_deadline && !tracked.field.is_empty()
        })
    };
    let (name, is_right) = match &step.call {
        Call::Write { to, message, tracked } => {
            (&to.name, is_target(to) && is_message(message) && is_tracked(tracked))
        }
        Call::WriteMany { to, messages, tracked } => {
            let is_right = is_target(to) && messages.iter().all(is_message);
            (&to.name, is_right && is_tracked(tracked))
        }
        Call::Resize(to) => (&to.name, is_target(to)),
        Call::Read { by, max, .. } => {
            (&by.name, is_reader(by) && is_ttl(by.ttl_ms) && is_max(*max))
        }
        Call::Reclaim { by, min_idle_ms, max, dead_ttl_ms, .. } => {
            let is_right = is_reader(by) && is_ttl(*dead_ttl_ms) && is_max(*max);
            (&by.name, is_right && *min_idle_ms >= 0)
        }
        Call::Release { by, min_idle_ms, delay_ms, .. } => {
            let is_time = *min_idle_ms >= 0 && (0..=*min_idle_ms).contains(delay_ms);
            (&by.name, is_reader(by) && is_time)
        }
        Call::Reject { by, reason, dead_ttl_ms, .. } => {
            let is_reason = (1..=REASON_BYTES_MAX).contains(&bytes(reason).len());
            (&by.name, is_reader(by) && is_reason && is_ttl(*dead_ttl_ms))
        }
        Call::Redrive(to, _) => (&to.name, is_target(to)),
        Call::RemoveIdleConsumers(name, min_idle_ms) => (name, *min_idle_ms >= 0),
        Call::Ack { by, .. } | Call::AckEach { by, .. } => (&by.name, !by.group.is_empty()),
        Call::Renew { by, .. } => (&by.name, is_reader(by)),
        Call::Len(name) | Call::Backlog(name) | Call::DeleteDeadLetters(name, _) => (name, true),
        Call::PendingCount(name, group) | Call::Stats(name, group) => (name, !group.is_empty()),
        Call::DeadLetters(name, max, _) => (name, is_max(*max)),
        Call::DeleteTracked { of, .. } => (&of.name, true),
        Call::Cordon { of, within } => (&of.name, *within >= 0),
        Call::Gc { of, digits } => (&of.name, digits.is_none_or(|n| (1..=10).contains(&n))),
        Call::Redis(_) => return None,
    };
    if !is_right || name.is_empty() || !step.raw.is_empty() {
        return Some(INVALID);
    }
    let is_global = match &step.call {
        Call::Write { tracked: Some(tracked), .. }
        | Call::WriteMany { tracked: Some(tracked), .. } => tracked.of.is_global,
        Call::DeleteTracked { of, .. } | Call::Cordon { of, .. } | Call::Gc { of, .. } => {
            of.is_global
        }
        _ => false,
    };
    let is_split = kind == Kind::Cluster && (!has_tag(name) || is_global);
    is_split.then_some(CROSS_SLOT)
}
