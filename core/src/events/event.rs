//! Events: new events to publish, and events as they are received.

use std::sync::Arc;
use std::time::Duration;

use super::config::micros;
use super::id::EventId;
use super::limits;
use super::state::{DeadReason, Delivery, EventState, Place, Token};
use super::vslot::vslot_of;
use crate::error::{Error, ErrorKind, Result, ensure};
use crate::step::headers::{Given, Headers};
use crate::step::limits::DEDUP_WINDOW_MAX;
use crate::step::reply::{Replies, malformed};
use crate::step::{Timestamp, When};

/// How long a deduplication id is remembered by default: five minutes.
pub const DEDUP_WINDOW_DEFAULT: Duration = Duration::from_secs(5 * 60);

/// An event to publish.
///
/// ```
/// use std::time::Duration;
/// use millpond::events::NewEvent;
///
/// NewEvent::new(r#"{"order": 7}"#)
///     .key("customer-12") // in order with the other events of this customer
///     .delay(Duration::from_secs(60))
///     .dedup_id("order-7-reminder")
///     .header("traceparent", "00-4bf9-00f0-01");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct NewEvent {
    pub(super) payload: Arc<[u8]>,
    pub(super) key: Arc<[u8]>,
    pub(super) at: When,
    pub(super) ttl: Option<Duration>,
    pub(super) dedup_id: Option<Arc<str>>,
    pub(super) dedup_window: Duration,
    pub(super) if_exists: IfExists,
    headers: Given,
}

/// The handling of an event that is published while its deduplication id is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum IfExists {
    /// It is refused, together with its whole step.
    Error,
    /// It is not added: the existing event stays.
    #[default]
    Ignore,
    /// It is added. The existing event is cancelled unless it is leased; if it is, the new one is added beside it.
    Replace,
}

impl NewEvent {
    /// An event that fires immediately.
    pub fn new(payload: impl AsRef<[u8]>) -> Self {
        Self {
            payload: payload.as_ref().into(),
            key: Arc::default(),
            at: When::Now,
            ttl: None,
            dedup_id: None,
            dedup_window: DEDUP_WINDOW_DEFAULT,
            if_exists: IfExists::Ignore,
            headers: Given::NONE,
        }
    }

    /// Events of one key are delivered one at a time, in the order in which they fire. By default an event has no key.
    pub fn key(self, key: impl AsRef<[u8]>) -> Self {
        Self { key: key.as_ref().into(), ..self }
    }

    /// When it fires, in milliseconds since the Unix epoch; a time in the past means now.
    pub fn at_ms(self, at_ms: u64) -> Self {
        Self { at: When::At(at_ms), ..self }
    }

    /// How long after publishing it fires.
    pub fn delay(self, delay: Duration) -> Self {
        Self { at: When::After(delay), ..self }
    }

    /// How long after its time it is dropped if it has not been received by then. Once it has been received it does not
    /// expire: it is delivered again if it fails, is released or its lease expires, however late that is.
    pub fn ttl(self, ttl: Duration) -> Self {
        Self { ttl: Some(ttl), ..self }
    }

    /// Of all events of a key with this id, only one is added; for producers that may publish twice.
    pub fn dedup_id(self, id: impl AsRef<str>) -> Self {
        Self { dedup_id: Some(id.as_ref().into()), ..self }
    }

    /// How long the id is remembered, even if the event has ended; [`DEDUP_WINDOW_DEFAULT`] by default. The id of a
    /// cancelled event is free immediately.
    pub fn dedup_window(self, window: Duration) -> Self {
        Self { dedup_window: window, ..self }
    }

    /// What happens if the id is taken; [`IfExists::Ignore`] by default.
    pub fn if_exists(self, if_exists: IfExists) -> Self {
        Self { if_exists, ..self }
    }

