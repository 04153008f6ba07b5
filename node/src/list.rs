//! Lists for JavaScript: values one after the other, in the order in which it reads them.

use std::sync::Arc;
use std::time::Duration;

use napi::bindgen_prelude::{Null, ToNapiValue};
use napi::{Env, Unknown};

use crate::convert::{CallResult, Converted, Failure, Values, text_or_buffer};

/// A list that grows.
pub(crate) struct List<'env> {
    env: &'env Env,
    list: Values<'env>,
    length: u32,
}

pub(crate) type Done = Result<(), Failure>;

/// What a list takes.
pub(crate) trait Push {
    fn push(&self, list: &mut List<'_>) -> Done;
}

/// The result of a call, as a list.
pub(crate) fn written<T: Push>(env: &Env, result: T) -> Converted {
    let mut list = List::new(env)?;
    result.push(&mut list)?;
    list.finish()
}

impl<'env> List<'env> {
    pub(crate) fn new(env: &'env Env) -> napi::Result<Self> {
        Ok(Self { env, list: Values::new(env, 0)?, length: 0 })
    }

    /// Appends anything that JavaScript can have.
    pub(crate) fn value(&mut self, value: impl ToNapiValue) -> Done {
        // SAFETY: the environment is the one of the thread this runs on.
        let value = unsafe { ToNapiValue::to_napi_value(self.env.raw(), value) }?;
        self.list.set(self.length, value)?;
        self.length += 1;
        Ok(())
    }

    pub(crate) fn finish(self) -> Converted {
        Ok(CallResult::Value(self.list.array))
    }

    pub(crate) fn into_unknown(self) -> Unknown<'env> {
        // SAFETY: the array was made in this environment.
        unsafe { Unknown::from_raw_unchecked(self.env.raw(), self.list.array) }
    }
}

impl Push for str {
    fn push(&self, list: &mut List<'_>) -> Done {
        list.list.set(list.length, text_or_buffer(list.env, self.as_bytes(), true)?)?;
        list.length += 1;
        Ok(())
    }
}

impl Push for Arc<str> {
    fn push(&self, list: &mut List<'_>) -> Done {
        (**self).push(list)
    }
}

impl Push for String {
    fn push(&self, list: &mut List<'_>) -> Done {
        (**self).push(list)
    }
}

impl Push for bool {
    fn push(&self, list: &mut List<'_>) -> Done {
        list.value(*self)
    }
}

macro_rules! numbers {
    ($($number:ty),+) => {
        $(impl Push for $number {
            fn push(&self, list: &mut List<'_>) -> Done {
                list.value(*self as f64)
            }
        })+
    };
}

numbers!(u8, u32, u64);

/// Milliseconds.
impl Push for Duration {
    fn push(&self, list: &mut List<'_>) -> Done {
        list.value(self.as_millis() as f64)
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

/// How many there are, and those.
impl<T: Push> Push for Vec<T> {
    fn push(&self, list: &mut List<'_>) -> Done {
        list.value(self.len() as f64)?;
        self.iter().try_for_each(|value| value.push(list))
    }
}

impl<A: Push, B: Push> Push for (A, B) {
    fn push(&self, list: &mut List<'_>) -> Done {
        self.0.push(list)?;
        self.1.push(list)
    }
}
