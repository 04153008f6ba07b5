//! The consumers of the Redis test: one for each Ick, by each of the ways to write a loop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use millpond::ick::{Batch, Batches, Entry, Ick};
use millpond::{Async, Blocking, Error, ErrorKind, Result, Retry};
use millpond_tests::block_on;

use crate::clock;
use crate::ledger::{Delivery, Nanos};
use crate::producer::ick_name;
use crate::watchdog;

/// Members in a batch at most. It never changes, so a batch is all that is reserved.
const BATCH: u64 = 50;

/// How long a loop that can wait for work waits for it.
pub(crate) const WAIT: Duration = Duration::from_millis(200);

/// What one consumer received.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) deliveries: Vec<(String, Delivery)>,
    pub(crate) errors: Vec<ErrorKind>,
    pub(crate) longest: Duration,
    pub(crate) batches: u64,
}

/// A consumer at work on an Ick until there is nothing left after `is_over` was set.
pub(crate) fn start(
    url: &str,
    ick: usize,
    is_over: Arc<AtomicBool>,
) -> Result<JoinHandle<Result<Log>>> {
    let client = millpond::connect(url)?;
    let name = ick_name(ick);
    Ok(std::thread::spawn(move || match ick % 3 {
        0 => consume(ByHand { ick: client.ick(name), done: Vec::new() }, &is_over),
        1 => consume(Loop::new(client.ick(name)), &is_over),
        _ => consume(Stream::new(client.to_async().ick(name)), &is_over),
    }))
}

/// One of the ways to get the next batch, which commits the one before; empty when there is none.
trait Source {
    fn next(&mut self) -> Result<Vec<Entry>>;
}

/// Exchanges, as a program without the loop would.
struct ByHand {
    ick: Ick,
    done: Vec<Vec<u8>>,
}

impl Source for ByHand {
    fn next(&mut self) -> Result<Vec<Entry>> {
        let result = self.ick.exchange(BATCH, &self.done);
        match &result {
            Ok(entries) => self.done = entries.iter().map(|entry| entry.member.clone()).collect(),
            // The exchange may have reserved some of these members anew: only what the next
            // batch contains may be committed.
            Err(error) if error.retry() == Retry::Unknown => self.done.clear(),
            Err(_) => {}
        }
        result
    }
}

/// The blocking loop of the library.
struct Loop {
    ick: Ick,
    batches: Batches<Blocking>,
}

impl Loop {
    fn new(ick: Ick) -> Self {
        Self { batches: ick.batches(BATCH), ick }
    }
}

impl Source for Loop {
    fn next(&mut self) -> Result<Vec<Entry>> {
        match self.batches.next() {
            Some(batch) => batch.map(Batch::into_iter).map(Iterator::collect),
            None => {
                self.batches = self.ick.batches(BATCH).wait(WAIT);
                Ok(Vec::new())
            }
        }
    }
}

/// The stream of the library.
struct Stream {
    ick: Ick<Async>,
    batches: Batches<Async>,
}

impl Stream {
    fn new(ick: Ick<Async>) -> Self {
        Self { batches: ick.batches(BATCH), ick }
    }
}

impl Source for Stream {
    fn next(&mut self) -> Result<Vec<Entry>> {
        match block_on(self.batches.next()) {
            Some(batch) => batch.map(Batch::into_iter).map(Iterator::collect),
            None => {
                self.batches = self.ick.batches(BATCH).wait(WAIT);
                Ok(Vec::new())
            }
        }
    }
}

fn consume(mut source: impl Source, is_over: &AtomicBool) -> Result<Log> {
    let mut log = Log::default();
    // The batch whose commit is not known yet.
    let mut held: Option<(Delivery, Vec<Entry>)> = None;
    let mut asked: Option<Nanos> = None;
    loop {
        // Producers are gone when this is set, so what is empty now stays empty.
        let is_last = is_over.load(Ordering::Acquire);
        let first_asked = *asked.get_or_insert_with(clock::now);
        let started = Instant::now();
        let result = source.next();
        log.longest = log.longest.max(started.elapsed());
        match result {
            Ok(entries) => {
                watchdog::alive();
                log.settle(held.take(), true);
                if entries.is_empty() && is_last {
                    return Ok(log);
                }
                if !entries.is_empty() {
                    let returned = clock::now();
                    let delivery = Delivery { asked: first_asked, returned, committed: false };
                    held = Some((delivery, entries));
                    log.batches += 1;
                }
                asked = None;
            }
            Err(error) => match error.retry() {
                Retry::Never => return Err(unexpected(error)),
                Retry::Later => log.errors.push(error.kind()),
                Retry::Unknown => {
                    log.errors.push(error.kind());
                    log.settle(held.take(), false);
                }
            },
        }
    }
}

impl Log {
    fn settle(&mut self, held: Option<(Delivery, Vec<Entry>)>, committed: bool) {
        let Some((delivery, entries)) = held else { return };
        self.deliveries.extend(entries.into_iter().map(|entry| {
            let member = String::from_utf8_lossy(&entry.member).into_owned();
            (member, Delivery { committed, ..delivery })
        }));
    }
}

fn unexpected(error: Error) -> Error {
    Error::new(error.kind(), format!("a consumer got {error:?}"))
}
