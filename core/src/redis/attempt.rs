//! One call through its retries and redirections: what a reply or a failure means for what is sent
//! next. It does no I/O; blocking and async connections obey it alike.

use std::time::{Duration, Instant};

use super::command;
use super::router::Router;
use crate::error::{Error, ErrorKind, Result};
use crate::options::{Address, Options};
use crate::runtime::backoff::Backoff;
use crate::runtime::random;
use crate::step::Invocation;
use crate::step::reply::{Reply, inner_error, server_error};

/// The pauses between two attempts.
const PAUSES: Backoff =
    Backoff { first: Duration::from_millis(20), most: Duration::from_millis(500) };

/// Redirections in a row that are followed: a cluster that sends a call in circles is not settled.
const REDIRECTIONS_MAX: u32 = 16;

/// One call, with what earlier replies said about how to send it.
#[derive(Debug)]
pub(super) struct Attempt {
    idempotent: bool,
    /// Whether the server does not know the script and needs its source.
    with_source: bool,
    /// Where an ASK redirection said to send it this time.
    asking: Option<Address>,
    /// Redirections since the last pause. They are replies, so they are not counted as retries.
    redirections: u32,
    retries_left: u32,
    /// How many pauses there were.
    pauses: u32,
    /// Why it was not sent before the last of them.
    failure: Option<Error>,
    deadline: Instant,
}

/// Whether a server that replies this is to be dialled anew: behind its name there may be another by
/// now, while old connections stay with one that was demoted, or is loading for minutes.
pub(super) fn is_demoted(reply: &Reply) -> bool {
    let Reply::Error(text) = reply else { return false };
    let word = inner_error(text).split(' ').next();
    matches!(word, Some("READONLY" | "MASTERDOWN" | "LOADING"))
}

/// The reply to a call that ASKING came before. A server that refuses ASKING sends the call back to where
/// it came from, and says why to ASKING alone.
pub(super) fn reply_after_asking(asking: Reply, reply: Reply) -> Reply {
    match (&asking, &reply) {
        (Reply::Error(_), Reply::Error(text)) if inner_error(text).starts_with("MOVED ") => asking,
        _ => reply,
    }
}

/// The result of one attempt.
pub(super) enum Outcome {
    /// The server at this address replied, maybe an error.
    Reply(Reply, Address),
    /// The call did not leave this process.
    NotSent(Error),
    /// The call left and no reply came.
    NoReply(Error),
}

/// Why a call was not sent that has waited for too long.
pub(super) fn too_late() -> Error {
    Error::new(ErrorKind::Unavailable, "there was no time left to send it")
}

/// What to do next.
#[derive(Debug)]
pub(super) enum Verdict {
    Done(Result<Reply>),
    Again,
    After(Duration),
}

impl Attempt {
    pub(super) fn new(router: &Router, idempotent: bool, now: Instant) -> Self {
        let Options { timeout, retries, wait, .. } = *router.dialer.options;
        let (timeout, retries) = match wait > timeout && !router.is_reached() {
            true => (wait, u32::MAX),
            false => (timeout, retries),
        };
        Self {
            idempotent,
            with_source: false,
            asking: None,
            redirections: 0,
            retries_left: retries,
            pauses: 0,
            failure: None,
            deadline: now + timeout,
        }
    }

    /// When the caller has to have a reply.
    pub(super) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Where a redirection said to send it; else the router says where.
    pub(super) fn redirected(&self) -> Option<Address> {
        self.asking.clone()
    }

    /// Whether ASKING has to come first.
    pub(super) fn is_asking(&self) -> bool {
        self.asking.is_some()
    }

    /// Puts the call as bytes behind what is there, with ASKING if it has to come first.
    pub(super) fn put(&self, invocation: &Invocation, out: &mut Vec<u8>) {
        command::put_script(invocation, self.with_source, self.is_asking(), out);
    }

    pub(super) fn judge(&mut self, outcome: Outcome, router: &Router, now: Instant) -> Verdict {
        self.asking = None;
        let (may_repeat, error) = match outcome {
            Outcome::Reply(Reply::Error(text), server) => {
                return self.judge_error(&text, &server, router, now);
            }
            Outcome::Reply(reply, _) => {
                router.reached();
                return Verdict::Done(Ok(reply));
            }
            // That there was no time left says less than what the time went by with.
            Outcome::NotSent(error)
                if now >= self.deadline && error.kind() == ErrorKind::Unavailable =>
            {
                return Verdict::Done(Err(self.failure.take().unwrap_or(error)));
            }
            Outcome::NotSent(error) => (
                matches!(error.kind(), ErrorKind::ConnectionFailed | ErrorKind::Unavailable),
                error,
            ),
            Outcome::NoReply(error) => {
                (self.idempotent && error.kind() == ErrorKind::ConnectionLost, error)
            }
        };
        router.forget();
        if may_repeat { self.later(error, now) } else { Verdict::Done(Err(error)) }
    }

