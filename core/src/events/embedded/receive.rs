//! How events are received: due events are made ready, events whose lease has expired are retried, and ready events are
//! leased.

use super::bucket::Bucket;
use super::contents::{Phase, Stored};
use super::moves::due_of;
use super::schedules::Ticked;
use super::{DUE_MAX, FROZEN_LOOK, LATE_MAX, SKIPPED_MAX, State, Step};
use crate::error::Result;
use crate::events::event::{Event, flag};
use crate::events::limits::STEP_BYTES_MAX;
use crate::events::receive::{Receive, Received, Suspects};
use crate::events::state::{Attempts, DeadReason, Delivery, Token};
use crate::step::{Chance, StepContext, Timestamp};
impl State {
    pub(in crate::events) fn receive(
        &self,
        receive: &Receive,
        context: &mut StepContext<'_>,
    ) -> Result<Received> {
        let Receive { partition, max, lease_us, token, seed, suspects, .. } = receive;
        let (lease_us, token) = (*lease_us, *token);
        let mut step = self.begin(partition, context)?;
        let lease_us = if lease_us == 0 { step.lease_us() } else { lease_us };
        let leased_until = step.now + lease_us;
        if step.contents.transfer.is_some() {
            let next_in = Some(FROZEN_LOOK);
            return Ok(Received { leased_until, next_in, ..Received::default() });
        }
        step.mend_clock();
        let mut chance = Chance::new(*seed);
        let Ticked { refills, upto } = step.tick();
        let is_more = upto.is_some()
            | step.promote(upto.unwrap_or(step.now))
            | step.recover(&mut chance)
            | step.retry();
        step.expire_done();
        let now = step.now;
        let tokens = step.contents.rate_left(now).map_or(usize::MAX, |(tokens, _)| tokens);
        let max = (*max).min(step.contents.leases_left()).min(tokens);
        let events = step.take(max, leased_until, token, *suspects)?;
        step.contents.take_tokens(events.len(), now);
        let ready = step.contents.ready.len();
        let alarm = step.next_alarm();
        let may_deliver = step.may_deliver();
        let waits_for_rate = ready > 0 && step.has_room() && !may_deliver;
        let next_in = match is_more || ready > 0 && may_deliver {
            true => Some(0),
            // The step's time may be ahead of the clock by which consumers wait.
            false => alarm.map(|alarm| alarm.saturating_sub(context.now())),
        };
        step.freed = step.freed.min(ready);
        let alarm = alarm.filter(|_| !events.is_empty());
        step.finish(partition, alarm, None, context);
        let ready = ready as u64;
        Ok(Received { events, leased_until, ready, next_in, place: None, refills, waits_for_rate })
    }
}

