//! Values of JavaScript as the core takes them, and back. The JavaScript half has checked their
//! types; a wrong value is a bug there.

use std::ops::Deref;
use std::ptr;
use std::time::Duration;

use millpond::ick::{Added, Entry};
use millpond::shuffle::{MessageId, Receipt, Stream};
use millpond::step::ByteList;
use napi::bindgen_prelude::{
    Array, FromNapiValue, JsValue, ToNapiValue, TypeName, ValidateNapiValue,
};
use napi::{Env, Status, ValueType, check_status, sys};

/// The default stream, which has no number.
pub(crate) const DEFAULT_STREAM: f64 = -1.0;

/// What a call takes, as the JavaScript half hands it over: from this the function makes it.
macro_rules! argument {
    ($name:ident, $read:expr) => {
        impl TypeName for $name {
            fn type_name() -> &'static str {
                stringify!($name)
            }

            fn value_type() -> ValueType {
                ValueType::Unknown
            }
        }

        impl ValidateNapiValue for $name {}

        impl FromNapiValue for $name {
            unsafe fn from_napi_value(
                env: sys::napi_env,
                value: sys::napi_value,
            ) -> napi::Result<Self> {
                $read(&Env::from_raw(env), value)
            }
        }
    };
}
pub(crate) use argument;

/// Scores and members: `[score, member, score, member, …]`, where a score that is not a number is missing.
pub struct Pairs {
    scores: Vec<Option<f64>>,
    members: ByteList,
}

argument!(Pairs, |env: &Env, value| {
    let values = array(env, value)?;
    let count = values.len() / 2;
    let mut pairs = Pairs {
        scores: Vec::with_capacity(count as usize),
        members: ByteList::with_capacity(count as usize, count as usize * 16),
    };
    for index in 0..count {
        pairs.scores.push(number_of(env, element(env, &values, index * 2)?));
        push(env, &mut pairs.members, element(env, &values, index * 2 + 1)?)?;
    }
    Ok(pairs)
});

impl Pairs {
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Option<f64>, &[u8])> {
        self.scores.iter().copied().zip(self.members.iter())
    }
}

/// Members: `[member, member, …]`.
pub struct Members(pub(crate) ByteList);

argument!(Members, |env: &Env, value| Ok(Self(members(env, &array(env, value)?)?)));

/// The fields of a message: `[field, value, …]`.
pub struct Fields(ByteList);

argument!(Fields, |env: &Env, value| Ok(Self(members(env, &array(env, value)?)?)));

impl Fields {
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let mut strings = self.0.iter();
        std::iter::from_fn(move || Some((strings.next()?, strings.next()?)))
    }
}

/// MessageList: of each the shard key, how many fields it has, and those, in one list.
pub struct MessageList {
    counts: Vec<usize>,
    strings: ByteList,
}

argument!(MessageList, |env: &Env, value| {
    let values = array(env, value)?;
    let mut all = MessageList { counts: Vec::new(), strings: ByteList::default() };
    for index in 0..values.len() {
        let value = element(env, &values, index)?;
        match number_of(env, value) {
            Some(count) => all.counts.push(count as usize),
            None => push(env, &mut all.strings, value)?,
        }
    }
    Ok(all)
});

impl MessageList {
    #[expect(clippy::type_complexity, reason = "an alias cannot hold an impl")]
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], Vec<(&[u8], &[u8])>)> {
        let mut rest = self.strings.iter();
        self.counts.iter().map(move |count| {
            let shard_key = rest.next().unwrap_or_default();
            let fields: Vec<_> = rest.by_ref().take(2 * count).collect();
            (shard_key, fields.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect())
        })
    }
}

/// Receipts: `[stream, id, …]`.
pub struct Receipts(pub(crate) Result<Vec<Receipt>, millpond::Error>);

argument!(Receipts, |env: &Env, value| {
    let values = array(env, value)?;
    let mut all = Vec::with_capacity(values.len() as usize / 2);
    for index in 0..values.len() / 2 {
        let stream = match number_of(env, element(env, &values, index * 2)?) {
            Some(number) if number != DEFAULT_STREAM => Stream::Number(number as u32),
            _ => Stream::Default,
        };
        all.push((stream, long_string(env, element(env, &values, index * 2 + 1)?)?));
    }
    let receipt = |(stream, id): (Stream, Vec<u8>)| Ok(Receipt { stream, id: message_id(&id)? });
    Ok(Self(all.into_iter().map(receipt).collect()))
});

/// Ids of messages.
pub struct Ids(pub(crate) Result<Vec<MessageId>, millpond::Error>);

argument!(Ids, |env: &Env, value| {
    let ids = members(env, &array(env, value)?)?;
    Ok(Self(ids.iter().map(message_id).collect()))
});

