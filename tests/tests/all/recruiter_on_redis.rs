//! A recruiter on a server: what it sends, and what it does when the server is away. The names in the comments are
//! those of the rules in its specification.

// Clippy's leave for tests does not reach the functions that the tests share.
#![allow(clippy::unwrap_used)]

use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use millpond::recruiter::{Duty, NewJob, Recruit, Recruiter, Slice, Why};
use millpond::{Client, ErrorKind};
use millpond_tests::servers::{Cluster, Redis};

fn connect(server: &Redis) -> Client {
    millpond::connect(&server.url()).unwrap()
}

/// How often each command was called, without those of a connection.
fn commands(server: &Redis) -> Vec<String> {
    let stats = server.cli(&["INFO", "commandstats"]).text();
    let names = stats.lines().filter_map(|line| line.strip_prefix("cmdstat_")?.split_once(':'));
    let own = ["info", "config|resetstat", "client", "hello", "ping", "script"];
    let names = names.filter(|(name, _)| !own.iter().any(|of| name.starts_with(of)));
    names.map(|(name, _)| name.to_owned()).collect()
}

/// Enlists until this happens.
fn enlist_until(recruiter: &Recruiter, is_it: impl Fn(&Duty) -> bool) -> Duty {
    loop {
        let duty = recruiter.enlist();
        if is_it(&duty) {
            return duty;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// L12, P1: an enlistment that is not due, and a job by share, send nothing.
#[test]
fn what_is_decided_in_the_process_sends_nothing() {
    let server = Redis::start();
    let recruiter = connect(&server).recruiter("k");
    recruiter.set_duty_max(1.0).unwrap();
    recruiter.install(NewJob::new("share").share(0.5), |_: &Slice| Ok(1)).unwrap();
    server.cli(&["CONFIG", "RESETSTAT"]);
    for _ in 0..100_000 {
        assert!(matches!(recruiter.enlist().why, Why::Worked | Why::NotDrawn));
    }
    assert_eq!(commands(&server), Vec::<String>::new());

    let daily = connect(&server).recruiter("daily");
    let job = NewJob::new("a").per_second(1.0 / 86_400.0);
    daily.install(job, |_: &Slice| Ok(1)).unwrap();
    assert!(enlist_until(&daily, |duty| duty.why != Why::NotDue).recruited);
    assert!(!commands(&server).is_empty());
    server.cli(&["CONFIG", "RESETSTAT"]);
    for _ in 0..1_000 {
        // What the slice took, nine times.
        assert!(matches!(daily.enlist().why, Why::NotDue | Why::Denied));
    }
    let asked = commands(&server);
    assert!(asked.len() <= 20 && daily.stats().unwrap().jobs[0].granted == 1, "{asked:?}");
}

/// What makes a client anew for each page keeps its pace, S6 aside; other servers and names have one of their own.
#[test]
fn clients_of_the_same_servers_share_their_pace() {
    let server = Redis::start();
    let job = || NewJob::new("a").per_second(1_000.0);
    let recruiter = |server: &Redis, name: &str| {
        let recruiter = connect(server).recruiter(name);
        recruiter.install_job(job()).unwrap();
        recruiter
    };
    let first = recruiter(&server, "k");
    let slice = first.slices().wait(Duration::from_secs(60)).next().unwrap().unwrap();
    // Another one at the same time is one too many for this process.
    let share = NewJob::new("b").share(1.0);
    let why = |recruiter: &Recruiter| {
        recruiter.install(share.clone(), |_: &Slice| Ok(1)).unwrap();
        recruiter.enlist().why
    };
    assert_eq!(why(&recruiter(&server, "k")), Why::InSlice);
    assert_eq!(why(&recruiter(&server, "other")), Why::Worked);
    assert_eq!(why(&recruiter(&Redis::start(), "k")), Why::Worked);
    slice.end(1);
}

/// O10: a server that accepts and says nothing is given up after the time for a decision, and left alone.
#[test]
fn a_server_that_does_not_respond_costs_a_decision_timeout() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("redis://{}", silent.local_addr().unwrap());
    let recruiter = millpond::connect(&url).unwrap().recruiter("k");
    recruiter.set_decision_timeout(Duration::from_millis(5)).unwrap();
    let errors = Arc::new(Mutex::new(Vec::new()));
    let told = errors.clone();
    recruiter.on_error(move |job, error| {
        told.lock().unwrap().push((job.map(str::to_owned), error.to_string()));
    });
    recruiter.install(NewJob::new("a").per_second(1.0), |_: &Slice| Ok(1)).unwrap();
    let began = Instant::now();
    let duty = enlist_until(&recruiter, |duty| duty.why != Why::NotDue);
    assert_eq!((duty.recruited, duty.why), (false, Why::Unavailable));
    // The first ask is within five seconds; then nothing for half a second.
    assert!(began.elapsed() < Duration::from_secs(60));
    assert_eq!(recruiter.enlist().why, Why::NotDue);
    let errors = errors.lock().unwrap();
    assert!(matches!(&errors[..], [(None, error)] if error.contains("within 5ms")), "{errors:?}");
}

/// P16: what cannot be read is told, and ends a loop; an enlistment only does nothing.
#[test]
fn keys_of_others_are_an_error_of_the_server() {
    let server = Redis::start();
    let client = connect(&server);
    let recruiter = client.recruiter("k");
    recruiter.on_error(|_, _| {});
    recruiter.install(NewJob::new("a").per_second(1_000.0), |_: &Slice| Ok(1)).unwrap();
    server.cli(&["HSET", "{k}:steal", "version", "steal.v9"]);
    assert_eq!(enlist_until(&recruiter, |duty| duty.why != Why::NotDue).why, Why::Unavailable);
    assert_eq!(recruiter.run().unwrap_err().kind(), ErrorKind::IncompatibleVersion);
    assert_eq!(recruiter.stats().unwrap_err().kind(), ErrorKind::IncompatibleVersion);
    assert_eq!(recruiter.wake("a").unwrap_err().kind(), ErrorKind::IncompatibleVersion);
    server.cli(&["DEL", "{k}:steal"]);
    server.cli(&["SET", "{k}:steal:running:a", "1"]);
    let limited = NewJob::new("a").per_second(1.0).max_running(1);
    let error = client.run(Recruit::new("k", [limited])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WrongType);
    assert_eq!(server.cli(&["EXISTS", "{k}:steal"]).integer(), 0);
    server.cli(&["HSET", "{k}:steal", "all", "?"]);
    let error = client.run(Recruit::new("k", [NewJob::new("a").per_second(1.0)])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
}

/// Does as if the server's clock had been set back by an hour since all was written that is known of this job.
pub(crate) fn set_clock_back(server: &Redis, key: &str, job: &str) {
    let script = "local all = cmsgpack.unpack(redis.call('HGET', KEYS[1], 'all'))
        local field, hour = 'j:' .. ARGV[1], 3600000000
        local job = cmsgpack.unpack(redis.call('HGET', KEYS[1], field))
        redis.call('HSET', KEYS[1], 'all', cmsgpack.pack({all[1], all[2] + hour, all[3] + hour}))
        redis.call('HSET', KEYS[1], field, cmsgpack.pack({job[1] + hour, job[2] + hour, job[3], job[4] + hour}))
        for _, fence in ipairs(redis.call('ZRANGE', KEYS[2], 0, -1)) do
          redis.call('ZINCRBY', KEYS[2], hour, fence)
        end";
    server.cli(&["EVAL", script, "2", key, &format!("{key}:running:{job}"), job]);
}

/// P11, S1: a clock that was set back by an hour stalls a job for no longer than its interval, and slices that run keep
/// no place for longer than their lease.
#[test]
fn a_clock_that_was_set_back_holds_up_nobody() {
    let server = Redis::start();
    let client = connect(&server);
    let offer = || {
        let job =
            NewJob::new("a").per_second(100.0).max_running(1).budget(Duration::from_millis(1));
        Recruit::new("k", [job.lease(Duration::from_millis(20))])
    };
    let first = client.run(offer()).unwrap().granted.unwrap();
    set_clock_back(&server, "{k}:steal", "a");
    let busy = client.run(offer()).unwrap();
    assert_eq!(busy.granted, None);
    assert!(busy.wait <= Duration::from_secs(1) && busy.pause <= Duration::from_secs(120));
    let granted = loop {
        std::thread::sleep(Duration::from_millis(1));
        if let Some(granted) = client.run(offer()).unwrap().granted {
            break granted;
        }
    };
    assert!(granted.fence > first.fence);
    assert_eq!(client.recruiter("k").stats().unwrap().jobs[0].lost, 1);
}

/// The keys of a recruiter lie in one slot, and its name may have a tag.
#[test]
fn a_cluster_has_recruiters() {
    let cluster = Cluster::start();
    let client = millpond::connect(&cluster.url()).unwrap();
    for name in ["plain", "{tag}:jobs", "other"] {
        let offer = Recruit::new(name, [NewJob::new("a").per_second(1.0).max_running(1)]);
        assert!(client.run(offer).unwrap().granted.is_some());
        let stats = client.recruiter(name).stats().unwrap();
        assert_eq!((stats.jobs.len(), stats.jobs[0].granted), (1, 1));
    }
}
