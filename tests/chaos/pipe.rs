//! What a child prints and what its parent has read when the child is dead.
//!
//! A child prints what it is about to do, does it, and prints that it was acknowledged, each as
//! one line in one write, so that a kill never leaves half a line. What was written before the
//! death stays in the pipe, and the parent reads it to its end.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread::JoinHandle;
use std::time::Duration;

/// Prints one line. A child whose parent is gone ends.
pub(crate) fn say(line: impl std::fmt::Display) {
    if io::stdout().write_all(format!("{line}\n").as_bytes()).is_err() {
        std::process::exit(0);
    }
}

/// The line that a child prints when it begins with its work.
pub(crate) const READY: &str = "ready";

/// This program run again in another role, and its output.
pub(crate) struct Speaker {
    child: Child,
    ready: Receiver<()>,
    lines: Option<JoinHandle<Vec<String>>>,
}

impl Speaker {
    pub(crate) fn start(arguments: &[&str]) -> io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        let mut child =
            command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let output = BufReader::new(child.stdout.take().expect("it was asked for above"));
        let (is_ready, ready) = mpsc::channel();
        let lines = std::thread::spawn(move || {
            let mut lines = Vec::new();
            for line in output.lines().map_while(Result::ok) {
                if line == READY {
                    // The parent may have stopped waiting for it.
                    let _ = is_ready.send(());
                } else {
                    lines.push(line);
                }
            }
            lines
        });
        Ok(Self { child, ready, lines: Some(lines) })
    }

    /// Waits until the child is at work; false if it ended before.
    pub(crate) fn wait_ready(&self) -> bool {
        self.ready.recv_timeout(Duration::from_secs(60)).is_ok()
    }

    /// Kills the child and returns everything it printed.
    ///
    /// # Errors
    /// What the child printed, if it ended by itself: its work has no end.
    pub(crate) fn kill(mut self) -> Result<Vec<String>, String> {
        // It fails only for a child that has ended, which the status shows.
        let _ = self.child.kill();
        let status = self.child.wait().map_err(|error| error.to_string())?;
        let lines = self.lines.take().expect("only a kill takes it");
        let lines = lines.join().map_err(|_| "the reader of a pipe panicked".to_owned())?;
        match status.signal() {
            Some(libc::SIGKILL) => Ok(lines),
            _ => {
                let last = lines.last().map_or("nothing", String::as_str);
                Err(format!("a child ended by itself ({status}) and said at last: {last}"))
            }
        }
    }
}

impl Drop for Speaker {
    fn drop(&mut self) {
        // Both fail only for a child that is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
