use std::time::Instant;

use super::*;

fn topic(name: &str) -> Topic {
    Arc::from(name.as_bytes())
}

fn is_woken(listener: &Listener) -> bool {
    listener.take_wake_up()
}

#[test]
fn wakes_one_in_turn_and_only_its_topic() {
    let waiters = Arc::new(Waiters::default());
    let first = waiters.listen(vec![topic("a")]);
    let second = waiters.listen(vec![topic("a"), topic("b")]);
    waiters.wake_one(b"a");
    assert!(is_woken(&first) && !is_woken(&second));
    waiters.wake_one(b"b");
    assert!(!is_woken(&first) && is_woken(&second));
    waiters.wake_one(b"c");
    assert!(!is_woken(&first) && !is_woken(&second));
}

#[test]
fn an_unused_wake_up_is_passed_on() {
    let waiters = Arc::new(Waiters::default());
    let first = waiters.listen(vec![topic("a")]);
    let second = waiters.listen(vec![topic("a")]);
    waiters.wake_one(b"a");
    drop(first);
    assert!(is_woken(&second));
    drop(second);
    assert!(lock(&waiters.topics).is_empty());
}

#[test]
fn a_wake_up_is_for_one_of_each_audience_and_stays_in_it() {
    let waiters = Arc::new(Waiters::default());
    let listen = |audience: &str| waiters.listen_as(topic(audience), vec![topic("a")]);
    let (first, second, other) = (listen("one"), listen("one"), listen("two"));
    waiters.wake_one(b"a");
    assert!(!is_woken(&second) && is_woken(&other), "another group has a wake-up of its own");
    drop(other);
    assert!(!is_woken(&second));
    drop(first);
    assert!(is_woken(&second));
    drop(second);
    assert!(lock(&waiters.topics).is_empty());
}

#[test]
fn a_wake_up_is_passed_on_for_its_topic_alone() {
    let waiters = Arc::new(Waiters::default());
    let both = waiters.listen(vec![topic("a"), topic("b")]);
    let (a, b) = (waiters.listen(vec![topic("a")]), waiters.listen(vec![topic("b")]));
    waiters.wake_one(b"b");
    drop(both);
    assert!(!is_woken(&a) && is_woken(&b));
}

#[test]
fn who_found_something_wakes_the_next_and_who_found_nothing_does_not() {
    let waiters = Arc::new(Waiters::default());
    let listen = || waiters.listen(vec![topic("a")]);
    let (first, second, third) = (listen(), listen(), listen());
    waiters.wake_one(b"a");
    first.wait(None).unwrap();
    drop(first);
    second.wait(None).unwrap();
    second.wait(Some(Instant::now())).unwrap();
    drop(second);
    assert!(!is_woken(&third));
    waiters.wake_one(b"a");
    third.wait(None).unwrap();
    third.used(b"a");
    let fourth = listen();
    drop(third);
    assert!(!is_woken(&fourth));
}

#[test]
fn a_wake_up_of_those_that_are_awake_is_not_lost() {
    let waiters = Arc::new(Waiters::default());
    let both = waiters.listen(vec![topic("a"), topic("b")]);
    waiters.wake_one(b"a");
    waiters.wake_one(b"b");
    let b = waiters.listen(vec![topic("b")]);
    drop(both);
    assert!(is_woken(&b));
}

#[test]
fn a_wake_up_before_the_wait_is_not_lost() {
    let waiters = Arc::new(Waiters::default());
    let listener = waiters.listen(vec![topic("a")]);
    waiters.wake_one(b"a");
    listener.wait(None).unwrap();
    listener.wait(Some(Instant::now() + Duration::from_millis(1))).unwrap();
}
