//! One step of a case: a call of the library, or a raw command.

use millpond_tests::shuffle::model::{Fields, Text};
use millpond_tests::shuffle::trace::{fields, string};
use serde_json::{Map, Value};

use crate::Result;

/// The calls of recordings and of our own cases. `redis` is one of every queue's.
pub(super) const CALLS: &[&str] = &[
    "write",
    "writemany",
    "writetracking",
    "writetrackingmany",
    "read",
    "readmany",
    "ack",
    "ackdelete",
    "ackeach",
    "renew",
    "release",
    "reject",
    "reclaim",
    "resize",
    "deletedeadletters",
    "redrive",
    "removeidleconsumers",
    "len",
    "backlog",
    "stats",
    "pendingcount",
    "deadletters",
    "del",
    "cordon",
    "gc",
    "client.write",
    "client.read",
];

#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) call: Call,
    /// Arguments that are sent as they are, instead of those of the call: they are wrong.
    pub(super) raw: Map<String, Value>,
    /// Raw commands that are sent while the call waits.
    pub(super) meanwhile: Vec<Vec<Text>>,
    /// Whether names and keys stay as they are even on a cluster.
    pub(super) is_verbatim: bool,
}

#[derive(Clone, Debug)]
pub(super) enum Call {
    Write {
        to: Target,
        message: Tenant,
        tracked: Option<Tracked>,
    },
    WriteMany {
        to: Target,
        messages: Vec<Tenant>,
        tracked: Option<Tracked>,
    },
    /// The target's number of streams is the one that the queue gets.
    Resize(Target),
    Read {
        by: Reader,
        max: i64,
        is_many: bool,
        block_ms: Option<u64>,
    },
    Ack {
        by: Reader,
        ids: Vec<Text>,
        delete: bool,
    },
    AckEach {
        by: Reader,
        ids: Vec<Text>,
        delete: bool,
    },
    Renew {
        by: Reader,
        ids: Vec<Text>,
    },
    Release {
        by: Reader,
        ids: Vec<Text>,
        min_idle_ms: i64,
        delay_ms: i64,
    },
    Reject {
        by: Reader,
        ids: Vec<Text>,
        reason: Text,
        dead_ttl_ms: Option<i64>,
    },
    Reclaim {
        by: Reader,
        min_idle_ms: i64,
        max: i64,
        max_deliveries: u64,
        dead_ttl_ms: Option<i64>,
    },
    Len(Text),
    Backlog(Text),
    PendingCount(Text, Text),
    Stats(Text, Text),
    /// Maybe those after the one at this index of the last result.
    DeadLetters(Text, i64, Option<usize>),
    /// Those at these indices of the last result.
    DeleteDeadLetters(Text, Vec<usize>),
    Redrive(Target, Vec<usize>),
    RemoveIdleConsumers(Text, i64),
    DeleteTracked {
        of: Tracking,
        value: Text,
    },
    Cordon {
        of: Tracking,
        within: i64,
    },
    Gc {
        of: Tracking,
        digits: Option<i64>,
    },
    Redis(Vec<Text>),
}

/// The queue that is written to.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) name: Text,
    /// `None` forever.
    pub(super) ttl_ms: Option<i64>,
    /// `None` for as many as the queue has.
    pub(super) streams: Option<i64>,
    pub(super) per_shard: Option<i64>,
}

/// A message of a tenant.
#[derive(Clone, Debug)]
pub(super) struct Tenant {
    pub(super) key: Text,
    pub(super) fields: Fields,
}

/// Who reads.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    pub(super) name: Text,
    pub(super) ttl_ms: Option<i64>,
    pub(super) group: Text,
    pub(super) consumer: Text,
    pub(super) prefer: Option<i64>,
    pub(super) default_stream: bool,
}

/// How a message is tracked.
#[derive(Clone, Debug)]
pub(super) struct Tracked {
    pub(super) of: Tracking,
    pub(super) field: Text,
    pub(super) deadline: Deadline,
}

/// Where tracking is: its keys are the global ones, or those of a queue.
#[derive(Clone, Debug)]
pub(super) struct Tracking {
    pub(super) name: Text,
    pub(super) is_global: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Deadline {
    /// The time to live from the server's time.
    Default,
    At(i64),
    FromNow(i64),
}

/// Why a step cannot be made.
pub(super) enum Unmade {
    /// No call of ours can express this.
    Inexpressible(&'static str),
    Unreadable(String),
}

impl From<String> for Unmade {
    fn from(why: String) -> Self {
        Self::Unreadable(why)
    }
}

impl Step {
    /// A call and nothing else.
    pub(super) fn plain(call: Call) -> Self {
        Self { call, raw: Map::new(), meanwhile: Vec::new(), is_verbatim: false }
    }

