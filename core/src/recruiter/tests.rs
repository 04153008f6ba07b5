//! What a recruiter promises, on the embedded engine. The names in the comments are those of the rules in its
//! specification. The law of the fleet rate is tested in `fleet.rs`, the lottery in `lottery.rs`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::law::Jobs;
use super::recruit::{Granted, Offer};
use super::report::JobReport;
use super::*;
use crate::{ErrorKind, ManualClock, Options};

const MS: Duration = Duration::from_millis(1);
const START: u64 = 1_700_000_000_000_000;

fn recruiter() -> (Recruiter, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::at(START));
    let client = Options::parse("memory:").unwrap().clock(clock.clone()).connect().unwrap();
    let recruiter = client.recruiter("k");
    recruiter.set_duty_max(1.0).unwrap();
    // Deliberate errors of handlers are not printed.
    recruiter.on_error(|_, _| {});
    (recruiter, clock)
}

fn offer(job: &str, interval_us: u64, burst: u64) -> Offer {
    let (job, max_running, lease_us) = (job.into(), 0, 5_000_000);
    Offer { job, interval_us, burst, max_running, lease_us, backoff_max: 3 }
}

fn limited(max_running: u32) -> Offer {
    Offer { max_running, lease_us: 1_000_000, ..offer("a", 10, 1_000) }
}

/// The times at which a job is granted when it is asked for at each of these.
fn grants(jobs: &mut Jobs, offer: &Offer, times: impl IntoIterator<Item = u64>) -> Vec<u64> {
    let offers = [offer.clone()];
    let granted = |time: &u64| jobs.recruit(&offers, START + time).granted.is_some();
    times.into_iter().filter(granted).collect()
}

/// P3.
#[test]
fn a_job_that_is_new_has_one_slice_and_then_one_in_each_interval() {
    let mut jobs = Jobs::default();
    let found = grants(&mut jobs, &offer("a", 1_000, 5), (0..10_000).step_by(10));
    assert_eq!(found, (0..10).map(|slice| slice * 1_000).collect::<Vec<_>>());
}

/// P4.
#[test]
fn slices_are_saved_up_to_the_burst() {
    let mut jobs = Jobs::default();
    let of = offer("a", 1_000, 5);
    assert_eq!(grants(&mut jobs, &of, [0]), [0]);
    let idle = 100_000;
    assert_eq!(grants(&mut jobs, &of, [idle; 20]).len(), 5);
    assert_eq!(grants(&mut jobs, &of, [idle + 999, idle + 1_000, idle + 1_001]).len(), 1);
}

/// P5.
#[test]
fn a_wait_is_the_time_to_the_next_token() {
    let mut jobs = Jobs::default();
    let offers = [offer("a", 1_000, 1), offer("b", 5_000, 1)];
    for _ in 0..2 {
        assert!(jobs.recruit(&offers, START).granted.is_some());
    }
    let denied = jobs.recruit(&offers, START + 300);
    assert_eq!((denied.granted, denied.wait), (None, Duration::from_micros(700)));
    assert!(jobs.recruit(&offers, START + 1_000).granted.is_some());
}

/// It is the one that has waited longest in units of its own interval; the first in order if they are equal.
#[test]
fn the_job_that_has_waited_longest_is_granted() {
    let mut jobs = Jobs::default();
    let offers = [offer("slow", 10_000, 1), offer("fast", 1_000, 1)];
    let next =
        |jobs: &mut Jobs, time| jobs.recruit(&offers, START + time).granted.map(|of| of.index);
    // Neither has ever been granted: the fast one is further behind.
    assert_eq!(
        [next(&mut jobs, 0), next(&mut jobs, 0), next(&mut jobs, 0)],
        [Some(1), Some(0), None]
    );
    // At 10 ms the fast one is ten intervals behind, the slow one a single one.
    assert_eq!([next(&mut jobs, 10_000), next(&mut jobs, 10_000)], [Some(1), Some(0)]);
}