    /// A server that replies an error has not run the step, so sending it again is safe.
    fn judge_error(
        &mut self,
        text: &str,
        server: &Address,
        router: &Router,
        now: Instant,
    ) -> Verdict {
        let text = inner_error(text);
        let mut words = text.split(' ');
        match words.next() {
            Some("NOSCRIPT") if !self.with_source => {
                self.with_source = true;
                Verdict::Again
            }
            Some(redirection @ ("MOVED" | "ASK")) => {
                let slot = words.next().and_then(|slot| slot.parse().ok());
                let address = words.next().and_then(|address| router.redirected(address, server));
                let Some((slot, address)) = slot.zip(address) else {
                    return Verdict::Done(Err(server_error(text)));
                };
                if redirection == "ASK" {
                    self.asking = Some(address);
                } else {
                    router.moved(slot, address);
                }
                self.redirections += 1;
                if self.redirections > REDIRECTIONS_MAX {
                    self.redirections = 0;
                    return self.later(server_error(text), now);
                }
                Verdict::Again
            }
            // One that loads its data for minutes may have been replaced by another meanwhile.
            Some("READONLY" | "CLUSTERDOWN" | "MASTERDOWN" | "LOADING") => {
                router.forget();
                self.later(server_error(text), now)
            }
            // A part of what has to come first is done, so as not to keep the others waiting.
            Some("AGAIN") if now < self.deadline => Verdict::Again,
            Some("TRYAGAIN" | "BUSY") => self.later(server_error(text), now),
            _ => Verdict::Done(Err(server_error(text))),
        }
    }

