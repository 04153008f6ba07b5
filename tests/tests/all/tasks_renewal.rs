//! A job keeps its lease through lost replies and a server that is down for a while.

use std::time::{Duration, Instant};

use millpond::ErrorKind;
use millpond::tasks::{DocQuery, Filter, Job, Modification, NewDoc, TaskStore};
use millpond_tests::proxy::Proxy;
use millpond_tests::servers::Redis;

/// A server, a proxy in front of it that can lose a reply, and a store there that has one task and the
/// documents of one key.
fn store_behind_a_proxy() -> (Redis, Proxy, TaskStore) {
    let server = Redis::start();
    let proxy = Proxy::start(server.port());
    let store = store_with_a_task(&renewing_often(&proxy.url()));
    (server, proxy, store)
}

/// A lease that no machine is too slow to renew in time.
const LEASE: Duration = Duration::from_secs(20);

/// The address for a client that renews leases often, so that a test need not wait for a third of one, and that
/// gives a lost reply up soon.
fn renewing_often(url: &str) -> String {
    format!("{url}?renew_every=100ms&timeout=1s")
}

fn store_with_a_task(url: &str) -> TaskStore {
    let store = millpond::connect(url).expect("the address is one").tasks("s");
    store.insert("q", "1").expect("the server is there");
    let doc = NewDoc::new("n", "k").id("d");
    store.modify(Modification::new().insert_doc(doc)).expect("the server is there");
    store
}

/// Loses the reply to a renewal of this job. The one before it succeeded, so there is a connection
/// which knows the script, and no other reply is lost.
fn lose_a_reply(proxy: &Proxy, job: &Job) {
    let wait_until = |is_so: &dyn Fn() -> bool| {
        let start = Instant::now();
        while !is_so() {
            assert!(start.elapsed() < Duration::from_secs(30), "nothing was renewed");
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    let (version, swallowed) = (job.handle().version, proxy.swallowed());
    wait_until(&|| job.handle().version > version);
    proxy.lose_next_reply();
    wait_until(&|| proxy.swallowed() > swallowed);
}

/// It ends while the lost reply is not yet noticed, or a moment later, before the next renewal.
#[test]
fn a_job_can_end_when_the_reply_to_its_last_renewal_is_lost() {
    let (_server, proxy, store) = store_behind_a_proxy();
    for pause in [0, 0, 30, 30] {
        let worker = store.worker(["q"]).lease(LEASE);
        let job = worker.jobs().next().unwrap().unwrap();
        let docs = job.claim_docs("n", ["k"]).unwrap();
        assert_eq!(docs.len(), 1);
        lose_a_reply(&proxy, &job);
        std::thread::sleep(Duration::from_millis(pause));
        job.release_after(Duration::ZERO).unwrap();
        let docs = store.list_docs("n", DocQuery::new()).unwrap().docs;
        assert!(docs.iter().all(|doc| doc.claimant.is_empty()), "{docs:?}");
    }
    assert_eq!(store.queues(Filter::new()).unwrap()[0].1, 1);
}

/// The job claims its documents again and again, so that renewals meet them with older versions.
#[test]
fn a_job_that_claims_its_documents_again_keeps_its_lease() {
    let server = Redis::start();
    let store = store_with_a_task(&renewing_often(&server.url()));
    let job = store.worker(["q"]).lease(LEASE).jobs().next().unwrap().unwrap();
    let first = job.handle().version;
    while job.handle().version < first + 20 {
        job.claim_docs("n", ["k"]).unwrap();
        assert!(!job.is_lost());
        std::thread::sleep(Duration::from_millis(1));
    }
    job.done().unwrap();
}

#[test]
fn a_renewal_whose_reply_is_lost_is_no_lost_lease() {
    let (_server, proxy, store) = store_behind_a_proxy();
    let worker = store.worker(["q"]).lease(LEASE);
    let job = worker.jobs().next().unwrap().unwrap();
    let docs = job.claim_docs("n", ["k"]).unwrap();
    lose_a_reply(&proxy, &job);
    let start = Instant::now();
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
    let url = format!("{}?retries=0", server.url());
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
    assert_eq!(job.done().unwrap_err().kind(), ErrorKind::LeaseLost);
}
