//! What the embedded engine does as a whole.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::runtime::clock::SystemClock;
use crate::tasks::{Modification, NewTask};
use crate::{Clock, Options};

/// A clock that can be set forward and does not tell of it, as the system's does not.
#[derive(Default)]
struct SetClock {
    system: SystemClock,
    ahead: AtomicU64,
}

impl Clock for SetClock {
    fn now(&self) -> u64 {
        self.system.now() + self.ahead.load(Ordering::Relaxed)
    }
}

#[test]
fn a_clock_that_is_set_forward_wakes_whoever_waits_for_a_task_of_later() {
    let clock = Arc::new(SetClock::default());
    let client = Options::parse("memory:").unwrap().clock(clock.clone()).connect().unwrap();
    let store = client.tasks("shop");
    let later = NewTask::new("inbox").after(Duration::from_secs(3600));
    store.modify(Modification::new().insert(later)).unwrap();
    let (begun, wait) = std::sync::mpsc::channel();
    let claiming = std::thread::spawn(move || {
        let mut claims = store.claims(["inbox"]).wait(Duration::from_secs(30));
        begun.send(()).unwrap();
        claims.next().transpose().unwrap()
    });
    wait.recv().unwrap();
    // Until it waits, there is nothing to jump over.
    std::thread::sleep(Duration::from_millis(300));
    let jumped = Instant::now();
    clock.ahead.store(3_600_000_000, Ordering::Relaxed);
    assert!(claiming.join().unwrap().is_some(), "it slept through the jump");
    assert!(jumped.elapsed() < Duration::from_secs(20));
}

/// A record that says of itself that it has more than any memory holds is refused, whatever it is a
/// record of: nothing is believed beyond the bytes that are there.
#[test]
fn counts_and_lengths_of_records_are_not_believed() {
    let numbers: [&[u8]; 4] = [
        // 2^31, 2^62, 2^64 - 1 and, for what is read as eight bytes, all bits.
        &[0x80, 0x80, 0x80, 0x80, 0x08],
        &[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40],
        &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
        &[0xff; 8],
    ];
    for kind in crate::kinds() {
        for tag in 0..=u8::MAX {
            for number in numbers {
                for small in 0..12 {
                    // The number stands behind some that are small.
                    let record = [&[tag][..], &vec![1; small], &number.repeat(3)].concat();
                    for sequence in [None, Some(1)] {
                        let state = crate::queues::empty_state(kind.number).unwrap();
                        if let Err(error) = state.replay(&record, sequence) {
                            assert_ne!(error.kind(), crate::ErrorKind::Internal, "{error}");
                        }
                    }
                }
            }
        }
    }
}
