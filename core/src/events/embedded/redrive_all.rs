//! How the dead letters of a range are redriven.

use super::State;
use crate::error::Result;
use crate::events::partition::Partition;
use crate::events::redrive_all::{RedriveRange, RedrivenAll};
use crate::events::walk::Span;
use crate::step::StepContext;
/// How many dead letters a step searches for those that match.
pub(super) const LOOKED_MAX: usize = 1_000;

impl State {
    pub(in crate::events) fn redrive_all(
        &self,
        partition: &Partition,
        range: RedriveRange,
        max: usize,
        context: &mut StepContext<'_>,
    ) -> Result<RedrivenAll> {
        let mut step = self.begin(partition, context)?;
        step.check_complete()?;
        let begun = range.span.begun.unwrap_or(step.now);
        let (chosen, mut left) = step.chosen(&step.contents.dead, &range.span, true, LOOKED_MAX);
        let next_at = step.contents.scheduled.first().map(|(at, _)| *at);
        let (mut redriven, mut alarm, mut turns) = (0, None, range.turns);
        for (number, position) in chosen.iter().enumerate() {
            if redriven == max as u64 {
                left = Some(chosen[number - 1]);
                break;
            }
            let id = position.id;
            let reason = step.delivery_of(id).reason;
            if range.reason.is_none() || range.reason == reason {
                let fire_at_us = step.now + turns.take();
                step.redrive(id, fire_at_us);
                if fire_at_us > step.now {
                    alarm.get_or_insert(fire_at_us);
                }
                redriven += 1;
            }
        }
        let alarm = alarm.filter(|alarm| next_at.is_none_or(|next_at| *alarm < next_at));
        step.finish(partition, alarm, None, context);
        let left = left.map(|after| {
            let span = Span { begun: Some(begun), after: Some(after), ..range.span };
            RedriveRange { span, turns, ..range }
        });
        Ok(RedrivenAll { redriven, left })
    }
}
