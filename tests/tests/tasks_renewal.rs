//! A job keeps its lease through lost answers and a server that is away for a while.

use std::time::{Duration, Instant};

use millpond::ErrorKind;
use millpond::tasks::{Filter, Modification, NewDoc};
use millpond_tests::proxy::Proxy;
use millpond_tests::servers::Redis;

#[test]
fn a_renewal_whose_answer_is_lost_is_no_lost_lease() {
    let server = Redis::start();
    let proxy = Proxy::start(server.port());
    let client = millpond::connect(&proxy.url()).unwrap();
    let store = client.tasks("s");
    store.insert("q", "1").unwrap();
    store.modify(Modification::new().insert_doc(NewDoc::new("n", "k").id("d"))).unwrap();
    let worker = store.worker(["q"]).lease(Duration::from_secs(1));
    let job = worker.jobs().next().unwrap().unwrap();
    let docs = job.claim_docs("n", "k").unwrap();
    // The next answer is that to a renewal: nothing else is under way.
    let before = proxy.swallowed();
    proxy.swallow_next_answer();
    let start = Instant::now();
    while proxy.swallowed() == before {
        assert!(start.elapsed() < Duration::from_secs(30), "nothing was renewed");
        std::thread::sleep(Duration::from_millis(5));
    }
    let seen = job.handle().version;
    while job.handle().version < seen + 2 {
        assert!(start.elapsed() < Duration::from_secs(30), "it is not renewed any more");
        assert!(!job.is_lost());
        std::thread::sleep(Duration::from_millis(5));
    }
    let done =
        job.finish(job.delete().change_doc(docs[0].change().content("1").release())).unwrap();
    assert_eq!(done.changed_docs[0].content.as_deref(), Some("1"));
    assert!(store.queues(Filter::new()).unwrap().is_empty());
}

#[test]
fn a_job_whose_server_is_away_for_longer_than_the_lease_is_lost() {
    let server = Redis::builder().appendonly_always().start();
    let url = format!("{}?timeout=200ms&retries=0", server.url());
    let store = millpond::connect(&url).unwrap().tasks("s");
    store.insert("q", "1").unwrap();
    let worker = store.worker(["q"]).lease(Duration::from_millis(600));
    let job = worker.jobs().next().unwrap().unwrap();
    server.kill();
    let start = Instant::now();
    while !job.is_lost() {
        assert!(start.elapsed() < Duration::from_secs(30));
        std::thread::sleep(Duration::from_millis(5));
    }
    server.restart();
    // Another one claims it, and then the first can do nothing any more.
    let other = millpond::connect(&server.url()).unwrap().tasks("s").claimant("other");
    let mut claims = other.claims(["q"]).wait(Duration::from_secs(30));
    assert_eq!(claims.next().unwrap().unwrap()[0].claims, 2);
    assert_eq!(job.done().unwrap_err().kind(), ErrorKind::Dependency);
}
