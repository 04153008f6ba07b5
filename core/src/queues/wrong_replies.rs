//! No step believes what its script cannot say: servers, proxies and other people's connections
//! answer what they like, and a wrong answer must neither panic nor be taken for another.

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use super::kinds;
use crate::error::{ErrorKind, Result};
use crate::kind::Kind;
use crate::shuffle::{MessageId, Receipt, Stream, TrackKeys};
use crate::step::{Invocation, Operation, Reply, script_header};
use crate::tasks::{DocChange, DocId, Modification, NewDoc, NewTask, TaskChange, TaskId};
use crate::{ick, shuffle, tasks};

/// A step, and answers that its script gives.
struct Case {
    name: &'static str,
    call: Invocation,
    right: Vec<Reply>,
    /// Reads an answer, and says what was read.
    decode: Box<dyn Fn(Reply) -> Result<String>>,
}

fn case<O: Operation<Output: Debug>>(step: Result<O>, right: &[&str]) -> Case {
    let step = step.unwrap();
    let call = step.invocation();
    let decode = move |reply| step.decode(reply).map(|output| format!("{output:?}"));
    let right = right.iter().map(|text| parse(text)).collect();
    Case { name: O::NAME, call, right, decode: Box::new(decode) }
}

/// An answer from its text: integers, strings as `'a`, `nil` and lists between brackets.
fn parse(text: &str) -> Reply {
    let mut lists = vec![Vec::new()];
    for word in text.split_whitespace() {
        let reply = match word {
            "[" => {
                lists.push(Vec::new());
                continue;
            }
            "]" => Reply::Array(lists.pop().unwrap()),
            "nil" => Reply::Nil,
            word => match word.strip_prefix('\'') {
                Some(text) => Reply::Bytes(text.as_bytes().to_vec()),
                None => Reply::Int(word.parse().unwrap()),
            },
        };
        lists.last_mut().unwrap().push(reply);
    }
    lists.pop().unwrap().pop().unwrap()
}

