//! The three stores behind one interface: a batch of puts and removals is one commit.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use redb::{Durability, ReadableDatabase, ReadableTable, TableDefinition};

use crate::journal::{Journal, Options, Source};
use crate::sync::lock;
use crate::sync_mode::SyncMode;
use crate::{Key, Live, Value};

pub(crate) type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

pub(crate) trait Store: Send + Sync + Sized {
    const NAME: &'static str;
    /// Whether the newest file is a log, whose last write can be torn.
    const APPENDS: bool;

    fn open(dir: &Path) -> Result<Self>;

    /// The same, set to take as little disk as the store allows.
    fn open_small(dir: &Path) -> Result<Self> {
        Self::open(dir)
    }

    /// One commit, on disk if `sync`, and else with what the store offers against a mere kill.
    fn commit(&self, put: &[(Key, Value)], gone: &[Key], sync: bool);

    /// The most disk that a commit took for itself meanwhile.
    fn peak(&self) -> u64 {
        0
    }

    /// Everything into memory, where the engine needs it.
    fn load(&self) -> Result<Live>;

    /// Whether opening reported that something was dropped.
    fn told(&self) -> bool {
        false
    }

    /// Whether the store's own check of everything, if it has one, finds it sound.
    fn check(self) -> Option<bool> {
        None
    }

    /// The file to damage.
    fn newest(dir: &Path) -> PathBuf;
}

/// As the engine will use it: the live data is in memory, and each member is one record.
pub(crate) struct Ours {
    journal: Journal,
    live: Mutex<Live>,
    torn_bytes: u64,
    dir: PathBuf,
    peak: AtomicU64,
}

impl Store for Ours {
    const NAME: &'static str = "journal";
    const APPENDS: bool = true;

    fn open(dir: &Path) -> Result<Self> {
        let mut live = Live::new();
        let options = Options { sync: SyncMode::Never, ..Options::default() };
        let (journal, recovery) = Journal::open(dir, options, &mut |_: Source, record| {
            match record.len() {
                8 => drop(live.remove(record)),
                _ => drop(live.insert(record[..8].to_vec(), record[8..].to_vec())),
            }
            Ok(())
        })?;
        Ok(Self {
            journal,
            live: Mutex::new(live),
            torn_bytes: recovery.torn_bytes,
            dir: dir.to_owned(),
            peak: AtomicU64::new(0),
        })
    }

    fn commit(&self, put: &[(Key, Value)], gone: &[Key], sync: bool) {
        let mut last = None;
        let mut live = lock(&self.live);
        for (key, value) in put {
            live.insert(key.to_vec(), value.to_vec());
            last = Some(self.journal.append(&[&key[..], value].concat()));
        }
        for key in gone {
            live.remove(&key[..]);
            last = Some(self.journal.append(key));
        }
        drop(live);
        let last = last.expect("a commit has a record");
        if sync {
            self.journal.sync(last).expect("a disk that works");
        } else {
            self.journal.wait(last).expect("a disk that works");
        }
        if self.journal.wants_snapshot() {
            self.journal
                .snapshot(&mut |out| {
                    let live = lock(&self.live);
                    live.iter().try_for_each(|(k, v)| out.record(&[&k[..], v].concat()))?;
                    // The old files and the new are there together now.
                    self.peak.fetch_max(crate::disk(&self.dir), Relaxed);
                    Ok(())
                })
                .expect("a disk that works");
        }
    }

    fn load(&self) -> Result<Live> {
        Ok(std::mem::take(&mut *lock(&self.live)))
    }

    fn peak(&self) -> u64 {
        self.peak.load(Relaxed)
    }

    fn told(&self) -> bool {
        self.torn_bytes > 0
    }

    fn newest(dir: &Path) -> PathBuf {
        let mut logs =
            crate::files(dir).into_iter().filter(|f| f.extension() == Some("log".as_ref()));
        logs.next_back().expect("there is a log")
    }
}

pub(crate) struct Fjall {
    database: Database,
    keyspace: Keyspace,
}

impl Store for Fjall {
    const NAME: &'static str = "fjall";
    const APPENDS: bool = true;

    fn open(dir: &Path) -> Result<Self> {
        let database = Database::builder(dir).open()?;
        let keyspace = database.keyspace("live", KeyspaceCreateOptions::default)?;
        Ok(Self { database, keyspace })
    }

    fn open_small(dir: &Path) -> Result<Self> {
        let database = Database::builder(dir).max_journaling_size(64 << 20).open()?;
        let options = || KeyspaceCreateOptions::default().max_memtable_size(4 << 20);
        let keyspace = database.keyspace("live", options)?;
        Ok(Self { database, keyspace })
    }

    fn commit(&self, put: &[(Key, Value)], gone: &[Key], sync: bool) {
        let mode = if sync { PersistMode::SyncData } else { PersistMode::Buffer };
        let mut batch = self.database.batch().durability(Some(mode));
        put.iter().for_each(|(key, value)| batch.insert(&self.keyspace, *key, *value));
        gone.iter().for_each(|key| batch.remove(&self.keyspace, *key));
        batch.commit().expect("a disk that works");
    }

    fn load(&self) -> Result<Live> {
        let pairs = self.keyspace.iter().map(fjall::Guard::into_inner);
        pairs.map(|pair| pair.map(|(k, v)| (k.to_vec(), v.to_vec())).map_err(Into::into)).collect()
    }

    fn newest(dir: &Path) -> PathBuf {
        let mut logs =
            crate::files(dir).into_iter().filter(|f| f.extension() == Some("jnl".as_ref()));
        logs.next_back().expect("there is a journal")
    }
}

pub(crate) struct Redb {
    database: redb::Database,
}

const TABLE: TableDefinition<'static, &[u8], &[u8]> = TableDefinition::new("live");

impl Store for Redb {
    const NAME: &'static str = "redb";
    const APPENDS: bool = false;

    fn open(dir: &Path) -> Result<Self> {
        let database = redb::Database::create(dir.join("store.redb"))?;
        let transaction = database.begin_write()?;
        transaction.open_table(TABLE)?;
        transaction.commit()?;
        Ok(Self { database })
    }

    fn commit(&self, put: &[(Key, Value)], gone: &[Key], sync: bool) {
        let mut transaction = self.database.begin_write().expect("a transaction");
        let durability = if sync { Durability::Immediate } else { Durability::None };
        transaction.set_durability(durability).expect("no savepoints");
        let mut table = transaction.open_table(TABLE).expect("the table");
        for (key, value) in put {
            table.insert(&key[..], &value[..]).expect("a disk that works");
        }
        for key in gone {
            table.remove(&key[..]).expect("a disk that works");
        }
        drop(table);
        transaction.commit().expect("a disk that works");
    }

    fn load(&self) -> Result<Live> {
        let transaction = self.database.begin_read()?;
        let table = transaction.open_table(TABLE)?;
        let pairs = table.iter()?;
        pairs
            .map(|pair| {
                pair.map(|(k, v)| (k.value().to_vec(), v.value().to_vec())).map_err(Into::into)
            })
            .collect()
    }

    fn check(mut self) -> Option<bool> {
        Some(matches!(self.database.check_integrity(), Ok(true)))
    }

    fn newest(dir: &Path) -> PathBuf {
        dir.join("store.redb")
    }
}
