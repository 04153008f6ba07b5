//! The story: a worker is killed in mid-batch, files change under the next one, and in the end the
//! index has to match the folder.

use std::collections::HashSet;
use std::path::PathBuf;

use crate::changes::Changes;
use crate::event::Pause;
use crate::index::Index;
use crate::process::Worker;
use crate::report::{Report, count};
use crate::scratch::Scratch;
use crate::{Result, corpus, verify, worker};

/// The story. Returns whether the index matched the folder at its end.
pub(crate) fn run(folder: Option<PathBuf>, word: &str, keep: bool) -> Result<bool> {
    let scratch = Scratch::make()?;
    let corpus = match corpus::copy(folder, &scratch.files()) {
        Ok(corpus) => corpus,
        Err(error) => {
            scratch.remove()?;
            return Err(error);
        }
    };
    let files = corpus.files;
    let size = (files / 8).min(100);
    let half = size / 2;
    let report = Report::new(files as u64);
    report.heading(&corpus, &scratch);

    report.step(&format!(
        "1. A worker starts. Its crawler flags each file in the Ick; its consumer takes batches of \
         {size}."
    ));
    // The worker has to pause half-way through its third batch, so that the kill falls there.
    let mut worker = Worker::start(&scratch, size, Pause { batch: 3, after: half }, &report)?;
    worker.until(|history| history.paused && history.flagged >= files as u64)?;
    let first = worker.kill()?;
    let cut = first.batches.last().ok_or("the worker had no batch")?;
    report.step(&format!(
        "2. kill -9 in the middle of its batch {}: {} of {} files were indexed, nothing committed.",
        first.batches.len(),
        cut.worked.len(),
        cut.members.len()
    ));
    show_what_survived(&scratch, &report)?;

    report.step("3. A new worker starts on the same queue and the same index.");
    let mut worker = Worker::start(&scratch, size, Pause { batch: 2, after: half }, &report)?;
    worker.until(|history| history.paused)?;
    let same = worker.history.batches[0].members == cut.members;
    let again = cut.worked.iter().filter(|path| worker.history.batches[0].worked.contains(path));
    let again = again.count();
    report.line(&format!(
        "Its first batch is {} that was cut off; {again} files are indexed again.",
        if same { "the very one" } else { "NOT the one" }
    ));

    let busy = worker.history.batches.last().ok_or("the worker had no batch")?.clone();
    let changes = Changes::choose(&scratch, &first.batches, &busy)?;
    report.step(&format!(
        "4. It is in the middle of its next batch, {} of {} files indexed. Now files change.",
        busy.worked.len(),
        busy.members.len()
    ));
    changes.make(&scratch, &mut worker, &report)?;
    worker.go_on()?;
    let second = worker.finish()?;
    let later: HashSet<&String> = second.batches[2..].iter().flat_map(|b| &b.worked).collect();
    let came_back = changes.rewritten_in_batch.iter().filter(|path| later.contains(path)).count();
    report.step("5. The worker was asked to finish: nothing was left to do, and it has ended.");

    report.table(&[
        ("files now in the folder", files + changes.added.len() - changes.deleted.len()),
        ("flagged by the crawler", (first.flagged + second.flagged) as usize),
        ("folded: were flagged already", (first.folded + second.folded) as usize),
        ("indexed or removed", first.worked() + second.worked()),
        ("indexed again after the kill", again),
        ("rewritten while in a batch", changes.rewritten_in_batch.len()),
        ("of them indexed again later", came_back),
    ]);
    let problems = [
        (!same).then(|| "the batch that was cut off did not come back first".to_owned()),
        (came_back < changes.rewritten_in_batch.len())
            .then(|| "a file that was rewritten while in a batch was forgotten".to_owned()),
    ];
    let mut problems: Vec<String> = problems.into_iter().flatten().collect();
    problems.extend(verify::differences(&scratch)?);
    let matches = report.verdict(&problems);
    report.hits(&Index::open(&scratch.index())?.search(word)?);

    let is_kept = keep || !matches;
    if !is_kept {
        scratch.remove()?;
    }
    report.end(&scratch, is_kept);
    Ok(matches)
}

/// No process has the engine and the index open now, so this one can read them.
fn show_what_survived(scratch: &Scratch, report: &Report) -> Result<()> {
    let indexed = Index::open(&scratch.index())?.len()?;
    let client = millpond::connect(&scratch.queue_url())?;
    let stats = client.ick(worker::ICK).stats()?.ok_or("the Ick is gone")?;
    client.close()?;
    report.line(&format!(
        "On disk: {} files of finished batches in the index; in the Ick {} reserved, {} waiting.",
        count(indexed),
        count(stats.consumer_size),
        count(stats.producer_size)
    ));
    Ok(())
}
