//! Names as they are on a cluster, where a queue's keys have to lie in one slot.

use millpond_tests::shuffle::model::Text;

use super::step::{Call, Step, Tracking};

/// The names of a case's queues.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    names: Vec<Text>,
    /// The queue of messages that are tracked in the global keys.
    tracking: Text,
}

/// What is tracked in the global keys.
const TRACKING: &str = "meta:";

impl Names {
    /// The names of a case; the first is that of its tracked messages.
    pub(super) fn new(mut names: Vec<Text>) -> Self {
        let tracking = names.first().cloned().unwrap_or_default();
        // A name that begins as another does is matched first.
        names.sort_by_key(|name| std::cmp::Reverse(name.len()));
        Self { names, tracking }
    }

    /// A step as it is on a cluster.
    pub(super) fn on_cluster(&self, mut step: Step) -> Step {
        if step.is_verbatim {
            return step;
        }
        match &mut step.call {
            Call::Write { to, tracked, .. } | Call::WriteMany { to, tracked, .. } => {
                to.name = tagged(&to.name);
                if let Some(tracked) = tracked {
                    move_tracking(&mut tracked.of);
                }
            }
            Call::Resize(to) | Call::Redrive(to, _) => to.name = tagged(&to.name),
            Call::Read { by, .. }
            | Call::Ack { by, .. }
            | Call::AckEach { by, .. }
            | Call::Renew { by, .. }
            | Call::Release { by, .. }
            | Call::Reject { by, .. }
            | Call::Reclaim { by, .. } => by.name = tagged(&by.name),
            Call::Len(name)
            | Call::Backlog(name)
            | Call::PendingCount(name, _)
            | Call::Stats(name, _)
            | Call::DeadLetters(name, ..)
            | Call::RemoveIdleConsumers(name, _)
            | Call::DeleteDeadLetters(name, _) => *name = tagged(name),
            Call::DeleteTracked { of, .. } | Call::Cordon { of, .. } | Call::Gc { of, .. } => {
                move_tracking(of);
            }
            Call::Redis(words) => self.move_key(words),
        }
        step.meanwhile.iter_mut().for_each(|words| self.move_key(words));
        step
    }

    fn move_key(&self, words: &mut [Text]) {
        let at = key_at(words);
        if let Some(key) = words.get_mut(at) {
            *key = self.key(key);
        }
    }

    fn key(&self, key: &str) -> Text {
        if key.starts_with(TRACKING) {
            return format!("{}:{key}", tagged(&self.tracking));
        }
        let rest_after = |name: &str| {
            key.strip_prefix(name).filter(|rest| rest.is_empty() || rest.starts_with(':'))
        };
        for name in &self.names {
            if let Some(rest) = rest_after(name) {
                return format!("{}{rest}", tagged(name));
            }
        }
        key.to_owned()
    }
}

/// Which word of a raw command is its key.
pub(super) fn key_at(words: &[Text]) -> usize {
    if words.first().is_some_and(|word| word == "XGROUP") { 2 } else { 1 }
}

fn move_tracking(of: &mut Tracking) {
    of.name = tagged(&of.name);
    of.is_global = false;
}

/// A name with a tag: itself, if it has one.
fn tagged(name: &str) -> Text {
    if has_tag(name) || name.is_empty() { name.to_owned() } else { format!("{{{name}}}") }
}

/// Whether all keys of a queue of this name lie in one slot.
pub(super) fn has_tag(name: &str) -> bool {
    let tag = name.split_once('{').and_then(|(_, rest)| rest.split_once('}'));
    tag.is_some_and(|(tag, _)| !tag.is_empty())
}
