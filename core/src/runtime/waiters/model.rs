//! Waiting, in all orders of its locks that matter: whoever waits for work that is there is woken, in whatever process,
//! though others stop waiting without a word. A wake-up that is lost is a deadlock, which the scheduler finds.
//!
//! What a step of Redis does about processes that wait is one lock here, as it is one step there: see `receive.lua`,
//! `commit.lua` and `hand_on.lua` of events. Nobody looks by the clock.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use shuttle::sync::Mutex;
use shuttle::thread;

use super::locks::lock;
use super::{Topic, Waiters};

const SCHEDULES: usize = 3_000;

/// Work, and the processes that wait for it.
#[derive(Default)]
struct Server {
    state: Mutex<State>,
    processes: Mutex<Vec<Weak<Waiters>>>,
}

#[derive(Default)]
struct State {
    work: usize,
    /// The processes that wait, by their numbers.
    waiting: VecDeque<usize>,
}

fn topic() -> Topic {
    Topic::from(*b"work")
}

impl Server {
    /// A process, which hands on what it is told when nobody in it listens.
    fn process(self: &Arc<Self>) -> Process {
        let waiters = Arc::<Waiters>::default();
        let mut processes = lock(&self.processes);
        let number = processes.len();
        processes.push(Arc::downgrade(&waiters));
        drop(processes);
        let (server, of) = (Arc::downgrade(self), Arc::downgrade(&waiters));
        let hand_on = move || {
            if let (Some(server), Some(waiters)) = (server.upgrade(), of.upgrade()) {
                server.hand_on(number);
                // Somebody who began to listen meanwhile may have been noted before.
                waiters.wake_one(&topic());
            }
        };
        waiters.on_unheard(&topic(), Arc::new(hand_on));
        Process { server: self.clone(), number, waiters }
    }

    /// Tells these processes, after the step.
    fn tell(&self, told: Vec<usize>) {
        for number in told {
            let waiters = lock(&self.processes)[number].upgrade();
            waiters.into_iter().for_each(|waiters| waiters.wake(&topic(), 1));
        }
    }

    fn publish(&self) {
        let mut state = lock(&self.state);
        state.work += 1;
        let told = state.waiting.pop_front().into_iter().collect();
        drop(state);
        self.tell(told);
    }

    fn hand_on(&self, number: usize) {
        let mut state = lock(&self.state);
        state.waiting.retain(|other| *other != number);
        let most = state.work.min(state.waiting.len());
        let told = state.waiting.drain(..most).collect();
        drop(state);
        self.tell(told);
    }

    /// Takes work, if there is some. A process that listens waits on if this takes nothing, and if it takes something as
    /// it says.
    fn receive(&self, number: usize, if_taken: Option<bool>) -> bool {
        let mut state = lock(&self.state);
        let has_taken = state.work > 0;
        state.work -= usize::from(has_taken);
        if let Some(if_taken) = if_taken {
            state.waiting.retain(|other| *other != number);
            if if_taken || !has_taken {
                state.waiting.push_back(number);
            }
        }
        let leaves_some = has_taken && state.work > 0;
        let next = if leaves_some { state.waiting.pop_front() } else { None };
        drop(state);
        self.tell(next.into_iter().collect());
        has_taken
    }
}

struct Process {
    server: Arc<Server>,
    number: usize,
    waiters: Arc<Waiters>,
}

impl Process {
    /// Whether it waits on after a receive of somebody who listens, or does not, and takes something; nothing if nobody
    /// listens.
    fn waits(&self, listens: bool) -> Option<bool> {
        let topics = lock(&self.waiters.topics);
        let of = |audiences: &std::collections::HashMap<_, VecDeque<_>>| {
            audiences.values().map(VecDeque::len).sum::<usize>()
        };
        let listeners = topics.get(&topic()).map_or(0, of);
        (listeners > 0).then_some(listeners > usize::from(listens))
    }

    /// Waits until it has taken something; one that is not patient stops instead of waiting.
    fn take(&self, is_patient: bool) -> bool {
        let mut listener = None;
        loop {
            let listens = listener.is_some();
            let if_taken = self.waits(listens);
            if self.server.receive(self.number, if_taken) {
                // Somebody who began to listen meanwhile may have been noted before.
                if if_taken == Some(false) && self.waits(listens) == Some(true) {
                    self.waiters.wake_one(&topic());
                }
                return true;
            }
            match &listener {
                None => listener = Some(self.waiters.listen(vec![topic()])),
                Some(_) if !is_patient => return false,
                Some(listener) => {
                    listener.used(&topic());
                    listener.wait(None).expect("nobody interrupts");
                }
            }
        }
    }
}

/// Runs consumers, each as the number of its process and whether it is patient, and publishes as much as the patient
/// ones take, and what the others took.
fn run(consumers: &'static [(usize, bool)]) {
    let test = move || {
        let server = Arc::<Server>::default();
        let processes = 1 + consumers.iter().map(|(process, _)| *process).max().unwrap_or(0);
        let processes: Vec<_> = (0..processes).map(|_| Arc::new(server.process())).collect();
        let (mut patient, mut others) = (Vec::new(), Vec::new());
        for &(process, is_patient) in consumers {
            let process = processes[process].clone();
            let consumer = thread::spawn(move || process.take(is_patient));
            if is_patient { patient.push(consumer) } else { others.push(consumer) }
        }
        for _ in 0..patient.len() {
            server.publish();
        }
        for consumer in others {
            if consumer.join().expect("it does not panic") {
                server.publish();
            }
        }
        for consumer in patient {
            assert!(consumer.join().expect("it does not panic"));
        }
        assert_eq!(lock(&server.state).work, 0);
    };
    shuttle::check_random(test, SCHEDULES);
    shuttle::check_pct(test, SCHEDULES, 3);
}

#[test]
fn those_of_one_process() {
    run(&[(0, true), (0, true), (0, true)]);
}

#[test]
fn those_of_several_processes() {
    run(&[(0, true), (1, true), (2, true)]);
}

#[test]
fn one_of_a_process_stops_waiting() {
    run(&[(0, false), (0, true), (0, true)]);
}

#[test]
fn a_process_stops_waiting() {
    run(&[(0, false), (1, true), (1, true)]);
}

#[test]
fn several_stop_waiting_in_several_processes() {
    run(&[(0, false), (0, true), (1, false), (1, true), (2, false)]);
}
