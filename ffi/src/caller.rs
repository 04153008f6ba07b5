//! What every function does: read C's arguments, call the core, and return the result or the
//! error. Nothing unwinds into C.

use std::cell::Cell;
use std::ffi::c_char;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use millpond::tasks::Headers;
use millpond::{CALL_ITEMS_MAX, Error, ErrorKind, Result};

use crate::error::{Failure, millpond_error};
use crate::handle::{self, Held, Kind, Opaque};
use crate::keys::millpond_bytes;
use crate::status::{MILLPOND_OK, millpond_status};
use crate::tasks::headers::OVERFLOW;

thread_local! {
    /// Whether this thread is inside a call from C.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is inside a call from C.
pub(crate) fn is_inside() -> bool {
    INSIDE.get()
}

/// The C program that calls a function. Making one asserts that the call's pointers are what
/// the header says; after that, reading them is safe.
pub(crate) struct Caller(());

impl Caller {
    /// A caller whose pointers are taken to be valid.
    ///
    /// # Safety
    /// Every pointer that is passed to a method of this comes from the arguments of one call, and
    /// the header says what they have to be: NULL, or valid until the call ends for as many
    /// elements as the length beside them says. This holds for pointers inside of structures too.
    pub(crate) unsafe fn trusted() -> Self {
        Self(())
    }

    /// As [`run`](Self::run), for a body that waits for nothing: no server, no disk, no other thread's work. An
    /// interpreter keeps its lock while such a function runs; this call tells the bindings which functions those are.
    pub(crate) fn local(
        &self,
        error: *mut *mut millpond_error,
        body: impl FnOnce() -> Result<()>,
    ) -> millpond_status {
        self.run(error, body)
    }

    /// Runs the body of a function that can fail. Its error goes to `error`.
    pub(crate) fn run(
        &self,
        error: *mut *mut millpond_error,
        body: impl FnOnce() -> Result<()>,
    ) -> millpond_status {
        let failed = self.guarded(body).err();
        let status = failed.as_ref().map_or(MILLPOND_OK, |failed| failed.kind().into());
        if !error.is_null() {
            // Making the handle is guarded too: memory may be exhausted.
            let make = |failed| self.run_or(0, || handle::make(Failure::new(&failed)));
            let handle = failed.map_or(0, make);
            // SAFETY: it is not null, and the caller guarantees that it can be written then.
            unsafe { error.write_unaligned(handle as *mut millpond_error) };
        }
        status
    }

    /// Runs the body of a function that always returns something.
    pub(crate) fn run_or<T>(&self, otherwise: T, body: impl FnOnce() -> T) -> T {
        self.guarded(|| Ok(body())).unwrap_or(otherwise)
    }

    fn guarded<T>(&self, body: impl FnOnce() -> Result<T>) -> Result<T> {
        let outside = INSIDE.replace(true);
        let result = catch_unwind(AssertUnwindSafe(body));
        INSIDE.set(outside);
        result.unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
            Err(Error::new(ErrorKind::Internal, format!("Millpond panicked: {text}")))
        })
    }

    /// The object of a handle.
    pub(crate) fn held<C: Opaque>(
        &self,
        argument: &str,
        handle: *const C,
    ) -> Result<Held<C::Object>> {
        handle::find(handle as usize).map_err(|wrong| invalid(format!("{argument} {wrong}")))
    }

    /// A byte string.
    pub(crate) fn bytes(
        &self,
        argument: impl FnOnce() -> String,
        data: *const c_char,
        length: usize,
    ) -> Result<&[u8]> {
        self.array(argument, data.cast::<u8>(), length)
    }

    /// A byte string in one piece.
    pub(crate) fn given_bytes(
        &self,
        argument: impl FnOnce() -> String,
        bytes: millpond_bytes,
    ) -> Result<&[u8]> {
        self.bytes(argument, bytes.data, bytes.length)
    }

    /// An optional byte string; NULL if absent.
    pub(crate) fn optional_bytes(
        &self,
        argument: impl FnOnce() -> String,
        bytes: millpond_bytes,
    ) -> Result<Option<&[u8]>> {
        match bytes.data.is_null() && bytes.length == 0 {
            true => Ok(None),
            false => self.given_bytes(argument, bytes).map(Some),
        }
    }

    /// The name of a queue.
    pub(crate) fn name(&self, data: *const c_char, length: usize) -> Result<&[u8]> {
        self.bytes(|| "name".to_owned(), data, length)
    }

    /// An array of `count` elements; NULL is allowed for an empty array.
    pub(crate) fn array<T>(
        &self,
        argument: impl FnOnce() -> String,
        data: *const T,
        count: usize,
    ) -> Result<&[T]> {
        if count == 0 {
            return Ok(&[]);
        }
        self.check_array(argument, data, count, size_of::<T>())?;
        // SAFETY: it is neither null nor unaligned nor too long, and the caller guarantees that
        // `count` elements are there and that none changes before the call ends.
        Ok(unsafe { std::slice::from_raw_parts(data, count) })
    }

    /// Checks that an array of `count` elements of `size` bytes can be there.
    pub(crate) fn check_array<T>(
        &self,
        argument: impl FnOnce() -> String,
        data: *const T,
        count: usize,
        size: usize,
    ) -> Result<()> {
        let wrong = match count {
            0 => return Ok(()),
            _ if data.is_null() => format!("is NULL, but its length is {count}"),
            _ if !data.is_aligned() => format!("is {data:?}, which is not aligned"),
            _ if count > isize::MAX as usize / size => {
                format!("has the length {count}, which is more than memory holds")
            }
            // What is longer is text.
            _ if count > CALL_ITEMS_MAX && size > 1 => {
                format!("has {count} elements; {CALL_ITEMS_MAX} are allowed")
            }
            _ => return Ok(()),
        };
        Err(invalid(format!("{} {wrong}", argument())))
    }

    /// A record that the program passes back. The program may know only a part of it: this reads only the fields that
    /// `part` names. Nothing for NULL.
    pub(crate) fn record<T, R>(
        &self,
        record: *const T,
        part: impl FnOnce(*const T) -> R,
    ) -> Option<R> {
        (!record.is_null() && record.is_aligned()).then(|| part(record))
    }

    /// A text.
    pub(crate) fn text(&self, argument: impl Fn() -> String, text: millpond_bytes) -> Result<&str> {
        let bytes = self.bytes(&argument, text.data, text.length)?;
        std::str::from_utf8(bytes).map_err(|_| invalid(format!("{} is not UTF-8", argument())))
    }

    /// An optional text; NULL if absent.
    pub(crate) fn optional_text(
        &self,
        argument: impl Fn() -> String,
        text: millpond_bytes,
    ) -> Result<Option<&str>> {
        match text.data.is_null() && text.length == 0 {
            true => Ok(None),
            false => self.text(argument, text).map(Some),
        }
    }

    /// Optional headers in one piece; NULL if absent.
    pub(crate) fn optional_headers(
        &self,
        argument: impl Fn() -> String,
        packed: millpond_bytes,
    ) -> Result<Option<Headers>> {
        if packed.data.is_null() && packed.length == 0 {
            return Ok(None);
        }
        if packed.length == OVERFLOW {
            let argument = argument();
            return Err(invalid(format!(
                "{argument}: a header did not fit into the bytes that millpond_headers_add was given"
            )));
        }
        Headers::of_packed(self.bytes(argument, packed.data, packed.length)?).map(Some)
    }

    /// An array of texts.
    pub(crate) fn texts(
        &self,
        argument: &str,
        data: *const millpond_bytes,
        count: usize,
    ) -> Result<Vec<&str>> {
        let texts = self.array(|| argument.to_owned(), data, count)?.iter().enumerate();
        texts.map(|(index, text)| self.text(|| format!("{argument}[{index}]"), *text)).collect()
    }

    /// An out-parameter that the caller may not want, so that it may be NULL. It holds
    /// `nothing` until the call succeeds.
    pub(crate) fn optional_out<T>(&self, pointer: *mut T, nothing: T) -> Out<T> {
        let out = Out(pointer);
        out.set(nothing);
        out
    }

    /// An out-parameter that must not be NULL.
    pub(crate) fn out<T>(&self, argument: &str, pointer: *mut T, nothing: T) -> Result<Out<T>> {
        if pointer.is_null() {
            return Err(missing(argument));
        }
        Ok(self.optional_out(pointer, nothing))
    }

    /// An array of `count` out-values that the caller may not want, so that it may be NULL. They
    /// are `nothing` until the call succeeds.
    pub(crate) fn optional_out_array<T: Copy>(
        &self,
        pointer: *mut T,
        count: usize,
        nothing: T,
    ) -> OutArray<T> {
        // A count that no call takes is refused where the array of arguments is read: there is no such array.
        let count = if count > CALL_ITEMS_MAX { 0 } else { count };
        let out = OutArray { pointer, count };
        out.set(std::iter::repeat_n(nothing, count));
        out
    }

    /// An array of `count` out-values that must not be NULL. It is not written before they are
    /// set.
    pub(crate) fn out_array<T>(
        &self,
        argument: &str,
        pointer: *mut T,
        count: usize,
    ) -> Result<OutArray<T>> {
        if pointer.is_null() {
            return Err(missing(argument));
        }
        Ok(OutArray { pointer, count })
    }

    /// An out-parameter for a handle, which must not be NULL.
    pub(crate) fn new_handle<C: Opaque>(
        &self,
        argument: &str,
        pointer: *mut *mut C,
    ) -> Result<NewHandle<C::Object>> {
        self.out(argument, pointer, ptr::null_mut()).map(NewHandle)
    }

    /// An out-parameter for a handle that the caller may not want, so that it may be NULL.
    pub(crate) fn optional_handle<C: Opaque>(
        &self,
        pointer: *mut *mut C,
    ) -> Option<NewHandle<C::Object>> {
        let out = self.optional_out(pointer, ptr::null_mut());
        (!pointer.is_null()).then_some(NewHandle(out))
    }
}