/// P11, and the first hole.
#[test]
fn a_clock_that_is_set_back_gives_no_slice_more_and_holds_up_nobody() {
    let (mut jobs, of) = (Jobs::default(), offer("a", 1_000_000, 5));
    let second = 1_000_000;
    assert_eq!(grants(&mut jobs, &of, [100 * second]).len(), 1);
    // A second back: the clock stands still.
    assert_eq!(grants(&mut jobs, &of, [99 * second; 20]).len(), 0);
    // An hour back: at the latest after one interval.
    let back = 50 * second;
    let found = grants(&mut jobs, &of, (back..back + 10 * second).step_by(100_000));
    assert!(found[0] <= back + second && found.len() <= 10, "{found:?}");
    // An hour ahead: no more than the burst.
    assert_eq!(grants(&mut jobs, &of, [3_600 * second; 20]).len(), 5);
}

/// Each job is asked for as often as before, even one behind another.
#[test]
fn a_clock_that_is_set_back_lets_no_job_of_several_starve() {
    let mut jobs = Jobs::default();
    let second = 1_000_000;
    let offers = [offer("a", 5 * second, 1), offer("b", 5 * second, 1)];
    for _ in 0..10 {
        jobs.recruit(&offers, START + 3_600 * second);
    }
    let (mut now, mut asks) = (START, 0);
    while now < START + 100 * second {
        now += jobs.recruit(&offers, now).pause.as_micros() as u64 + 1;
        asks += 1;
    }
    // Two asks in five seconds for each of them.
    assert!((75..=82).contains(&asks), "{asks}");
}

/// P13, P18.
#[test]
fn a_rate_can_be_changed_at_any_time() {
    let mut jobs = Jobs::default();
    grants(&mut jobs, &offer("a", 1_000, 100), [0]);
    let slow = offer("a", 100_000, 1);
    let found = grants(&mut jobs, &slow, (1_000..1_000_000).step_by(1_000));
    assert!((9..=10).contains(&found.len()), "{found:?}");
    let fast = offer("a", 1_000, 10);
    let found = grants(&mut jobs, &fast, (1_100_000..1_110_000).step_by(100));
    assert!(found.len() <= 20, "{found:?}");
}

/// R1 to R4, R7.
#[test]
fn no_more_slices_run_at_a_time_than_may() {
    let mut jobs = Jobs::default();
    let offers = [limited(2)];
    let take = |jobs: &mut Jobs, time| jobs.recruit(&offers, START + time);
    let fence = |granted: Option<Granted>| granted.unwrap().fence;
    let (first, second) = (fence(take(&mut jobs, 0).granted), fence(take(&mut jobs, 100).granted));
    assert!(second > first);
    let busy = take(&mut jobs, 200);
    // A slot may be free again when a lease is over.
    assert_eq!(
        (busy.granted, busy.is_busy, busy.wait),
        (None, true, Duration::from_micros(999_800))
    );
    assert!(jobs.end("a", first));
    let third = fence(take(&mut jobs, 300).granted);
    assert!(third > second);
    assert!(take(&mut jobs, 400).is_busy);

    // The second never ends: its slot is free after the lease. When it ends after all, the other's slot stays.
    assert!(take(&mut jobs, 1_000_200).granted.is_some());
    assert!(!jobs.end("a", second));
    assert!(take(&mut jobs, 1_000_250).is_busy);
    let counters: Vec<_> = jobs.counters().collect();
    assert_eq!(counters, [("a:granted", 4), ("a:late", 1), ("a:lost", 1)]);
}

/// R5.
#[test]
fn a_limit_can_be_raised_and_lowered() {
    let mut jobs = Jobs::default();
    let mut take =
        |max_running, time| jobs.recruit(&[limited(max_running)], START + time).granted.is_some();
    assert!(take(1, 0) && !take(1, 100) && take(2, 200) && !take(2, 300) && !take(1, 400));
}

