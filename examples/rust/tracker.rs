//! What a queue tracker is for: a page asks which customers have work queued, and the work is in a database, where nobody
//! could ask that quickly. The pages themselves keep the tracker up to date, in small slices.
//!
//! `cargo run -p millpond-examples --example tracker [URL]`

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::Duration;

use millpond::recruiter::{NewJob, Slice};
use millpond::tracker::{LIMIT_DEFAULT, ROUND_DEFAULT};
use rusqlite::Connection;

const MILLISECOND: Duration = Duration::from_millis(1);

type AnyError = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), AnyError> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "memory:".to_owned());
    let client = millpond::connect(&url)?;
    // Of its own for each run.
    let run = std::process::id();
    let tracker = client.queue_tracker(format!("examples/customers/{run}"));

    let database = Connection::open_in_memory()?;
    database
        .execute_batch("create table work(number integer primary key, customer text not null)")?;
    for number in 0..100 {
        let customer = format!("customer {}", number % 10);
        database.execute("insert into work(customer) values (?1)", [customer])?;
    }
    let database = Arc::new(Mutex::new(database));
    // Which of these customers have a row.
    let have_rows =
        |database: &Connection, ids: &[Vec<u8>]| -> rusqlite::Result<BTreeSet<String>> {
            let mut query =
                database.prepare("select exists(select 1 from work where customer = ?1)")?;
            let mut found = BTreeSet::new();
            for id in ids {
                let customer = String::from_utf8_lossy(id).into_owned();
                if query.query_row([&customer], |row| row.get(0))? {
                    found.insert(customer);
                }
            }
            Ok(found)
        };

    let recruiter = client.recruiter(format!("examples/shop/{run}"));
    recruiter.set_duty_max(1.0)?; // the pages of this program do nothing else
    // One scan and one prune at a time, in all processes of the shop together.
    let (rows, ids) = (database.clone(), tracker.clone());
    let scan = NewJob::new("scan").per_second(200.0).max_running(1);
    recruiter.install(scan, move |slice: &Slice| {
        let scanned = ids.scan(LIMIT_DEFAULT, ROUND_DEFAULT, |after, limit| {
            let after: i64 = after.map_or(0, |row| row.parse().expect("a number of a row"));
            let database = rows.lock().expect("no slice panics");
            let mut query = database.prepare(
                "select number, customer from work where number > ?1 order by number limit ?2",
            )?;
            let page = query.query_map([after, limit as i64], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
            })?;
            page.collect::<rusqlite::Result<Vec<_>>>()
        })?;
        if scanned.more {
            slice.more(); // so that the job does not slow down
        }
        Ok(scanned.rows)
    })?;
    let (rows, ids) = (database.clone(), tracker.clone());
    let prune = NewJob::new("prune").per_second(200.0).max_running(1);
    recruiter.install(prune, move |slice: &Slice| {
        let pruned = ids.prune(LIMIT_DEFAULT, |ids| {
            let queued = have_rows(&rows.lock().expect("no slice panics"), ids)?;
            let is_done = |id: &&Vec<u8>| !queued.contains(&*String::from_utf8_lossy(id));
            Ok::<_, rusqlite::Error>(ids.iter().filter(is_done).cloned().collect())
        })?;
        if pruned.removed > 0 {
            slice.more();
        }
        Ok(pruned.removed)
    })?;

    let tracked = || -> millpond::Result<Vec<usize>> {
        let customers: Vec<String> = (0..=10).map(|number| format!("customer {number}")).collect();
        let are_queued = tracker.are_queued(&customers)?;
        Ok((0..=10).filter(|number| are_queued[*number]).collect())
    };
    let enlist_until = |expected: &[usize]| -> millpond::Result<()> {
        while tracked()? != expected {
            // A page is sent to its visitor here; then:
            recruiter.enlist();
            sleep(MILLISECOND);
        }
        Ok(())
    };
    enlist_until(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9])?;

    // The work of four customers is done, and there is work for another one. Its row first, and then its id.
    let work = database.lock().expect("no slice panics");
    work.execute_batch(
        "delete from work where customer in
        ('customer 1', 'customer 3', 'customer 5', 'customer 7')",
    )?;
    work.execute("insert into work(customer) values ('customer 10')", [])?;
    drop(work);
    tracker.add(["customer 10"])?;
    assert!(tracker.is_queued("customer 10")?);
    enlist_until(&[0, 2, 4, 6, 8, 9, 10])?;
    assert_eq!(tracker.len()?, 7);
    recruiter.stop();
    println!("7 of 11 customers have work queued, as the database says");
    client.close()?;
    Ok(())
}
