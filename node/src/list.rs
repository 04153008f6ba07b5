//! Lists for JavaScript: values one after the other, in the order in which it reads them.

use std::sync::Arc;
use std::time::Duration;

use millpond::Error;
use millpond::shuffle::{MessageId, Stream};
use millpond::tasks::Headers;
use napi::bindgen_prelude::{Null, ToNapiValue};
use napi::{Env, Unknown, sys};

use crate::convert::{
    CallResult, Converted, DEFAULT_STREAM, Failure, Values, milliseconds, text_or_buffer,
    unexpected,
};
use crate::errors;

/// A list that grows. Where strings are wanted and some bytes are not UTF-8, these are a Buffer all the same:
/// JavaScript decides whether that fails, and what.
pub(crate) struct List<'env> {
    env: &'env Env,
    list: Values<'env>,
    length: u32,
    text: bool,
    is_text: bool,
}

pub(crate) type Done = Result<(), Failure>;

/// What a list takes.
pub(crate) trait Push: Sized {
    fn push(&self, list: &mut List<'_>) -> Done;

    /// How many there are, and those.
    fn push_all(all: &[Self], list: &mut List<'_>) -> Done {
        list.value(all.len() as f64)?;
        all.iter().try_for_each(|one| one.push(list))
    }
}

/// The result of a call, as a list of texts and numbers.
pub(crate) fn written<T: Push>(env: &Env, _: bool, result: T) -> Converted {
    let mut list = List::new(env)?;
    result.push(&mut list)?;
    list.finish()
}

/// The same of bytes, behind whether all in it is as the handle wants it.
pub(crate) fn written_bytes<T: Push>(env: &Env, text: bool, result: T) -> Converted {
    written_by(env, text, |list| result.push(list))
}

/// The same of what is written by a function.
pub(crate) fn written_by(
    env: &Env,
    text: bool,
    write: impl FnOnce(&mut List<'_>) -> Done,
) -> Converted {
    let mut list = List { list: Values::new(env, 1)?, length: 1, text, ..List::new(env)? };
    write(&mut list)?;
    list.length = 0;
    list.value(list.is_text)?;
    list.finish()
}

/// The same where bytes that are no text fail.
pub(crate) fn written_text<T: Push>(env: &Env, text: bool, result: T) -> Converted {
    let mut list = List { text, ..List::new(env)? };
    result.push(&mut list)?;
    if list.is_text { list.finish() } else { Err(Failure::NotText) }
}

impl<'env> List<'env> {
    pub(crate) fn new(env: &'env Env) -> napi::Result<Self> {
        Ok(Self { env, list: Values::new(env, 0)?, length: 0, text: true, is_text: true })
    }

    /// Appends anything that JavaScript can have.
    pub(crate) fn value(&mut self, value: impl ToNapiValue) -> Done {
        // SAFETY: the environment is the one of the thread this runs on.
        let value = unsafe { ToNapiValue::to_napi_value(self.env.raw(), value) }?;
        self.set(value)
    }

    /// Appends an error.
    pub(crate) fn failure(&mut self, error: &Error) -> Done {
        self.value(errors::failure(self.env, error)?)
    }

    fn set(&mut self, value: sys::napi_value) -> Done {
        self.list.set(self.length, value)?;
        self.length += 1;
        Ok(())
    }

    fn bytes(&mut self, bytes: &[u8]) -> Done {
        let value = match text_or_buffer(self.env, bytes, self.text) {
            Err(Failure::NotText) => {
                self.is_text = false;
                text_or_buffer(self.env, bytes, false)?
            }
            other => other?,
        };
        self.set(value)
    }

    /// Appends bytes that are no text.
    pub(crate) fn buffer(&mut self, bytes: &[u8]) -> Done {
        self.set(text_or_buffer(self.env, bytes, false)?)
    }

    pub(crate) fn finish(self) -> Converted {
        Ok(CallResult::Value(self.list.array))
    }

    /// The list of one value, for what returns it without a call.
    pub(crate) fn of(env: &'env Env, value: &impl Push) -> napi::Result<Unknown<'env>> {
        let mut list = Self::new(env)?;
        // Only what Node has no memory for is refused here.
        value.push(&mut list).map_err(|_| unexpected("a value"))?;
        Ok(list.into_unknown())
    }

    fn into_unknown(self) -> Unknown<'env> {
        // SAFETY: the array was made in this environment.
        unsafe { Unknown::from_raw_unchecked(self.env.raw(), self.list.array) }
    }
}

macro_rules! texts {
    ($($text:ty),+) => {
        $(impl Push for $text {
            fn push(&self, list: &mut List<'_>) -> Done {
                list.set(text_or_buffer(list.env, self.as_bytes(), true)?)
            }
        })+
    };
}

texts!(Arc<str>, String);

macro_rules! values {
    ($($name:ident: $value:ty => $as:expr;)+) => {
        $(impl Push for $value {
            fn push(&self, list: &mut List<'_>) -> Done {
                let $name = self;
                list.value($as)
            }
        })+
    };
}

values! {
    truth: bool => *truth;
    small: u16 => u32::from(*small);
    number: u32 => *number;
    number: u64 => *number as f64;
    number: f64 => *number;
    time: Duration => milliseconds(*time);
    id: MessageId => id.to_string();
    stream: Stream => match stream {
        Stream::Default => DEFAULT_STREAM,
        Stream::Number(number) => f64::from(*number),
    };
}

/// A number; several are bytes.
impl Push for u8 {
    fn push(&self, list: &mut List<'_>) -> Done {
        list.value(u32::from(*self))
    }

    fn push_all(all: &[Self], list: &mut List<'_>) -> Done {
        list.bytes(all)
    }
}

/// How many there are, and of each the name and a Buffer.
impl Push for Headers {
    fn push(&self, list: &mut List<'_>) -> Done {
        list.value(self.len() as f64)?;
        self.iter().try_for_each(|(name, value)| {
            list.set(text_or_buffer(list.env, name.as_bytes(), true)?)?;
            list.buffer(value)
        })
    }
}

/// Null, or what there is, which does not begin with null.
impl<T: Push> Push for Option<T> {
    fn push(&self, list: &mut List<'_>) -> Done {
        match self {
            Some(value) => value.push(list),
            None => list.value(Null),
        }
    }
}

impl<T: Push> Push for Vec<T> {
    fn push(&self, list: &mut List<'_>) -> Done {
        T::push_all(self, list)
    }
}

impl<A: Push, B: Push> Push for (A, B) {
    fn push(&self, list: &mut List<'_>) -> Done {
        self.0.push(list)?;
        self.1.push(list)
    }
}
