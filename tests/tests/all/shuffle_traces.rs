//! The traces of the system that introduced shuffle queues: what ours returns and what Redis holds
//! after each step is what was recorded, except where the specification says otherwise. What that
//! means for a step and all that follow from it is computed by a model: with the original's rules
//! it gives the recorded steps, which is checked as well; with ours it says what to expect.

use std::path::Path;

use millpond::shuffle::{self, Message, Stream};
use millpond::{Client, ErrorKind};
use millpond_tests::servers::{Connection, Redis};
use millpond_tests::shuffle::model::{Fields, Model, Rules, Taken};
use millpond_tests::shuffle::trace::{
    Ids, are_fields, bytes, dump, fields, is_recorded, key, string, text,
};
use serde_json::Value as Json;

/// What a step returns.
#[derive(Clone, Debug, PartialEq)]
enum StepResult {
    Nothing,
    Number(u64),
    Numbers(u64, u64),
    Id(String),
    Taken(Taken),
    Error,
}

/// A step as ours and the model can take it; the reason where they cannot.
enum Step<'a> {
    Write {
        name: String,
        ttl: u64,
        streams: u64,
        shard: Vec<u64>,
        key: String,
        fields: Fields,
        per_shard: u64,
    },
    Read {
        name: String,
        ttl: u64,
        group: String,
        consumer: String,
        prefer: Option<i64>,
    },
    Len(String),
    Stats(String, String),
    PendingCount(String, String),
    Redis(&'a [Json]),
}

fn parse(step: &Json) -> Result<Step<'_>, &'static str> {
    let args = &step["args"];
    let number = |name: &str| args[name].as_u64().ok_or("a number that no type of ours has");
    let word = |name: &str| string(&args[name]);
    if !args["argv"].is_null() {
        return Err("arguments that no step of ours sends");
    }
    Ok(match step["call"].as_str().unwrap_or_default() {
        "write" => Step::Write {
            name: word("name"),
            ttl: number("ttl")?,
            streams: number("streams")?,
            per_shard: number("streams_per_shard")?,
            shard: args["sids"].as_array().expect("sids").iter().filter_map(Json::as_u64).collect(),
            key: word("shard_key"),
            fields: fields(&args["values"]),
        },
        "read" => {
            let prefer = match args["prefer_stream"].as_str() {
                None => None,
                Some(stream) => {
                    let number = stream.strip_prefix(&format!("{}:s", word("name")));
                    Some(number.and_then(|n| n.parse().ok()).ok_or("a stream of another queue")?)
                }
            };
            Step::Read {
                name: word("name"),
                ttl: number("ttl")?,
                group: word("group"),
                consumer: word("consumer"),
                prefer,
            }
        }
        "len" => Step::Len(word("name")),
        "stats" => Step::Stats(word("name"), word("group")),
        "pendingcount" => Step::PendingCount(word("name"), word("group")),
        "redis" => Step::Redis(args["command"].as_array().expect("words")),
        _ => return Err("a call that is not looked at here"),
    })
}

