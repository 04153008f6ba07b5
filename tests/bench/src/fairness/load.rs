//! The load: light tenants, a heavy one, and consumers that are slower than it.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use millpond::shuffle::ShuffleQueue;
use millpond_tests::clock;
use millpond_tests::servers::Redis;
use millpond_tests::waiting::fields;

use crate::Outcome;
use crate::measure::Ending;
use crate::plot::Pickup;

pub(super) const TENANTS: usize = 32;

/// Each of the light tenants writes one message per second.
pub(super) const HEAVY_PER_SECOND: usize = 1_000;

pub(super) const DURATION: Duration = Duration::from_secs(30);

pub(super) const CONSUMERS: usize = 4;

/// How long a consumer works on a message.
pub(super) const WORK: Duration = Duration::from_millis(5);

/// How often the heavy tenant writes a batch.
const TICK: Duration = Duration::from_millis(10);

pub(super) struct Load {
    pub(super) streams: u32,
    pub(super) heavy: bool,
}

impl Load {
    /// Lays the load on a queue of `server`, until all light messages are picked up.
    pub(super) fn run(&self, server: &Redis) -> Outcome<Vec<Pickup>> {
        let client = millpond::connect(&server.url())?;
        let per_shard = self.streams.min(4);
        let queue = client.shuffle_queue("q").streams(self.streams).streams_per_shard(per_shard);
        let (pickups, picked) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
        let is_over = AtomicBool::new(false);
        let (began, began_ns) = (Instant::now(), clock::now());
        let light = (TENANTS - 1) * DURATION.as_secs() as usize;
        std::thread::scope(|scope| {
            let _ending = Ending(&is_over);
            for number in 0..CONSUMERS {
                let consumer = queue.consumer("g", number.to_string());
                let (pickups, picked, is_over) = (&pickups, &picked, &is_over);
                scope.spawn(move || -> Result<(), millpond::Error> {
                    let mut messages = consumer.messages(1).wait(Duration::from_millis(500));
                    while !is_over.load(Ordering::Relaxed) {
                        let Some(batch) = messages.next() else { continue };
                        let now = clock::now();
                        for message in &batch? {
                            let at = message.field("at").map(String::from_utf8_lossy);
                            if let Some(at) = at.and_then(|at| at.parse::<u64>().ok()) {
                                let delay = Duration::from_nanos(now.saturating_sub(at));
                                let at = Duration::from_nanos(at - began_ns);
                                let mut pickups = pickups.lock().expect("nobody panicked");
                                pickups.push(Pickup { at, delay });
                                picked.fetch_add(1, Ordering::Relaxed);
                            }
                            std::thread::sleep(WORK);
                            consumer.ack_and_delete([message])?;
                        }
                    }
                    Ok(())
                });
            }
            let heavy = self.heavy.then(|| {
                let queue = queue.clone();
                scope.spawn(move || write_heavy(&queue, began))
            });
            let written = write_light(&queue, began, light);
            let heavy = heavy.map(|thread| thread.join().expect("no panic")).unwrap_or(Ok(()));
            let mut last = (0, Instant::now());
            loop {
                std::thread::sleep(Duration::from_millis(20));
                let count = picked.load(Ordering::Relaxed);
                if count > last.0 {
                    last = (count, Instant::now());
                }
                if count == light || last.1.elapsed() > Duration::from_secs(60) {
                    break;
                }
            }
            written.and(heavy)
        })?;
        let pickups = pickups.into_inner()?;
        match pickups.len() == light {
            true => Ok(pickups),
            false => Err(format!("{} of {light} messages were picked up", pickups.len()).into()),
        }
    }
}

fn sleep_until(began: Instant, at: Duration) {
    std::thread::sleep(at.saturating_sub(began.elapsed()));
}

/// The light tenants' messages, one after the other, evenly but for a little.
fn write_light(queue: &ShuffleQueue, began: Instant, count: usize) -> Result<(), millpond::Error> {
    let each = DURATION / count as u32;
    for number in 0..count {
        // Off the beat of the heavy tenant's batches.
        let jitter = each * (number as u32 * 7_919 % 1_000) / 1_000;
        sleep_until(began, each * number as u32 + jitter);
        let tenant = format!("tenant-{}", 1 + number % (TENANTS - 1));
        queue.write(tenant, fields(number as u64))?;
    }
    Ok(())
}

fn write_heavy(queue: &ShuffleQueue, began: Instant) -> Result<(), millpond::Error> {
    let per_tick = HEAVY_PER_SECOND * TICK.as_millis() as usize / 1_000;
    let ticks = DURATION.as_millis() / TICK.as_millis();
    for tick in 0..ticks {
        sleep_until(began, TICK * tick as u32);
        queue.write_many((0..per_tick).map(|_| ("tenant-0", [("task", "resize")])))?;
    }
    Ok(())
}