    /// A header, in place of any other with this name.
    pub fn header(self, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Self {
        Self { headers: self.headers.with(name.as_ref(), value.as_ref()), ..self }
    }

    /// All its headers, as [`header`](Self::header) adds them: each a name with any bytes as its value.
    pub fn headers<N: AsRef<[u8]>, V: AsRef<[u8]>>(
        self,
        headers: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        Self { headers: Given::new(headers), ..self }
    }

    pub(super) fn check(&self) -> Result<()> {
        limits::key(&self.key)?;
        limits::when(self.at)?;
        self.headers.check()?;
        let bytes = self.payload.len();
        ensure!(
            bytes <= limits::PAYLOAD_BYTES_MAX,
            "the payload has {bytes} bytes; {} are allowed",
            limits::PAYLOAD_BYTES_MAX
        );
        if let Some(ttl) = self.ttl {
            ensure!(
                ttl >= Duration::from_millis(1),
                "the time to live has to be a millisecond or more"
            );
            limits::delay("time to live", ttl)?;
        }
        if let Some(id) = &self.dedup_id {
            limits::dedup_id(id)?;
            let most = DEDUP_WINDOW_MAX;
            let window = self.dedup_window;
            ensure!(window <= most, "the deduplication window is {window:?}; {most:?} are allowed");
        }
        Ok(())
    }

    /// The part of the key space that it belongs to: that of its key, or without a key that of its deduplication id, or
    /// without either the one that the caller drew.
    pub(super) fn vslot(&self, drawn: u16) -> u16 {
        match &self.dedup_id {
            _ if !self.key.is_empty() => vslot_of(&self.key),
            Some(id) => vslot_of(id.as_bytes()),
            None => drawn,
        }
    }

    /// How many bytes it takes up in a step.
    pub(super) fn bytes(&self) -> usize {
        self.payload.len() + self.key.len()
    }

    pub(super) fn name(&self) -> Vec<u8> {
        name_of(&self.key, self.dedup_id.as_deref().unwrap_or_default())
    }

    pub(super) fn flags(&self) -> u8 {
        let keyed = if self.key.is_empty() { 0 } else { flag::KEYED };
        keyed | if self.dedup_id.is_some() { flag::NAMED } else { 0 }
    }

    /// For how many microseconds its name is remembered.
    pub(super) fn window_us(&self) -> u64 {
        self.dedup_id.as_ref().map_or(0, |_| micros(self.dedup_window))
    }

    /// The event of a body that [`body`](Self::body) made.
    #[cfg(feature = "schedules")]
    pub(super) fn of_body(body: &[u8]) -> Result<Self> {
        let (headers, payload) = split_body(body)?;
        Ok(Self::new(payload).headers(&headers))
    }

    /// The headers, after their length, and the payload.
    pub(super) fn body(&self) -> Vec<u8> {
        let headers = self.headers.headers().packed();
        let mut body = Vec::with_capacity(2 + headers.len() + self.payload.len());
        body.extend((headers.len() as u16).to_be_bytes());
        body.extend_from_slice(headers);
        body.extend_from_slice(&self.payload);
        body
    }
}

/// Flags of a head: whether the event has a key, and a deduplication id, and whether its body is stored in a separate
/// hash.
pub(super) mod flag {
    pub(crate) const KEYED: u8 = 1;
    pub(crate) const NAMED: u8 = 2;
    pub(crate) const LONG: u8 = 4;
}

/// An event as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// Its id.
    pub id: EventId,
    /// Its key; empty for none.
    pub key: Arc<[u8]>,
    /// Its payload.
    pub payload: Arc<[u8]>,
    /// Its headers.
    pub headers: Headers,
    /// When it fires, in microseconds since the Unix epoch.
    pub fire_at_us: Timestamp,
    /// When it was published, in microseconds since the Unix epoch.
    pub published_at_us: Timestamp,
    /// When it is dropped if it has not been received by then, in microseconds since the Unix epoch. It does not expire
    /// once it has been received.
    pub expires_at_us: Option<Timestamp>,
    /// Its deduplication id.
    pub dedup_id: Option<Arc<str>>,
    /// How often it was delivered, including this time, since it was published or redriven.
    pub attempts: u16,
    /// How often its lease expired since it was published or redriven.
    pub crashes: u16,
    /// How often it was redriven from the dead letters.
    pub redriven: u16,
    /// The text of the last failure; empty if there was none.
    pub err: Arc<str>,
    /// Why it is a dead letter, if it is one.
    pub reason: Option<DeadReason>,
    /// Its state; [`EventState::Leased`] if it was received.
    pub state: EventState,
    /// The time of its state, in microseconds since the Unix epoch: since when it is ready or dead, when its time comes
    /// or it is retried, until when it is leased, or when it was done; 0 for an event that is behind another one.
    pub state_at_us: Timestamp,
    /// The token of its last delivery; zeros if it was never delivered.
    pub token: Token,
    /// It was received as a suspect, and its processing has not started.
    pub(super) is_unbegun: bool,
}

/// The headers and the payload of a body.
fn split_body(body: &[u8]) -> Result<(Headers, &[u8])> {
    let corrupt = || Error::new(ErrorKind::Corrupt, "the body of an event does not decode");
    let (length, rest) = body.split_first_chunk().ok_or_else(corrupt)?;
    let length = u16::from_be_bytes(*length).into();
    let (headers, payload) = rest.split_at_checked(length).ok_or_else(corrupt)?;
    Ok((Headers::of_stored(headers)?, payload))
}

