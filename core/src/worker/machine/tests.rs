//! The machine in virtual time, and a random walk over all that can happen to a run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

const SECOND: Duration = Duration::from_secs(1);

struct Fake;

#[derive(Clone, Debug)]
struct Job {
    id: u64,
    is_suspect: bool,
    is_ended: Arc<AtomicBool>,
}

impl Work for Fake {
    type Job = Job;
    /// The job, and how it ends.
    type Ending = (Job, ReportKind);
    const ENDS_MAX: usize = 3;

    fn is_suspect(job: &Job) -> bool {
        job.is_suspect
    }

    fn is_ended(job: &Job) -> bool {
        job.is_ended.load(Ordering::Relaxed)
    }

    fn unsent((job, _): (Job, ReportKind)) -> Report<Job> {
        report(ReportKind::Lost, job)
    }

    fn late(job: Job) -> Report<Job> {
        report(ReportKind::Lost, job)
    }
}

fn report(kind: ReportKind, job: Job) -> Report<Job> {
    let name = format!("job {}", job.id);
    Report::of_job(kind, job, &name, "", None)
}

fn job(id: u64) -> Job {
    Job { id, is_suspect: false, is_ended: Arc::default() }
}

fn suspect(id: u64) -> Job {
    Job { is_suspect: true, ..job(id) }
}

fn away() -> Error {
    Error::new(ErrorKind::ConnectionLost, "the connection broke")
}

/// A machine and its clock.
struct Bench {
    machine: Machine<Fake>,
    now: Instant,
    todo: VecDeque<Todo<Fake>>,
}

impl Bench {
    fn new(concurrency: usize, prefetch: usize) -> Self {
        Self::of(Self::plan(concurrency, prefetch))
    }

    fn drain() -> Self {
        Self::of(Plan { drains: true, ..Self::plan(1, 0) })
    }

    fn of(plan: Plan) -> Self {
        Self { machine: Machine::new(plan, 7, None), now: Instant::now(), todo: VecDeque::new() }
    }

    fn plan(concurrency: usize, prefetch: usize) -> Plan {
        let (drains, until, tells_all, timeout) = (false, None, true, None);
        Plan { concurrency, prefetch, lease: 60 * SECOND, drains, until, tells_all, timeout }
    }

    /// The next action of a caller, in a word.
    fn next(&mut self) -> String {
        match self.machine.next(self.now) {
            Next::Job(number, job) => format!("job {number} is {}", job.id),
            Next::Report(report) => match report.job {
                Some(job) => format!("{} {}", job.id, report.kind.name()),
                None => report.kind.name().to_owned(),
            },
            Next::Take(room) => format!("take {room}"),
            Next::Wait { .. } => "wait".to_owned(),
            Next::Over(None) => "over".to_owned(),
            Next::Over(Some(error)) => format!("over: {error}"),
        }
    }

    fn take(&mut self, jobs: impl IntoIterator<Item = Job>) {
        assert!(self.next().starts_with("take"));
        self.took(jobs);
    }

    fn took(&mut self, jobs: impl IntoIterator<Item = Job>) {
        let batch = Batch { jobs: jobs.into_iter().collect(), reports: Vec::new() };
        self.machine.took(self.now, Taken::Batch(batch), false);
    }

    /// The actions to perform, each in a word.
    fn todo(&mut self) -> String {
        self.todo.extend(self.machine.take_todo());
        match self.todo.pop_front() {
            Some(Todo::Begin(job)) => format!("begin {}", job.id),
            Some(Todo::GiveBack(job)) => format!("give back {}", job.id),
            Some(Todo::TimeOut(number, job)) => format!("time out {number}, {}", job.id),
            Some(Todo::Depart) => "depart".to_owned(),
            None if self.machine.has_to_send() => {
                let ids: Vec<_> = self.ends().iter().map(|of| of.end.0.id.to_string()).collect();
                format!("send {}", ids.join(" "))
            }
            None => String::new(),
        }
    }