/// O6, O7, O8.
#[test]
fn a_job_with_little_to_do_runs_less_often() {
    let mut jobs = Jobs::default();
    let of = offer("a", 1_000, 1);
    grants(&mut jobs, &of, [0]);
    let report = |bad, has_more| JobReport { job: "a".into(), bad, has_more, backoff_max: 3 };
    jobs.report(&[report(2, false), report(1, false)]);
    assert_eq!(grants(&mut jobs, &of, (0..20_000).step_by(100)), [8_000, 16_000]);
    // No further than it may.
    jobs.report(&[report(9, false)]);
    assert_eq!(grants(&mut jobs, &of, (20_000..40_000).step_by(100)), [24_000, 32_000]);
    jobs.report(&[report(-1, false)]);
    assert_eq!(grants(&mut jobs, &of, (40_000..44_000).step_by(100)), [40_000]);
    jobs.report(&[report(0, true)]);
    assert_eq!(grants(&mut jobs, &of, (44_000..46_500).step_by(100)), [44_000, 45_000, 46_000]);
}

/// A definition that allows less backoff counts from the next ask on.
#[test]
fn a_job_is_no_slower_than_its_newest_definition_allows() {
    let mut jobs = Jobs::default();
    let fast = Offer { backoff_max: 20, ..offer("a", 1_000, 1) };
    grants(&mut jobs, &fast, [0]);
    jobs.report(&[JobReport { job: "a".into(), bad: 13, has_more: false, backoff_max: 20 }]);
    let slow = Offer { backoff_max: 0, ..offer("a", 1_000_000, 1) };
    assert_eq!(grants(&mut jobs, &slow, (0..3_000_000).step_by(100_000)).len(), 3);
}

/// L4, by the draws of the process.
#[test]
fn shares_are_drawn() {
    let (recruiter, _) = recruiter();
    let counts: Vec<_> = (0..3).map(|_| Arc::new(AtomicU64::new(0))).collect();
    for (number, share) in [0.2, 0.3, 0.1].into_iter().enumerate() {
        let count = counts[number].clone();
        let job = NewJob::new(number.to_string()).share(share);
        recruiter.install(job, move |_| Ok(count.fetch_add(1, Ordering::Relaxed))).unwrap();
    }
    let times = 20_000;
    for _ in 0..times {
        recruiter.enlist();
    }
    for (count, share) in counts.iter().zip([0.2, 0.3, 0.1]) {
        let (found, mean) = (count.load(Ordering::Relaxed) as f64, share * f64::from(times));
        // Six times the standard deviation.
        assert!((found - mean).abs() < 6.0 * (mean * (1.0 - share)).sqrt(), "{found} of {mean}");
    }
}

/// B1 to B3, B5.
#[test]
fn a_slice_has_a_budget_and_no_slice_in_it() {
    let (recruiter, clock) = recruiter();
    let inner = recruiter.clone();
    let job = NewJob::new("a").share(1.0).budget(MS * 30);
    recruiter
        .install(job, move |slice| {
            assert_eq!((slice.job(), slice.fence(), slice.is_lost()), ("a", 0, false));
            assert_eq!((slice.budget(), slice.remaining()), (MS * 30, MS * 30));
            assert_eq!(inner.enlist().why, Why::InSlice);
            clock.advance(MS * 29);
            assert_eq!((slice.remaining(), slice.is_over()), (MS, false));
            clock.advance(MS * 12);
            assert_eq!((slice.remaining(), slice.is_over()), (Duration::ZERO, true));
            Ok(1)
        })
        .unwrap();
    let duty = recruiter.enlist();
    let job = Some("a".to_owned());
    assert_eq!(duty, Duty { recruited: true, job, took: MS * 41, why: Why::Worked });
    let (offered, less) = (recruiter.decide(Some(MS * 40)), recruiter.decide(Some(MS * 2)));
    let Some(Begun::Slice(slice)) = offered else { panic!("{offered:?}") };
    assert_eq!(slice.budget(), MS * 30);
    assert!(matches!(less, Some(Begun::Dismissed(Duty { why: Why::InSlice, .. }, None))));
    drop(slice);
    let Some(Begun::Slice(slice)) = recruiter.decide(Some(MS * 2)) else { panic!("no slice") };
    assert_eq!(slice.budget(), MS * 2);
    assert_eq!((slice.end(0).why, slice.end(1).why), (Why::Nothing, Why::Worked));
    recruiter.stop();
    let stats = recruiter.stats().unwrap();
    let JobStats { worked, nothing, aborted, overran, busy_us, .. } = stats.jobs[0];
    assert_eq!((worked, nothing, aborted, overran, busy_us), (1, 1, 1, 1, 41_000));
    assert_eq!((stats.enlisted, stats.in_slice), (5, 2));
}

