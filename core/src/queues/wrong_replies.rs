//! No step accepts a reply that its script cannot give: servers, proxies and other people's connections may
//! send anything, and a wrong reply must neither panic nor be taken for another.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::kinds;
use crate::error::{ErrorKind, Result};
use crate::kind::Kind;
use crate::step::cases::{Case, parse};
use crate::step::{Reply, script_header};

fn cases() -> Vec<Case> {
    kinds().iter().flat_map(|kind| (kind.cases)()).collect()
}

fn decode(case: &Case, reply: &Reply) -> Result<String> {
    let decoded = catch_unwind(AssertUnwindSafe(|| (case.decode)(reply.clone())));
    decoded.unwrap_or_else(|_| panic!("{} panics at {reply:?}", case.name))
}

#[track_caller]
fn assert_refused(case: &Case, reply: &Reply) {
    match decode(case, reply) {
        Ok(output) => panic!("{} takes {reply:?} for {output}", case.name),
        Err(error) => {
            let kinds = [ErrorKind::Internal, ErrorKind::Corrupt, ErrorKind::Server];
            assert!(kinds.contains(&error.kind()), "{}: {reply:?}: {error:?}", case.name);
        }
    }
}

#[test]
fn every_step_is_here() {
    let mut known: Vec<_> = cases().iter().map(|case| case.name).collect();
    known.sort_unstable();
    known.dedup();
    let mut all: Vec<_> = kinds().iter().flat_map(Kind::scripts).map(|(name, _)| name).collect();
    all.sort_unstable();
    assert_eq!(known, all);
}

#[test]
fn every_script_is_called_as_its_header_says() {
    for case in cases() {
        script_header::check(case.name, &case.call);
    }
}

#[test]
fn a_wrong_reply_is_refused_by_every_step() {
    let wrong = [
        "nil",
        "-1",
        "-9223372036854775808",
        "9223372036854775807",
        "'",
        "'x",
        "'-1",
        "[ ]",
        "[ nil ]",
        "[ -1 ]",
        "[ 0 ]",
        "[ 1 ]",
        "[ ' ]",
        "[ [ ] ]",
        "[ -1 -1 ]",
        "[ 1 -1 ]",
        "[ 'a nil ]",
        "[ 'a 'x ]",
        "[ nil nil ]",
        "[ [ ] [ ] ]",
        "[ 0 1 ]",
        "[ 0 [ ] ]",
        "[ 0 0 0 ]",
        "[ 0 -9223372036854775808 0 ]",
        "[ 0 99 0 0 ]",
        "[ [ [ [ ] ] ] ]",
    ];
    for case in cases() {
        for right in &case.right {
            decode(&case, right).unwrap();
        }
        for text in wrong {
            let reply = parse(text);
            // What another kind of script cannot say, this one may: a count is a count.
            let is_right = case.right.iter().any(|right| shape(right) == shape(&reply));
            if !is_right {
                assert_refused(&case, &reply);
            }
        }
        let error = decode(&case, &Reply::Error("ERR no".to_owned())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Server, "{}", case.name);
        for (reply, kind) in &case.refusals {
            assert_eq!(decode(&case, reply).unwrap_err().kind(), *kind, "{}", case.name);
        }
    }
}

/// What a reply looks like without the values in it; a negative number looks like no other.
fn shape(reply: &Reply) -> String {
    match reply {
        Reply::Nil => "nil".to_owned(),
        Reply::Int(0..1_000_000) => "count".to_owned(),
        Reply::Int(number) => number.to_string(),
        Reply::Bytes(_) => "text".to_owned(),
        Reply::Array(elements) => format!("{:?}", elements.iter().map(shape).collect::<Vec<_>>()),
        Reply::Error(_) => "error".to_owned(),
    }
}

#[test]
fn a_number_below_zero_is_refused_wherever_it_stands() {
    for case in cases() {
        for right in &case.right {
            for (path, node) in nodes(right) {
                if let Reply::Int(_) = node {
                    assert_refused(&case, &replaced(right, &path, Some(Reply::Int(-7))));
                }
            }
        }
    }
}

#[test]
fn a_reply_that_lacks_something_is_never_read_as_the_whole() {
    for case in cases() {
        for right in &case.right {
            let whole = decode(&case, right).unwrap();
            for (path, _) in nodes(right).into_iter().filter(|(path, _)| !path.is_empty()) {
                if let Ok(output) = decode(&case, &replaced(right, &path, None)) {
                    assert_ne!(output, whole, "{}: {right:?} without {path:?}", case.name);
                }
            }
        }
    }
}

#[test]
fn no_reply_makes_a_step_panic() {
    const SEED: u64 = 0x6d69_6c6c_706f_6e64;
    let mut random = Random(SEED);
    for case in cases() {
        let refusals = case.refusals.iter().map(|(reply, _)| reply.clone());
        let known: Vec<Reply> = case.right.iter().cloned().chain(refusals).collect();
        for _ in 0..2_000 {
            let mut reply = known[random.below(known.len())].clone();
            for _ in 0..=random.below(3) {
                let (path, _) = nodes(&reply).swap_remove(random.below(nodes(&reply).len()));
                let new = random.reply(&reply);
                reply = replaced(&reply, &path, new);
            }
            // Whatever it is read as; the message of a panic holds the reply.
            let _ = decode(&case, &reply);
        }
    }
}

/// Every node of a reply, with the way to it.
fn nodes(reply: &Reply) -> Vec<(Vec<usize>, Reply)> {
    let mut found = vec![(Vec::new(), reply.clone())];
    if let Reply::Array(elements) = reply {
        for (index, element) in elements.iter().enumerate() {
            for (mut path, node) in nodes(element) {
                path.insert(0, index);
                found.push((path, node));
            }
        }
    }
    found
}

/// The reply with another node in a place, or with none.
fn replaced(reply: &Reply, path: &[usize], new: Option<Reply>) -> Reply {
    let (Some((first, rest)), Reply::Array(elements)) = (path.split_first(), reply) else {
        return new.unwrap_or(Reply::Nil);
    };
    let mut elements = elements.clone();
    match new {
        None if rest.is_empty() => drop(elements.remove(*first)),
        new => elements[*first] = replaced(&elements[*first], rest, new),
    }
    Reply::Array(elements)
}

/// A generator that draws the same numbers everywhere: xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }

    /// Something to put into a reply; nothing to take something out.
    fn reply(&mut self, of: &Reply) -> Option<Reply> {
        let numbers = [0, 1, -1, 2, 13, 255, 256, i64::MAX, i64::MIN, 1 << 32, 1 << 53];
        let texts: [&[u8]; 8] =
            [b"", b"x", b"-1", b"1-0", b"inf", b"nan", b"\xff", b"18446744073709551616-0"];
        Some(match self.below(7) {
            0 => return None,
            1 => Reply::Nil,
            2 => Reply::Int(numbers[self.below(numbers.len())]),
            3 => Reply::Bytes(texts[self.below(texts.len())].to_vec()),
            4 => Reply::Error("ERR no".to_owned()),
            5 => Reply::Array(vec![of.clone(); self.below(4)]),
            _ => nodes(of).swap_remove(self.below(nodes(of).len())).1,
        })
    }
}
