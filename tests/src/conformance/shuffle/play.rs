//! Steps in the model.

use std::collections::HashMap;

use millpond::ErrorKind;
use millpond::shuffle::shard;
use millpond_tests::shuffle::model::{
    CORRUPT, Failure, Fields, INVALID, Model, NOW, Reading, Rules, Taken, Text,
};
use millpond_tests::shuffle::trace::bytes;

use super::place::Kind;
use super::raw;
use super::result::{Failed, Letter, Message, Place, StepResult};
use super::rules::{CROSS_SLOT, refusal};
use super::step::{Call, Deadline, Reader, Step, Target, Tenant, Tracked, Tracking};

/// In seconds: how long what is tracked and what a reader makes lasts where no time is given.
const DAY: i64 = 86_400;

/// A model that steps are played in.
#[derive(Clone)]
pub(super) struct Player {
    pub(super) model: Model,
    rules: Rules,
    kind: Kind,
    /// In which stream each message was put.
    places: HashMap<Text, Text>,
    /// The ids of the last dead letters that were read.
    letters: Vec<Text>,
}

impl Player {
    pub(super) fn new(rules: Rules, kind: Kind) -> Self {
        let (model, places) = (Model::new(rules), HashMap::new());
        Self { model, rules, kind, places, letters: Vec::new() }
    }

