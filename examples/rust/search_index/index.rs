//! The index: SQLite's full-text search, with each file's content hash beside its text.

use std::path::Path;

use rusqlite::{Connection, Transaction};

use crate::{Result, corpus};

const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS files (id INTEGER PRIMARY KEY, path TEXT UNIQUE, hash TEXT);
    CREATE VIRTUAL TABLE IF NOT EXISTS documents USING fts5 (path UNINDEXED, content);
    CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5vocab (documents, row);
";

pub(crate) struct Index(Connection);

/// Changes that are stored together or not at all.
pub(crate) struct Batch<'a>(Transaction<'a>);

/// A file in which the word was found.
pub(crate) struct Hit {
    pub(crate) word: String,
    pub(crate) path: String,
    pub(crate) snippet: String,
}

impl Index {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let sqlite = Connection::open(path)?;
        // FULL: a batch is safe in the index before it is committed in the Ick.
        sqlite.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;")?;
        sqlite.execute_batch(SCHEMA)?;
        Ok(Self(sqlite))
    }

    pub(crate) fn begin(&mut self) -> Result<Batch<'_>> {
        Ok(Batch(self.0.transaction()?))
    }

    /// How many files it has.
    pub(crate) fn len(&self) -> Result<u64> {
        let count =
            self.0.query_row("SELECT count(*) FROM files", [], |row| row.get::<_, i64>(0))?;
        Ok(count as u64)
    }

    /// Every path with the hash that was stored and the hash of the text that was indexed.
    pub(crate) fn hashes(&self) -> Result<Vec<(String, String, String)>> {
        // SQLite compares the words it would find with the texts it has.
        self.0.execute("INSERT INTO documents (documents) VALUES ('integrity-check')", [])?;
        let mut rows = self.0.prepare(
            "SELECT files.path, hash, content FROM files LEFT JOIN documents ON documents.rowid = id",
        )?;
        let rows = rows.query_map([], |row| {
            let content: Option<String> = row.get(2)?;
            Ok((row.get(0)?, row.get(1)?, corpus::hash(content.unwrap_or_default().as_bytes())))
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The best files for a word, or for the commonest long word if no file has it.
    pub(crate) fn search(&self, word: &str) -> Result<Vec<Hit>> {
        let hits = self.hits(word)?;
        if !hits.is_empty() {
            return Ok(hits);
        }
        let commonest = "SELECT term FROM words WHERE length(term) > 6 ORDER BY doc DESC LIMIT 1";
        self.hits(&self.0.query_row(commonest, [], |row| row.get::<_, String>(0))?)
    }

    fn hits(&self, word: &str) -> Result<Vec<Hit>> {
        let mut rows = self.0.prepare(
            "SELECT path, snippet(documents, 1, '[', ']', '…', 14) FROM documents
             WHERE documents MATCH ? ORDER BY rank LIMIT 3",
        )?;
        // In quotes it is a word, whatever is in it.
        let query = format!("\"{}\"", word.replace('"', "\"\""));
        let hits = rows.query_map([query], |row| {
            let snippet: String = row.get(1)?;
            let snippet = snippet.split_whitespace().collect::<Vec<_>>().join(" ");
            Ok(Hit { word: word.to_owned(), path: row.get(0)?, snippet })
        })?;
        Ok(hits.collect::<Result<_, _>>()?)
    }
}

impl Batch<'_> {
    /// Indexes a file, instead of what was indexed of it before.
    pub(crate) fn put(&self, path: &str, hash: &str, text: &str) -> Result<()> {
        let id: i64 = self.0.query_row(
            "INSERT INTO files (path, hash) VALUES (?, ?)
             ON CONFLICT (path) DO UPDATE SET hash = excluded.hash RETURNING id",
            [path, hash],
            |row| row.get(0),
        )?;
        self.0.execute(
            "INSERT OR REPLACE INTO documents (rowid, path, content) VALUES (?, ?, ?)",
            (id, path, text),
        )?;
        Ok(())
    }

    pub(crate) fn remove(&self, path: &str) -> Result<()> {
        let id = "SELECT id FROM files WHERE path = ?";
        self.0.execute(&format!("DELETE FROM documents WHERE rowid = ({id})"), [path])?;
        self.0.execute("DELETE FROM files WHERE path = ?", [path])?;
        Ok(())
    }

    pub(crate) fn commit(self) -> Result<()> {
        Ok(self.0.commit()?)
    }
}