/// An out-parameter. Only a [`Caller`] makes one.
pub(crate) struct Out<T>(*mut T);

impl<T> Out<T> {
    pub(crate) fn set(&self, value: T) {
        if !self.0.is_null() {
            // SAFETY: the caller guarantees that it can be written if it is not null.
            unsafe { self.0.write_unaligned(value) };
        }
    }
}

/// An array of out-values. Only a [`Caller`] makes one.
pub(crate) struct OutArray<T> {
    pointer: *mut T,
    count: usize,
}

impl<T> OutArray<T> {
    pub(crate) fn set(&self, values: impl IntoIterator<Item = T>) {
        if self.pointer.is_null() {
            return;
        }
        for (index, value) in values.into_iter().take(self.count).enumerate() {
            // SAFETY: the caller guarantees that `count` can be written if it is not null.
            unsafe { self.pointer.add(index).write_unaligned(value) };
        }
    }
}

/// An out-parameter for a handle.
pub(crate) struct NewHandle<T: Kind>(Out<*mut T::C>);

impl<T: Kind> NewHandle<T> {
    pub(crate) fn set(&self, object: T) {
        self.0.set(handle::make(object) as *mut T::C);
    }
}

/// The record with this number, or NULL.
pub(crate) fn at<T>(records: &[T], index: usize) -> *const T {
    records.get(index).map_or(ptr::null(), ptr::from_ref)
}

/// Reads a part of the object of a handle, which is `empty` for NULL and for what is no such handle.
pub(crate) fn read<C: Opaque, T: Copy>(
    handle: *const C,
    empty: T,
    part: impl FnOnce(Held<C::Object>) -> T,
) -> T {
    let caller = Caller(());
    caller.run_or(empty, || caller.held("", handle).map_or(empty, part))
}

/// Frees a handle. Its object may be dropped here, and that must not unwind into C.
pub(crate) fn free<C: Opaque>(handle: *mut C) {
    Caller(()).run_or((), || handle::free::<C::Object>(handle as usize));
}

fn missing(argument: &str) -> Error {
    invalid(format!("{argument} is NULL; it must point to where the result is written"))
}

pub(crate) fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidArgument, message)
}