    /// Plays a step; an error if the model does not know its raw command.
    pub(super) fn play(&mut self, step: &Step) -> Result<StepResult, &'static str> {
        for words in &step.meanwhile {
            raw::play(&mut self.model, &mut self.places, words)?;
        }
        if let Call::Redis(words) = &step.call {
            return raw::play(&mut self.model, &mut self.places, words);
        }
        if let Some(failure) = refusal(step, self.rules, self.kind) {
            return Ok(self.failed(failure));
        }
        let result = self.call(&step.call);
        Ok(result.unwrap_or_else(|failure| self.failed(failure)))
    }

    fn failed(&self, failure: Failure) -> StepResult {
        let kind = match failure {
            _ if self.rules != Rules::Ours => return StepResult::Error(Failed::Any),
            INVALID => ErrorKind::InvalidArgument,
            CORRUPT => ErrorKind::Corrupt,
            CROSS_SLOT => ErrorKind::CrossSlot,
            // Something that cannot be worked with is there.
            _ => ErrorKind::WrongType,
        };
        StepResult::Error(Failed::Kind(kind, String::new()))
    }

    fn call(&mut self, call: &Call) -> Result<StepResult, Failure> {
        let model = &mut self.model;
        Ok(match call {
            Call::Write { to, message, tracked } => {
                let streams = streams_of(model, to)?;
                let shard = shard_of(streams, to, message)?;
                let before = model.clone();
                if let Some(tracked) = tracked
                    && self.rules == Rules::Ours
                {
                    model.check_tracking(&prefix(&tracked.of))?;
                }
                let fields = message.fields.clone();
                let written = model.write(&to.name, seconds(to.ttl_ms), streams, &shard, fields);
                if written.is_err() {
                    model.clone_from(&before);
                }
                let (id, stream) = written?;
                let at = (format!("{}:s{stream}", to.name), id);
                self.places.insert(at.1.clone(), at.0.clone());
                if let Some(tracked) = tracked {
                    let tracked = track(model, to, tracked, &at, &message.fields);
                    // The original has not come to times to live then.
                    tracked.inspect_err(|_| model.restore_times(&before))?;
                }
                StepResult::Written(vec![at])
            }
            Call::WriteMany { to, messages, tracked } => {
                if let Some(tracked) = tracked {
                    model.check_tracking(&prefix(&tracked.of))?;
                }
                let streams = streams_of(model, to)?;
                let shards =
                    messages.iter().map(|m| Ok((shard_of(streams, to, m)?, m.fields.clone())));
                let shards = shards.collect::<Result<Vec<_>, Failure>>()?;
                let written = model.write_many(&to.name, seconds(to.ttl_ms), streams, &shards)?;
                let place = |(id, stream)| (format!("{}:s{stream}", to.name), id);
                let written: Vec<Place> = written.into_iter().map(place).collect();
                if let Some(tracked) = tracked {
                    for (at, message) in written.iter().zip(messages) {
                        track(model, to, tracked, at, &message.fields)?;
                    }
                }
                self.places.extend(written.iter().map(|(key, id)| (id.clone(), key.clone())));
                StepResult::Written(written)
            }
            Call::Resize(to) => {
                let wanted = to.streams.ok_or(INVALID)?;
                StepResult::Number(model.resize(&to.name, seconds(to.ttl_ms), wanted)?)
            }
            Call::Read { by, max, block_ms, is_many } => {
                let reading = by.reading();
                let taken = match is_many {
                    true => model.read_many(&reading, *max as u64),
                    false if by.default_stream => model.read_many(&reading, 1),
                    false => {
                        let Reading { name, ttl, group, consumer, prefer, .. } = reading;
                        let taken = model.read(name, ttl, group, consumer, prefer);
                        taken.map(|taken| taken.into_iter().collect())
                    }
                }?;
                if taken.is_empty() && block_ms.is_some() && by.prefer.is_none() {
                    model.wait(&by.name, &by.group);
                }
                StepResult::Messages(taken.into_iter().map(|taken| message(taken, 1)).collect())
            }
            Call::Ack { by, ids, delete } => {
                let mut acknowledged = 0;
                for id in ids {
                    let Some(key) = self.places.get(id) else { continue };
                    let group = if *key == by.name { &by.name } else { &by.group };
                    let id = std::slice::from_ref(id);
                    acknowledged += model.ack(key, group, id);
                    if *delete {
                        model.delete(key, id);
                    }
                }
                StepResult::Number(acknowledged)
            }
            Call::AckEach { by, ids, delete } => {
                let ack = |id: &Text| {
                    let Some(key) = self.places.get(id) else { return false };
                    let group = if *key == by.name { &by.name } else { &by.group };
                    let id = std::slice::from_ref(id);
                    let acknowledged = model.ack(key, group, id);
                    if *delete {
                        model.delete(key, id);
                    }
                    acknowledged == 1
                };
                StepResult::Flags(ids.iter().map(ack).collect())
            }
            Call::Renew { by, ids } => {
                let own = |id: &&Text| {
                    let key = self.places.get(*id).map_or("", String::as_str);
                    model.renew(key, &by.group, &by.consumer, id)
                };
                StepResult::Number(ids.iter().filter(own).count() as u64)
            }
            Call::Release { by, ids, min_idle_ms, delay_ms } => {
                let own = |id: &&Text| {
                    let key = self.places.get(*id).map_or("", String::as_str);
                    model.release(key, &by.group, &by.consumer, id, min_idle_ms - delay_ms)
                };
                StepResult::Number(ids.iter().filter(own).count() as u64)
            }
            Call::Reject { by, ids, reason, dead_ttl_ms } => {
                let mut dead = 0;
                for id in ids {
                    let key = self.places.get(id).map_or("", String::as_str);
                    let own = (key, by.group.as_str(), by.consumer.as_str());
                    dead += u64::from(model.reject(&by.name, own, id, reason)?);
                }
                if dead > 0 {
                    model.keep_dead(&by.name, seconds(*dead_ttl_ms));
                }
                StepResult::Number(dead)
            }
            Call::Reclaim { by, min_idle_ms, max, max_deliveries, dead_ttl_ms } => {
                let own = (by.group.as_str(), by.consumer.as_str());
                let max = *max as usize;
                let reclaimed = model.reclaim(&by.name, own, *min_idle_ms, max, *max_deliveries)?;
                if reclaimed.1 > 0 {
                    model.keep_dead(&by.name, seconds(*dead_ttl_ms));
                }
                let messages = reclaimed.0.into_iter();
                let messages = messages.map(|(taken, times)| message(taken, times));
                StepResult::Reclaimed { messages: messages.collect(), dead: reclaimed.1 }
            }
            Call::Len(name) => StepResult::Number(model.len(name)?),
            Call::Backlog(name) => StepResult::Number(model.backlog(name)?),
            Call::PendingCount(name, group) => {
                StepResult::Number(model.pending_count(name, group)?)
            }
            Call::Stats(name, group) => StepResult::Stats(model.stats(name, group)?),
            Call::DeadLetters(name, max, after) => {
                let after = after.and_then(|place| self.letters.get(place));
                let number = |id: &Text| id[1..].parse::<u64>().unwrap_or(0);
                let mut letters = model.dead_letters(name, u64::MAX)?;
                letters.retain(|(id, _)| after.is_none_or(|after| number(id) > number(after)));
                letters.truncate(*max as usize);
                self.letters = letters.iter().map(|(id, _)| id.clone()).collect();
                let letters = letters.into_iter().map(|(_, letter)| {
                    let (group, consumer, reason) = (letter.group, letter.consumer, letter.reason);
                    let deliveries = letter.deliveries;
                    let message = message(letter.message, deliveries);
                    Letter { message, group, consumer, deliveries, reason }
                });
                StepResult::DeadLetters(letters.collect())
            }
            Call::DeleteDeadLetters(name, places) => {
                let ids: Vec<_> = letters_at(&self.letters, places);
                StepResult::Number(model.delete_dead_letters(name, &ids)?)
            }
            Call::Redrive(to, places) => {
                let ids: Vec<_> = letters_at(&self.letters, places);
                let streams = to.streams.unwrap_or(to.per_shard.unwrap_or(1).max(16));
                let ttl = seconds(to.ttl_ms);
                let redriven = model.redrive(&to.name, ttl, streams, &ids)?;
                let written = redriven.iter().flatten();
                self.places.extend(written.map(|(key, id)| (id.clone(), key.clone())));
                StepResult::Redriven(redriven)
            }
            Call::RemoveIdleConsumers(name, min_idle_ms) => {
                StepResult::Number(model.remove_idle_consumers(name, *min_idle_ms))
            }
            Call::DeleteTracked { of, value } => {
                StepResult::Deleted(model.delete_tracked(&prefix(of), value)?)
            }
            Call::Cordon { of, within } => StepResult::Values(model.cordon(&prefix(of), *within)?),
            Call::Gc { of, digits } => {
                let digits = match digits {
                    None => 0,
                    Some(digits @ 1..=10) => *digits as usize,
                    Some(_) => return Err(INVALID),
                };
                StepResult::Collected(model.collect(&prefix(of), digits)?)
            }
            Call::Redis(words) => raw::play(&mut self.model, &mut self.places, words)?,
        })
    }
}

