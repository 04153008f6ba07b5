//! What a modification names, as JavaScript hands it over: all texts in one list and all numbers in
//! another, in the order in which they are read here.

use millpond::step::ByteList;
use millpond::tasks::{DocChange, DocId, Modification, NewDoc, NewTask, TaskChange, TaskId};
use napi::bindgen_prelude::{FromNapiValue, JsObjectValue, Object, TypeName, ValidateNapiValue};
use napi::{Env, ValueType, sys};

use crate::convert::{self, argument, unexpected};
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
    /// Reads a modification: of each kind how many there are, and those.
    pub(crate) fn modification(&self) -> napi::Result<Modification> {
        let mut reader = self.reader();
        let mut all = Modification::new();
        for _ in 0..reader.count()? {
            let task = NewTask::new(reader.text()?);
            all = all.insert(reader.new_task(task)?);
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
            let doc = NewDoc::new(reader.text()?, reader.text()?);
            all = all.insert_doc(reader.new_doc(doc)?);
        }
        for _ in 0..reader.count()? {
            let doc = NewDoc::new(reader.text()?, reader.text()?);
            all = all.put_doc(reader.new_doc(doc)?);
        }
        for _ in 0..reader.count()? {
            let change = DocChange::new(reader.doc_id()?);
            all = all.change_doc(reader.doc_change(change)?);
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

    pub(crate) fn number(&mut self) -> napi::Result<f64> {
        self.numbers.next().copied().ok_or_else(|| unexpected("a number"))
    }

    pub(crate) fn count(&mut self) -> napi::Result<u64> {
        Ok(self.number()? as u64)
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