    /// Reads a step of a case whose tracked messages belong to this queue.
    pub(super) fn read(step: &Value, queue: &Text) -> Result<Self, Unmade> {
        let args = &step["args"];
        let name = step["call"].as_str().unwrap_or_default();
        let words = |list: &Value| list.as_array().into_iter().flatten().map(string).collect();
        let meanwhile = args["meanwhile"].as_array().into_iter().flatten();
        Ok(Self {
            call: Call::read(name, args, queue)?,
            raw: args["raw"].as_object().cloned().unwrap_or_default(),
            meanwhile: meanwhile.map(words).collect(),
            is_verbatim: args["verbatim"] == true,
        })
    }
}

impl Call {
    fn read(call: &str, args: &Value, queue: &Text) -> Result<Self, Unmade> {
        if args["nil_args"] == true {
            return Err(Unmade::Inexpressible("a call without arguments"));
        }
        if !args["argv"].is_null() {
            return Self::read_argv(call, args);
        }
        let word = |name: &str| args.get(name).map(string).unwrap_or_default();
        let whole = |name: &str, default: i64| whole(&args[name], name, default);
        let group = || word("group");
        let by = || Reader::read(args);
        let ids = || args["ids"].as_array().into_iter().flatten().map(string).collect();
        let letters = || {
            let places = args["places"].as_array().into_iter().flatten();
            places.filter_map(Value::as_u64).map(|place| place as usize).collect()
        };
        let of = || Tracking {
            name: if args["name"].is_null() { queue.clone() } else { word("name") },
            is_global: args["track_keys"] != "queue",
        };
        let max = |default| whole("max", default);
        let tracked = || {
            let deadline = Deadline::read(&args["deadline"])?;
            Ok::<_, Unmade>(Tracked { of: of(), field: word("track_field"), deadline })
        };
        Ok(match call {
            "write" | "client.write" | "writetracking" => Self::Write {
                to: Target::read(args)?,
                message: Tenant { key: word("shard_key"), fields: fields_of(&args["values"]) },
                tracked: (call == "writetracking").then(tracked).transpose()?,
            },
            "writemany" | "writetrackingmany" => {
                let tenant = |m: &Value| Tenant { key: string(&m[0]), fields: fields_of(&m[1]) };
                let messages = args["messages"].as_array().into_iter().flatten();
                Self::WriteMany {
                    to: Target::read(args)?,
                    messages: messages.map(tenant).collect(),
                    tracked: (call == "writetrackingmany").then(tracked).transpose()?,
                }
            }
            "resize" => Self::Resize(Target::read(args)?),
            "read" | "client.read" | "readmany" => Self::Read {
                by: by()?,
                max: max(1)?,
                is_many: call == "readmany",
                block_ms: args["block_ms"].as_u64(),
            },
            "ack" => Self::Ack { by: by()?, ids: ids(), delete: false },
            "ackdelete" => Self::Ack { by: by()?, ids: ids(), delete: true },
            "ackeach" => Self::AckEach { by: by()?, ids: ids(), delete: args["delete"] == true },
            "renew" => Self::Renew { by: by()?, ids: ids() },
            "release" => Self::Release {
                by: by()?,
                ids: ids(),
                min_idle_ms: whole("min_idle_ms", 0)?,
                delay_ms: whole("delay_ms", 0)?,
            },
            "reject" => Self::Reject {
                by: by()?,
                ids: ids(),
                reason: word("reason"),
                dead_ttl_ms: ttl_ms(&args["dead_ttl"], &Value::Null)?,
            },
            "reclaim" => Self::Reclaim {
                by: by()?,
                min_idle_ms: whole("min_idle_ms", 0)?,
                max: max(100)?,
                max_deliveries: args["max_deliveries"].as_u64().unwrap_or(0),
                dead_ttl_ms: ttl_ms(&args["dead_ttl"], &Value::Null)?,
            },
            "len" => Self::Len(word("name")),
            "backlog" => Self::Backlog(word("name")),
            "pendingcount" => Self::PendingCount(word("name"), group()),
            "stats" => Self::Stats(word("name"), group()),
            "deadletters" => {
                let after = args["after"].as_u64().map(|place| place as usize);
                Self::DeadLetters(word("name"), max(100)?, after)
            }
            "deletedeadletters" => Self::DeleteDeadLetters(word("name"), letters()),
            "redrive" => Self::Redrive(Target::read(args)?, letters()),
            "removeidleconsumers" => {
                Self::RemoveIdleConsumers(word("name"), whole("min_idle_ms", 0)?)
            }
            "del" => Self::DeleteTracked { of: of(), value: word("value") },
            "cordon" => Self::Cordon { of: of(), within: whole("within_s", 0)? },
            "gc" => Self::Gc {
                of: of(),
                digits: Some(whole("n_time_digits", -1)?).filter(|digits| *digits != -1),
            },
            "redis" => {
                let words =
                    args["command"].as_array().ok_or("a raw command is a list".to_owned())?;
                Self::Redis(words.iter().map(string).collect())
            }
            unknown => return Err(format!("unknown call \"{unknown}\"").into()),
        })
    }