impl Reader {
    fn reading(&self) -> Reading<'_> {
        Reading {
            name: &self.name,
            ttl: seconds(self.ttl_ms).unwrap_or(DAY as u64),
            group: &self.group,
            consumer: &self.consumer,
            prefer: self.prefer,
            default_stream: self.default_stream,
        }
    }
}

fn letters_at(letters: &[Text], places: &[usize]) -> Vec<Text> {
    places.iter().filter_map(|place| letters.get(*place).cloned()).collect()
}

fn message((stream, id, fields): Taken, deliveries: u64) -> Message {
    Message { at: (stream, id), fields, deliveries }
}

/// What the three keys of tracking begin with.
fn prefix(of: &Tracking) -> Text {
    if of.is_global { String::new() } else { format!("{}:", of.name) }
}

fn seconds(ms: Option<i64>) -> Option<u64> {
    ms.map(|ms| u64::try_from(ms / 1_000).unwrap_or(0))
}

/// For how many seconds a message without a deadline is tracked.
pub(super) fn tracked_seconds(to: &Target) -> i64 {
    to.ttl_ms.map_or(DAY, |ms| ms / 1_000)
}

fn track(
    model: &mut Model,
    to: &Target,
    tracked: &Tracked,
    at: &Place,
    fields: &Fields,
) -> Result<(), Failure> {
    let deadline = match tracked.deadline {
        Deadline::Default => NOW + tracked_seconds(to),
        Deadline::At(at) => at,
        Deadline::FromNow(from_now) => NOW + from_now,
    };
    model.track(&prefix(&tracked.of), (&at.0, &at.1), fields, &tracked.field, deadline)
}

/// How many streams a writer takes the queue to have.
fn streams_of(model: &Model, to: &Target) -> Result<i64, Failure> {
    match to.streams {
        Some(streams) => Ok(streams),
        None => Ok(model.shape(&to.name)?.unwrap_or(to.per_shard.unwrap_or(1).max(16))),
    }
}

/// The streams of a message's tenant. That these are right is what the vectors of shards say.
fn shard_of(streams: i64, to: &Target, message: &Tenant) -> Result<Vec<u64>, Failure> {
    let number = |n: i64| u32::try_from(n).map_err(|_| INVALID);
    let per_shard = to.per_shard.unwrap_or(streams.min(2));
    let shard = shard(number(streams)?, number(per_shard)?, bytes(&message.key));
    Ok(shard.map_err(|_| INVALID)?.into_iter().map(u64::from).collect())
}