    /// The ends to be sent.
    fn ends(&mut self) -> Vec<Sending<(Job, ReportKind)>> {
        self.machine.take_to_send().expect("something is to be sent")
    }

    fn end(&mut self, number: u64, id: u64) {
        assert!(self.machine.end(number, self.now));
        self.machine.add(Sending::new((job(id), ReportKind::Done)));
    }

    /// Sends the pending ends, with success.
    fn send(&mut self) {
        let ends = self.ends();
        let done = |(job, kind)| Ended::Done(report(kind, job));
        let ends = ends.into_iter().map(|end| end.map(done)).collect();
        self.machine.sent(self.now, ends);
    }

    /// Sends the pending ends, in vain.
    fn fail(&mut self) {
        let ends = self.ends();
        let ends = ends.into_iter().map(|end| end.map(|end| Ended::Again(end, away()))).collect();
        self.machine.sent(self.now, ends);
    }

    fn advance(&mut self, time: Duration) {
        self.now += time;
        self.machine.wake(self.now);
    }
}

#[test]
fn jobs_are_taken_while_there_is_room() {
    let mut bench = Bench::new(2, 4);
    assert_eq!(bench.next(), "take 6");
    assert_eq!(bench.next(), "wait", "one caller takes");
    bench.took((1..=6).map(job));
    assert_eq!([bench.next(), bench.next()], ["job 1 is 1", "job 2 is 2"]);
    assert_eq!(bench.next(), "wait");
    bench.end(1, 1);
    assert_eq!(bench.next(), "job 3 is 3", "the end has no result yet");
    bench.end(2, 2);
    assert_eq!(bench.next(), "job 4 is 4");
    // Half of the prefetched jobs are gone.
    assert_eq!(bench.next(), "take 2");
}

#[test]
fn ends_gather_while_others_are_sent() {
    let mut bench = Bench::new(5, 0);
    bench.take((1..=5).map(job));
    (0..5).for_each(|_| _ = bench.next());
    (1..=5).for_each(|number| bench.end(number, number));
    let first = bench.ends();
    assert_eq!((first.len(), bench.todo().as_str()), (1, ""));
    let done = first.into_iter().map(|end| end.map(|(job, kind)| Ended::Done(report(kind, job))));
    bench.machine.sent(bench.now, done.collect());
    // No more than one step has room for.
    assert_eq!(bench.todo(), "send 2 3 4");
}

#[test]
fn no_job_begins_while_too_many_ends_have_no_result() {
    let mut bench = Bench::new(1, 1);
    bench.take([job(1), job(2)]);
    assert_eq!(bench.next(), "job 1 is 1");
    bench.end(1, 1);
    assert_eq!(bench.next(), "job 2 is 2");
    bench.end(2, 2);
    bench.take([job(3)]);
    assert_eq!(bench.next(), "wait");
    bench.send();
    assert_eq!([bench.next(), bench.next()], ["1 done", "job 3 is 3"]);
}

#[test]
fn one_job_at_a_time_ends_before_the_next_is_taken() {
    let mut bench = Bench::new(1, 0);
    bench.take([job(1)]);
    bench.next();
    bench.end(1, 1);
    assert_eq!(bench.next(), "wait");
    bench.send();
    assert_eq!([bench.next(), bench.next()], ["1 done", "take 1"]);
}

#[test]
fn an_end_is_sent_again_until_the_server_is_back() {
    let mut bench = Bench::new(1, 0);
    bench.take([job(1)]);
    bench.next();
    bench.end(1, 1);
    bench.fail();
    assert_eq!([bench.next(), bench.next()], ["away", "wait"]);
    let wait = bench.machine.next_wake().unwrap() - bench.now;
    assert!(wait <= AGAIN.first && wait >= AGAIN.first / 2, "{wait:?}");
    bench.advance(wait / 2);
    assert_eq!(bench.todo(), "");
    bench.advance(wait);
    bench.fail();
    assert!(bench.machine.next_wake().unwrap() - bench.now <= 2 * AGAIN.first);
    bench.advance(SECOND);
    bench.send();
    assert_eq!([bench.next(), bench.next(), bench.next()], ["1 done", "back", "take 1"]);
    assert_eq!(bench.machine.counts().done, 1);
}

