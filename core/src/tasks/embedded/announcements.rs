//! Wake-ups for the consumers that wait for the queues of a modification.

use super::queue::Queue;
use super::registry::Guard;
use crate::step::StepContext;
use crate::tasks::name::Name;

/// The changes that a modification makes available in each of its queues.
pub(super) struct Announcements(Vec<News>);

#[derive(Clone, Copy, Default)]
struct News {
    /// How many tasks are available that were not available before, or not in this form.
    available: usize,
    /// When the first of those that are not yet available becomes available.
    next_at_ms: Option<u64>,
}

impl Announcements {
    pub(super) fn new(queues: usize) -> Self {
        Self(vec![News::default(); queues])
    }

    /// Records that a task has been put into a queue, with this time.
    pub(super) fn note(&mut self, queue: usize, at_ms: u64, now_ms: u64) {
        let news = &mut self.0[queue];
        match at_ms <= now_ms {
            true => news.available += 1,
            false => {
                news.next_at_ms = Some(news.next_at_ms.map_or(at_ms, |next| next.min(at_ms)));
            }
        }
    }

    pub(super) fn tell(
        self,
        name: &Name,
        queues: &[Guard<'_, Queue>],
        now_ms: u64,
        context: &mut StepContext<'_>,
    ) {
        // A paused queue has nothing for them.
        let queues = self.0.into_iter().zip(queues).filter(|(_, queue)| !queue.is_paused);
        for (news, queue) in queues {
            context.wake(|| name.topic(queue.name()), news.available);
            if let Some(at_ms) = news.next_at_ms {
                context.wake_in(|| name.topic(queue.name()), at_ms - now_ms);
            }
        }
    }
}
