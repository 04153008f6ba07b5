//! Messages and receipts as JavaScript has them.

use millpond::shuffle::{Message, MessageId, Receipt, Stream};
use millpond::{Error, ErrorKind, Result};
use napi::Env;
use napi::bindgen_prelude::{Null, ToNapiValue};
use napi::sys::napi_value;

use crate::convert::{CallResult, Converted, Failure, Values, text_or_buffer};

/// The default stream, which has no number.
const DEFAULT: f64 = -1.0;

/// A list that grows. It begins with whether all in it is as the handle wants it: where strings
/// are wanted and some bytes are not UTF-8, these are a Buffer all the same. JavaScript returns
/// what they belong to, and throws when they are read.
pub(crate) struct Texts<'env> {
    env: &'env Env,
    list: Values<'env>,
    length: u32,
    text: bool,
    is_text: bool,
}

impl<'env> Texts<'env> {
    pub(crate) fn new(env: &'env Env, text: bool) -> napi::Result<Self> {
        Ok(Self { env, list: Values::new(env, 1)?, length: 1, text, is_text: true })
    }

    pub(crate) fn push(&mut self, value: impl ToNapiValue) -> napi::Result<()> {
        let value = to_value(self.env, value)?;
        self.set(value)
    }

    pub(crate) fn push_bytes(&mut self, bytes: &[u8]) -> std::result::Result<(), Failure> {
        let value = match text_or_buffer(self.env, bytes, self.text) {
            Err(Failure::NotText) => {
                self.is_text = false;
                text_or_buffer(self.env, bytes, false)?
            }
            other => other?,
        };
        Ok(self.set(value)?)
    }

    /// `stream, id, how many fields, field, value, …`.
    pub(crate) fn push_message(&mut self, message: &Message) -> std::result::Result<(), Failure> {
        self.push(number_of(message.stream))?;
        self.push(message.id.to_string())?;
        self.push(message.fields.len() as f64)?;
        for (field, value) in &message.fields {
            self.push_bytes(field)?;
            self.push_bytes(value)?;
        }
        Ok(())
    }

    pub(crate) fn finish(self) -> Converted {
        self.list.set(0, to_value(self.env, self.is_text)?)?;
        Ok(CallResult::Value(self.list.array))
    }

    fn set(&mut self, value: napi_value) -> napi::Result<()> {
        self.list.set(self.length, value)?;
        self.length += 1;
        Ok(())
    }
}

/// Messages, one after the other.
pub(crate) fn messages(env: &Env, messages: &[Message], text: bool) -> Converted {
    let mut texts = Texts::new(env, text)?;
    messages.iter().try_for_each(|message| texts.push_message(message))?;
    texts.finish()
}

/// `[stream, id, stream, id, …]`.
pub(crate) fn receipts(env: &Env, receipts: &[Receipt]) -> Converted {
    let list = Values::new(env, receipts.len() * 2)?;
    for (index, receipt) in (0..).zip(receipts) {
        list.set(index * 2, to_value(env, number_of(receipt.stream))?)?;
        list.set(index * 2 + 1, to_value(env, receipt.id.to_string())?)?;
    }
    Ok(CallResult::Value(list.array))
}

/// The receipts of streams and ids, as JavaScript names them.
pub(crate) fn receipts_of(streams: &[f64], ids: &[String]) -> Result<Vec<Receipt>> {
    let stream = |number: f64| match number {
        DEFAULT => Stream::Default,
        _ => Stream::Number(number as u32),
    };
    let receipt = |(number, id): (&f64, &String)| {
        Ok(Receipt { stream: stream(*number), id: message_id(id)? })
    };
    streams.iter().zip(ids).map(receipt).collect()
}

/// An id as JavaScript has it.
pub(crate) fn message_id(id: &str) -> Result<MessageId> {
    let id = id.parse();
    id.map_err(|error: Error| Error::new(ErrorKind::InvalidArgument, error.message()))
}

/// Strings or Buffers; what is not UTF-8 fails where strings are wanted.
pub(crate) fn texts(env: &Env, values: &[Vec<u8>], text: bool) -> Converted {
    let list = Values::new(env, values.len())?;
    for (index, value) in (0..).zip(values) {
        list.set(index, text_or_buffer(env, value, text)?)?;
    }
    Ok(CallResult::Value(list.array))
}

/// Null, for what is not there.
pub(crate) fn nothing(env: &Env) -> Converted {
    CallResult::value(env, Null)
}

fn number_of(stream: Stream) -> f64 {
    match stream {
        Stream::Default => DEFAULT,
        Stream::Number(number) => number.into(),
    }
}

fn to_value(env: &Env, value: impl ToNapiValue) -> napi::Result<napi_value> {
    // SAFETY: the environment is the one of the thread this runs on.
    unsafe { ToNapiValue::to_napi_value(env.raw(), value) }
}
