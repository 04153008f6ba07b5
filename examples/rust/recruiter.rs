//! What a recruiter is for: work in the background with no process of its own. The pages of a site remove expired
//! carts and send mails, a little after each page.
//!
//! `cargo run -p millpond-examples --example recruiter [URL]`

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::Duration;

use millpond::recruiter::{NewJob, Slice, Why};

const MILLISECOND: Duration = Duration::from_millis(1);

fn main() -> millpond::Result<()> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "memory:".to_owned());
    let client = millpond::connect(&url)?;
    // Of its own for each run.
    let run = std::process::id();
    let carts = client.volatile_hashes(format!("examples/carts/{run}"), 16);
    for customer in 0..100 {
        carts.hash(format!("customer {customer}")).set("book", "1", MILLISECOND)?;
    }
    let outbox: VecDeque<_> = (0..20).map(|number| format!("mail {number}")).collect();
    let outbox = Arc::new(Mutex::new(outbox));

    let recruiter = client.recruiter(format!("examples/site/{run}"));
    recruiter.set_duty_max(1.0)?; // the pages of this program do nothing else
    let has_failed = Arc::new(AtomicBool::new(false));
    let failed = has_failed.clone();
    recruiter.on_error(move |job, error| {
        // Without a job it is the server's: it did not respond in time.
        if job == Some("report") {
            assert_eq!(error.to_string(), "no database");
            failed.store(true, Ordering::Relaxed);
        }
    });

    // 200 slices a second, in all processes of the site together. A slice takes up to 20 ms.
    let removed = Arc::new(AtomicU64::new(0));
    let gone = removed.clone();
    let reap = NewJob::new("reap").per_second(200.0).budget(MILLISECOND * 20);
    recruiter.install(reap, move |slice: &Slice| {
        let mut count = 0;
        while !slice.is_over() {
            let reaped = carts.reap(10)?;
            count += reaped.fields;
            if !reaped.more {
                break;
            }
            slice.more(); // so that the job does not slow down
        }
        gone.fetch_add(count, Ordering::Relaxed);
        Ok(count) // 0 says that there was nothing to do: the job then runs less often
    })?;

    // One page in two, by a lottery in the process.
    let mails = outbox.clone();
    recruiter.install(NewJob::new("mail").share(0.5), move |_: &Slice| {
        let mail = mails.lock().expect("no slice panics").pop_front();
        Ok(mail.map_or(0, |_mail| 1)) // send it
    })?;

    // A job that fails, fails no page.
    let report = |_: &Slice| Err("no database".into());
    recruiter.install(NewJob::new("report").share(0.1), report)?;

    while removed.load(Ordering::Relaxed) < 100
        || !outbox.lock().expect("no slice panics").is_empty()
        || !has_failed.load(Ordering::Relaxed)
    {
        // A page is sent to its visitor here; then:
        let duty = recruiter.enlist();
        assert!(!duty.recruited || duty.why == Why::Worked);
        sleep(MILLISECOND);
    }
    recruiter.stop();
    assert_eq!(recruiter.enlist().why, Why::Stopped);
    assert_eq!(removed.load(Ordering::Relaxed), 100);
    println!("100 carts were removed and 20 mails sent, and no page failed");

    // What the processes have reported, a moment later.
    let items = |id: &str| -> millpond::Result<u64> {
        let stats = recruiter.stats()?;
        Ok(stats.jobs.iter().find(|job| job.job == id).map_or(0, |job| job.items))
    };
    while (items("reap")?, items("mail")?) != (100, 20) {
        sleep(MILLISECOND);
    }
    client.close()
}
