//! The demo's side of the worker: starts it, listens to it, kills it.

use std::env;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use crate::Result;
use crate::event::{Event, Pause};
use crate::report::Report;
use crate::scratch::Scratch;

/// How long the worker may be silent; it reports every file.
const PATIENCE: Duration = Duration::from_secs(120);

/// A running worker and what it has reported so far.
pub(crate) struct Worker<'a> {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<io::Result<String>>,
    report: &'a Report,
    pub(crate) history: History,
}

#[derive(Default)]
pub(crate) struct History {
    pub(crate) flagged: u64,
    pub(crate) folded: u64,
    pub(crate) batches: Vec<Batch>,
    pub(crate) paused: bool,
}

/// What was reserved, and what of it was indexed or removed.
#[derive(Clone, Default)]
pub(crate) struct Batch {
    pub(crate) members: Vec<String>,
    pub(crate) worked: Vec<String>,
}

impl<'a> Worker<'a> {
    pub(crate) fn start(
        scratch: &Scratch,
        batch_size: usize,
        pause: Pause,
        report: &'a Report,
    ) -> Result<Self> {
        let mut child = Command::new(env::current_exe()?)
            .arg("worker")
            .arg(scratch.root())
            .args([batch_size.to_string(), pause.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().ok_or("the worker has no output")?;
        let (told, lines) = channel();
        thread::spawn(move || {
            // Nothing reads the output of a worker that was abandoned.
            BufReader::new(stdout).lines().try_for_each(|line| told.send(line))
        });
        Ok(Self { child, stdin, lines, report, history: History::default() })
    }

    /// Reads until what the worker has reported makes `enough` true.
    pub(crate) fn until(&mut self, enough: impl Fn(&History) -> bool) -> Result<()> {
        while !enough(&self.history) {
            if !self.listen()? {
                return Err("the worker ended too early".into());
            }
        }
        Ok(())
    }

    /// Handles one line; returns false when there are no more.
    fn listen(&mut self) -> Result<bool> {
        let line = match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => line,
            Err(RecvTimeoutError::Disconnected) => return Ok(false),
            Err(RecvTimeoutError::Timeout) => {
                return Err(format!("the worker hangs: it told nothing for {PATIENCE:?}").into());
            }
        };
        let history = &mut self.history;
        match line?.parse()? {
            Event::Flagged { flagged, folded } => {
                history.flagged += flagged;
                history.folded += folded;
            }
            Event::Reserved(members) => history.batches.push(Batch { members, worked: vec![] }),
            Event::Worked(path) => {
                history.batches.last_mut().ok_or("work without a batch")?.worked.push(path);
            }
            Event::Paused => history.paused = true,
            Event::Stored { files } => self.report.progress(files),
        }
        Ok(true)
    }

    /// Ends the worker's pause.
    pub(crate) fn go_on(&mut self) -> Result<()> {
        self.history.paused = false;
        Ok(writeln!(self.stdin.as_ref().ok_or("the worker was told to end")?)?)
    }

    /// SIGKILL: the worker has no chance to tidy up.
    pub(crate) fn kill(mut self) -> Result<History> {
        self.child.kill()?;
        self.child.wait()?;
        while self.listen()? {}
        Ok(std::mem::take(&mut self.history))
    }

    /// Lets the worker finish what there is to do.
    pub(crate) fn finish(mut self) -> Result<History> {
        self.stdin = None;
        while self.listen()? {}
        let status = self.child.wait()?;
        if !status.success() {
            return Err(format!("the worker ended with {status}").into());
        }
        Ok(std::mem::take(&mut self.history))
    }
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        // No worker outlives the demo. One that has ended already is no error.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl History {
    /// How many times a file was indexed or removed.
    pub(crate) fn worked(&self) -> usize {
        self.batches.iter().map(|batch| batch.worked.len()).sum()
    }
}