fn cases() -> Vec<Case> {
    let second = Duration::from_secs(1);
    let token: ick::Token = Arc::from(b"token".as_slice());
    let receipt = Receipt { stream: Stream::Number(1), id: MessageId::default() };
    let keys = TrackKeys::Queue;
    let mut write = shuffle::Write::new("q", 4, 2, second).unwrap();
    write.push("t", [("f", "1")]).unwrap();
    write.push("t", [("f", "2")]).unwrap();
    let expiry =
        shuffle::Expiry { value: b"v".to_vec(), deadline: b"5".to_vec(), is_current: true };
    let task = || TaskId::new("t", 3);
    let doc = || DocId::new("n", "d", 3);
    let everything = Modification::new()
        .insert(NewTask::new("q").id("a"))
        .insert(NewTask::new("q").id("b").skip_colliding())
        .change(TaskChange::new(task(), "q"))
        .delete(TaskId::new("x", 0))
        .insert_doc(NewDoc::new("n", "k").id("e"))
        .change_doc(DocChange::new(doc()));
    let one_task = "[ 't 3 'q 1000 900 950 'c 1 0 ' 'null 5 0 ]";
    let two_tasks = "[ 't 3 'q 1000 900 950 'c 1 0 ' nil 5 2000 'u 0 'q 1 1 1 ' 0 0 'no '1 0 0 ]";
    let one_doc = "[ 'n 'd 3 'k ' 'null 0 ' 900 950 ]";
    let entry = "[ '1-0 [ 'f '1 ] ]";
    let dead = "[ '2-0 [ 'dead:stream '3 'dead:id '1-0 'dead:group 'g 'dead:consumer 'c \
        'dead:deliveries '2 'f '1 ] ]";
    let listed = |parts: &[&str]| format!("[ {} ]", parts.join(" "));
    vec![
        case(ick::Acquire::new("k", token.clone(), second), &["1", "0"]),
        case(ick::Add::new("k", [(1.0, "a"), (2.0, "b")]), &["[ 1 1 ]", "[ 2 0 ]", "[ 0 0 ]"]),
        case(ick::Commit::new("k", ["a", "b"]), &["2", "0"]),
        case(ick::Delete::new("k"), &["3", "0"]),
        case(ick::Exchange::new("k", 2, ["a"]), &["[ 'a '1 'b '2.5 ]", "[ ]"]),
        case(ick::Peek::new("k", ick::Set::Producer, 2), &["[ 'a '1 'b '-inf ]", "[ ]"]),
        case(
            ick::ReadStats::new("k"),
            &["nil", "[ 'ick.v1 1 2 '1 '1 '2 '3 ]", "[ 'ick.v1 0 0 nil nil nil nil ]"],
        ),
        case(ick::Release::new("k", token.clone()), &["1", "0"]),
        case(ick::Renew::new("k", token, second), &["1", "0"]),
        case(ick::Reserve::new("k", 2), &["[ 'a '1 'b '2.5 ]", "[ ]"]),
        case(shuffle::Ack::new("q", "g", [receipt]), &["1", "0"]),
        case(shuffle::Backlog::new("q"), &["7", "0"]),
        case(shuffle::DeleteDeadLetters::new("q", [receipt.id]), &["1", "0"]),
        case(shuffle::Extend::new("q", "g", "c", [receipt]), &["1", "0"]),
        case(shuffle::Len::new("q"), &["7", "0"]),
        case(
            shuffle::Read::new("q", "g", "c", 2),
            &["[ '9-1 ]", &listed(&["'", "3", entry, "-1", entry])],
        ),
        case(shuffle::ReadDeadLetters::new("q", 2), &["[ ]", &listed(&[dead, dead])]),
        case(shuffle::ReadStats::new("q", "g"), &["[ ]", "[ [ 5 2 1 nil ] [ 5 2 1 700 ] ]"]),
        case(
            shuffle::Reclaim::new("q", "g", "c", second, 2),
            &["[ 0 ]", "[ 2 ]", &listed(&["1", "3", "2", entry])],
        ),
        case(shuffle::Resize::new("q", 4, second), &["4", "9"]),
        case(Ok(write), &["[ '1-0 2 '1-1 0 ]"]),
        case(shuffle::Cordon::new("q", keys, second), &["[ ]", "[ 'v ]", "[ 'v 'w ]"]),
        case(shuffle::DeleteTracked::new("q", keys, "v"), &["nil", "[ 'q:s3 '1-0 ]"]),
        case(shuffle::ForgetExpired::new("q", keys, [expiry]), &["1", "0"]),
        case(shuffle::ScanExpired::new("q", keys, "", None), &["[ ' 0 ]", "[ 'd5 9 'v '5 1 ]"]),
        case(
            tasks::Claim::new("s", "c", ["q"], second, 2, 0),
            &[
                "[ [ ] [ ] [ ] ]",
                &listed(&[one_task, "[ ]", "[ 1 ]"]),
                &listed(&[two_tasks, "[ ]", "[ 1 2 ]"]),
            ],
        ),
        case(
            tasks::Claim::new("s", "c", ["q", "r"], second, 2, 0).map(|step| step.waiting(true)),
            &["[ [ ] [ -1 3000 ] [ ] ]"],
        ),
        case(
            tasks::ClaimDocs::new("s", "c", "n", "k", second),
            &["[ 1 [ ] ]", &listed(&["1", one_doc])],
        ),
        case(tasks::FetchDocs::new("s", "n", ["d"]), &["[ ]", one_doc]),
        case(tasks::FetchTasks::new("s", ["t", "u"]), &["[ ]", one_task, two_tasks]),
        case(
            tasks::ListDocs::new("s", "n", tasks::DocQuery::new()),
            &["[ [ ] ]", &listed(&[one_doc, "'k 'l 'd"])],
        ),
        case(
            tasks::ListTasks::new("s", "q", tasks::TaskQuery::new()),
            &["[ [ ] ]", &listed(&[two_tasks, "1000 't"])],
        ),
        case(
            tasks::Modify::new("s", "c", everything),
            &[&listed(&["1 1000 [ 1 0 ] [ 900 1 5 0 ] [ 1 ]", one_doc])],
        ),
        case(
            tasks::ReadNamespaceStats::new("s", tasks::Filter::new()),
            &["[ ]", "[ 'n 3 1 'o 0 0 ]"],
        ),
        case(tasks::ReadQueueStats::new("s", tasks::Filter::new()), &["[ ]", "[ 'q 6 1 2 3 4 ]"]),
        case(tasks::ReadTime::new("s"), &["1000"]),
        case(tasks::Renew::new("s", "c", vec![task()], vec![doc()], second), &["[ 1000 ]"]),
    ]
}

