//! Structures that the program allocates, to which new versions may add fields, and optional values.

use std::time::Duration;

use millpond::Result;
use millpond::tasks::LEASE_DEFAULT;

use crate::caller::{Caller, invalid};

/// A structure of fixed layout, of which a program passes arrays.
pub(crate) trait Element: 'static {
    /// What the core takes.
    type Core<'c>;

    /// Reads it; `of` says where one of its fields is.
    fn read<'c>(&self, caller: &'c Caller, of: impl Fn(&str) -> String) -> Result<Self::Core<'c>>;
}

impl Element for u32 {
    type Core<'c> = Self;

    fn read(&self, _: &Caller, _: impl Fn(&str) -> String) -> Result<Self> {
        Ok(*self)
    }
}

/// A structure that the program allocates and to which new versions may add fields at the end. It
/// begins with the size that it has in the program, which its `_init` sets. What lies beyond that
/// size is neither read nor written.
///
/// # Safety
/// It has the layout of C, its first field is `size: usize`, and any bytes are a value of it.
pub(crate) unsafe trait Growing: Copy {
    /// What its `_init` fills in, and the values of fields that a program does not know.
    const DEFAULT: Self;
}

/// Makes structures [`Growing`]: `growing! { type { field: default, … } }`, where other fields are 0.
macro_rules! growing {
    ($($type:ident { $($field:ident: $default:expr),* $(,)? })*) => {$(
        // SAFETY: the layout is checked here; the fields are numbers, pointers and `c_bool`.
        unsafe impl $crate::options::Growing for $type {
            #[allow(clippy::needless_update, unused_variables, reason = "some set all fields")]
            const DEFAULT: Self = {
                assert!(std::mem::offset_of!($type, size) == 0);
                // SAFETY: any bytes are a value.
                let zeros: Self = unsafe { std::mem::zeroed() };
                Self { size: size_of::<Self>(), $($field: $default,)* ..zeros }
            };
        }
    )*};
}
pub(crate) use growing;

impl Caller {
    /// Fills a structure with its defaults. Does nothing for NULL.
    pub(crate) fn init<T: Growing>(&self, structure: *mut T, size: usize) {
        self.fill(structure, size, T::DEFAULT);
    }

    /// Writes as much of a structure as the program has. Does nothing for NULL.
    pub(crate) fn fill<T: Growing>(&self, structure: *mut T, size: usize, value: T) {
        if structure.is_null() || size < size_of::<usize>() {
            return;
        }
        let known = size.min(size_of::<T>());
        // SAFETY: the header says that `size` bytes can be written there.
        unsafe {
            (&raw const value).cast::<u8>().copy_to_nonoverlapping(structure.cast(), known);
            structure.cast::<usize>().write_unaligned(size);
        }
    }

    /// The structure of a call, where NULL stands for its defaults.
    pub(crate) fn options<T: Growing>(&self, argument: &str, structure: *const T) -> Result<T> {
        match structure.is_null() {
            true => Ok(T::DEFAULT),
            false => self.structure(argument, structure),
        }
    }

    /// The structure of a call, which must not be NULL.
    pub(crate) fn structure<T: Growing>(&self, argument: &str, structure: *const T) -> Result<T> {
        let size = self.structure_size(|| argument.to_owned(), structure)?;
        // SAFETY: the header says that `size` bytes can be read there.
        Ok(unsafe { read(structure, size) })
    }

    /// An array of structures: the size of the first is the distance from each to the next.
    pub(crate) fn structures<T: Growing>(
        &self,
        argument: &str,
        first: *const T,
        count: usize,
    ) -> Result<impl ExactSizeIterator<Item = Result<T>>> {
        self.check_array(|| argument.to_owned(), first, count, size_of::<usize>())?;
        let size = match count {
            0 => 0,
            _ => self.structure_size(|| format!("{argument}[0]"), first)?,
        };
        self.check_array(|| argument.to_owned(), first, count, size)?;
        Ok((0..count).map(move |index| {
            // SAFETY: the header says that there are `count` structures of this size.
            let structure = unsafe { first.byte_add(index * size) };
            // SAFETY: as above; each begins with its size.
            let own = unsafe { structure.cast::<usize>().read() };
            if own != size {
                return Err(invalid(format!(
                    "{argument}[{index}].size is {own}, but {argument}[0].size is {size}"
                )));
            }
            // SAFETY: as above.
            Ok(unsafe { read(structure, size) })
        }))
    }