/// The step in the model. The original changes the number of streams with a write; with ours the queue
/// is resized first.
fn model(model: &mut Model, step: &Step<'_>, resizes: bool) -> Result<StepResult, &'static str> {
    let number = |found: Result<u64, _>| found.map_or(StepResult::Error, StepResult::Number);
    Ok(match step {
        Step::Write { name, ttl, streams, shard, fields, .. } => {
            if resizes {
                // Where it is refused, so is the write.
                let _ = model.resize(name, Some(*ttl), *streams as i64);
            }
            let written = model.write(name, Some(*ttl), *streams as i64, shard, fields.clone());
            written.map_or(StepResult::Error, |(id, _)| StepResult::Id(id))
        }
        Step::Read { name, ttl, group, consumer, prefer } => {
            match model.read(name, *ttl, group, consumer, *prefer) {
                Ok(Some(taken)) => StepResult::Taken(taken),
                Ok(None) => StepResult::Nothing,
                Err(_) => StepResult::Error,
            }
        }
        Step::Len(name) => number(model.len(name)),
        Step::PendingCount(name, group) => number(model.pending_count(name, group)),
        Step::Stats(name, group) => match (model.len(name), model.pending_count(name, group)) {
            (Ok(len), Ok(pending)) => StepResult::Numbers(len, pending),
            _ => StepResult::Error,
        },
        Step::Redis(words) => {
            let words: Vec<String> = words.iter().map(string).collect();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            match words[..] {
                ["XADD", key, "*", ref rest @ ..] => {
                    let pairs = rest.chunks(2).map(|p| (p[0].to_owned(), p[1].to_owned()));
                    model.add(key, pairs.collect()).map_err(|_| "a command that fails")?;
                    StepResult::Nothing
                }
                ["XACK", key, group, ref ids @ ..] => {
                    let ids: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
                    StepResult::Number(model.ack(key, group, &ids))
                }
                ["XDEL", key, ref ids @ ..] => {
                    let ids: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
                    StepResult::Number(model.delete(key, &ids))
                }
                ["DEL", key] => StepResult::Number(model.keys.remove(key).is_some().into()),
                ["HSET", key, field, value] => {
                    StepResult::Number(model.set_field(key, field, value))
                }
                ["SET", key, _] => {
                    model.set_other(key, "string");
                    StepResult::Nothing
                }
                ["RPUSH", key, _] => {
                    model.set_other(key, "list");
                    StepResult::Number(1)
                }
                ["XGROUP", "CREATE", key, group, last] => {
                    model.join(key, group, last).map_err(|_| "a command that fails")?;
                    StepResult::Nothing
                }
                _ => return Err("a command that the model does not know"),
            }
        }
    })
}

/// The step in ours, on this Redis.
fn ours(
    client: &Client,
    redis: &mut Connection,
    ids: &mut Ids,
    messages: u64,
    step: &Step<'_>,
) -> StepResult {
    let seconds = std::time::Duration::from_secs;
    let number = |found: Result<u64, _>| found.map_or(StepResult::Error, StepResult::Number);
    match step {
        Step::Write { name, ttl, streams, key, fields, per_shard, shard } => {
            let (streams, per_shard) = (*streams as u32, *per_shard as u32);
            let found = shuffle::shard(streams, per_shard, bytes(key)).expect("a shard");
            assert!(found.iter().map(|n| u64::from(*n)).eq(shard.iter().copied()));
            let queue = client.shuffle_queue(bytes(name)).ttl(seconds(*ttl));
            let queue = queue.streams(streams).streams_per_shard(per_shard);
            let _ = queue.resize(streams);
            match queue.write(bytes(key), fields.iter().map(|(f, v)| (bytes(f), bytes(v)))) {
                Err(_) => StepResult::Error,
                Ok(receipt) => {
                    let id = format!("#{messages}");
                    ids.name(
                        &stream_key(name, receipt.stream),
                        &receipt.id.to_string(),
                        id.clone(),
                    );
                    StepResult::Id(id)
                }
            }
        }
        Step::Read { name, ttl, group, consumer, prefer } => {
            let queue = client.shuffle_queue(bytes(name)).ttl(seconds(*ttl));
            let consumer = queue.consumer(bytes(group), bytes(consumer));
            match consumer.prefer_stream(prefer.map(|n| n as u32)).read() {
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::WrongType, "{error}");
                    StepResult::Error
                }
                Ok(None) => StepResult::Nothing,
                Ok(Some(message)) => StepResult::Taken(taken(name, &message, ids)),
            }
        }
        Step::Len(name) => number(client.shuffle_queue(bytes(name)).len()),
        Step::PendingCount(name, group) => {
            number(client.shuffle_queue(bytes(name)).pending_count(bytes(group)))
        }
        Step::Stats(name, group) => {
            let stats = client.shuffle_queue(bytes(name)).stats(bytes(group));
            stats.map_or(StepResult::Error, |stats| {
                StepResult::Numbers(stats.len(), stats.pending())
            })
        }
        Step::Redis(words) => {
            let words: Vec<String> = words.iter().map(string).collect();
            let real = |word: &String| bytes(ids.real(word).unwrap_or(word));
            let command: Vec<Vec<u8>> = words.iter().map(real).collect();
            let reply = redis.call(&command).expect("the server is there");
            if words[0] == "DEL" {
                // A stream that is made again in the same millisecond gives its ids again.
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
            if words[0] == "XADD" {
                ids.name(&words[1], &reply.text(), format!("#{messages}"));
                return StepResult::Nothing;
            }
            if reply.is_ok() {
                StepResult::Nothing
            } else {
                StepResult::Number(reply.integer() as u64)
            }
        }
    }
}