#[test]
fn an_end_that_may_have_been_done_is_known_as_such() {
    let mut bench = Bench::new(1, 0);
    bench.take([job(1)]);
    bench.next();
    bench.end(1, 1);
    bench.fail();
    bench.advance(SECOND);
    let ends = bench.ends();
    assert!(ends[0].is_unsure);
}

#[test]
fn an_unreachable_server_is_asked_less_and_less() {
    let mut bench = Bench::new(1, 0);
    for most in [AWAY.first, 2 * AWAY.first, 4 * AWAY.first] {
        assert_eq!(bench.next(), "take 1");
        bench.machine.took(bench.now, Taken::Failed(away()), false);
        if most == AWAY.first {
            assert_eq!(bench.next(), "away");
        }
        assert_eq!(bench.next(), "wait");
        let wait = bench.machine.next_wake().unwrap() - bench.now;
        assert!(wait <= most && wait >= most / 2, "{wait:?}");
        bench.machine.take_change();
        bench.advance(wait);
        assert!(bench.machine.take_change(), "those that wait ask again");
        assert_eq!(bench.machine.next_wake(), None);
    }
    bench.take([job(1)]);
    assert_eq!([bench.next(), bench.next()], ["back", "job 1 is 1"]);
}

#[test]
fn a_drain_is_over_when_nothing_is_available() {
    let mut bench = Bench::drain();
    bench.take([job(1)]);
    assert_eq!([bench.next(), bench.next()], ["job 1 is 1", "wait"]);
    bench.end(1, 1);
    bench.send();
    assert_eq!([bench.next(), bench.next()], ["1 done", "take 1"]);
    bench.machine.took(bench.now, Taken::Nothing, false);
    assert_eq!([bench.next(), bench.todo()], ["wait", "depart"]);
    assert_eq!(bench.next(), "wait");
    bench.machine.departed();
    assert_eq!(bench.next(), "over");
}

#[test]
fn a_drain_asks_again_for_what_ended_since_it_asked() {
    let mut bench = Bench::of(Plan { drains: true, ..Bench::plan(2, 0) });
    bench.take([job(1)]);
    assert_eq!([bench.next(), bench.next()], ["job 1 is 1", "take 1"]);
    bench.end(1, 1);
    bench.send();
    bench.machine.took(bench.now, Taken::Nothing, false);
    assert_eq!([bench.next(), bench.next()], ["1 done", "take 2"]);
}

#[test]
fn a_drain_ends_with_the_error_of_a_connection() {
    let mut bench = Bench::drain();
    bench.next();
    bench.machine.took(bench.now, Taken::Failed(away()), false);
    assert_eq!(bench.next(), "over: the connection broke");
    assert_eq!(bench.next(), "over", "one caller gets it");
}

#[test]
fn a_budget_ends_the_taking() {
    let mut bench = Bench::drain();
    bench.machine.plan.until = Some(bench.now + SECOND);
    assert_eq!(bench.machine.next_wake(), Some(bench.now + SECOND));
    bench.take([job(1)]);
    bench.next();
    bench.machine.take_change();
    bench.advance(SECOND);
    assert!(bench.machine.take_change(), "those that wait ask again");
    bench.end(1, 1);
    bench.send();
    assert_eq!([bench.next(), bench.next(), bench.todo()], ["1 done", "wait", "depart"]);
}

#[test]
fn a_stop_gives_back_what_has_not_begun_and_at_its_deadline_what_runs() {
    let mut bench = Bench::new(1, 2);
    bench.take((1..=3).map(job));
    bench.next();
    bench.machine.stop(bench.now, Some(bench.now + SECOND));
    assert_eq!([bench.todo(), bench.todo(), bench.todo()], ["give back 2", "give back 3", ""]);
    assert_eq!(bench.next(), "wait");
    assert_eq!(bench.machine.next_wake(), Some(bench.now + SECOND));
    bench.advance(SECOND);
    assert_eq!(bench.todo(), "give back 1");
    assert!(!bench.machine.end(1, bench.now), "it is not its handler's any more");
    assert_eq!(bench.machine.next_wake(), None);
    for id in 1..=3 {
        bench.machine.add(Sending::new((job(id), ReportKind::Released)));
    }
    bench.send();
    bench.send();
    let reports = [bench.next(), bench.next(), bench.next()];
    assert_eq!(reports, ["1 released", "2 released", "3 released"]);
    assert_eq!([bench.next(), bench.todo()], ["wait", "depart"]);
}