fn message_id(id: &[u8]) -> Result<MessageId, millpond::Error> {
    let id = String::from_utf8_lossy(id).parse();
    id.map_err(|error: millpond::Error| {
        millpond::Error::new(millpond::ErrorKind::InvalidArgument, error.message())
    })
}

fn array<'env>(env: &'env Env, value: sys::napi_value) -> napi::Result<Array<'env>> {
    // SAFETY: the environment and the value are this call's.
    unsafe { Array::from_napi_value(env.raw(), value) }
}

/// Reads `[member, member, …]`.
pub(crate) fn members(env: &Env, values: &Array<'_>) -> napi::Result<ByteList> {
    let mut members = ByteList::with_capacity(values.len() as usize, values.len() as usize * 16);
    for index in 0..values.len() {
        push(env, &mut members, element(env, values, index)?)?;
    }
    Ok(members)
}

/// A number, if it is one.
fn number_of(env: &Env, value: sys::napi_value) -> Option<f64> {
    let mut number = 0.0;
    // SAFETY: the environment and the value are this call's.
    let status = unsafe { sys::napi_get_value_double(env.raw(), value, &mut number) };
    (status == sys::Status::napi_ok).then_some(number)
}

fn element(env: &Env, values: &Array<'_>, index: u32) -> napi::Result<sys::napi_value> {
    let mut value = ptr::null_mut();
    // SAFETY: the environment and the array are this call's.
    check_status!(unsafe { sys::napi_get_element(env.raw(), values.raw(), index, &mut value) })?;
    Ok(value)
}

/// Appends the UTF-8 of a string, or the bytes of a Uint8Array.
fn push(env: &Env, list: &mut ByteList, value: sys::napi_value) -> napi::Result<()> {
    // Most members fit here, and then one call of Node's is enough.
    let mut short = [0; 256];
    let mut written = 0;
    // SAFETY: the environment and the value are this call's; at most the length is written.
    let status = unsafe {
        let buffer = short.as_mut_ptr().cast();
        sys::napi_get_value_string_utf8(env.raw(), value, buffer, short.len(), &mut written)
    };
    match status {
        // What ends before room for one more character and a zero is left was not cut off.
        sys::Status::napi_ok if written < short.len() - 4 => list.push(&short[..written]),
        sys::Status::napi_ok => list.push(&long_string(env, value)?),
        _ => with_bytes(env, value, |bytes| list.push(bytes))?,
    }
    Ok(())
}

/// The UTF-8 of a string, however long.
fn long_string(env: &Env, value: sys::napi_value) -> napi::Result<Vec<u8>> {
    // SAFETY: the environment and the value are this call's.
    let string = unsafe { String::from_napi_value(env.raw(), value) }?;
    Ok(string.into_bytes())
}

fn with_bytes(env: &Env, value: sys::napi_value, take: impl FnOnce(&[u8])) -> napi::Result<()> {
    let (mut kind, mut length, mut data) = (0, 0, ptr::null_mut());
    // SAFETY: the environment and the value are this call's; what is not wanted is null.
    check_status!(unsafe {
        let (buffer, offset) = (ptr::null_mut(), ptr::null_mut());
        sys::napi_get_typedarray_info(
            env.raw(),
            value,
            &mut kind,
            &mut length,
            &mut data,
            buffer,
            offset,
        )
    })?;
    match data.is_null() || length == 0 {
        true => take(&[]),
        // SAFETY: the array has that many bytes there, and no JavaScript runs meanwhile that
        // could change or free them. Of an array that another thread shares, JavaScript has made
        // a copy.
        false => take(unsafe { std::slice::from_raw_parts(data.cast(), length) }),
    }
    Ok(())
}

/// A name or a member.
pub struct Bytes(pub(crate) Vec<u8>);

argument!(Bytes, |env: &Env, value| {
    let mut list = ByteList::default();
    push(env, &mut list, value)?;
    Ok(Self(list.iter().next().unwrap_or_default().to_vec()))
});

/// A size: a number, or a bigint where a number is not exact any more.
pub struct Size(pub(crate) u64);

argument!(Size, |env: &Env, value| {
    if let Some(number) = number_of(env, value) {
        return Ok(Self(number as u64));
    }
    let (mut size, mut exact) = (0, false);
    // SAFETY: the environment and the value are this call's.
    check_status!(unsafe {
        sys::napi_get_value_bigint_uint64(env.raw(), value, &mut size, &mut exact)
    })?;
    Ok(Self(if exact { size } else { u64::MAX }))
});

/// A time in milliseconds; what does not fit into a [`Duration`] means without limit.
pub(crate) fn duration(milliseconds: f64) -> Duration {
    Duration::try_from_secs_f64(milliseconds / 1000.0).unwrap_or(Duration::MAX)
}