fn stream_key(name: &str, stream: Stream) -> String {
    match stream {
        Stream::Number(number) => format!("{name}:s{number}"),
        Stream::Default => name.to_owned(),
    }
}

fn taken(name: &str, message: &Message, ids: &Ids) -> Taken {
    let key = stream_key(name, message.stream);
    let id = ids.named(&key, &message.id.to_string());
    (key, id, message.fields.iter().map(|(f, v)| (text(f), text(v))).collect())
}

/// Whether the model's result is the recorded one.
fn is_recorded_result(result: &StepResult, step: &Json) -> bool {
    let returns = &step["returns"];
    match result {
        StepResult::Error => !returns["error"].is_null(),
        StepResult::Nothing => returns.is_null() || returns == "OK",
        StepResult::Number(number) => returns.as_u64() == Some(*number),
        StepResult::Numbers(a, b) => {
            returns[0].as_u64() == Some(*a) && returns[1].as_u64() == Some(*b)
        }
        StepResult::Id(id) => returns.as_str() == Some(id),
        StepResult::Taken((stream, id, found)) => {
            !returns.is_null()
                && returns["error"].is_null()
                && string(&returns["stream"]) == *stream
                && string(&returns["id"]) == *id
                && are_fields(found, &returns["values"])
        }
    }
}

/// Cases that go through mistakes of the original which the model does not have: from there on
/// only the model counts.
const NOT_MODELLED: [&str; 8] = [
    "stale-notification-is-consumed",
    "no-group-on-preferred-stream",
    "stream-beyond-the-queue",
    "bad-stream-error-moves-the-offset",
    "stats-with-one-bad-stream",
    "offset-fraction",
    "fields-3999-limit",
    "fields-4001-limit",
];

#[test]
fn the_recorded_queues_behave_as_recorded_or_as_specified() {
    let server = Redis::start();
    let mut redis = server.connect().expect("the server is there");
    let client = millpond::connect(&server.unix_url()).expect("the url is the harness' own");
    let (mut steps, mut as_recorded, mut skipped) = (0, 0, 0);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance/cases/shuffle");
    for file in ["queue-handmade-01", "queue-random-01", "queue-random-02"] {
        let file = std::fs::read(folder.join(format!("{file}.json"))).expect("the file is there");
        let file: Json = serde_json::from_slice(&file).expect("it is JSON");
        for case in file["cases"].as_array().expect("cases") {
            let name = case["name"].as_str().expect("a name");
            redis.call(&["FLUSHALL"]).expect("the server is there");
            let mut original = Model::new(Rules::Original);
            let mut is_modelled = true;
            let mut specified = Model::new(Rules::Ours);
            let mut ids = Ids::default();
            for (index, json) in case["steps"].as_array().expect("steps").iter().enumerate() {
                let context = format!("{name} step {index}: {}", json["args"]);
                let parsed = parse(json).and_then(|step| {
                    let result = model(&mut specified, &step, true)?;
                    Ok((step, result))
                });
                let Ok((step, expected)) = parsed else {
                    // What follows rests on it.
                    skipped += 1;
                    break;
                };
                if is_modelled {
                    let result = model(&mut original, &step, false).expect("as above");
                    let state = json["state"].as_object();
                    let agrees = is_recorded_result(&result, json)
                        && state.is_none_or(|state| {
                            state.len() == original.keys.len()
                                && state.iter().all(|(name, recorded)| {
                                    let key = original.keys.get(&key(name));
                                    key.is_some_and(|key| is_recorded(key, recorded))
                                })
                        });
                    let is_same = result == expected && original.keys == specified.keys;
                    as_recorded += u32::from(agrees && is_same);
                    if !agrees {
                        let context =
                            format!("the model is not the original: {context}: {result:?}");
                        assert!(NOT_MODELLED.contains(&name), "{context} {:?}", original.keys);
                        is_modelled = false;
                    }
                }
                let (messages, notifications) = specified.counts();
                let found = ours(&client, &mut redis, &mut ids, messages, &step);
                assert_eq!(found, expected, "{context}");
                let state = dump(&mut redis, &mut ids, notifications);
                assert_eq!(state, specified.keys, "{context}");
                steps += 1;
            }
        }
    }
    println!("{steps} steps, {as_recorded} of them wholly as recorded; {skipped} cases end early");
    assert!(steps > 1_700, "only {steps} steps were looked at");
}