impl Step<'_> {
    /// After the clock was set back, all schedules that are due later are checked, and the bucket fills from now on.
    pub(super) fn mend_clock(&mut self) {
        if !std::mem::take(&mut self.is_set_back) {
            return;
        }
        let now = self.now;
        let late: Vec<_> = self
            .contents
            .ticks
            .iter()
            .filter(|(at, _)| *at > now)
            .map(|(_, id)| id.clone())
            .collect();
        for id in late {
            let schedule = self.contents.schedules[&id].clone();
            self.contents.set_schedule(&id, Some((schedule, Some(now))));
        }
        if let Some(bucket) = self.contents.bucket.filter(|bucket| bucket.at > now) {
            self.contents.set_bucket(Bucket { at: now, ..bucket });
        }
    }

    /// Whether ready events may be delivered.
    pub(super) fn may_deliver(&self) -> bool {
        let rate_left = self.contents.rate_left(self.now);
        self.has_room() && rate_left.is_none_or(|(tokens, _)| tokens > 0)
    }

    /// The same, apart from the rate.
    pub(super) fn has_room(&self) -> bool {
        !self.contents.root.config.paused && self.contents.leases_left() > 0
    }

    /// Makes events ready that are due by this time; returns whether there may be more.
    pub(super) fn promote(&mut self, upto: Timestamp) -> bool {
        let due = due_of(&self.contents.scheduled, upto, DUE_MAX);
        for (at, id) in &due {
            let head = self.contents.events[id].head.clone();
            let phase = self.due(&head, *at);
            self.contents.put(*id, phase);
        }
        due.len() == DUE_MAX
    }

    /// Retries events whose lease has expired, or makes them dead letters; returns whether there may be more.
    pub(super) fn recover(&mut self, chance: &mut Chance) -> bool {
        let late = due_of(&self.contents.leased, self.now, LATE_MAX);
        for (_, id) in &late {
            let mut delivery = self.delivery_of(*id);
            if delivery.is_cancelled {
                self.withdraw(*id, false);
                continue;
            }
            delivery.has_run_out = true;
            if std::mem::take(&mut delivery.is_unbegun) {
                // Its receiver died of another cause.
                delivery.counts.attempts -= 1;
                self.contents.set_delivery(*id, delivery);
                self.make_ready(*id, self.now);
                continue;
            }
            delivery.counts.crashes += 1;
            let Attempts { attempts, crashes, .. } = delivery.counts;
            if self.contents.root.config.is_used_up(attempts, crashes) {
                self.bury(*id, delivery, DeadReason::Crashed);
            } else {
                let delay = self.backoff(attempts, chance);
                self.contents.set_delivery(*id, delivery);
                if delay > 0 {
                    self.contents.put(*id, Phase::Retry(self.now + delay));
                } else {
                    self.make_ready(*id, self.now);
                }
            }
        }
        late.len() == LATE_MAX
    }

    /// Makes events ready whose retry is due; returns whether there may be more.
    pub(super) fn retry(&mut self) -> bool {
        let due = due_of(&self.contents.retry, self.now, DUE_MAX);
        for (at, id) in &due {
            self.make_ready(*id, *at);
        }
        due.len() == DUE_MAX
    }

    /// Leases up to `max` ready events; drops those that have expired. An event that has been delivered once does not
    /// expire.
    pub(super) fn take(
        &mut self,
        max: usize,
        leased_until: Timestamp,
        token: Token,
        suspects: Suspects,
    ) -> Result<Vec<Event>> {
        if self.contents.root.config.paused {
            return Ok(Vec::new());
        }
        let (mut taken, mut expired, mut bytes) = (Vec::new(), Vec::new(), 0);
        let config = self.contents.root.config.clone();
        let is_suspect = |delivery: &Delivery| config.is_suspect(delivery.counts.crashes);
        let mut is_full = false;
        // Events that were behind one that is dropped here come last.
        let (mut dropped, mut freed) = (0, Vec::new());
        loop {
            let ready = self.contents.ready.iter().take(if dropped == 0 { usize::MAX } else { 0 });
            for id in ready.map(|(_, id)| *id).chain(freed.drain(..)) {
                let skipped = dropped + expired.len();
                if is_full || taken.len() == max || skipped == SKIPPED_MAX || bytes > STEP_BYTES_MAX
                {
                    break;
                }
                let Stored { head, body, delivery, .. } = &self.contents.events[&id];
                is_full = delivery.as_deref().is_some_and(is_suspect);
                if is_full && (!taken.is_empty() || suspects == Suspects::Leave) {
                    break;
                }
                let has_expired = head.expires_at_us > 0 && head.expires_at_us <= self.now;
                if has_expired && delivery.is_none() {
                    expired.push(id);
                } else {
                    taken.push(id);
                    bytes += if head.is(flag::LONG) { body.len() } else { 0 };
                }
            }
            if expired.is_empty() {
                break;
            }
            dropped += expired.len();
            freed.extend(expired.drain(..).filter_map(|id| self.remove(id)));
        }
        let mut events = Vec::with_capacity(taken.len());
        for id in taken {
            let Delivery { mut counts, err, .. } = self.delivery_of(id);
            counts.attempts += 1;
            let is_unbegun = suspects == Suspects::Begin && config.is_suspect(counts.crashes);
            let delivery = Delivery { token, counts, err, is_unbegun, ..Delivery::default() };
            let phase = Phase::Leased(leased_until);
            let Stored { head, body, .. } = &self.contents.events[&id];
            events.push(head.event(id, body, &delivery, phase.place())?);
            self.contents.set_delivery(id, delivery);
            self.contents.put(id, phase);
        }
        Ok(events)
    }

    /// The earliest time to check again, if no step gives notice before.
    pub(super) fn next_alarm(&self) -> Option<Timestamp> {
        let contents = &self.contents;
        let is_paused = contents.root.config.paused;
        let waits_for_leases = is_paused || contents.leases_left() == 0;
        let waits = [&contents.scheduled, &contents.retry];
        // Schedules advance in any case.
        let waits = waits.into_iter().filter(|_| !waits_for_leases).chain([&contents.leased]);
        let waits = waits.filter_map(|order| Some(order.first()?.0));
        let alarm = waits.chain(contents.ticks.first().map(|(at, _)| *at)).min();
        match contents.rate_left(self.now) {
            Some((0, more_at)) if !is_paused => match contents.ready.is_empty() || waits_for_leases
            {
                true => alarm.map(|alarm| alarm.max(more_at)),
                false => Some(more_at),
            },
            _ => alarm,
        }
    }
}
