//! The result of a call of a queue of events.

use std::ffi::c_char;
use std::ptr;

use millpond::Result;
use millpond::events::{
    Config, Event, EventId, EventPage, EventPosition, Published, ScheduleInfo, Stats,
    SyncedSchedules,
};

use crate::caller::Caller;
use crate::events::generated::{
    millpond_event, millpond_event_config, millpond_event_position, millpond_event_stats,
    millpond_published_event, millpond_schedule_info, millpond_schedules_synced,
};
use crate::keys::millpond_bytes;

/// What is in a result. Which fields are set depends on the call; the others are empty.
///
/// New versions may add fields to records, so a program must not index an array of them: use
/// `millpond_events_result_event` and similar functions, or advance by the number of bytes given beside the array.
#[repr(C)]
pub struct millpond_events_data {
    /// The events.
    pub events: *const millpond_event,
    /// How many there are.
    pub event_count: usize,
    /// How many bytes lie between the start of one and the start of the next.
    pub event_size: usize,
    /// The result for each event to publish, in the same order.
    pub published: *const millpond_published_event,
    /// How many there are.
    pub published_count: usize,
    /// How many bytes lie between the start of one and the start of the next.
    pub published_size: usize,
    /// Of `millpond_events_list`: the position after which the next page starts. NULL: this was the last page.
    pub next: *const millpond_event_position,
    /// Of `millpond_events_stats`.
    pub stats: *const millpond_event_stats,
    /// Of `millpond_events_config`.
    pub config: *const millpond_event_config,
    /// The schedules.
    pub schedules: *const millpond_schedule_info,
    /// How many there are.
    pub schedule_count: usize,
    /// How many bytes lie between the start of one and the start of the next.
    pub schedule_size: usize,
    /// Of `millpond_events_sync_schedules`.
    pub synced: *const millpond_schedules_synced,
    /// All texts, one after another without gaps: those of each event, of each published event, of the next position,
    /// and of each schedule, each in the order of its fields. For interpreters, which copy them in one go; not
    /// NUL-terminated.
    pub text: *const c_char,
    /// The length of all texts, in bytes.
    pub text_length: usize,
}

/// What a handle of a result refers to. Boxed, because otherwise every handle would take this much memory.
pub(crate) type EventsResult = Box<Parts>;

/// The parts of a result, each stored without gaps, and what points to them.
pub(crate) struct Parts {
    pub(crate) data: millpond_events_data,
    pub(crate) events: Box<[millpond_event]>,
    pub(crate) published: Box<[millpond_published_event]>,
    pub(crate) schedules: Box<[millpond_schedule_info]>,
    _one: Box<One>,
    _text: Box<[u8]>,
}

/// The parts of which there is at most one.
#[derive(Default)]
struct One {
    next: Option<millpond_event_position>,
    stats: Option<millpond_event_stats>,
    config: Option<millpond_event_config>,
    synced: Option<millpond_schedules_synced>,
}

// SAFETY: the pointers in it point into its other parts, which are never changed or moved.
unsafe impl Send for Parts {}
// SAFETY: as above; nothing changes through a reference.
unsafe impl Sync for Parts {}

/// What a call of the core returned.
#[derive(Default)]
struct Content<'a> {
    events: &'a [Event],
    published: &'a [Published],
    next: Option<EventPosition>,
    stats: Option<Stats>,
    config: Option<Config>,
    schedules: &'a [ScheduleInfo],
    synced: Option<SyncedSchedules>,
}

/// What is in the result of a call, by what the call returns.
macro_rules! results {
    ($($type:ty, $it:pat => $($field:ident: $part:expr),*;)*) => {$(
        impl From<$type> for EventsResult {
            fn from($it: $type) -> Self {
                Parts::new(Content { $($field: $part,)* ..Content::default() })
            }
        }
    )*};
}

results! {
    Vec<Event>, events => events: &events;
    Vec<Option<Event>>, events => events: &events.into_iter().flatten().collect::<Vec<_>>();
    EventPage, page => events: &page.events, next: page.next;
    Published, it => published: &[it];
    Vec<Published>, published => published: &published;
    Stats, stats => stats: Some(stats);
    Config, config => config: Some(config);
    ScheduleInfo, it => schedules: &[it];
    Vec<ScheduleInfo>, schedules => schedules: &schedules;
    SyncedSchedules, synced => synced: Some(synced);
}

impl Parts {
    fn new(content: Content<'_>) -> EventsResult {
        let mut text = Vec::new();
        content.events.iter().for_each(|event| millpond_event::texts(event, &mut text));
        let published = content.published.iter();
        published.for_each(|one| millpond_published_event::texts(one, &mut text));
        content.next.iter().for_each(|next| millpond_event_position::texts(next, &mut text));
        let schedules = content.schedules.iter();
        schedules.for_each(|one| millpond_schedule_info::texts(one, &mut text));
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
        let events = content.events.iter();
        let events: Box<[_]> = events.map(|event| millpond_event::new(event, &mut cut)).collect();
        let published = content.published.iter();
        let published: Box<[_]> =
            published.map(|one| millpond_published_event::new(one, &mut cut)).collect();
        let one = Box::new(One {
            next: content.next.map(|next| millpond_event_position::new(&next, &mut cut)),
            stats: content.stats.as_ref().map(millpond_event_stats::new),
            config: content.config.as_ref().map(millpond_event_config::new),
            synced: content.synced.as_ref().map(millpond_schedules_synced::new),
        });
        let schedules = content.schedules.iter();
        let schedules: Box<[_]> =
            schedules.map(|one| millpond_schedule_info::new(one, &mut cut)).collect();
        let data = millpond_events_data {
            events: events.as_ptr(),
            event_count: events.len(),
            event_size: size_of::<millpond_event>(),
            published: published.as_ptr(),
            published_count: published.len(),
            published_size: size_of::<millpond_published_event>(),
            next: one.next.as_ref().map_or(ptr::null(), ptr::from_ref),
            stats: one.stats.as_ref().map_or(ptr::null(), ptr::from_ref),
            config: one.config.as_ref().map_or(ptr::null(), ptr::from_ref),
            schedules: schedules.as_ptr(),
            schedule_count: schedules.len(),
            schedule_size: size_of::<millpond_schedule_info>(),
            synced: one.synced.as_ref().map_or(ptr::null(), ptr::from_ref),
            text: text.as_ptr().cast(),
            text_length: text.len(),
        };
        Box::new(Self { data, events, published, schedules, _one: one, _text: text })
    }
}

impl Caller {
    /// Ids of events.
    pub(super) fn event_ids(
        &self,
        argument: &str,
        data: *const millpond_bytes,
        count: usize,
    ) -> Result<Vec<EventId>> {
        self.texts(argument, data, count)?.into_iter().map(str::parse).collect()
    }
}
