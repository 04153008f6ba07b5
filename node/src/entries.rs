//! What a modification names, as JavaScript hands it over: all texts in one list and all numbers in
//! another, in the order in which they are read here.

use std::time::Duration;

use millpond::step::ByteList;
use millpond::tasks::{
    DocChange, DocId, Failure, Modification, NewDoc, NewTask, TaskChange, TaskId,
};
use napi::bindgen_prelude::{FromNapiValue, JsObjectValue, Object, TypeName, ValidateNapiValue};
use napi::{Env, ValueType, sys};

use crate::convert::{self, argument, duration, unexpected};
use crate::records::task_of;

/// The two lists.
pub struct Entries {
    texts: ByteList,
    numbers: Vec<f64>,
}

argument!(Entries, |env: &Env, value| {
    // SAFETY: the environment and the value are this call's.
    let lists = unsafe { Object::from_napi_value(env.raw(), value) }?;
    let texts = convert::members(env, &lists.get_named_property("texts")?)?;
    Ok(Self { texts, numbers: lists.get_named_property("numbers")? })
});

impl Entries {
    pub(crate) fn modification(&self) -> napi::Result<Modification> {
        self.reader().modification()
    }

    /// Reads the tasks and documents of a renewal.
    pub(crate) fn held(&self) -> napi::Result<(Vec<TaskId>, Vec<DocId>)> {
        let mut reader = self.reader();
        let tasks = (0..reader.count()?).map(|_| reader.task_id()).collect::<napi::Result<_>>()?;
        let docs = (0..reader.count()?).map(|_| reader.doc_id()).collect::<napi::Result<_>>()?;
        Ok((tasks, docs))
    }

    pub(crate) fn reader(&self) -> Reader<'_> {
        Reader { texts: Box::new(self.texts.iter()), numbers: self.numbers.iter() }
    }
}

pub(crate) struct Reader<'a> {
    texts: Box<dyn Iterator<Item = &'a [u8]> + 'a>,
    numbers: std::slice::Iter<'a, f64>,
}

impl<'a> Reader<'a> {
    pub(crate) fn text(&mut self) -> napi::Result<&'a str> {
        let text = self.texts.next().and_then(|text| std::str::from_utf8(text).ok());
        text.ok_or_else(|| unexpected("a text"))
    }

    pub(crate) fn bytes(&mut self) -> napi::Result<&'a [u8]> {
        self.texts.next().ok_or_else(|| unexpected("bytes"))
    }

    /// Names and values of headers, behind how many there are.
    pub(crate) fn pairs(&mut self) -> napi::Result<Vec<(&'a [u8], &'a [u8])>> {
        let mut part = || self.texts.next().ok_or_else(|| unexpected("a header"));
        let count = self.numbers.next().copied().unwrap_or(0.0) as u64;
        (0..count).map(|_| Ok((part()?, part()?))).collect()
    }

    pub(crate) fn number(&mut self) -> napi::Result<f64> {
        self.numbers.next().copied().ok_or_else(|| unexpected("a number"))
    }

    pub(crate) fn count(&mut self) -> napi::Result<u64> {
        Ok(self.number()? as u64)
    }

    /// Reads how a job ends: a word, and what it needs.
    pub(crate) fn outcome(&mut self) -> napi::Result<Result<Option<Modification>, Failure>> {
        let failure = match self.text()? {
            "finish" => return Ok(Ok(Some(self.modification()?))),
            "fail" => Failure::Error(self.text()?.into()),
            "retry" => match self.delay()? {
                Some(delay) => Failure::RetryAfter(self.text()?.into(), delay),
                None => Failure::Retry(self.text()?.into()),
            },
            "move" => Failure::Move(self.text()?.into(), self.text()?.into()),
            "reject" => Failure::Reject(self.text()?.into()),
            "release" => self.delay()?.map_or(Failure::Release, Failure::ReleaseAfter),
            other => return Err(unexpected(other)),
        };
        Ok(Err(failure))
    }

    /// A time, if there is a number.
    fn delay(&mut self) -> napi::Result<Option<Duration>> {
        Ok(self.numbers.next().copied().map(duration))
    }

    /// Reads a modification: of each kind how many there are, and those.
    pub(crate) fn modification(&mut self) -> napi::Result<Modification> {
        let mut all = Modification::new();
        all = self.each(all, Modification::insert, Reader::task)?;
        all = self.each(all, Modification::change, Reader::change)?;
        all = self.each(all, |all, task: TaskId| all.delete(task), Reader::task_id)?;
        all = self.each(all, |all, task: TaskId| all.depend(task), Reader::task_id)?;
        all = self.each(all, Modification::insert_doc, Reader::doc)?;
        all = self.each(all, Modification::put_doc, Reader::doc)?;
        all = self.each(all, Modification::change_doc, Reader::changed_doc)?;
        all = self.each(all, |all, doc: DocId| all.delete_doc(doc), Reader::doc_id)?;
        all = self.each(all, |all, doc: DocId| all.depend_doc(doc), Reader::doc_id)?;
        Ok(all)
    }

    /// How many there are, and each of them added.
    fn each<T>(
        &mut self,
        all: Modification,
        add: impl Fn(Modification, T) -> Modification,
        read: impl Fn(&mut Self) -> napi::Result<T>,
    ) -> napi::Result<Modification> {
        (0..self.count()?).try_fold(all, |all, _| Ok(add(all, read(self)?)))
    }

    fn task(&mut self) -> napi::Result<NewTask> {
        let task = NewTask::new(self.text()?);
        self.new_task(task)
    }

    fn doc(&mut self) -> napi::Result<NewDoc> {
        let doc = NewDoc::new(self.text()?, self.text()?);
        self.new_doc(doc)
    }

    fn changed_doc(&mut self) -> napi::Result<DocChange> {
        let change = DocChange::new(self.doc_id()?);
        self.doc_change(change)
    }

    fn task_id(&mut self) -> napi::Result<TaskId> {
        Ok(TaskId::new(self.text()?, self.count()?))
    }

    fn doc_id(&mut self) -> napi::Result<DocId> {
        Ok(DocId::new(self.text()?, self.text()?, self.count()?))
    }

    /// What the task is, and the steps of its change.
    fn change(&mut self) -> napi::Result<TaskChange> {
        let TaskId { id, version } = self.task_id()?;
        let mut task = task_of(id, version);
        task.queue = self.text()?.into();
        task.attempt = self.number()? as u32;
        task.err = self.text()?.into();
        if self.count()? == 1 {
            task.value = Some(self.text()?.into());
        }
        self.task_change(task.change())
    }
}
