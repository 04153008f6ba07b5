//! The worker process: a crawler that flags, a consumer that indexes. Only it has the queue open.

use std::io::{ErrorKind, stdin};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;
use std::{fs, io};

use millpond::ick::Entry;

use crate::crawler::Crawler;
use crate::event::{Event, Pause};
use crate::index::{self, Index};
use crate::scratch::Scratch;
use crate::{Result, corpus};

/// The name of the Ick.
pub(crate) const ICK: &str = "files";

/// How long the consumer waits for work before it checks whether it should end.
const IDLE: Duration = Duration::from_millis(100);

/// `worker SCRATCH BATCH_SIZE PAUSE`. A line on the standard input ends the pause; its end says:
/// finish what there is to do and end.
pub(crate) fn main(mut arguments: impl Iterator<Item = String>) -> Result<()> {
    let mut next = || arguments.next().ok_or("the worker is started by the demo");
    let (root, size, pause) = (next()?, next()?.parse()?, next()?.parse()?);

    let client = millpond::connect(&Scratch::of(&root).queue_url())?;
    let ick = client.ick(ICK);
    let crawler = Crawler::open(Scratch::of(&root), ick.clone())?;
    let (go, pausing) = mpsc::channel();
    let (stop, stopped) = mpsc::channel::<()>();
    thread::spawn(move || {
        let _stop_at_the_end = stop;
        for _line in stdin().lines().map_while(Result::ok) {
            // An error means that the consumer has ended; then there is no pause to end.
            let _ = go.send(());
        }
    });
    let crawler = thread::spawn(move || crawler.run(&stopped));

    let mut indexer = Indexer { scratch: Scratch::of(&root), pause, pausing, batches: 0 };
    let mut index = Index::open(&indexer.scratch.index())?;
    loop {
        let is_last = crawler.is_finished();
        // Asking for the next batch commits the one before. A killed worker did not commit:
        // its batch is still reserved, and is the first that the next worker gets.
        for batch in ick.batches(size).wait(IDLE) {
            indexer.index(&batch?, &mut index)?;
        }
        if is_last {
            break;
        }
    }
    crawler.join().map_err(|_| "the crawler panicked")??;
    Ok(client.close()?)
}

struct Indexer {
    scratch: Scratch,
    pause: Pause,
    pausing: Receiver<()>,
    batches: usize,
}

impl Indexer {
    /// Indexes a batch in one transaction. It is done before the Ick's commit, so after a crash
    /// in between the batch comes once more and the same rows are written again.
    fn index(&mut self, batch: &[Entry], index: &mut Index) -> Result<()> {
        self.batches += 1;
        let paths: Vec<String> = batch
            .iter()
            .map(|entry| String::from_utf8(entry.member.clone()))
            .collect::<Result<_, _>>()?;
        Event::Reserved(paths.clone()).say();
        let writing = index.begin()?;
        for (number, path) in paths.into_iter().enumerate() {
            if self.pause == (Pause { batch: self.batches, after: number }) {
                Event::Paused.say();
                // An error means that the demo is gone; then there is nothing to wait for.
                let _ = self.pausing.recv();
            }
            self.index_file(&path, &writing)?;
            Event::Worked(path).say();
        }
        writing.commit()?;
        Event::Stored { files: index.len()? }.say();
        Ok(())
    }

    /// A flag is interpreted here, late: the file is read as it is now, or it is gone.
    fn index_file(&self, path: &str, writing: &index::Batch<'_>) -> Result<()> {
        match fs::read_to_string(self.scratch.files().join(path)) {
            Ok(text) => writing.put(path, &corpus::hash(text.as_bytes()), &text),
            Err(error) if is_gone(&error) => writing.remove(path),
            Err(error) => Err(error.into()),
        }
    }
}

fn is_gone(error: &io::Error) -> bool {
    error.kind() == ErrorKind::NotFound
}
