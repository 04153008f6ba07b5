//! A second implementation of an Ick: the specification as a pure function of the state.
//!
//! A recording is no reference after the step where the recorded system does something wrong,
//! since everything after it depends on that. From there on this model computes what is
//! expected. It shares no code with the library.

use std::cmp::Ordering;
use std::collections::HashMap;

use millpond::ErrorKind;

use crate::call::{Argument, Call, Member};
use crate::result::{Field, Stats, StepResult};
use crate::returns::Returns;
use crate::state::{Flag, Pair, Set, State};

/// Sizes from here on are refused.
const SIZE_END: u64 = 100_000_000_000_000_000;

type Scores = HashMap<Vec<u8>, f64>;

/// What `call` returns and leaves behind; nothing for raw commands.
pub(crate) fn outcome(before: &State, name: &[u8], call: &Call) -> Option<(Returns, State)> {
    if let Call::Redis(_) = call {
        return None;
    }
    if is_invalid(call) {
        return Some((invalid_argument(), before.clone()));
    }
    if let Call::Delete { .. } = call {
        let keys =
            [before.flag != Flag::Absent, before.producer.is_there(), before.consumer.is_there()];
        let removed = keys.into_iter().filter(|key| *key).count() as u64;
        return Some((Returns::StepResult(StepResult::Count(removed)), State::NOTHING));
    }
    if let Some(refusal) = refusal(before, name) {
        return Some((refusal, before.clone()));
    }
    if let Call::Stats = call {
        return Some((Returns::StepResult(stats(before, name)), before.clone()));
    }
    let mut producer: Scores = before.producer.members().iter().cloned().collect();
    let mut consumer: Scores = before.consumer.members().iter().cloned().collect();
    let result = match call {
        Call::Add(pairs) => add(&mut producer, pairs),
        Call::Commit(members) => StepResult::Count(commit(&mut consumer, members)),
        Call::Reserve { max, backwash } => take(&mut producer, &mut consumer, max, *backwash),
        Call::Exchange { max, members, backwash } => {
            commit(&mut consumer, members);
            take(&mut producer, &mut consumer, max, *backwash)
        }
        Call::Stats | Call::Delete { .. } | Call::Redis(_) | Call::Inexpressible(_) => {
            return None;
        }
    };
    let after = State {
        flag: Flag::Text(b"ick.v1".to_vec()),
        producer: Set::Members(sorted(producer)),
        consumer: Set::Members(sorted(consumer)),
    };
    Some((Returns::StepResult(result), after))
}

/// The error of every step but delete on keys that are not an Ick's, which names what is wrong.
pub(crate) fn refusal(state: &State, name: &[u8]) -> Option<Returns> {
    let [producer_key, consumer_key] = set_keys(name);
    let error = |kind, mentions| Some(Returns::Error { kinds: vec![kind], mentions });
    let wrong_type = |key: &[u8], found: &str| {
        error(ErrorKind::WrongType, vec![key.to_vec(), found.as_bytes().to_vec()])
    };
    match &state.flag {
        Flag::Other(found) => return wrong_type(name, found),
        Flag::Text(version) if version != b"ick.v1" => {
            return error(ErrorKind::IncompatibleVersion, vec![name.to_vec()]);
        }
        Flag::Text(_) | Flag::Absent => {}
    }
    for (set, key) in [(&state.producer, &producer_key), (&state.consumer, &consumer_key)] {
        match set {
            Set::Other(found) => return wrong_type(key, found),
            Set::Members(_) => {}
        }
    }
    let key = if state.producer.is_there() { producer_key } else { consumer_key };
    let is_orphan =
        state.flag == Flag::Absent && (state.producer.is_there() || state.consumer.is_there());
    if is_orphan { error(ErrorKind::IncompatibleVersion, vec![key]) } else { None }
}

/// The keys of the producer and the consumer set.
pub(crate) fn set_keys(name: &[u8]) -> [Vec<u8>; 2] {
    [b"pset", b"cset"].map(|set| [name, b"/ick/{", name, b"}/", set].concat())
}

/// The error of a call whose arguments are wrong, whatever the state.
pub(crate) fn invalid_argument() -> Returns {
    Returns::Error { kinds: vec![ErrorKind::InvalidArgument], mentions: Vec::new() }
}

