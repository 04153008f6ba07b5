//! Arguments, each read as the type that the core wants.

use std::sync::Arc;
use std::time::Duration;

use millpond::shuffle::{MessageId, Receipt};
use millpond::tasks::{self, DocId, DocPosition, Position, TaskId};
use millpond::{CALL_ITEMS_MAX, step::ByteList};
use pyo3::prelude::*;

use crate::doc::DocChange;
use crate::fields::{self, Fields, Messages};
use crate::modification::Modification;
use crate::shuffle_message::{read_id, receipts};
use crate::task::TaskChange;
use crate::{convert, task_handles};

/// What an argument can be read as; a list has up to `max` items.
pub(crate) trait Field: Sized {
    fn read(name: &str, value: &Bound<'_, PyAny>, max: usize) -> PyResult<Self>;
}

pub(crate) fn required<T: Field>(name: &str, value: &Bound<'_, PyAny>) -> PyResult<T> {
    T::read(name, value, CALL_ITEMS_MAX)
}

/// One that may be left out.
pub(crate) fn given<T: Field>(name: &str, value: Option<&Bound<'_, PyAny>>) -> PyResult<Option<T>> {
    value.map(|value| required(name, value)).transpose()
}

/// A list of up to `max` items.
pub(crate) fn up_to<T: Field>(name: &str, value: &Bound<'_, PyAny>, max: usize) -> PyResult<T> {
    T::read(name, value, max)
}

/// A number, with the core's limit. What does not fit is refused as any other that is too large.
pub(crate) fn amount<T: TryFrom<u64>>(name: &str, value: &Bound<'_, PyAny>) -> PyResult<T> {
    let number = convert::whole(name, value)?.unwrap_or(u64::MAX);
    let largest = [u64::MAX, u64::from(u32::MAX), u64::from(u16::MAX), u64::from(u8::MAX)];
    let fits = [number].into_iter().chain(largest).find_map(|number| T::try_from(number).ok());
    Ok(fits.expect("the largest number of 8 bits fits"))
}

macro_rules! fields {
    ($($ty:ty => $read:expr),+ $(,)?) => {$(
        impl Field for $ty {
            fn read(name: &str, value: &Bound<'_, PyAny>, max: usize) -> PyResult<Self> {
                $read(name, value, max)
            }
        }
    )+};
}

fields! {
    String => |name, value, _| convert::text(name, value),
    Arc<str> => |name, value, _| convert::text(name, value).map(Self::from),
    Vec<u8> => |name, value, _| convert::bytes(name, value),
    bool => |name, value: &Bound<'_, PyAny>, _| value.extract().map_err(|_| convert::wrong_type(name, "a bool", value)),
    u8 => |name, value, _| amount(name, value),
    u16 => |name, value, _| amount(name, value),
    u32 => |name, value, _| convert::small_size(name, value),
    u64 => |name, value, _| convert::large_size(name, value),
    i64 => |name, value, _| convert::integer(name, value),
    f64 => |name: &str, value, _| convert::number(|| name.to_owned(), value),
    Duration => |name, value, _| convert::duration(name, value),
    Vec<String> => convert::texts,
    Vec<u32> => convert::small_sizes,
    ByteList => convert::members,
    convert::Pairs => |_, value, _| convert::pairs(value),
    Fields => |name: &str, value, max| fields::read(|| name.to_owned(), value, max),
    Messages => |_, value, _| fields::messages(value),
    Vec<Receipt> => |_, value, _| receipts(value),
    MessageId => |_, value, _| read_id(value),
    Vec<MessageId> => |_, value: &Bound<'_, PyAny>, _| value.try_iter()?.map(|id| read_id(&id?)).collect(),
    tasks::Headers => |name, value, _| fields::headers(name, value),
    TaskId => |name, value, _| task_handles::task(name, value),
    DocId => |name, value, _| task_handles::doc(name, value),
    Vec<TaskId> => |name, value, _| task_handles::many(name, value, task_handles::task),
    Vec<DocId> => |name, value, _| task_handles::many(name, value, task_handles::doc),
    Position => |_, value, _| task_handles::position(value),
    DocPosition => |_, value, _| task_handles::doc_position(value),
}

macro_rules! classes {
    ($($ty:ty => $class:ty, $expected:literal, $core:expr;)+) => {$(
        impl Field for $ty {
            fn read(name: &str, value: &Bound<'_, PyAny>, _: usize) -> PyResult<Self> {
                let wrong = |_| convert::wrong_type(name, $expected, value);
                Ok($core(value.cast::<$class>().map_err(wrong)?.get()))
            }
        }
    )+};
}

classes! {
    tasks::Modification => Modification, "a Modification", Modification::core;
    tasks::TaskChange => TaskChange, "a TaskChange, as task.change() makes", |it: &TaskChange| it.core.clone();
    tasks::DocChange => DocChange, "a DocChange, as doc.change() makes", |it: &DocChange| it.core.clone();
}
