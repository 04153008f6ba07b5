//! Cases of steps, for the tests that go through all steps of all queues: a call, and correct replies to it.

use std::fmt::Debug;

use super::{Invocation, Operation, Reply};
use crate::error::{ErrorKind, Result};

/// A step, and replies that its script returns.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) call: Invocation,
    pub(crate) right: Vec<Reply>,
    /// Replies with which the script refuses the step, and the error kinds that they mean.
    pub(crate) refusals: Vec<(Reply, ErrorKind)>,
    /// Reads a reply, and returns a description of what was read.
    pub(crate) decode: Box<dyn Fn(Reply) -> Result<String>>,
}

/// A step with correct replies of its script, as texts: integers, strings as `'a`, `nil`, and lists between brackets.
pub(crate) fn case<O: Operation<Output: Debug>>(step: Result<O>, right: &[&str]) -> Case {
    let step = step.unwrap();
    let call = step.invocation();
    let decode = move |reply| step.decode(reply).map(|output| format!("{output:?}"));
    let right = right.iter().map(|text| parse(text)).collect();
    Case { name: O::NAME, call, right, refusals: Vec::new(), decode: Box::new(decode) }
}

impl Case {
    pub(crate) fn refuses(mut self, reply: &str, kind: ErrorKind) -> Self {
        self.refusals.push((parse(reply), kind));
        self
    }
}

pub(crate) fn parse(text: &str) -> Reply {
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
