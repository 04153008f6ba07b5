//! Processes whose threads wait for messages of a shuffle queue and report when they received
//! each: what the documentation says about waiting has to be true between processes.

use std::io::{self, BufRead, BufReader, Write};
use std::ops::Range;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use millpond::shuffle::ShuffleQueue;
use millpond::{Client, ErrorKind};

use crate::clock;

/// The queue of a client that all here write to and wait for.
#[must_use]
pub fn queue(client: &Client) -> ShuffleQueue {
    client.shuffle_queue("waiting").streams(16)
}

/// The group of the waiters.
pub const GROUP: &str = "waiters";

/// Waits in this many threads, each for `block` at a time, until standard input ends. What
/// the child of [`Waiters::start`] does.
///
/// # Errors
/// When the server cannot be reached at first.
pub fn wait(url: &str, waiters: usize, block: Duration) -> millpond::Result<()> {
    let client = millpond::connect(url)?;
    std::thread::scope(|scope| {
        for waiter in 0..waiters {
            let queue = queue(&client);
            scope.spawn(move || wait_in_thread(&queue, waiter, block));
        }
        // Whether it ends or breaks, nothing waits for the results any more.
        let _ = io::stdin().read_line(&mut String::new());
        client.close()
    })
}

fn wait_in_thread(queue: &ShuffleQueue, waiter: usize, block: Duration) {
    let consumer = queue.consumer(GROUP, format!("{}-{waiter}", std::process::id()));
    let mut messages = consumer.messages(1 + waiter % 3 * 10).wait(block);
    loop {
        let batch = match messages.next() {
            None => continue,
            Some(Err(error)) if error.kind() == ErrorKind::Closed => return,
            Some(batch) => batch,
        };
        let now = clock::now();
        let picked = batch.and_then(|batch| {
            let acknowledged = consumer.ack_and_delete(&batch)?;
            Ok((batch, acknowledged))
        });
        let lines = match picked {
            Err(error) => format!("error {error}\n"),
            Ok((batch, acknowledged)) if acknowledged != batch.len() as u64 => {
                format!("error {acknowledged} of {} were acknowledged\n", batch.len())
            }
            Ok((batch, _)) => batch.iter().fold(String::new(), |lines, message| {
                let number = |name| {
                    let text = message.field(name).and_then(|value| str::from_utf8(value).ok());
                    text.and_then(|text| text.parse::<u64>().ok()).expect("it was written")
                };
                lines + &format!("{} {}\n", number("n"), now.saturating_sub(number("at")))
            }),
        };
        if io::stdout().write_all(lines.as_bytes()).is_err() {
            return;
        }
    }
}

/// Fields that say which message this is and when it was written.
#[must_use]
pub fn fields(number: u64) -> [(&'static str, String); 2] {
    [("n", number.to_string()), ("at", clock::now().to_string())]
}

/// Seeded random numbers below an end.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        let next = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = next.wrapping_add(1_442_695_040_888_963);
        (self.0 >> 33) % end
    }
}

/// How many write at the same time.
const WRITERS: u64 = 4;

/// Writes `count` messages in rounds, each of all writers at the same time, and after each waits
/// until all are picked up: at a round's last message no waiter is awake that might find it by
/// coincidence. Ends early if that takes longer than `patience`.
///
/// # Errors
/// Those of a write.
///
/// # Panics
/// When a writer does.
pub fn write_in_rounds(
    client: &Client,
    waiters: &[Waiters],
    count: u64,
    patience: Duration,
) -> millpond::Result<()> {
    let (mut random, mut written) = (Random(count), 0);
    while written < count {
        let most = [2, 20, 300, 300][random.below(4) as usize];
        let end = count.min(written + 1 + random.below(most));
        std::thread::scope(|scope| {
            let writers: Vec<_> = (0..WRITERS)
                .map(|writer| {
                    let place = |writer| written + (end - written) * writer / WRITERS;
                    let (numbers, seed) = (place(writer)..place(writer + 1), random.0 ^ writer);
                    scope.spawn(move || write_in_bursts(client, numbers, Random(seed)))
                })
                .collect();
            writers.into_iter().try_for_each(|writer| writer.join().expect("writing is no panic"))
        })?;
        written = end;
        if !is_picked_up(waiters, written, patience) {
            return Ok(());
        }
    }
    Ok(())
}

