//! A language's adapter: a process that turns lines into calls of that language's library.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::Result;
use crate::languages::Language;
use crate::result::Refusal;

/// How long one call may take. Nothing in a case waits, so an adapter that needs longer hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// An adapter that ended this often is not started again.
const STARTS_MAX: u32 = 5;

/// An adapter's response to one request.
#[derive(Debug)]
pub(crate) enum Response {
    Result(Value),
    Error(Refusal),
    /// The language cannot express this, and why.
    Unsupported(String),
}

/// An adapter; its process starts when it is first needed, and again after it crashed.
pub(crate) struct Adapter {
    language: Language,
    process: Option<Process>,
    starts: u32,
    /// The keys of the statistics of recruiters in earlier cases: nothing waits for a report, so one may come when the
    /// server was emptied already.
    pub(super) late: BTreeSet<Vec<u8>>,
}

struct Process {
    child: Child,
    requests: BufWriter<ChildStdin>,
    responses: Receiver<String>,
    last_id: u64,
}

impl Adapter {
    /// An adapter of this language.
    pub(crate) fn new(language: &Language) -> Self {
        Self { language: language.clone(), process: None, starts: 0, late: BTreeSet::new() }
    }

    /// Another adapter of the same language: a process of its own.
    pub(crate) fn sibling(&self) -> Self {
        Self::new(&self.language)
    }

    /// Whether its language has one of the abilities in which languages differ.
    pub(crate) fn has(&self, ability: &str) -> bool {
        self.language.abilities.contains(&ability)
    }

    /// Opens a client, closing the one that was open.
    pub(crate) fn open(&mut self, url: &str) -> Result<()> {
        match self.call(json!({"call": "open", "url": url}))? {
            Response::Result(_) => Ok(()),
            Response::Error(refusal) => Err(format!("cannot open {url}: {}", refusal.message)),
            Response::Unsupported(why) => Err(format!("cannot open {url}: {why}")),
        }
    }

    /// Makes one call.
    pub(crate) fn call(&mut self, request: Value) -> Result<Response> {
        let mut responses = self.call_all(vec![request])?;
        responses.pop().ok_or_else(|| "no response".to_owned())
    }

    /// Makes several calls, one after the other but without waiting for responses in between.
    ///
    /// # Errors
    /// When the adapter crashes, hangs or returns what cannot be read; it starts anew then, without
    /// a client.
    pub(crate) fn call_all(&mut self, requests: Vec<Value>) -> Result<Vec<Response>> {
        self.call_meanwhile(requests, || Ok(()))
    }

    /// Makes several calls, and does something after they were sent and before their responses.
    ///
    /// # Errors
    /// As [`call_all`](Self::call_all); also what `meanwhile` returns.
    pub(crate) fn call_meanwhile(
        &mut self,
        requests: Vec<Value>,
        meanwhile: impl FnOnce() -> Result<()>,
    ) -> Result<Vec<Response>> {
        let mut process = match self.process.take() {
            Some(process) => process,
            None if self.starts == STARTS_MAX => {
                return Err(format!("the adapter ended {STARTS_MAX} times"));
            }
            None => {
                self.starts += 1;
                Process::start(&self.language.command)?
            }
        };
        let responses = process.call_all(requests, meanwhile)?;
        self.process = Some(process);
        Ok(responses)
    }
}

impl Process {
    fn start(command: &[String]) -> Result<Self> {
        let (program, arguments) = command.split_first().ok_or("the adapter has no command")?;
        let mut child = Command::new(program)
            .args(arguments)
            .current_dir(repository())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot start {program}: {error}"))?;
        let requests = child.stdin.take().ok_or("the adapter has no standard input")?;
        let responses = child.stdout.take().ok_or("the adapter has no standard output")?;
        let (sender, receiver) = channel();
        thread::spawn(move || {
            let lines = BufReader::new(responses).lines().map_while(std::io::Result::ok);
            // Nothing reads any more once the process is abandoned.
            lines.map(|line| sender.send(line)).take_while(std::result::Result::is_ok).count()
        });
        Ok(Self { child, requests: BufWriter::new(requests), responses: receiver, last_id: 0 })
    }

    fn call_all(
        &mut self,
        mut requests: Vec<Value>,
        meanwhile: impl FnOnce() -> Result<()>,
    ) -> Result<Vec<Response>> {
        let first_id = self.last_id + 1;
        let ended = |error| format!("the adapter does not listen: {error}");
        for request in &mut requests {
            self.last_id += 1;
            request["id"] = json!(self.last_id);
            writeln!(self.requests, "{request}").map_err(ended)?;
        }
        self.requests.flush().map_err(ended)?;
        meanwhile()?;
        (first_id..=self.last_id).map(|id| self.response(id)).collect()
    }

    fn response(&self, id: u64) -> Result<Response> {
        let line = self.responses.recv_timeout(PATIENCE).map_err(|error| match error {
            RecvTimeoutError::Timeout => format!("no response in {} s", PATIENCE.as_secs()),
            RecvTimeoutError::Disconnected => "the adapter ended".to_owned(),
        })?;
        let response: Value = serde_json::from_str(&line)
            .map_err(|error| format!("the adapter returned no JSON: {error}: {line}"))?;
        if response["id"].as_u64() != Some(id) {
            return Err(format!("the response does not belong to request {id}: {line}"));
        }
        if let Some(error) = response.get("error") {
            return Refusal::read(error).map(Response::Error);
        }
        if let Some(why) = response["unsupported"].as_str() {
            return Ok(Response::Unsupported(why.to_owned()));
        }
        let result = response.get("result").ok_or_else(|| format!("no result: {line}"))?;
        Ok(Response::Result(result.clone()))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // One that ended by itself cannot be killed, and that is as well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The root of the repository.
pub(crate) fn repository() -> &'static Path {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().expect("the package of the tests lies in the repository")
}
