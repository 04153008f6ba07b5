//! The result of a call of a volatile hash.

use std::ffi::c_char;
use std::ptr;

use millpond::volatile::{
    Acquired, FieldPage, FieldPosition, HashField, HashStats, LockHolder, Reaped, ValueOrLock,
};

use crate::keys::millpond_bytes;
use crate::volatile::generated::{
    millpond_field_position, millpond_hash_field, millpond_hash_reaped, millpond_hash_stats,
    millpond_lock_acquired, millpond_lock_holder, millpond_value_or_lock,
};

/// What is in a result. Which fields are set depends on the call; the others are empty.
///
/// New versions may add fields to records, so a program must not index an array of them: use
/// `millpond_volatile_result_field`, or advance by the number of bytes given beside the array.
#[repr(C)]
pub struct millpond_volatile_data {
    /// The fields, those first that expire first.
    pub fields: *const millpond_hash_field,
    /// How many there are.
    pub field_count: usize,
    /// How many bytes lie between the start of one and the start of the next.
    pub field_size: usize,
    /// Of `millpond_volatile_fields`: the position after which the next page starts. NULL: this was the last page.
    pub next: *const millpond_field_position,
    /// Of `millpond_volatile_get` and `millpond_volatile_get_many`: the values, in the order in which the fields were
    /// passed. The `data` of one is NULL if its field is not live; an empty value has a `data` and the length 0.
    pub values: *const millpond_bytes,
    /// How many there are.
    pub value_count: usize,
    /// Of `millpond_volatile_get_or_acquire`.
    pub value_or_lock: *const millpond_value_or_lock,
    /// Of `millpond_volatile_acquire`.
    pub acquired: *const millpond_lock_acquired,
    /// Of `millpond_volatile_holder`.
    pub holder: *const millpond_lock_holder,
    /// Of `millpond_volatile_stats`.
    pub stats: *const millpond_hash_stats,
    /// Of `millpond_volatile_reap`.
    pub reaped: *const millpond_hash_reaped,
    /// All texts, one after another without gaps: those of each field, of the next position, of the values, of the
    /// value or lock, and of the holder, each in the order of its fields. For interpreters, which copy them in one go;
    /// not NUL-terminated.
    pub text: *const c_char,
    /// The length of all texts, in bytes.
    pub text_length: usize,
}

/// What a handle of a result refers to. Boxed, because otherwise every handle would take this much memory.
pub(crate) type VolatileResult = Box<Parts>;

/// The parts of a result, each stored without gaps, and what points to them.
pub(crate) struct Parts {
    pub(crate) data: millpond_volatile_data,
    pub(crate) fields: Box<[millpond_hash_field]>,
    pub(crate) values: Box<[millpond_bytes]>,
    _one: Box<One>,
    _text: Box<[u8]>,
}

/// The parts of which there is at most one.
#[derive(Default)]
struct One {
    next: Option<millpond_field_position>,
    value_or_lock: Option<millpond_value_or_lock>,
    acquired: Option<millpond_lock_acquired>,
    holder: Option<millpond_lock_holder>,
    stats: Option<millpond_hash_stats>,
    reaped: Option<millpond_hash_reaped>,
}

// SAFETY: the pointers in it point into its other parts, which are never changed or moved.
unsafe impl Send for Parts {}
// SAFETY: as above; nothing changes through a reference.
unsafe impl Sync for Parts {}

/// What a call of the core returned.
#[derive(Default)]
struct Content<'a> {
    fields: &'a [HashField],
    next: Option<FieldPosition>,
    values: &'a [Option<Vec<u8>>],
    value_or_lock: Option<ValueOrLock>,
    acquired: Option<Acquired>,
    holder: Option<LockHolder>,
    stats: Option<HashStats>,
    reaped: Option<Reaped>,
}

/// What is in the result of a call, by what the call returns.
macro_rules! results {
    ($($type:ty, $it:pat => $($field:ident: $part:expr),*;)*) => {$(
        impl From<$type> for VolatileResult {
            fn from($it: $type) -> Self {
                Parts::new(Content { $($field: $part,)* ..Content::default() })
            }
        }
    )*};
}

results! {
    Vec<u8>, value => values: &[Some(value)];
    Vec<Option<Vec<u8>>>, values => values: &values;
    FieldPage, page => fields: &page.fields, next: page.next;
    ValueOrLock, it => value_or_lock: Some(it);
    Acquired, it => acquired: Some(it);
    LockHolder, it => holder: Some(it);
    HashStats, it => stats: Some(it);
    Reaped, it => reaped: Some(it);
}

impl Parts {
    fn new(content: Content<'_>) -> VolatileResult {
        let mut text = Vec::new();
        content.fields.iter().for_each(|field| millpond_hash_field::texts(field, &mut text));
        content.next.iter().for_each(|next| millpond_field_position::texts(next, &mut text));
        content.values.iter().flatten().for_each(|value| text.extend_from_slice(value));
        content.value_or_lock.iter().for_each(|it| millpond_value_or_lock::texts(it, &mut text));
        content.holder.iter().for_each(|holder| millpond_lock_holder::texts(holder, &mut text));
        let text = text.into_boxed_slice();
        let mut rest = &*text;
        let mut cut = |text: Option<&[u8]>| {
            text.map_or(millpond_bytes::NONE, |text| {
                let (own, after) = rest.split_at(text.len());
                rest = after;
                millpond_bytes::of(own)
            })
        };
        // In the order of the texts.
        let fields = content.fields.iter();
        let fields: Box<[_]> =
            fields.map(|field| millpond_hash_field::new(field, &mut cut)).collect();
        let next = content.next.map(|next| millpond_field_position::new(&next, &mut cut));
        let values = content.values.iter();
        let values: Box<[_]> = values.map(|value| cut(value.as_deref())).collect();
        let value_or_lock =
            content.value_or_lock.map(|it| millpond_value_or_lock::new(&it, &mut cut));
        let holder = content.holder.map(|holder| millpond_lock_holder::new(&holder, &mut cut));
        let one = Box::new(One {
            next,
            value_or_lock,
            acquired: content.acquired.as_ref().map(millpond_lock_acquired::new),
            holder,
            stats: content.stats.as_ref().map(millpond_hash_stats::new),
            reaped: content.reaped.as_ref().map(millpond_hash_reaped::new),
        });
        let data = millpond_volatile_data {
            fields: fields.as_ptr(),
            field_count: fields.len(),
            field_size: size_of::<millpond_hash_field>(),
            next: one.next.as_ref().map_or(ptr::null(), ptr::from_ref),
            values: values.as_ptr(),
            value_count: values.len(),
            value_or_lock: one.value_or_lock.as_ref().map_or(ptr::null(), ptr::from_ref),
            acquired: one.acquired.as_ref().map_or(ptr::null(), ptr::from_ref),
            holder: one.holder.as_ref().map_or(ptr::null(), ptr::from_ref),
            stats: one.stats.as_ref().map_or(ptr::null(), ptr::from_ref),
            reaped: one.reaped.as_ref().map_or(ptr::null(), ptr::from_ref),
            text: text.as_ptr().cast(),
            text_length: text.len(),
        };
        Box::new(Self { data, fields, values, _one: one, _text: text })
    }
}
