//! The files of a folder and the cases in them.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::Result;
use crate::call::{Call, Name};
use crate::returns::Returns;
use crate::shuffle::{self, Plans, Shards};
use crate::state::Expected;
use crate::tasks;
use crate::value::bytes;

/// One case: what it is called and what it holds.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) body: Body,
}

pub(crate) enum Body {
    /// Steps of Icks.
    Steps(Steps),
    /// The keys of one name.
    Keys(Keys),
    /// Steps of shuffle queues.
    Shuffle(Box<Plans>),
    /// The streams of tenants.
    Shards(Shards),
    /// Steps in patterns.
    Tasks(Box<tasks::Plan>),
    /// The case cannot be read, and why.
    Unreadable(String),
}

/// Calls, one after the other, beginning with nothing.
pub(crate) struct Steps {
    pub(crate) steps: Vec<Step>,
    /// All names whose state counts.
    pub(crate) names: Vec<Vec<u8>>,
    /// Whether it says where we differ from the recorded system: then all of it holds for us.
    pub(crate) is_marked: bool,
    /// The first step from which the recorded system does something wrong.
    pub(crate) diverges_at: Option<usize>,
}

pub(crate) struct Step {
    pub(crate) call: Call,
    /// The recorded system's name for the call.
    pub(crate) recorded_call: String,
    /// The Ick of the call.
    pub(crate) name: Name,
    /// The index in [`Steps::names`] of the Ick whose state the step tells.
    pub(crate) told: usize,
    pub(crate) returns: Returns,
    pub(crate) state: Option<Expected>,
}

/// The keys of an Ick of this name, and where a cluster has them.
pub(crate) struct Keys {
    pub(crate) name: Vec<u8>,
    pub(crate) producer: Vec<u8>,
    pub(crate) consumer: Vec<u8>,
    pub(crate) slots: Vec<u64>,
    pub(crate) is_same_slot: bool,
}

/// Reads all cases of a folder and the folders in it.
pub(crate) fn read_folder(folder: &Path) -> Result<Vec<Case>> {
    let mut files = Vec::new();
    find_files(folder, &mut files)?;
    files.sort();
    let mut cases = Vec::new();
    for file in files {
        let name = file.strip_prefix(folder).unwrap_or(&file).with_extension("");
        cases.extend(read_file(&file, &name.to_string_lossy())?);
    }
    Ok(cases)
}

fn find_files(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let unreadable = |error| format!("cannot read the folder {}: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.is_dir() {
            find_files(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "json") {
            files.push(path);
        }
    }
    Ok(())
}

fn read_file(path: &Path, file: &str) -> Result<Vec<Case>> {
    let text = fs::read_to_string(path);
    let text = text.map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let content: Value = serde_json::from_str(&text)
        .map_err(|error| format!("{} is no JSON: {error}", path.display()))?;
    let list = |name: &str| content[name].as_array().map_or(&[][..], Vec::as_slice).iter();
    if content.get("cases").is_none() && content.get("slots").is_none() {
        return Err(format!("{} has no cases", path.display()));
    }
    let is_vector = |case: &&Value| case.get("shard").is_some() && case.get("items").is_some();
    let vectors: Vec<Value> = list("cases").filter(is_vector).cloned().collect();
    let shards = Shards::read(&vectors).into_iter().map(|(category, shards)| Case {
        name: format!("{file}: {category}"),
        body: Body::Shards(shards),
    });
    let steps = list("cases").filter(|case| !is_vector(case)).enumerate().map(|(index, case)| {
        let name = case["name"].as_str().map_or_else(|| index.to_string(), str::to_owned);
        Case { name: format!("{file}: {name}"), body: Body::read(case) }
    });
    let keys = list("slots").map(|slots| {
        let body = Keys::read(slots).map_or_else(Body::Unreadable, Body::Keys);
        let name: String = slots["key"].to_string().chars().take(40).collect();
        Case { name: format!("{file}: the name {name}"), body }
    });
    Ok(steps.chain(keys).chain(shards).collect())
}

impl Body {
    /// The queue that the case is about.
    pub(crate) fn queue(&self) -> &'static str {
        match self {
            Self::Shuffle(_) | Self::Shards(_) => "shuffle",
            Self::Tasks(plan) => plan.queue,
            Self::Steps(_) | Self::Keys(_) | Self::Unreadable(_) => "ick",
        }
    }

    fn read(case: &Value) -> Self {
        let Some(steps) = case["steps"].as_array() else {
            return Self::Unreadable("the case has no steps".to_owned());
        };
        let mut calls = steps.iter().filter_map(|step| step["call"].as_str());
        if calls.clone().any(tasks::is_call) {
            let plan = tasks::Plan::read(case).map(Box::new);
            return plan.map_or_else(Self::Unreadable, Self::Tasks);
        }
        if calls.any(shuffle::is_call) {
            // What reads a trace panics at what is no trace: that is one case, and not the run.
            let plans = std::panic::catch_unwind(|| Box::new(Plans::new(case)));
            let unreadable = |_| Self::Unreadable("an argument is of another type".to_owned());
            return plans.map_or_else(unreadable, Self::Shuffle);
        }
        Steps::read(case, steps).map_or_else(Self::Unreadable, Self::Steps)
    }
}

impl Steps {
    fn read(case: &Value, steps: &[Value]) -> Result<Self> {
        let mut read = Self {
            steps: Vec::new(),
            names: Vec::new(),
            is_marked: steps.iter().any(|step| step.get("differs").is_some()),
            diverges_at: None,
        };
        if case["known_bug"].as_bool() == Some(true) {
            let diverging = case["diverging_steps"].as_array().into_iter().flatten();
            let first = diverging.filter_map(Value::as_u64).min();
            // A case that does not say where may go wrong anywhere.
            read.diverges_at = Some(first.unwrap_or(0) as usize);
        }
        for (index, step) in steps.iter().enumerate() {
            let step = read.step(case, step).map_err(|error| format!("step {index}: {error}"))?;
            read.steps.push(step);
        }
        Ok(read)
    }

    fn step(&mut self, case: &Value, step: &Value) -> Result<Step> {
        let told = bytes(step.get("key").unwrap_or(&case["key"]))?;
        let name = match step["args"].get("key") {
            Some(name) => Name::labelled(name),
            None => Name::Plain(told.clone()),
        };
        let told = self.names.iter().position(|name| *name == told).unwrap_or_else(|| {
            self.names.push(told);
            self.names.len() - 1
        });
        let call = Call::read(step)?;
        let said = |field: &str| step["differs"].get(field).or(step.get(field));
        // A mark is exact: it leaves no choice.
        let is_marked = step["differs"].get("returns").is_some();
        let lossy = if is_marked { &Value::Null } else { &step["lossy_stats"] };
        let returns = Returns::read(&call, said("returns"), lossy)?;
        let state = said("state").map(Expected::read).transpose()?;
        let recorded_call = step["call"].as_str().unwrap_or_default().to_owned();
        Ok(Step { call, recorded_call, name, told, returns, state })
    }
}

impl Keys {
    fn read(keys: &Value) -> Result<Self> {
        let slots = keys["slots"].as_array().ok_or("the slots are missing")?;
        Ok(Self {
            name: bytes(&keys["key"])?,
            producer: bytes(&keys["pset_key"])?,
            consumer: bytes(&keys["cset_key"])?,
            slots: slots.iter().filter_map(Value::as_u64).collect(),
            is_same_slot: keys["same_slot"].as_bool().ok_or("same_slot is missing")?,
        })
    }
}