    /// An array of elements. All are checked before the first is taken.
    pub(crate) fn list<'c, T: Element>(
        &'c self,
        argument: &str,
        data: *const T,
        count: usize,
    ) -> Result<impl ExactSizeIterator<Item = T::Core<'c>> + Clone + use<'c, T>> {
        let list = self.array(|| argument.to_owned(), data, count)?;
        for (index, element) in list.iter().enumerate() {
            element.read(self, |field| format!("{argument}[{index}].{field}"))?;
        }
        let read = |element: &'c T| element.read(self, str::to_owned).expect("it was read before");
        Ok(list.iter().map(read))
    }

    /// The size that a structure has in the program.
    pub(crate) fn structure_size<T: Growing>(
        &self,
        argument: impl Fn() -> String,
        structure: *const T,
    ) -> Result<usize> {
        if structure.is_null() {
            return Err(invalid(format!("{} is NULL", argument())));
        }
        self.check_array(&argument, structure, 1, size_of::<usize>())?;
        // SAFETY: it is neither null nor unaligned, and the header says that it begins with its size.
        let size = unsafe { structure.cast::<usize>().read() };
        let known = size_of::<T>();
        if size > known {
            return Err(invalid(format!(
                "{}.size is {size}, but this version of Millpond knows {known} bytes of it",
                argument()
            )));
        }
        if size < size_of::<usize>() || size % align_of::<T>() != 0 {
            let name = std::any::type_name::<T>().rsplit("::").next().unwrap_or_default();
            let argument = argument();
            return Err(invalid(format!("{argument}.size is {size}; {name}_init sets it")));
        }
        Ok(size)
    }
}

/// The first `size` bytes of a structure; the rest is the default.
///
/// # Safety
/// `size` bytes can be read there, and the structure is not longer.
unsafe fn read<T: Growing>(structure: *const T, size: usize) -> T {
    let mut value = T::DEFAULT;
    // SAFETY: the caller guarantees it, and any bytes are a value.
    unsafe { structure.cast::<u8>().copy_to_nonoverlapping((&raw mut value).cast(), size) };
    value
}

/// A `bool` in a structure. C may leave any byte there, and not every byte is a valid Rust `bool`.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct c_bool(u8);

impl c_bool {
    pub(crate) fn is_true(self) -> bool {
        self.0 != 0
    }
}

impl From<bool> for c_bool {
    fn from(value: bool) -> Self {
        Self(value.into())
    }
}

/// An optional number that is not set. No time or count is this low, and -1 stays free for
/// "without limit".
pub(crate) const NOT_SET: i64 = i64::MIN;

/// The value of an optional number, unless it is not set.
pub(crate) fn given<T: TryFrom<i64>>(option: &str, value: i64) -> Result<Option<T>> {
    match value {
        NOT_SET => Ok(None),
        _ => T::try_from(value)
            .map(Some)
            .map_err(|_| invalid(format!("{option} is {value}, which is out of range"))),
    }
}

/// A number that is narrower in the core.
pub(crate) fn number<T: TryFrom<u64>>(
    of: &impl Fn(&str) -> String,
    field: &str,
    number: u64,
) -> Result<T> {
    T::try_from(number)
        .map_err(|_| invalid(format!("{} is {number}, which is out of range", of(field))))
}

/// Refuses two optional numbers that say the same in different ways.
pub(crate) fn only_one(
    of: &impl Fn(&str) -> String,
    (one, of_one): (&str, i64),
    (other, of_other): (&str, i64),
) -> Result<()> {
    match (of_one, of_other) {
        (NOT_SET, _) | (_, NOT_SET) => Ok(()),
        _ => Err(invalid(format!("{} and {} are both given", of(one), of(other)))),
    }
}

/// A time in a result, in milliseconds, rounded up: how long is left until something expires is then not 0 before it
/// has expired, and who waits for that long does not wake too early.
pub(crate) fn whole_ms(time: Duration) -> u64 {
    time.as_micros().div_ceil(1_000) as u64
}

/// A time, or the default.
pub(crate) fn time_or(option: &str, ms: i64, default: Duration) -> Result<Duration> {
    given(option, ms).map(|ms| ms.map_or(default, Duration::from_millis))
}

/// The time of a lease, or the default.
pub(crate) fn lease(lease_ms: i64) -> Result<Duration> {
    time_or("lease_ms", lease_ms, LEASE_DEFAULT)
}

/// How long a call waits for work; `None` does not wait.
pub(crate) fn wait_time(wait_ms: i64) -> Result<Option<Duration>> {
    time_limit("wait_ms", wait_ms).map(|time| Some(time).filter(|time| !time.is_zero()))
}

/// How long something may last, as poll(2) has it.
pub(crate) fn time_limit(argument: &str, ms: i64) -> Result<Duration> {
    match ms {
        0.. => Ok(Duration::from_millis(ms as u64)),
        -1 => Ok(Duration::MAX),
        _ => Err(invalid(format!(
            "{argument} is {ms}; it has to be 0 or more, or -1 to wait without limit"
        ))),
    }
}