#[test]
fn after_a_stop_an_end_is_sent_again_for_a_short_time() {
    let mut bench = Bench::new(1, 0);
    bench.take([job(1)]);
    bench.next();
    bench.end(1, 1);
    bench.machine.stop(bench.now, Some(bench.now));
    bench.fail();
    assert_eq!(bench.next(), "away");
    bench.advance(LAST);
    bench.fail();
    assert_eq!([bench.next(), bench.next()], ["1 lost", "over"]);
}

#[test]
fn a_later_stop_changes_the_deadline() {
    let mut bench = Bench::new(1, 0);
    bench.take([job(1)]);
    bench.next();
    bench.machine.stop(bench.now, None);
    assert_eq!(bench.machine.next_wake(), None);
    bench.machine.stop(bench.now, Some(bench.now + 2 * SECOND));
    bench.machine.stop(bench.now, Some(bench.now + SECOND));
    bench.advance(SECOND);
    assert_eq!(bench.todo(), "give back 1");
}

#[test]
fn a_job_that_takes_too_long_ends_and_keeps_its_place() {
    let mut bench = Bench::new(1, 0);
    bench.take([job(1)]);
    bench.next();
    bench.machine.limit(1, bench.now + SECOND);
    bench.advance(SECOND);
    assert_eq!(bench.todo(), "time out 1, 1");
    bench.machine.add(Sending::overdue(1, (job(1), ReportKind::Retried)));
    bench.send();
    let Next::Report(report) = bench.machine.next(bench.now) else { panic!() };
    assert_eq!(report.error.map(|error| error.kind()), Some(ErrorKind::Timeout));
    assert_eq!(bench.next(), "wait", "its handler still works");
    assert!(!bench.machine.end(1, bench.now));
    assert_eq!([bench.next(), bench.next()], ["1 lost", "take 1"]);
}

#[test]
fn an_end_at_the_moment_of_the_timeout_is_late() {
    let mut bench = Bench::new(1, 0);
    bench.take([job(1)]);
    bench.next();
    bench.machine.limit(1, bench.now + SECOND);
    bench.now += SECOND;
    assert!(!bench.machine.end(1, bench.now));
    assert_eq!(bench.todo(), "time out 1, 1");
    bench.machine.add(Sending::overdue(1, (job(1), ReportKind::Retried)));
    bench.send();
    assert_eq!([bench.next(), bench.next()], ["1 retried", "1 lost"]);
}

#[test]
fn a_handler_that_has_ended_its_job_has_no_timeout() {
    let mut bench = Bench::new(1, 0);
    let job = job(1);
    bench.take([job.clone()]);
    bench.next();
    bench.machine.limit(1, bench.now + SECOND);
    job.is_ended.store(true, Ordering::Relaxed);
    bench.advance(SECOND);
    assert_eq!((bench.todo(), bench.machine.next_wake()), (String::new(), None));
    bench.machine.leave(1);
    assert_eq!(bench.next(), "take 1");
}

#[test]
fn a_suspect_runs_alone() {
    let mut bench = Bench::new(2, 2);
    bench.take([job(1), suspect(2), job(3)]);
    assert_eq!([bench.next(), bench.next()], ["job 1 is 1", "job 2 is 3"]);
    assert!(!bench.machine.may_take());
    bench.end(1, 1);
    bench.send();
    assert_eq!([bench.next(), bench.next(), bench.todo()], ["1 done", "wait", ""]);
    bench.end(2, 3);
    bench.send();
    assert_eq!([bench.next(), bench.next(), bench.todo()], ["3 done", "wait", "begin 2"]);
    bench.machine.begun(bench.now, suspect(2), Ok(()));
    assert_eq!([bench.next(), bench.next()], ["job 3 is 2", "wait"]);
    bench.end(3, 2);
    bench.send();
    assert_eq!([bench.next(), bench.next()], ["2 done", "take 4"]);
}