/// What a script says of a step that it refuses: errors, but not of the server.
fn refusals() -> Vec<(Case, ErrorKind)> {
    let second = Duration::from_secs(1);
    let modification = Modification::new().insert(NewTask::new("q").id("a"));
    let renewed = (vec![TaskId::new("t", 3)], vec![DocId::new("n", "d", 3)]);
    let tasks = [
        case(tasks::ClaimDocs::new("s", "c", "n", "k", second), &["[ 0 [ 'd 7 ] ]"]),
        case(tasks::Modify::new("s", "c", modification), &["[ 0 1 0 7 ]"]),
        case(tasks::Renew::new("s", "c", renewed.0, renewed.1, second), &["[ 0 1 1 2 0 ]"]),
    ];
    let write = case(shuffle::Write::new("q", 4, 2, second), &["64"]);
    let tasks = tasks.map(|case| (case, ErrorKind::Dependency));
    tasks.into_iter().chain([(write, ErrorKind::InvalidArgument)]).collect()
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
    let token: ick::Token = Arc::from(b"token".as_slice());
    let write = shuffle::Write::new("q", 4, 2, None).unwrap();
    let mut tracked = write.tracked("id", None, TrackKeys::Queue).unwrap();
    tracked.push("t", [("id", "1")]).unwrap();
    let more = [
        ("ick.add", ick::Add::new("k", [(1.0, ""); 0]).unwrap().invocation()),
        ("ick.reserve", ick::Reserve::new("k", 1).unwrap().fenced(token.clone()).invocation()),
        ("ick.commit", ick::Commit::new("k", ["a"]).unwrap().fenced(token.clone()).invocation()),
        ("ick.exchange", ick::Exchange::new("k", 1, ["a"]).unwrap().fenced(token).invocation()),
        ("shuffle.write", tracked.invocation()),
    ];
    let calls = cases().into_iter().map(|case| (case.name, case.call));
    for (name, call) in calls.chain(more) {
        script_header::check(name, &call);
    }
}

#[test]
fn a_wrong_answer_is_refused_by_every_step() {
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
    }
    for (case, kind) in refusals() {
        assert_eq!(decode(&case, &case.right[0]).unwrap_err().kind(), kind, "{}", case.name);
    }
}

/// What an answer looks like without the values in it; a negative number looks like no other.
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
fn an_answer_that_lacks_something_is_never_read_as_the_whole() {
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
fn no_answer_makes_a_step_panic() {
    const SEED: u64 = 0x6d69_6c6c_706f_6e64;
    let mut random = Random(SEED);
    let refusals = refusals().into_iter().map(|(case, _)| case);
    for case in cases().into_iter().chain(refusals) {
        for _ in 0..2_000 {
            let mut reply = case.right[random.below(case.right.len())].clone();
            for _ in 0..=random.below(3) {
                let (path, _) = nodes(&reply).swap_remove(random.below(nodes(&reply).len()));
                let new = random.reply(&reply);
                reply = replaced(&reply, &path, new);
            }
            // Whatever it is read as; the message of a panic holds the answer.
            let _ = decode(&case, &reply);
        }
    }
}

/// Every node of an answer, with the way to it.
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

/// The answer with another node in a place, or with none.
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

    /// Something to put into an answer; nothing to take something out.
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