/// Whether an argument is wrong.
pub(crate) fn is_invalid(call: &Call) -> bool {
    let is_size = |max: &Argument<u64>| plain(max).is_some_and(|max| *max < SIZE_END);
    let are_members = |members: &[Member]| members.iter().all(|member| plain(member).is_some());
    !match call {
        Call::Add(pairs) => pairs.iter().all(|(score, member)| {
            plain(score).is_some_and(|score| !score.is_nan()) && plain(member).is_some()
        }),
        Call::Reserve { max, .. } => is_size(max),
        Call::Commit(members) => are_members(members),
        Call::Exchange { max, members, .. } => is_size(max) && are_members(members),
        Call::Stats | Call::Delete { .. } | Call::Redis(_) => true,
        Call::Inexpressible(_) => false,
    }
}

fn plain<T>(argument: &Argument<T>) -> Option<&T> {
    match argument {
        Argument::Plain(value) => Some(value),
        Argument::Odd(_) => None,
    }
}

fn add(producer: &mut Scores, pairs: &[(Argument<f64>, Member)]) -> StepResult {
    let (mut new, mut lowered) = (0, 0);
    for (score, member) in pairs.iter().filter_map(|(s, m)| plain(s).zip(plain(m))) {
        match producer.get(member) {
            None => new += 1,
            Some(old) if score < old => lowered += 1,
            Some(_) => {}
        }
        lower(producer, member.clone(), *score);
    }
    StepResult::Added { new, lowered }
}

fn commit(consumer: &mut Scores, members: &[Member]) -> u64 {
    let members = members.iter().filter_map(plain);
    members.filter(|member| consumer.remove(*member).is_some()).count() as u64
}

fn take(
    producer: &mut Scores,
    consumer: &mut Scores,
    max: &Argument<u64>,
    backwash: bool,
) -> StepResult {
    let max = usize::try_from(plain(max).copied().unwrap_or(0)).unwrap_or(usize::MAX);
    if backwash {
        for (member, score) in consumer.drain() {
            lower(producer, member, score);
        }
    }
    for (member, score) in sorted(producer.clone()) {
        if consumer.len() >= max {
            break;
        }
        producer.remove(&member);
        lower(consumer, member, score);
    }
    let mut batch = sorted(consumer.clone());
    batch.truncate(max);
    StepResult::Batch(batch)
}

fn lower(scores: &mut Scores, member: Vec<u8>, score: f64) {
    let entry = scores.entry(member).or_insert(score);
    if score < *entry {
        *entry = score;
    }
}

/// The members in Redis' order: by score, then by bytes.
fn sorted(scores: Scores) -> Vec<Pair> {
    let mut pairs: Vec<Pair> = scores.into_iter().collect();
    pairs.sort_by(|(a, x), (b, y)| x.partial_cmp(y).unwrap_or(Ordering::Equal).then(a.cmp(b)));
    pairs
}

fn stats(state: &State, name: &[u8]) -> StepResult {
    if state.flag == Flag::Absent {
        return StepResult::Nothing;
    }
    let [producer_key, consumer_key] = set_keys(name);
    let (producer, consumer) = (state.producer.members(), state.consumer.members());
    let mut stats = Stats::new();
    let texts = [
        ("ver", b"ick.v1".to_vec()),
        ("key", name.to_vec()),
        ("pset_key", producer_key),
        ("cset_key", consumer_key),
    ];
    stats.extend(texts.map(|(field, text)| (field.to_owned(), Field::Text(text))));
    let mut number = |field: String, number| stats.insert(field, Field::Number(number));
    let together = [producer, consumer].concat();
    for (set, members) in [("pset", producer), ("cset", consumer), ("total", &together)] {
        number(format!("{set}_size"), members.len() as f64);
        let scores = || members.iter().map(|(_, score)| *score);
        if !members.is_empty() {
            number(format!("{set}_min"), scores().fold(f64::INFINITY, f64::min));
            number(format!("{set}_max"), scores().fold(f64::NEG_INFINITY, f64::max));
        }
    }
    StepResult::Stats(stats)
}