/// The name of an event: its key and its deduplication id, each after its length.
fn name_of(key: &[u8], dedup_id: &str) -> Vec<u8> {
    let mut name = Vec::with_capacity(3 + key.len() + dedup_id.len());
    name.extend((key.len() as u16).to_be_bytes());
    name.extend_from_slice(key);
    name.push(dedup_id.len() as u8);
    name.extend_from_slice(dedup_id.as_bytes());
    name
}

/// The head of an event: all but its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) flags: u8,
    pub(super) fire_at_us: Timestamp,
    pub(super) published_at_us: Timestamp,
    /// 0 for never.
    pub(super) expires_at_us: Timestamp,
    /// Until when its name is remembered; 0 for an event without a name.
    pub(super) named_until: Timestamp,
    pub(super) key: Arc<[u8]>,
    /// Empty for none.
    pub(super) dedup_id: Arc<str>,
}

impl Head {
    pub(super) fn name(&self) -> Vec<u8> {
        name_of(&self.key, &self.dedup_id)
    }

    pub(super) fn is(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// As scripts store it, for an event whose body has `body_bytes` bytes.
    pub(super) fn packed(&self, body_bytes: usize) -> Vec<u8> {
        let mut packed = vec![1, self.flags];
        for time in [self.fire_at_us, self.published_at_us, self.expires_at_us, self.named_until] {
            packed.extend(time.to_be_bytes());
        }
        packed.extend(self.name());
        packed.extend((body_bytes as u32).to_be_bytes());
        packed
    }

    /// The head and the short body that follows it, as a script returned them.
    pub(super) fn split(stored: &[u8]) -> Option<(Self, &[u8])> {
        let (format, rest) = stored.split_first()?;
        let (flags, rest) = rest.split_first()?;
        let (times, rest) = rest.split_first_chunk::<32>()?;
        let time = |at: usize| Some(u64::from_be_bytes(times[8 * at..][..8].try_into().ok()?));
        let (length, rest) = rest.split_first_chunk()?;
        let (key, rest) = rest.split_at_checked(u16::from_be_bytes(*length).into())?;
        let (length, rest) = rest.split_first()?;
        let (dedup_id, rest) = rest.split_at_checked((*length).into())?;
        let (_, body) = rest.split_first_chunk::<4>()?;
        let dedup_id = std::str::from_utf8(dedup_id).ok()?.into();
        let (fire_at_us, published_at_us) = (time(0)?, time(1)?);
        let (expires_at_us, named_until) = (time(2)?, time(3)?);
        let head = Self {
            flags: *flags,
            fire_at_us,
            published_at_us,
            expires_at_us,
            named_until,
            key: key.into(),
            dedup_id,
        };
        (*format == 1).then_some((head, body))
    }

    /// The event with this head and this body.
    pub(super) fn event(
        &self,
        id: EventId,
        body: &[u8],
        delivery: &Delivery,
        (state, state_at_us): Place,
    ) -> Result<Event> {
        let (headers, payload) = split_body(body)?;
        Ok(Event {
            id,
            key: self.key.clone(),
            payload: payload.into(),
            headers,
            fire_at_us: self.fire_at_us,
            published_at_us: self.published_at_us,
            expires_at_us: (self.expires_at_us > 0).then_some(self.expires_at_us),
            dedup_id: self.is(flag::NAMED).then(|| self.dedup_id.clone()),
            attempts: delivery.counts.attempts,
            crashes: delivery.counts.crashes,
            redriven: delivery.counts.redriven,
            err: delivery.err.clone(),
            reason: delivery.reason,
            state,
            state_at_us,
            token: delivery.token,
            is_unbegun: delivery.is_unbegun,
        })
    }
}

impl Event {
    /// The event that a script returned: its id, its state, its head, followed by its body if that is short, and its
    /// body if that is long.
    pub(super) fn decode(replies: &mut Replies, place: Place) -> Result<Self> {
        let id = EventId::of_bytes(&replies.next()?.bytes()?).ok_or_else(malformed)?;
        let unknown = || Error::new(ErrorKind::Corrupt, "the head of an event does not decode");
        let delivery = Delivery::unpack(&replies.next()?.bytes()?).ok_or_else(unknown)?;
        let (stored, long) = (replies.next()?.bytes()?, replies.next()?.bytes()?);
        let (head, short) = Head::split(&stored).ok_or_else(unknown)?;
        head.event(id, if head.is(flag::LONG) { &long } else { short }, &delivery, place)
    }
}