    /// What a script was called with: some of it is a call with wrong arguments.
    fn read_argv(call: &str, args: &Value) -> Result<Self, Unmade> {
        const ELSE: Unmade = Unmade::Inexpressible("arguments that only a script can be given");
        let argv: Vec<Text> = args["argv"].as_array().into_iter().flatten().map(string).collect();
        let number = |at: usize| argv.get(at).and_then(|text| text.parse::<i64>().ok());
        let (Some(ttl), Some(streams), Some(per_shard)) = (number(0), number(1), number(2)) else {
            return Err(ELSE);
        };
        let is_wrong = streams < 1 || !(1..=streams).contains(&per_shard);
        if call != "write" || !is_wrong {
            return Err(ELSE);
        }
        let (ttl_ms, streams, per_shard) = (Some(ttl * 1_000), Some(streams), Some(per_shard));
        let to = Target { name: string(&args["name"]), ttl_ms, streams, per_shard };
        let fields = vec![("f".to_owned(), "v".to_owned())];
        Ok(Self::Write { to, message: Tenant { key: "k".to_owned(), fields }, tracked: None })
    }
}

impl Target {
    fn read(args: &Value) -> Result<Self, Unmade> {
        let number = |name: &str| match &args[name] {
            Value::Null => Ok(None),
            value => whole(value, name, 0).map(Some),
        };
        let (streams, per_shard) = (number("streams")?, number("streams_per_shard")?);
        let name = args.get("name").map(string).unwrap_or_default();
        let ttl_ms = ttl_ms(&args["ttl"], &args["ttl_ms"])?;
        Ok(Self { name, ttl_ms, streams, per_shard })
    }
}

impl Reader {
    fn read(args: &Value) -> Result<Self, Unmade> {
        let word = |name: &str| args.get(name).map(string).unwrap_or_default();
        let name = word("name");
        let prefer = match &args["prefer_stream"] {
            Value::Null => None,
            Value::String(stream) => {
                let number = stream.strip_prefix(&format!("{name}:s")).and_then(|n| n.parse().ok());
                Some(number.ok_or(Unmade::Inexpressible("a preferred stream of another queue"))?)
            }
            number => Some(whole(number, "prefer_stream", 0)?),
        };
        Ok(Self {
            name,
            ttl_ms: ttl_ms(&args["ttl"], &args["ttl_ms"])?,
            group: word("group"),
            consumer: word("consumer"),
            prefer,
            default_stream: args["default_stream"] == true,
        })
    }
}

impl Deadline {
    fn read(value: &Value) -> Result<Self, Unmade> {
        Ok(match (value, value["now"].as_i64()) {
            (_, Some(from_now)) => Self::FromNow(from_now),
            (Value::Null, _) => Self::Default,
            // What the recorded system takes for no deadline.
            (zero, _) if zero == 0 => Self::Default,
            (at, _) => Self::At(whole(at, "deadline", 0)?),
        })
    }
}

fn fields_of(values: &Value) -> Fields {
    if values.is_null() { Fields::new() } else { fields(values) }
}

/// A time in seconds, or else in milliseconds.
fn ttl_ms(seconds: &Value, ms: &Value) -> Result<Option<i64>, Unmade> {
    match (ms.as_i64(), seconds) {
        (Some(ms), _) => Ok(Some(ms)),
        (None, Value::Null) => Ok(None),
        (None, seconds) => Ok(Some(whole(seconds, "ttl", 0)?.saturating_mul(1_000))),
    }
}

fn whole(value: &Value, name: &str, default: i64) -> Result<i64, Unmade> {
    match value {
        Value::Null => Ok(default),
        value => Ok(value.as_i64().ok_or_else(|| format!("{name} is no whole number: {value}"))?),
    }
}