/// Waits until this many messages were picked up in all; false if the time was up before.
#[must_use]
pub fn is_picked_up(waiters: &[Waiters], count: u64, patience: Duration) -> bool {
    let began = Instant::now();
    loop {
        match waiters.iter().map(Waiters::picked).sum::<u64>() >= count {
            true => return true,
            false if began.elapsed() > patience => return false,
            false => std::thread::sleep(Duration::from_micros(200)),
        }
    }
}

/// Writes messages with these numbers: single and in batches, in bursts and with pauses.
fn write_in_bursts(
    client: &Client,
    numbers: Range<u64>,
    mut random: Random,
) -> millpond::Result<()> {
    let queue = queue(client);
    let mut next = numbers.start;
    while next < numbers.end {
        let many = match random.below(16) {
            0 => {
                std::thread::sleep(Duration::from_micros(random.below(5_000)));
                continue;
            }
            1 | 2 => {
                std::thread::sleep(Duration::from_micros(random.below(200)));
                continue;
            }
            3..6 => 2 + random.below(19),
            _ => 1,
        };
        let end = (next + many).min(numbers.end);
        let tenant = |number: u64| format!("tenant-{}", number % 13);
        match end - next {
            1 => queue.write(tenant(next), fields(next)).map(drop)?,
            _ => queue.write_many((next..end).map(|n| (tenant(n), fields(n)))).map(drop)?,
        }
        next = end;
    }
    Ok(())
}

/// A process that waits, as its parent has it.
#[derive(Debug)]
pub struct Waiters {
    child: Child,
    /// Its end is what the child ends on.
    stdin: Option<ChildStdin>,
    picked: Arc<AtomicU64>,
    reader: Option<JoinHandle<PickedUp>>,
}

/// What a process of waiters received.
#[derive(Debug, Default)]
pub struct PickedUp {
    /// The number of each message that was acknowledged, and the time from just before its write to
    /// its pick-up.
    pub messages: Vec<(u64, Duration)>,
    /// What went wrong.
    pub errors: Vec<String>,
}

impl Waiters {
    /// Starts a process: `program`, which has to call [`wait`].
    ///
    /// # Errors
    /// When there is no such program.
    pub fn start(program: &mut Command) -> io::Result<Self> {
        let mut child = program.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let output = BufReader::new(child.stdout.take().expect("it was asked for above"));
        let picked = Arc::new(AtomicU64::new(0));
        let count = picked.clone();
        let reader = std::thread::spawn(move || {
            let mut heard = PickedUp::default();
            for line in output.lines().map_while(Result::ok) {
                let numbers = line.split_once(' ').and_then(|(number, delay)| {
                    Some((number.parse().ok()?, Duration::from_nanos(delay.parse().ok()?)))
                });
                match numbers {
                    Some(message) => {
                        heard.messages.push(message);
                        count.fetch_add(1, Ordering::Relaxed);
                    }
                    None => heard.errors.push(line),
                }
            }
            heard
        });
        Ok(Self { stdin: child.stdin.take(), child, picked, reader: Some(reader) })
    }

    /// The id of the process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How many messages it has picked up so far.
    #[must_use]
    pub fn picked(&self) -> u64 {
        self.picked.load(Ordering::Relaxed)
    }

    /// Ends the process and returns what it received.
    ///
    /// # Panics
    /// When the process ended otherwise.
    #[must_use]
    pub fn finish(mut self) -> PickedUp {
        drop(self.stdin.take());
        let status = self.child.wait().expect("nobody else waits for it");
        assert!(status.success(), "a process of waiters ended with {status}");
        self.reader.take().expect("only this takes it").join().expect("reading does not panic")
    }
}

impl Drop for Waiters {
    fn drop(&mut self) {
        // Both fail only for a child that has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
