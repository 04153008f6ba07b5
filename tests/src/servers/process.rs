use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{self, Sender};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;

/// A child that is killed with its value, and with the test process if that dies first.
#[derive(Debug)]
pub(super) struct Process {
    pid: u32,
    child: Mutex<Child>,
}

impl Process {
    /// Starts `command` from the thread that outlives every test.
    pub(super) fn spawn(command: Command) -> io::Result<Self> {
        let (sender, child) = mpsc::channel();
        SPAWNER.send((command, sender)).expect("the spawning thread never ends");
        let child = child.recv().expect("the spawning thread serves every request")?;
        Ok(Self { pid: child.id(), child: Mutex::new(child) })
    }

    /// The process id, also of a process that has ended.
    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    /// How the process ended, or `None` while it lives (stopped counts as living).
    pub(super) fn ended(&self) -> Option<ExitStatus> {
        self.child().try_wait().unwrap_or_else(|_| Some(ExitStatus::from_raw(0)))
    }

    /// Sends SIGKILL and waits until the process is gone, so that its port is free afterwards.
    pub(super) fn kill(&self) {
        let mut child = self.child();
        // Both fail only for a process that has been waited for, and that one is gone already.
        let _ = child.kill();
        let _ = child.wait();
    }

    /// Sends `signal`, unless the process has ended: its id may be another's by now.
    pub(super) fn signal(&self, signal: libc::c_int) {
        let mut child = self.child();
        let alive = matches!(child.try_wait(), Ok(None));
        assert!(alive, "process {} has ended and takes no signal", self.pid);
        let pid = libc::pid_t::try_from(self.pid).expect("the system's process ids fit pid_t");
        // SAFETY: `kill` touches no memory of ours. The child has not been waited for, and the
        // lock keeps others from doing so, hence the id still is the child's.
        let sent = unsafe { libc::kill(pid, signal) };
        assert_eq!(sent, 0, "cannot signal {pid}: {}", io::Error::last_os_error());
    }

    fn child(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

type Request = (Command, Sender<io::Result<Child>>);

/// The one thread that starts all children.
///
/// Linux sends the "parent died" signal when the *thread* that forked ends, not the process. A
/// test's own thread ends with the test, while its servers may live in a shared fixture; this
/// thread ends only with the process. (A watching shell that reads a pipe was the alternative: it
/// works everywhere, but leaves a moment in which a new child is not yet known to the watcher.)
static SPAWNER: LazyLock<Sender<Request>> = LazyLock::new(|| {
    let (requests, queue) = mpsc::channel::<Request>();
    thread::Builder::new()
        .name("server-spawner".into())
        .spawn(move || {
            for (mut command, sender) in queue {
                die_with_parent(&mut command);
                // The caller is waiting; if it were gone, the child would be dropped with the
                // reply.
                let _ = sender.send(command.spawn());
            }
        })
        .expect("a thread can be started");
    requests
});

/// Makes the child of `command` die when this process does, SIGKILL included.
///
/// The child also gets its own process group: a Ctrl-C is for the test, which then takes its
/// servers down in its own order.
#[cfg(target_os = "linux")]
fn die_with_parent(command: &mut Command) {
    command.process_group(0);
    let parent = std::process::id();
    let prepare = move || {
        // SAFETY: `prctl` with these arguments only sets a field of the calling process.
        if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: `getppid` only reads, and cannot fail.
        let adopted_by = unsafe { libc::getppid() };
        // The parent may have died before the request was in place; then no signal would come.
        if u32::try_from(adopted_by) != Ok(parent) {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes two async-signal-safe calls and neither
    // allocates nor takes a lock: errors made of a system code live on the stack.
    unsafe { command.pre_exec(prepare) };
}

/// Elsewhere only `Drop` takes the children down: there is no such signal to ask for.
#[cfg(not(target_os = "linux"))]
fn die_with_parent(command: &mut Command) {
    command.process_group(0);
}
