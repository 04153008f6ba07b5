//! What a child prints and what its parent has read when the child is dead.
//!
//! A child prints what it is about to do, does it, and prints that it was acknowledged, each as
//! one line in one write, so that a kill never leaves half a line. What was written before the
//! death stays in the pipe, and the parent reads it to its end.

use std::cell::Cell;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

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
    is_ready: Cell<bool>,
    /// What it has printed so far.
    said: Arc<Mutex<Vec<String>>>,
    reader: Option<JoinHandle<()>>,
}

impl Speaker {
    pub(crate) fn start(arguments: &[&str]) -> io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(arguments);
        Self::of(command)
    }

    /// Another program, and its output.
    pub(crate) fn of(mut command: Command) -> io::Result<Self> {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let output = BufReader::new(child.stdout.take().expect("it was asked for above"));
        let (is_ready, ready) = mpsc::channel();
        let said = Arc::<Mutex<Vec<String>>>::default();
        let lines = said.clone();
        let reader = std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if line == READY {
                    // The parent may have stopped waiting for it.
                    let _ = is_ready.send(());
                } else {
                    lines.lock().expect("nobody panicked").push(line);
                }
            }
        });
        Ok(Self { child, ready, is_ready: Cell::new(false), said, reader: Some(reader) })
    }

    /// Waits until the child is at work; false if it ended before.
    pub(crate) fn wait_ready(&self) -> bool {
        if !self.is_ready.get() {
            self.is_ready.set(self.ready.recv_timeout(Duration::from_secs(60)).is_ok());
        }
        self.is_ready.get()
    }

    /// Waits until the child has printed such a line; false if it does not.
    pub(crate) fn says(&self, is_it: impl Fn(&str) -> bool) -> bool {
        let (began, mut seen) = (Instant::now(), 0);
        loop {
            let said = self.said.lock().expect("nobody panicked");
            if said[seen..].iter().any(|line| is_it(line)) {
                return true;
            }
            seen = said.len();
            drop(said);
            if began.elapsed() > Duration::from_secs(60) {
                return false;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Tells the child to stop.
    pub(crate) fn tell_to_stop(&self) {
        self.signal(libc::SIGTERM);
    }

    /// Lets the child stand still until it is resumed, and waits until all its threads do.
    pub(crate) fn pause(&self) {
        self.signal(libc::SIGSTOP);
        // SAFETY: all of its fields may be zero.
        let mut state: libc::siginfo_t = unsafe { std::mem::zeroed() };
        // Neither a stop nor an end is taken from those who wait for the end.
        let states = libc::WSTOPPED | libc::WEXITED | libc::WNOWAIT;
        // SAFETY: the pointer is to a value of the type that the call fills. It fails for no child that was not
        // waited for.
        let _ = unsafe { libc::waitid(libc::P_PID, self.child.id(), &raw mut state, states) };
    }

    /// Lets a paused child go on.
    pub(crate) fn resume(&self) {
        self.signal(libc::SIGCONT);
    }

    fn signal(&self, signal: libc::c_int) {
        let pid = self.child.id().cast_signed();
        // SAFETY: it is a child of this process, which has not waited for it.
        let _ = unsafe { libc::kill(pid, signal) };
    }

    /// Waits for a child that was told to stop, and returns everything it printed.
    ///
    /// # Errors
    /// What the child printed last, if it does not end by itself.
    pub(crate) fn stopped(mut self) -> Result<Vec<String>, String> {
        let began = Instant::now();
        let status = loop {
            match self.child.try_wait().map_err(|error| error.to_string())? {
                Some(status) => break status,
                None if began.elapsed() > Duration::from_secs(60) => {
                    return Err("a child that was told to stop goes on".to_owned());
                }
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        self.lines(status, status.success())
    }

    /// Kills the child and returns everything it printed.
    ///
    /// # Errors
    /// What the child printed, if it ended by itself: its work has no end.
    pub(crate) fn kill(mut self) -> Result<Vec<String>, String> {
        // It fails only for a child that has ended, which the status shows.
        let _ = self.child.kill();
        let status = self.child.wait().map_err(|error| error.to_string())?;
        self.lines(status, status.signal() == Some(libc::SIGKILL))
    }

    /// Everything that a child printed which has ended, as it should or not.
    fn lines(&mut self, status: ExitStatus, is_right: bool) -> Result<Vec<String>, String> {
        let reader = self.reader.take().expect("only its end takes it");
        reader.join().map_err(|_| "the reader of a pipe panicked".to_owned())?;
        let lines = std::mem::take(&mut *self.said.lock().expect("nobody panicked"));
        match is_right {
            true => Ok(lines),
            false => {
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