#[test]
fn the_beginning_of_a_suspect_is_noted_until_it_is_known() {
    let mut bench = Bench::new(1, 0);
    bench.take([suspect(1)]);
    assert_eq!(bench.todo(), "begin 1");
    bench.machine.begun(bench.now, suspect(1), Err(away()));
    assert_eq!((bench.next(), bench.todo()), ("wait".to_owned(), String::new()));
    bench.advance(AGAIN.first);
    assert_eq!(bench.todo(), "begin 1");
    let lost = Error::new(ErrorKind::LeaseLost, "another has it");
    bench.machine.begun(bench.now, suspect(1), Err(lost));
    assert_eq!(bench.todo(), "give back 1");
}

#[test]
fn a_stop_gives_back_a_suspect_in_each_state() {
    for step in 0..3 {
        let mut bench = Bench::new(1, 0);
        bench.take([suspect(1)]);
        if step == 1 {
            bench.todo();
            bench.machine.begun(bench.now, suspect(1), Err(away()));
        }
        if step == 2 {
            bench.todo();
            bench.machine.begun(bench.now, suspect(1), Ok(()));
        }
        bench.machine.stop(bench.now, None);
        if step == 0 {
            assert_eq!(bench.todo(), "begin 1", "its result is not known");
            bench.machine.begun(bench.now, suspect(1), Ok(()));
        }
        assert_eq!([bench.todo(), bench.todo()], ["give back 1", ""], "{step}");
        assert_eq!((bench.next(), bench.machine.next_wake()), ("wait".to_owned(), None));
    }
}

#[test]
fn an_outage_of_renewals_is_over_when_nothing_is_renewed() {
    let mut bench = Bench::new(1, 0);
    bench.take([job(1)]);
    bench.next();
    bench.machine.renewed(Some(&away()));
    assert_eq!([bench.next(), bench.next()], ["away", "wait"]);
    bench.end(1, 1);
    bench.send();
    assert_eq!([bench.next(), bench.next()], ["1 done", "back"]);
}

