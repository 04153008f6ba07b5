//! What each store does when its last write was torn, or one byte in its newest file is wrong.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use crate::store::Store;
use crate::{Live, crash, records};

const RECORDS: u64 = 2000;
const TRIES: usize = 400;

/// Outcomes of an open and a full read.
#[derive(Default)]
struct Outcomes {
    /// An error, or a panic, reports it.
    reported: u32,
    /// Everything is there.
    intact: u32,
    /// Records are missing, and the store counts what it dropped.
    dropped: u32,
    /// Records are missing, and no error reports it.
    lost: u32,
    /// A record came back that was never written, and no error reports it.
    wrong: u32,
    /// The most records that were missing.
    most: usize,
    /// Of the last two, those that a full check of the store, on demand, does find.
    checked: u32,
}

/// The rows of the table about damage.
pub(crate) fn report<S: Store>() -> Vec<(&'static str, String)> {
    let dir = tempfile::tempdir().expect("a directory");
    let store = S::open(dir.path()).expect("an empty directory");
    for from in 0..RECORDS {
        store.commit(&records(from, 1), &[], true);
    }
    let killed = crash(dir.path());
    drop(store);
    let sound = records(0, RECORDS).iter().map(|(k, v)| (k.to_vec(), v.to_vec())).collect();

    // A panic is an expected outcome here, and hundreds of reports are noise.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let rows = vec![
        ("400 times one wrong byte anywhere in the newest file, after a kill", {
            flipped::<S>(killed.path(), &sound).to_string()
        }),
        ("the same after a clean close", flipped::<S>(dir.path(), &sound).to_string()),
        ("1 to 40 bytes missing at the end of the last write", {
            let torn = || torn::<S>(killed.path(), &sound).to_string();
            if S::APPENDS { torn() } else { "does not apply".to_owned() }
        }),
        ("2,000 commits without fsync, then a kill", unsynced::<S>(&sound).to_string()),
    ];
    std::panic::set_hook(hook);
    rows
}

/// The newest file, and where it ends if space that was made ahead is not counted.
fn newest<S: Store>(image: &Path) -> (Vec<u8>, usize) {
    let bytes = fs::read(S::newest(image)).expect("the newest file");
    let end = bytes.iter().rposition(|&byte| byte != 0).expect("it is not blank") + 1;
    (bytes, end)
}

fn flipped<S: Store>(image: &Path, sound: &Live) -> Outcomes {
    let (bytes, end) = newest::<S>(image);
    // Without this, a mistake in the copying would look like one of the store.
    let mut control = Outcomes::default();
    control.count::<S>(image, &bytes, sound);
    assert_eq!(control.intact, 1, "{}: an undamaged copy is not sound", S::NAME);

    let mut outcomes = Outcomes::default();
    let mut random = 1_u64;
    for _ in 0..TRIES {
        // Random offsets: those of an even stride may all be the same byte of a record.
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let at = (random >> 33) as usize % end;
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x55;
        outcomes.count::<S>(image, &damaged, sound);
    }
    outcomes
}

fn torn<S: Store>(image: &Path, sound: &Live) -> Outcomes {
    let (bytes, end) = newest::<S>(image);
    let mut outcomes = Outcomes::default();
    for back in 1..=40 {
        // Both logs write into space that was made before, so what is missing is zeros.
        let mut damaged = bytes.clone();
        damaged[end - back..end].fill(0);
        outcomes.count::<S>(image, &damaged, sound);
    }
    outcomes
}

fn unsynced<S: Store>(sound: &Live) -> Outcomes {
    let dir = tempfile::tempdir().expect("a directory");
    let store = S::open(dir.path()).expect("an empty directory");
    for from in 0..RECORDS {
        store.commit(&records(from, 1), &[], false);
    }
    let killed = crash(dir.path());
    let (bytes, _) = newest::<S>(killed.path());
    let mut outcomes = Outcomes::default();
    outcomes.count::<S>(killed.path(), &bytes, sound);
    outcomes
}

impl Outcomes {
    fn count<S: Store>(&mut self, image: &Path, bytes: &[u8], sound: &Live) {
        let attempt = || {
            let dir = crash(image);
            fs::write(S::newest(dir.path()), bytes).expect("a copy to damage");
            let store = catch_unwind(AssertUnwindSafe(|| S::open(dir.path()))).ok()?.ok()?;
            let found = catch_unwind(AssertUnwindSafe(|| store.load())).ok()?.ok()?;
            let told = store.told();
            let checked = catch_unwind(AssertUnwindSafe(|| store.check()));
            Some((found, told, checked.unwrap_or(Some(false))))
        };
        let Some((found, told, checked)) = attempt() else {
            self.reported += 1;
            return;
        };
        if found == *sound {
            self.intact += 1;
            return;
        }
        self.most = self.most.max(sound.keys().filter(|key| !found.contains_key(*key)).count());
        if found.iter().any(|(key, value)| sound.get(key) != Some(value)) {
            self.wrong += 1;
        } else if told {
            self.dropped += 1;
            return;
        } else {
            self.lost += 1;
        }
        self.checked += u32::from(checked == Some(false));
    }
}

impl std::fmt::Display for Outcomes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let named = [
            (self.reported as usize, "reported"),
            (self.intact as usize, "harmless"),
            (self.dropped as usize, "dropped and counted"),
            (self.lost as usize, "silently lost"),
            (self.wrong as usize, "silently wrong"),
            (self.checked as usize, "of these found by a full check"),
            (self.most, "records missing at most"),
        ];
        let seen: Vec<_> = named
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, name)| format!("{count} {name}"))
            .collect();
        f.write_str(&seen.join(", "))
    }
}