/// B6.
#[test]
fn a_process_rests_after_a_slice() {
    let (recruiter, clock) = recruiter();
    recruiter.set_duty_max(0.1).unwrap();
    let advance = clock.clone();
    let work = move |_: &Slice| {
        advance.advance(MS * 50);
        Ok(1)
    };
    recruiter.install(NewJob::new("a").share(1.0), work).unwrap();
    assert!(recruiter.enlist().recruited);
    clock.advance(MS * 449);
    assert_eq!(recruiter.enlist().why, Why::OverDuty);
    clock.advance(MS * 2);
    assert!(recruiter.enlist().recruited);
    for wrong in [0.0, 1e-310, -0.1, 1.1, f64::NAN] {
        assert!(recruiter.set_duty_max(wrong).is_err());
    }
    for wrong in [Duration::ZERO, MS * 1_001] {
        assert!(recruiter.set_decision_timeout(wrong).is_err());
    }
}

/// O1, O4.
#[test]
fn a_handler_that_fails_is_told_and_not_called_again() {
    let (recruiter, _) = recruiter();
    let calls = Arc::new(AtomicU64::new(0));
    let errors = Arc::new(Mutex::new(Vec::new()));
    let (count, told) = (calls.clone(), errors.clone());
    recruiter.on_error(move |job, error| lock(&told).push(format!("{job:?} {error}")));
    let fail = move |slice: &Slice| match count.fetch_add(1, Ordering::Relaxed) {
        0 => Err("no database".into()),
        1 => panic!("a handler panics"),
        2 => {
            slice.abort();
            Ok(1)
        }
        _ => Ok(0),
    };
    recruiter.install(NewJob::new("a").share(1.0), fail).unwrap();
    let whys = [0; 4].map(|_| recruiter.enlist().why);
    assert_eq!(whys, [Why::Failed, Why::Failed, Why::Aborted, Why::Nothing]);
    assert_eq!(calls.load(Ordering::Relaxed), 4);
    let expected =
        [r#"Some("a") no database"#, r#"Some("a") the handler panicked: a handler panics"#];
    assert_eq!(*lock(&errors), expected);
}

/// P1, P2 and O5: a dismissed enlistment does not ask the server, and all reasons are counted.
#[test]
fn a_paced_job_runs_at_its_rate() {
    let (recruiter, clock) = recruiter();
    recruiter.install(NewJob::new("a").per_second(10.0), |_| Ok(2)).unwrap();
    recruiter.install(NewJob::new("never").share(0.0), |_| Ok(1)).unwrap();
    let (mut enlisted, mut recruited) = (0_u64, 0_u64);
    for _ in 0..20_000 {
        let duty = recruiter.enlist();
        assert!(matches!(duty.why, Why::Worked | Why::NotDue | Why::Denied), "{:?}", duty.why);
        recruited += u64::from(duty.recruited);
        enlisted += 1;
        clock.advance(MS);
    }
    // The first ask is at a random time within five seconds.
    assert!((145..=201).contains(&recruited), "{recruited}");
    recruiter.stop();
    let stats = recruiter.stats().unwrap();
    let job = &stats.jobs[0];
    assert_eq!((&*job.job, job.granted, job.worked), ("a", recruited, recruited));
    assert_eq!((job.items, stats.enlisted), (2 * recruited, enlisted));
    assert_eq!(stats.not_due + stats.denied + recruited, enlisted);
}

/// O8: a producer that knows of work wakes a job that found nothing.
#[test]
fn a_job_that_is_woken_runs_at_its_full_rate() {
    let (recruiter, clock) = recruiter();
    recruiter.install(NewJob::new("a").per_second(1.0), |_| Ok(0)).unwrap();
    let slices = |seconds: u32| {
        let enlist = |_| {
            clock.advance(MS * 10);
            recruiter.enlist().job.is_some()
        };
        (0..seconds * 100).map(enlist).filter(|ran| *ran).count()
    };
    let backoff = || recruiter.stats().unwrap().jobs.first().map_or(0, |job| job.backoff);
    while backoff() < 3 {
        slices(1);
    }
    // At most once in eight seconds.
    assert!(slices(32) <= 5);
    recruiter.wake("a").unwrap();
    recruiter.wake("unknown").unwrap();
    assert_eq!((backoff(), recruiter.stats().unwrap().jobs.len()), (0, 1));
}

/// A huge number of items, such as a host makes of a negative one, breaks neither slices nor reports.
#[test]
fn any_number_of_items_can_be_reported() {
    let (recruiter, _) = recruiter();
    recruiter.install(NewJob::new("a").share(1.0), |_| Ok(u64::MAX)).unwrap();
    for _ in 0..3 {
        assert!(recruiter.enlist().recruited);
    }
    recruiter.stop();
    assert_eq!(recruiter.stats().unwrap().jobs[0].items, 1 << 53);
}

/// The settings are those of a handle, and its pace is that of all handles of the name.
#[test]
fn a_stop_is_of_a_handle_and_its_clones() {
    let (recruiter, _) = recruiter();
    let other = recruiter.client.recruiter("k");
    for handle in [&recruiter, &other] {
        handle.install(NewJob::new("a").share(1.0), |_| Ok(1)).unwrap();
    }
    let Some(Begun::Slice(slice)) = recruiter.decide(None) else { panic!("no slice") };
    assert_eq!(other.enlist().why, Why::InSlice);
    slice.end(1);
    recruiter.clone().stop();
    assert_eq!(recruiter.enlist().why, Why::Stopped);
    assert!(!recruiter.is_due() && other.enlist().recruited);
}

/// A loop that waits is woken by a clock that is moved, and by the end of its client.
#[test]
fn a_loop_wakes_when_its_client_is_closed() {
    let (recruiter, clock) = recruiter();
    let (done, slices) = std::sync::mpsc::channel();
    let work = move |_: &Slice| {
        let _ = done.send(());
        Ok(1)
    };
    recruiter.install(NewJob::new("a").per_second(1.0 / 3_600.0), work).unwrap();
    std::thread::scope(|scope| {
        let run = scope.spawn(|| recruiter.run());
        for _ in 0..2 {
            // It may not be waiting yet.
            while slices.recv_timeout(MS * 10).is_err() {
                clock.advance(MS * 600_000);
            }
        }
        recruiter.client.close().unwrap();
        assert_eq!(run.join().unwrap().unwrap_err().kind(), ErrorKind::Closed);
    });
}

/// R4: a slice that is ended late has lost its place.
#[test]
fn a_slice_of_a_limited_job_has_a_lease() {
    let (recruiter, clock) = recruiter();
    let job = NewJob::new("a").per_second(1_000.0).max_running(1).lease(MS * 100);
    recruiter.install_job(job).unwrap();
    clock.advance(MS * 5_000);
    let mut slices = recruiter.slices();
    let slice = slices.next().unwrap().unwrap();
    assert!(slice.fence() > 0 && !slice.is_lost());
    clock.advance(MS * 100);
    assert!(slice.is_lost());
    // Another process.
    let other = Recruit::new("k", [NewJob::new("a").per_second(1_000.0).max_running(1)]).unwrap();
    assert!(recruiter.client.run(Ok(other)).unwrap().granted.is_some());
    slice.end(1);
    let job = &recruiter.stats().unwrap().jobs[0];
    assert_eq!((job.lost, job.late, job.granted), (1, 1, 2));
    assert!(Recruit::new("k", [NewJob::new("a").share(0.1)]).is_err());
    assert!(Recruit::new("k", []).is_err());
}

/// A loop works on slices until it is stopped, from any thread.
#[test]
fn a_run_ends_when_it_is_stopped() {
    let recruiter = crate::connect("memory:").unwrap().recruiter("k");
    assert_eq!(recruiter.run().unwrap_err().kind(), ErrorKind::InvalidArgument);
    let (done, slices) = std::sync::mpsc::channel();
    let work = move |_: &Slice| {
        let _ = done.send(());
        Ok(1)
    };
    recruiter.install(NewJob::new("a").per_second(1_000.0), work).unwrap();
    std::thread::scope(|scope| {
        let run = scope.spawn(|| recruiter.run());
        (0..20).for_each(|_| slices.recv().unwrap());
        recruiter.stop();
        run.join().unwrap().unwrap();
    });
    assert_eq!(recruiter.enlist().why, Why::Stopped);
    assert!(recruiter.slices().next().is_none());
    assert!(recruiter.stats().unwrap().jobs[0].worked >= 20);
}

/// An async handler may await anything.
#[tokio::test]
async fn an_async_handler_is_awaited() {
    let client = crate::connect("memory:").unwrap().to_async();
    let recruiter = client.recruiter("k");
    recruiter.set_duty_max(1.0).unwrap();
    recruiter.on_error(|_, _| {});
    let asked = client.clone();
    let work = move |slice: Slice<Async>| {
        let client = asked.clone();
        async move {
            client.ick("done").add([(Some(1.0), slice.job().as_bytes())]).await?;
            match slice.budget() {
                MS => panic!("a handler panics"),
                _ => Ok(1),
            }
        }
    };
    recruiter.install(NewJob::new("a").share(1.0), work).unwrap();
    assert!(recruiter.enlist().await.recruited);
    assert_eq!(recruiter.enlist_within(MS).await.why, Why::Failed);
    assert_eq!(client.ick("done").reserve(10).await.unwrap().len(), 1);

    // The slice of a dropped future is aborted.
    recruiter.uninstall("a");
    let forever = |_| std::future::pending::<Handled>();
    recruiter.install(NewJob::new("b").share(1.0), forever).unwrap();
    assert!(recruiter.enlist().now_or_never().is_none());
    assert!(recruiter.enlist().now_or_never().is_none());
    recruiter.uninstall("b");

    let stop = recruiter.clone();
    let slices = AtomicU64::new(0);
    let work = move |_| {
        if slices.fetch_add(1, Ordering::Relaxed) == 9 {
            stop.stop();
        }
        std::future::ready(Ok(1))
    };
    recruiter.install(NewJob::new("c").per_second(1_000.0), work).unwrap();
    recruiter.run().await.unwrap();
    let stats = recruiter.stats().await.unwrap();
    assert_eq!(stats.jobs.iter().find(|job| job.job == "b").unwrap().aborted, 2);
}

#[test]
fn what_is_wrong_is_refused() {
    let (recruiter, _) = recruiter();
    assert_eq!(recruiter.enlist().why, Why::NoJobs);
    let work = |_: &Slice| Ok(0);
    recruiter.install(NewJob::new("a").share(0.6), work).unwrap();
    let error = recruiter.install(NewJob::new("b").share(0.5), work).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert_eq!(error.to_string(), "the shares of all jobs come to 110.0000 %");
    assert!(recruiter.install(NewJob::new("a").per_second(1.0), work).is_err());
    assert!(recruiter.uninstall("a") && !recruiter.uninstall("a"));
    recruiter.install(NewJob::new("b").share(1.0), work).unwrap();
    assert_eq!(recruiter.enlist().why, Why::Nothing);
    recruiter.stop();
    assert_eq!(recruiter.enlist().why, Why::Stopped);
    let unnamed = crate::connect("memory:").unwrap().recruiter("");
    assert!(unnamed.install(NewJob::new("a").share(1.0), work).is_err());
    assert_eq!(unnamed.enlist().why, Why::NoJobs);
    assert!(unnamed.stats().is_err());
}