/// Everything in progress around a machine in a random walk.
struct World {
    bench: Bench,
    draws: Draws,
    taken: u64,
    /// The jobs that handlers work on, and whether they were given back or have ended since.
    working: Vec<(u64, Job)>,
    sends: Vec<Vec<Sending<(Job, ReportKind)>>>,
    begins: Vec<Job>,
    /// Ends that are being made.
    made: Vec<Sending<(Job, ReportKind)>>,
    is_departing: bool,
    is_taking: bool,
    is_asking: bool,
    is_stopped: bool,
    is_over: bool,
    /// Jobs whose handlers returned without an end.
    left: u64,
    late: u64,
    reported: u64,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut draws = Draws::new(seed);
        let mut below = |most| draws.next() % most;
        let (concurrency, prefetch) = (1 + below(3) as usize, below(4) as usize);
        let plan = Plan { drains: below(3) == 0, ..Bench::plan(concurrency, prefetch) };
        Self {
            bench: Bench { machine: Machine::new(plan, seed, None), ..Bench::new(1, 0) },
            draws,
            taken: 0,
            working: Vec::new(),
            sends: Vec::new(),
            begins: Vec::new(),
            made: Vec::new(),
            is_departing: false,
            is_taking: false,
            is_asking: false,
            is_stopped: false,
            is_over: false,
            left: 0,
            late: 0,
            reported: 0,
        }
    }

    fn below(&mut self, most: usize) -> usize {
        (self.draws.next() % most as u64) as usize
    }

    fn machine(&mut self) -> &mut Machine<Fake> {
        &mut self.bench.machine
    }

    /// The jobs that run and have not ended: a handler that has taken too long may work beside a suspect.
    fn held(&self) -> Vec<&Job> {
        self.bench.machine.running.values().map(|running| &running.job).collect()
    }

    /// Begins the machine's actions.
    fn perform(&mut self) {
        if let Some(ends) = self.machine().take_to_send() {
            assert!(ends.len() <= Fake::ENDS_MAX && !ends.is_empty());
            self.sends.push(ends);
            assert_eq!(self.sends.len(), 1, "one step at a time");
        }
        for todo in self.machine().take_todo() {
            match todo {
                Todo::Begin(job) => {
                    assert!(self.held().is_empty() && self.begins.is_empty() && !self.is_asking);
                    self.begins.push(job);
                }
                Todo::GiveBack(job) => self.made.push(Sending::new((job, ReportKind::Released))),
                Todo::TimeOut(number, job) => {
                    self.made.push(Sending::overdue(number, (job, ReportKind::Retried)));
                }
                Todo::Depart => self.is_departing = true,
            }
        }
        self.machine().take_left();
    }

    fn ask(&mut self) {
        let now = self.bench.now;
        match self.machine().next(now) {
            Next::Job(number, job) => {
                assert!(!self.is_stopped, "a run that is stopped begins nothing");
                let others: Vec<_> = self.held().into_iter().filter(|of| of.id != job.id).collect();
                let is_alone = others.is_empty() && self.sends.is_empty() && self.made.is_empty();
                assert!(!job.is_suspect || is_alone, "a suspect runs alone");
                assert!(!others.iter().any(|job| job.is_suspect));
                if self.below(3) == 0 {
                    let limit = now + SECOND * self.below(5) as u32;
                    self.machine().limit(number, limit);
                }
                self.working.push((number, job));
                assert!(self.working.len() <= self.machine().plan.concurrency);
            }
            Next::Report(report) => self.reported += u64::from(report.job.is_some()),
            Next::Take(room) => {
                assert!(room > 0 && !self.is_taking && !self.is_over);
                self.is_taking = true;
            }
            Next::Wait { .. } => {}
            Next::Over(_) => {
                let is_quiet = self.sends.is_empty() && self.made.is_empty();
                assert!(is_quiet && self.begins.is_empty(), "what it holds has ended");
                self.is_over = true;
            }
        }
    }

    fn take(&mut self) {
        let (now, how) = (self.bench.now, self.below(8));
        let (is_asking, taken) = match how {
            0 => (true, Taken::Pending),
            1 => (false, Taken::HeldUp),
            2 => (false, Taken::Failed(away())),
            3 if self.machine().plan.drains => (false, Taken::Nothing),
            3 => (self.is_asking, Taken::HeldUp),
            _ => {
                let count = 1 + self.below(2);
                let jobs: Vec<_> = (0..count as u64)
                    .map(|index| Job {
                        is_suspect: self.draws.next().is_multiple_of(6),
                        ..job(self.taken + index)
                    })
                    .collect();
                self.taken += jobs.len() as u64;
                (false, Taken::Batch(Batch { jobs, reports: Vec::new() }))
            }
        };
        (self.is_taking, self.is_asking) = (false, is_asking);
        self.machine().took(now, taken, is_asking);
    }

    fn handle(&mut self) {
        let (now, index) = (self.bench.now, self.below(self.working.len()));
        let (number, job) = self.working.swap_remove(index);
        match self.below(6) {
            0 => {
                // Its handler has ended it, and is gone. Nothing is sent for one that was given back before.
                let is_held = self.machine().running.contains_key(&number);
                self.left += u64::from(is_held);
                job.is_ended.store(true, Ordering::Relaxed);
                self.machine().leave(number);
            }
            _ => {
                let was_late = self.machine().check_limit(number, now);
                self.late += u64::from(was_late);
                let is_wanted = self.machine().end(number, now);
                assert!(!(was_late && is_wanted));
                if is_wanted {
                    self.made.push(Sending::new((job, ReportKind::Done)));
                }
            }
        }
    }

    fn sent(&mut self, is_away: bool) {
        let (now, ends) = (self.bench.now, self.sends.pop().expect("a step is being sent"));
        let ends = ends.into_iter().map(|end| {
            let how = self.draws.next() % 4;
            end.map(|(job, kind)| match how {
                0 | 1 if is_away => Ended::Again((job, kind), away()),
                _ if is_away => {
                    Ended::Again((job, kind), Error::new(ErrorKind::ConnectionFailed, "refused"))
                }
                0 => Ended::Instead((job, ReportKind::Released)),
                _ => Ended::Done(report(kind, job)),
            })
        });
        let ends = ends.collect();
        self.machine().sent(now, ends);
    }

    fn begun(&mut self, is_away: bool) {
        let (now, job) = (self.bench.now, self.begins.pop().expect("a suspect begins"));
        let lost = self.below(4) == 0;
        let result = match (is_away, lost) {
            (true, _) => Err(away()),
            (_, true) => Err(Error::new(ErrorKind::LeaseLost, "another has it")),
            _ => Ok(()),
        };
        self.machine().begun(now, job, result);
    }

    fn pass(&mut self, time: Duration) {
        self.bench.now += time;
        let now = self.bench.now;
        // As the driver does: no earlier, and as often as it takes.
        for _ in 0..100 {
            match self.machine().next_wake() {
                Some(at) if at <= now => self.machine().wake(now),
                _ => return,
            }
        }
        panic!("it is woken for nothing");
    }

    fn step(&mut self, is_away: bool) {
        match self.below(12) {
            0..=2 => self.ask(),
            3 if self.is_taking => self.take(),
            4 | 5 if !self.working.is_empty() => self.handle(),
            6 | 7 if !self.made.is_empty() => {
                let index = self.below(self.made.len());
                let end = self.made.swap_remove(index);
                self.machine().add(end);
            }
            8 if !self.sends.is_empty() => self.sent(is_away),
            9 if !self.begins.is_empty() => self.begun(is_away),
            10 => {
                let time = Duration::from_millis(self.below(300) as u64);
                self.pass(time);
            }
            11 if self.is_departing => {
                self.is_departing = false;
                self.machine().departed();
            }
            11 => {
                let error = away();
                self.machine().renewed(is_away.then_some(&error));
            }
            _ => {}
        }
        self.perform();
    }

    fn walk(&mut self) {
        let steps = self.below(400);
        let mut is_away = false;
        for _ in 0..steps {
            is_away ^= self.below(20) == 0;
            self.step(is_away);
            if self.is_over {
                return;
            }
        }
        let (now, within) = (self.bench.now, self.below(5) as u32);
        self.is_stopped = true;
        self.machine().stop(now, Some(now + within * SECOND));
        self.perform();
        // Handlers end at last, and the server may be away for good.
        for _ in 0..20_000 {
            self.step(is_away);
            if self.is_over {
                return;
            }
        }
        panic!("a run that is stopped is over after some time");
    }

    fn check(&mut self) {
        while let Next::Report(report) = {
            let now = self.bench.now;
            self.machine().next(now)
        } {
            self.reported += u64::from(report.job.is_some());
        }
        // The handlers of jobs that were given back, or have taken too long, may still work.
        while !self.working.is_empty() {
            self.handle();
            self.perform();
        }
        let now = self.bench.now;
        while let Next::Report(report) = self.machine().next(now) {
            self.reported += u64::from(report.job.is_some());
        }
        let JobCounts { done, retried, dead, others } = self.machine().counts();
        assert_eq!(done + retried + dead + others + self.left, self.taken, "each job ends once");
        assert_eq!(self.reported, self.taken - self.left + self.late, "and each end is reported");
    }
}

#[test]
fn whatever_happens_each_job_ends_once_and_a_stopped_run_is_over() {
    let seed = crate::runtime::random::quick();
    for seed in (0..3_000).map(|index| seed.wrapping_add(index)) {
        let mut world = World::new(seed);
        let walked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            world.walk();
            world.check();
        }));
        assert!(walked.is_ok(), "seed {seed}");
    }
}