/// A time in milliseconds, to the microsecond.
pub(crate) fn milliseconds(time: Duration) -> f64 {
    time.as_micros() as f64 / 1_000.0
}

/// What a call returns.
pub(crate) enum CallResult {
    /// One number or two, which travel without a value of JavaScript.
    Numbers(f64, f64),
    /// Anything else.
    Value(sys::napi_value),
}

/// Why a call has no result.
pub(crate) enum Failure {
    /// An error of the core.
    Core(millpond::Error),
    /// What was to be a string is not UTF-8.
    NotText,
}

impl From<napi::Error> for Failure {
    fn from(error: napi::Error) -> Self {
        let message = format!("Node refused a value: {error}");
        Self::Core(millpond::Error::new(millpond::ErrorKind::Internal, message))
    }
}

pub(crate) type Converted = Result<CallResult, Failure>;

impl CallResult {
    pub(crate) fn nothing(_: &Env, _: bool, (): ()) -> Converted {
        Ok(CallResult::Numbers(0.0, 0.0))
    }

    /// A count, of what is in memory somewhere: always exact.
    pub(crate) fn count(_: &Env, _: bool, count: impl Into<u64>) -> Converted {
        Ok(CallResult::Numbers(count.into() as f64, 0.0))
    }

    pub(crate) fn bool(_: &Env, _: bool, is: bool) -> Converted {
        Ok(CallResult::Numbers(f64::from(is), 0.0))
    }

    pub(crate) fn added(_: &Env, _: bool, added: Added) -> Converted {
        Ok(CallResult::Numbers(added.new as f64, added.lowered as f64))
    }

    pub(crate) fn value(env: &Env, value: impl ToNapiValue) -> Converted {
        // SAFETY: the environment is the one of the thread this runs on.
        Ok(CallResult::Value(unsafe { ToNapiValue::to_napi_value(env.raw(), value) }?))
    }
}

/// Bytes as the handle wants them: a string, or a Buffer.
pub(crate) fn text_or_buffer(
    env: &Env,
    bytes: &[u8],
    text: bool,
) -> Result<sys::napi_value, Failure> {
    let mut value = ptr::null_mut();
    let (data, length) = (bytes.as_ptr(), bytes.len());
    let status = match text {
        true if std::str::from_utf8(bytes).is_err() => return Err(Failure::NotText),
        // SAFETY: the environment is the one of the thread this runs on; the bytes are copied.
        true => unsafe {
            sys::napi_create_string_utf8(env.raw(), data.cast(), length as isize, &mut value)
        },
        // SAFETY: as above.
        false => unsafe {
            let copy = ptr::null_mut();
            sys::napi_create_buffer_copy(env.raw(), length, data.cast(), copy, &mut value)
        },
    };
    check_status!(status)?;
    Ok(value)
}

/// `[member, score, member, score, …]`.
pub(crate) fn entries(env: &Env, text: bool, entries: impl Deref<Target = [Entry]>) -> Converted {
    let list = Values::new(env, entries.len() * 2)?;
    for (index, entry) in (0..).zip(&*entries) {
        list.set(index * 2, text_or_buffer(env, &entry.member, text)?)?;
        list.set(index * 2 + 1, number(env, entry.score)?)?;
    }
    Ok(CallResult::Value(list.array))
}

fn number(env: &Env, number: f64) -> napi::Result<sys::napi_value> {
    let mut value = ptr::null_mut();
    // SAFETY: the environment is the one of the thread this runs on.
    check_status!(unsafe { sys::napi_create_double(env.raw(), number, &mut value) })?;
    Ok(value)
}

/// An array that is filled.
pub(crate) struct Values<'env> {
    env: &'env Env,
    pub(crate) array: sys::napi_value,
}

impl<'env> Values<'env> {
    pub(crate) fn new(env: &'env Env, length: usize) -> napi::Result<Self> {
        let mut array = ptr::null_mut();
        // SAFETY: the environment is the one of the thread this runs on.
        check_status!(unsafe {
            sys::napi_create_array_with_length(env.raw(), length, &mut array)
        })?;
        Ok(Self { env, array })
    }

    pub(crate) fn set(&self, index: u32, value: sys::napi_value) -> napi::Result<()> {
        // SAFETY: the environment and both values are of the thread this runs on.
        check_status!(unsafe { sys::napi_set_element(self.env.raw(), self.array, index, value) })
    }
}

/// The status of a value that JavaScript has checked and that is wrong all the same.
pub(crate) fn unexpected(what: &str) -> napi::Error {
    napi::Error::new(Status::InvalidArg, what.to_owned())
}
