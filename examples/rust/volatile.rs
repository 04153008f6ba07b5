//! What a volatile hash is for: sessions that expire, each at its own time, and pages that many ask for and one
//! computes.
//!
//! `cargo run -p millpond-examples --example volatile [URL]`

use std::time::Duration;

use millpond::ErrorKind;
use millpond::volatile::FieldQuery;

const MINUTE: Duration = Duration::from_secs(60);

fn main() -> millpond::Result<()> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "memory:".to_owned());
    let client = millpond::connect(&url)?;
    // Hashes of their own for each run.
    let run = std::process::id();
    let sessions = client.volatile_hash(format!("examples/sessions/{run}"));
    let pages = client.volatile_hash(format!("examples/pages/{run}"));

    // A session lives for half an hour after it was last used.
    assert!(sessions.set_if_absent("ann", "cart 3", MINUTE * 30)?);
    assert!(!sessions.set_if_absent("ann", "cart 4", MINUTE * 30)?);
    sessions.set_many([("bob", "cart 5"), ("cy", "cart 6")], MINUTE * 10)?;
    assert!(sessions.touch("bob", MINUTE * 30)?);
    assert_eq!(sessions.get_many(["ann", "dee"])?, [Some(b"cart 3".to_vec()), None]);

    // Those first that expire first.
    let first = sessions.fields(FieldQuery::new().limit(1))?;
    assert_eq!(first.fields[0].field, b"cy");
    let next = first.next.expect("there are more");
    let rest = sessions.fields(FieldQuery::new().after(next).omit_values())?;
    assert_eq!([&*rest.fields[0].field, &*rest.fields[1].field], [b"ann", b"bob"]);

    // Two requests ask for a page that is not there: one of them computes it, the other one waits.
    let fence = pages.get_or_acquire("/", "req-1", MINUTE)?.fence.expect("the lock is free");
    assert!(pages.get_or_acquire("/", "req-2", MINUTE)?.remaining.is_some());
    pages.set_and_release("/", "req-1", "<h1>Shop</h1>", MINUTE * 10)?;
    let page = pages.get_or_acquire("/", "req-2", MINUTE)?.value.expect("it is there now");
    println!("req-2 shows {}", String::from_utf8_lossy(&page));

    // One that was stopped for too long has lost its lock to another one, whose fence is higher.
    pages.acquire("/prices", "req-1", Duration::from_millis(1))?;
    let second = loop {
        if let Some(fence) = pages.acquire("/prices", "req-2", MINUTE)?.fence {
            break fence;
        }
    };
    assert!(second > fence);
    match pages.set_and_release("/prices", "req-1", "old prices", MINUTE * 10) {
        Err(error) if error.kind() == ErrorKind::LeaseLost => println!("req-1 sets no old prices"),
        other => panic!("it has lost its lock, but got {other:?}"),
    }
    pages.set_and_release("/prices", "req-2", "new prices", MINUTE * 10)?;
    assert_eq!(pages.get("/prices")?, Some(b"new prices".to_vec()));

    // Nothing is left.
    assert_eq!((sessions.clear()?, pages.clear()?), (3, 2));
    client.close()
}
