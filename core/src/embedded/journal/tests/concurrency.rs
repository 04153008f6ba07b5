//! Many callers, blocking and not, and the interval.

use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};

use super::*;

fn many_threads(sync: SyncMode) {
    let dir = tempfile::tempdir().unwrap();
    let (journal, _, _) = open_with(dir.path(), options(sync)).unwrap();
    let order = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for thread in 0..16_u32 {
            let (journal, order) = (&journal, &order);
            scope.spawn(move || {
                for i in 0..100_u32 {
                    let record = [thread.to_le_bytes(), i.to_le_bytes()].concat();
                    let ticket = {
                        // As the engine does it: what orders the steps orders the appends.
                        let mut order = order.lock().unwrap();
                        let ticket = journal.append(&record);
                        order.push((Source::Log(ticket.sequence()), record));
                        ticket
                    };
                    if i % 3 == 0 {
                        let (send, receive) = mpsc::channel();
                        journal.when_durable(ticket, Box::new(move |r| send.send(r).unwrap()));
                        receive.recv().unwrap().unwrap();
                    } else {
                        journal.wait(ticket).unwrap();
                    }
                }
            });
        }
    });
    let mut order = order.into_inner().unwrap();
    order.sort_by_key(|(source, _)| match source {
        Source::Log(sequence) => *sequence,
        Source::Snapshot => 0,
    });
    let (_copy, recovery, records) = open(crash(dir.path()).path()).unwrap();
    assert!(records == order, "replayed in another order");
    assert_eq!(recovery.torn_bytes, 0);
}

#[test]
fn many_threads_are_replayed_in_the_order_of_their_appends() {
    many_threads(SyncMode::Always);
    many_threads(SyncMode::Every(Duration::from_millis(1)));
    many_threads(SyncMode::Never);
}

#[test]
fn a_wait_for_a_later_record_covers_the_earlier_ones() {
    let dir = tempfile::tempdir().unwrap();
    let (journal, _, _) = open(dir.path()).unwrap();
    let first = journal.append(b"first");
    put(&journal, "second");
    // It returns at once, on this thread.
    let (send, receive) = mpsc::channel();
    journal.when_durable(first, Box::new(move |result| send.send(result).unwrap()));
    receive.try_recv().unwrap().unwrap();
    assert_eq!(journal.writer.durable(), 3);
}

#[test]
fn the_interval_puts_the_log_on_disk_by_itself() {
    let dir = tempfile::tempdir().unwrap();
    let sync = SyncMode::Every(Duration::from_millis(20));
    let (journal, _, _) = open_with(dir.path(), options(sync)).unwrap();
    for _ in 0..3 {
        let sequence = put(&journal, "soon");
        let limit = Instant::now() + Duration::from_secs(20);
        while journal.writer.durable() <= sequence {
            assert!(Instant::now() < limit, "the interval passed and nothing was synced");
            std::thread::yield_now();
        }
    }
}

#[test]
fn an_endless_interval_is_never_over() {
    let dir = tempfile::tempdir().unwrap();
    let sync = SyncMode::Every(Duration::MAX);
    let (journal, _, _) = open_with(dir.path(), options(sync)).unwrap();
    put(&journal, "some day");
    assert_eq!(journal.writer.durable(), 1);
    journal.close().unwrap();
    assert_eq!(open(dir.path()).unwrap().2, log(1, ["some day"]));
}

#[test]
fn a_close_settles_every_wait() {
    let dir = tempfile::tempdir().unwrap();
    let (journal, _, _) = open(dir.path()).unwrap();
    let (send, receive) = mpsc::channel();
    for i in 0..100_u32 {
        let ticket = journal.append(&i.to_le_bytes());
        let send = send.clone();
        journal.when_durable(ticket, Box::new(move |result| send.send(result).unwrap()));
    }
    journal.close().unwrap();
    drop(send);
    assert_eq!(receive.iter().filter(Result::is_ok).count(), 100);
    let (send, receive) = mpsc::channel();
    let late = journal.append(b"late");
    journal.when_durable(late, Box::new(move |result| send.send(result).unwrap()));
    assert_eq!(receive.recv().unwrap().unwrap_err().kind(), ErrorKind::Closed);
}

#[test]
fn a_callback_may_panic_or_drop_the_journal() {
    let dir = tempfile::tempdir().unwrap();
    let (journal, _, _) = open(dir.path()).unwrap();
    let journal = std::sync::Arc::new(journal);
    let (send, receive) = mpsc::channel();
    let ticket = journal.append(b"one");
    journal.when_durable(ticket, Box::new(|_| panic!("a caller's bug; this message is expected")));
    let again = std::sync::Arc::clone(&journal);
    let ticket = journal.append(b"two");
    drop(journal);
    let last = std::sync::Arc::clone(&again);
    again.when_durable(
        ticket,
        Box::new(move |result| {
            drop(last);
            send.send(result).unwrap();
        }),
    );
    drop(again);
    receive.recv().unwrap().unwrap();
    // The thread that dropped the last handle has closed it by now, or is about to.
    let limit = Instant::now() + Duration::from_secs(20);
    let records = loop {
        match open(dir.path()) {
            Ok(found) => break found.2,
            Err(error) => assert_eq!(error.kind(), ErrorKind::Locked),
        }
        assert!(Instant::now() < limit, "the journal was never closed");
    };
    assert_eq!(records, log(1, ["one", "two"]));
}
