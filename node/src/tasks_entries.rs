//! What a modification names, as JavaScript hands it over: all texts in one list and all numbers in
//! another, in the order in which they are read here.

use millpond::step::ByteList;
use millpond::tasks::{DocChange, DocId, Modification, NewDoc, NewTask, TaskChange, TaskId};
use napi::Env;
use napi::bindgen_prelude::Array;

use crate::convert::{self, duration, unexpected};
use crate::records::task_of;

/// The two lists.
pub(crate) struct Entries {
    texts: ByteList,
    numbers: Vec<f64>,
}

impl Entries {
    pub(crate) fn new(env: &Env, texts: &Array<'_>, numbers: Vec<f64>) -> napi::Result<Self> {
        Ok(Self { texts: convert::members(env, texts)?, numbers })
    }

    /// Reads a modification: of each kind how many there are, and those.
    pub(crate) fn modification(&self) -> napi::Result<Modification> {
        let mut reader = self.reader();
        let mut all = Modification::new();
        for _ in 0..reader.count()? {
            all = all.insert(reader.new_task()?);
        }
        for _ in 0..reader.count()? {
            all = all.change(reader.change()?);
        }
        for _ in 0..reader.count()? {
            all = all.delete(reader.task_id()?);
        }
        for _ in 0..reader.count()? {
            all = all.depend(reader.task_id()?);
        }
        for _ in 0..reader.count()? {
            all = all.insert_doc(reader.new_doc()?);
        }
        for _ in 0..reader.count()? {
            all = all.put_doc(reader.new_doc()?);
        }
        for _ in 0..reader.count()? {
            all = all.change_doc(reader.doc_change()?);
        }
        for _ in 0..reader.count()? {
            all = all.delete_doc(reader.doc_id()?);
        }
        for _ in 0..reader.count()? {
            all = all.depend_doc(reader.doc_id()?);
        }
        Ok(all)
    }

    /// Reads the tasks and documents of a renewal.
    pub(crate) fn held(&self) -> napi::Result<(Vec<TaskId>, Vec<DocId>)> {
        let mut reader = self.reader();
        let tasks = (0..reader.count()?).map(|_| reader.task_id()).collect::<napi::Result<_>>()?;
        let docs = (0..reader.count()?).map(|_| reader.doc_id()).collect::<napi::Result<_>>()?;
        Ok((tasks, docs))
    }

    fn reader(&self) -> Reader<'_, impl Iterator<Item = &[u8]>> {
        Reader { texts: self.texts.iter(), numbers: self.numbers.iter() }
    }
}

struct Reader<'a, T> {
    texts: T,
    numbers: std::slice::Iter<'a, f64>,
}

impl<'a, T: Iterator<Item = &'a [u8]>> Reader<'a, T> {
    fn text(&mut self) -> napi::Result<&'a str> {
        let text = self.texts.next().and_then(|text| std::str::from_utf8(text).ok());
        text.ok_or_else(|| unexpected("a text"))
    }

    fn number(&mut self) -> napi::Result<f64> {
        self.numbers.next().copied().ok_or_else(|| unexpected("a number"))
    }

    fn count(&mut self) -> napi::Result<u64> {
        Ok(self.number()? as u64)
    }

    fn task_id(&mut self) -> napi::Result<TaskId> {
        Ok(TaskId::new(self.text()?, self.count()?))
    }

    fn doc_id(&mut self) -> napi::Result<DocId> {
        Ok(DocId::new(self.text()?, self.text()?, self.count()?))
    }

    /// The queue, and how many settings.
    fn new_task(&mut self) -> napi::Result<NewTask> {
        let mut task = NewTask::new(self.text()?);
        for _ in 0..self.count()? {
            task = match self.text()? {
                "id" => task.id(self.text()?),
                "json" => task.value(self.text()?),
                "atMs" => task.at_ms(self.count()?),
                "delayMs" => task.after(duration(self.number()?)),
                "attempt" => task.attempt(self.number()? as u32),
                "err" => task.err(self.text()?),
                "priority" => task.priority(self.number()? as u8),
                "ttlMs" => task.ttl(duration(self.number()?)),
                "skipColliding" => task.skip_colliding(),
                other => return Err(unexpected(other)),
            };
        }
        Ok(task)
    }

    /// What the task is, and how many steps.
    fn change(&mut self) -> napi::Result<TaskChange> {
        let TaskId { id, version } = self.task_id()?;
        let mut task = task_of(id, version);
        task.queue = self.text()?.into();
        task.attempt = self.number()? as u32;
        task.err = self.text()?.into();
        if self.count()? == 1 {
            task.value = Some(self.text()?.into());
        }
        let mut change = task.change();
        for _ in 0..self.count()? {
            change = match self.text()? {
                "queue" => change.queue(self.text()?),
                "json" => change.value(self.text()?),
                "noValue" => change.no_value(),
                "atMs" => change.at_ms(self.count()?),
                "delayMs" => change.after(duration(self.number()?)),
                "attempt" => change.attempt(self.number()? as u32),
                "err" => change.err(self.text()?),
                "retry" => change.retry(self.text()?),
                "retryOrQuarantine" => {
                    let max = self.number()? as u32;
                    change.retry_or_quarantine(self.text()?, self.text()?, max)
                }
                "quarantine" => change.quarantine(self.text()?, self.text()?),
                other => return Err(unexpected(other)),
            };
        }
        Ok(change)
    }

    /// The namespace and the key, and how many settings.
    fn new_doc(&mut self) -> napi::Result<NewDoc> {
        let mut doc = NewDoc::new(self.text()?, self.text()?);
        for _ in 0..self.count()? {
            doc = match self.text()? {
                "id" => doc.id(self.text()?),
                "secondaryKey" => doc.secondary_key(self.text()?),
                "json" => doc.content(self.text()?),
                "skipColliding" => doc.skip_colliding(),
                other => return Err(unexpected(other)),
            };
        }
        Ok(doc)
    }

    /// Which document it is, and how many settings.
    fn doc_change(&mut self) -> napi::Result<DocChange> {
        let mut change = DocChange::new(self.doc_id()?);
        for _ in 0..self.count()? {
            change = match self.text()? {
                "json" => change.content(self.text()?),
                "atMs" => change.at_ms(self.count()?),
                "delayMs" => change.after(duration(self.number()?)),
                "release" => change.release(),
                other => return Err(unexpected(other)),
            };
        }
        Ok(change)
    }
}
