//! The child of the tasks test: works on a store until it is killed.

use std::sync::atomic::AtomicU64;

use millpond::tasks::{
    DocChange, DocId, Headers, Modification, NewDoc, NewTask, Task, TaskId, TaskStore,
};
use millpond::{Client, ErrorKind, Result};

use super::model::{Entry, Model, Step, StepResult};
use super::plan::{Plan, WRITERS};
use super::{LEASE, NAMESPACE, races, read, store};
use crate::pipe::{READY, say};

/// Works on the store at `url` until this process is killed.
pub(crate) fn work(url: &str, seed: u64, round: u64) -> Result<()> {
    let client = millpond::connect(url)?;
    let mut models = read(&client)?;
    say(READY);
    let races = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (client, model) = (&client, models.remove(&writer).unwrap_or_default());
            scope.spawn(move || write(client, writer, Plan::new(writer, seed, round), model));
        }
        for racer in 0..races::RACERS {
            let (client, races) = (&client, &races);
            scope.spawn(move || races::race(client, racer, round, races));
        }
    });
    Ok(())
}

fn write(client: &Client, writer: usize, mut plan: Plan, mut model: Model) {
    let store = store(client).claimant(writer.to_string());
    for index in 0_u64.. {
        let step = plan.next(&model);
        let expected = model.run(&step);
        say(format_args!("i {writer} {index}"));
        match send(&store, writer, &step) {
            Ok(result) if result == expected => say(format_args!("a {writer} {index}")),
            Err(error) if is_killed(error.kind()) => wait_for_the_kill(),
            other => {
                let text =
                    format!("{other:?}, expected {expected:?} of {step:?}").replace('\n', " ");
                let text: String = text.chars().take(2_000).collect();
                say(format_args!("wrong {writer} {index} {text}"));
                std::process::exit(1);
            }
        }
    }
}

/// Whether this is what a call returns whose server was killed.
pub(super) fn is_killed(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::ConnectionLost | ErrorKind::ConnectionFailed | ErrorKind::Unavailable)
}

/// Does nothing more, since it is unknown whether the last step was done; the parent kills it
/// soon.
pub(super) fn wait_for_the_kill() -> ! {
    loop {
        std::thread::park();
    }
}

fn send(store: &TaskStore, writer: usize, step: &Step) -> Result<StepResult> {
    let key = writer.to_string();
    let result = match step {
        Step::Modify(entries) => store.modify(modification(entries, &key)).map(|_| entries.len()),
        Step::Claim { inbox } => store.claim_many([inbox], LEASE, 1_000).map(|tasks| tasks.len()),
        Step::ClaimDocs => store.claim_docs(NAMESPACE, [&key], LEASE).map(|docs| docs.len()),
        Step::Renew { tasks, docs } => {
            let tasks = tasks.iter().map(|(id, version)| TaskId::new(id, *version));
            let docs = docs.iter().map(|(id, version)| DocId::new(NAMESPACE, id, *version));
            store.renew(tasks, docs, LEASE).map(|renewed| renewed.tasks.len() + renewed.docs.len())
        }
    };
    match result {
        Ok(count) => Ok(Some(count)),
        Err(error) if error.kind() == ErrorKind::Dependency => Ok(None),
        Err(error) => Err(error),
    }
}

fn modification(entries: &[Entry], key: &str) -> Modification {
    let mut of = Modification::new();
    for entry in entries {
        of = match entry {
            Entry::Insert { id, task } => {
                let mut new = NewTask::new(&task.queue).id(id).priority(task.priority);
                new = new.attempt(task.attempt).err(&task.err);
                if let Some(value) = &task.value {
                    new = new.value(value);
                }
                of.insert(if task.is_held { new.after(LEASE) } else { new })
            }
            Entry::Change { id, task } => {
                let mut change = at_version(id, task.version).change().queue(&task.queue);
                change = change.attempt(task.attempt).err(&task.err);
                if let Some(value) = &task.value {
                    change = change.value(value);
                }
                of.change(if task.is_held { change.after(LEASE) } else { change })
            }
            Entry::Delete { id, version } => of.delete(TaskId::new(id, *version)),
            Entry::Depend { id, version } => of.depend(TaskId::new(id, *version)),
            Entry::InsertDoc { id, doc } => {
                let mut new = NewDoc::new(NAMESPACE, key).id(id).secondary_key(&doc.secondary_key);
                if let Some(content) = &doc.content {
                    new = new.content(content);
                }
                of.insert_doc(new)
            }
            Entry::ChangeDoc { id, version, content, hold } => {
                let mut change = DocChange::new(DocId::new(NAMESPACE, id, *version));
                if let Some(content) = content {
                    change = change.content(content);
                }
                of.change_doc(match hold {
                    None => change,
                    Some(true) => change.after(LEASE),
                    Some(false) => change.release(),
                })
            }
            Entry::DeleteDoc { id, version } => of.delete_doc(DocId::new(NAMESPACE, id, *version)),
        };
    }
    of
}

/// A task of which no more is known, so that its new state is what the change says.
fn at_version(id: &str, version: u64) -> Task {
    Task {
        id: id.into(),
        version,
        queue: "".into(),
        at_ms: 0,
        created_ms: 0,
        modified_ms: 0,
        claimant: "".into(),
        claims: 0,
        attempt: 0,
        err: "".into(),
        value: None,
        priority: 0,
        expires_ms: None,
        headers: Headers::NONE,
    }
}