    /// Tries again after a pause with jitter, while there are time and retries left.
    fn later(&mut self, error: Error, now: Instant) -> Verdict {
        let pause = PAUSES.delay(self.pauses, random::quick());
        if self.retries_left == 0 || now + pause >= self.deadline {
            return Verdict::Done(Err(error));
        }
        self.retries_left -= 1;
        self.redirections = 0;
        self.pauses += 1;
        self.failure = Some(error);
        Verdict::After(pause)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::dial::Dialer;
    use super::*;

    fn router(url: &str) -> Router {
        let options = Options::parse(url).unwrap();
        Router::new(Dialer::new(Arc::new(options)).unwrap())
    }

    fn error(text: &str) -> Outcome {
        Outcome::Reply(Reply::Error(text.to_owned()), Address::Tcp("a".into(), 6379))
    }

    fn lost() -> Outcome {
        Outcome::NoReply(Error::new(ErrorKind::ConnectionLost, "gone"))
    }

    fn kind(verdict: Verdict) -> ErrorKind {
        match verdict {
            Verdict::Done(Err(error)) => error.kind(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_unknown_script_is_sent_once_with_its_source() {
        let router = router("redis://h");
        let now = Instant::now();
        let mut attempt = Attempt::new(&router, false, now);
        assert!(matches!(attempt.judge(error("NOSCRIPT no"), &router, now), Verdict::Again));
        assert!(attempt.with_source);
        assert_eq!(kind(attempt.judge(error("NOSCRIPT no"), &router, now)), ErrorKind::Server);
    }

    #[test]
    fn only_an_idempotent_step_is_sent_again_after_a_lost_connection() {
        let router = router("redis://h");
        let now = Instant::now();
        let mut step = Attempt::new(&router, false, now);
        assert_eq!(kind(step.judge(lost(), &router, now)), ErrorKind::ConnectionLost);
        let mut read = Attempt::new(&router, true, now);
        assert!(matches!(read.judge(lost(), &router, now), Verdict::After(_)));
        let timeout = Outcome::NoReply(Error::new(ErrorKind::Timeout, "slow"));
        assert_eq!(kind(read.judge(timeout, &router, now)), ErrorKind::Timeout);
    }

    /// Nothing but a reply ends the wait for the first one: a server that loads its data has been reached, but not yet.
    #[test]
    fn a_server_is_waited_for_until_it_has_been_reached_once() {
        let router = router("redis://h?retries=0&timeout=1s&wait=60s");
        let now = Instant::now();
        let failed = || Outcome::NotSent(Error::new(ErrorKind::ConnectionFailed, "refused"));
        let mut attempt = Attempt::new(&router, false, now);
        for second in 0..50 {
            let now = now + Duration::from_secs(second);
            assert!(matches!(attempt.judge(failed(), &router, now), Verdict::After(_)));
            assert!(matches!(attempt.judge(error("LOADING"), &router, now), Verdict::After(_)));
        }
        let late = now + Duration::from_secs(60);
        assert_eq!(kind(attempt.judge(failed(), &router, late)), ErrorKind::ConnectionFailed);

        let mut attempt = Attempt::new(&router, false, now);
        let reply = Outcome::Reply(Reply::Nil, Address::Tcp("a".into(), 6379));
        assert!(matches!(attempt.judge(reply, &router, now), Verdict::Done(Ok(_))));
        let mut attempt = Attempt::new(&router, false, now);
        assert_eq!(attempt.deadline(), now + Duration::from_secs(1));
        assert_eq!(kind(attempt.judge(failed(), &router, now)), ErrorKind::ConnectionFailed);
    }

    #[test]
    fn patience_ends_with_the_retries_or_with_the_time() {
        let router = router("redis://h?retries=3&timeout=10s");
        let now = Instant::now();
        let mut attempt = Attempt::new(&router, false, now);
        let mut pauses = Vec::new();
        for _ in 0..3 {
            match attempt.judge(error("LOADING soon"), &router, now) {
                Verdict::After(pause) => pauses.push(pause),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(
            kind(attempt.judge(error("LOADING soon"), &router, now)),
            ErrorKind::Unavailable
        );
        for (pause, step) in pauses.iter().zip([20, 40, 80]) {
            let step = Duration::from_millis(step);
            assert!(*pause >= step / 2 && *pause <= step, "{pause:?}");
        }
        let mut late = Attempt::new(&router, false, now);
        let end = now + Duration::from_secs(10);
        assert_eq!(kind(late.judge(error("BUSY"), &router, end)), ErrorKind::Unavailable);
    }

    #[test]
    fn redirections_are_followed_once_each_and_not_for_ever() {
        let router = router("redis+cluster://a?retries=1");
        let now = Instant::now();
        let mut attempt = Attempt::new(&router, false, now);
        assert!(matches!(attempt.judge(error("ASK 7 b:1"), &router, now), Verdict::Again));
        assert_eq!(attempt.redirected(), Some(Address::Tcp("b".into(), 1)));
        assert!(matches!(attempt.judge(error("MOVED 7 c:2"), &router, now), Verdict::Again));
        assert!(!attempt.is_asking());
        let mut pauses = 0;
        let last = loop {
            match attempt.judge(error("MOVED 7 c:2"), &router, now) {
                Verdict::Again => {}
                Verdict::After(_) => pauses += 1,
                done => break done,
            }
        };
        assert_eq!((kind(last), pauses), (ErrorKind::Server, 1));
    }
    #[test]
    fn a_redirection_without_a_host_stays_at_the_host_that_gave_it() {
        let router = router("redis+cluster://seed");
        let mut attempt = Attempt::new(&router, false, Instant::now());
        assert!(matches!(
            attempt.judge(error("ASK 7 :2"), &router, Instant::now()),
            Verdict::Again
        ));
        assert_eq!(attempt.redirected(), Some(Address::Tcp("a".into(), 2)));
    }

    #[test]
    fn a_redirection_that_cannot_be_read_is_an_error() {
        let router = router("redis+cluster://a");
        for text in
            ["MOVED", "ASK 7", "MOVED x h:1", "MOVED 7 h", "ASK 99999 h:1", "MOVED 7 h:99999"]
        {
            let mut attempt = Attempt::new(&router, false, Instant::now());
            let verdict = attempt.judge(error(text), &router, Instant::now());
            assert_eq!(kind(verdict), ErrorKind::Server, "{text}");
        }
    }

    #[test]
    fn what_is_said_against_asking_is_the_reply() {
        let said = |text: &str| Reply::Error(text.to_owned());
        let reply = reply_after_asking(said("NOPERM no"), said("MOVED 7 a:1"));
        assert_eq!(reply, said("NOPERM no"));
        assert_eq!(reply_after_asking(said("NOPERM no"), Reply::Int(1)), Reply::Int(1));
        let moved = reply_after_asking(Reply::Bytes(b"OK".to_vec()), said("MOVED 7 a:1"));
        assert_eq!(moved, said("MOVED 7 a:1"));
    }
}
