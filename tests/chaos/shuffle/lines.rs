//! What writers and consumers print, a line for each event.
//!
//! | line | meaning |
//! | --- | --- |
//! | `i CALL NAME…` | a write of these messages was sent |
//! | `a CALL RECEIPT…` | it was acknowledged |
//! | `e CALL KIND` | it returned an error |
//! | `g ASKED NAME@RECEIPT…` | a consumer that asked then got these |
//! | `d ENDED NAME…` | it has acknowledged these |
//! | `p COUNT NAME…` | of these it has acknowledged some, and others did the rest |
//! | `u NAME…` | it may have acknowledged these |
//! | `k COUNT` | so many became dead letters |
//! | `x KIND` | a consumer got an error |
//!
//! A receipt is `STREAM:ID`; times are nanoseconds of [`crate::clock::now`].

use std::collections::BTreeMap;

use millpond::shuffle::{Message, Receipt, Stream};

use super::ledger::{Fate, Ledger};
use crate::children::Hear;

pub(super) fn name_of(message: &Message) -> &str {
    let name = message.field("n").and_then(|name| str::from_utf8(name).ok());
    name.expect("every message has its name")
}

pub(super) fn receipt(receipt: Receipt) -> String {
    match receipt.stream {
        Stream::Number(number) => format!("{number}:{}", receipt.id),
        Stream::Default => format!("default:{}", receipt.id),
    }
}

pub(super) fn receipts(written: &[Receipt]) -> String {
    written.iter().copied().map(receipt).collect::<Vec<_>>().join(" ")
}

pub(super) fn delivered(batch: &[Message]) -> String {
    let word = |message| format!("{}@{}", name_of(message), receipt(message.into()));
    batch.iter().map(word).collect::<Vec<_>>().join(" ")
}

/// The output of all, combined.
#[derive(Default)]
pub(super) struct Heard {
    pub(super) ledger: Ledger,
    pub(super) errors: BTreeMap<String, u64>,
    pub(super) dead: u64,
    /// Acknowledgements that came when others had done a part of it.
    pub(super) late: u64,
}

impl Hear for Heard {
    fn line<'a>(
        &mut self,
        line: &'a str,
        calls: &mut BTreeMap<&'a str, Vec<&'a str>>,
    ) -> Option<()> {
        let mut words = line.split(' ');
        match words.next()? {
            "i" => {
                let call = words.next()?;
                let names: Vec<_> = words.collect();
                names.iter().for_each(|name| self.ledger.write(name, Fate::Unknown));
                calls.insert(call, names);
            }
            "a" => {
                let names = calls.remove(words.next()?)?;
                for name in names {
                    self.ledger.write(name, Fate::Done(words.next()?.to_owned()));
                }
                return words.next().is_none().then_some(());
            }
            "e" => {
                let names = calls.remove(words.next()?)?;
                let kind = words.next()?;
                *self.errors.entry(kind.to_owned()).or_default() += 1;
                if let "CONNECTION_FAILED" | "UNAVAILABLE" = kind {
                    names.iter().for_each(|name| self.ledger.write(name, Fate::Refused));
                }
            }
            "g" => {
                let asked = words.next()?.parse().ok()?;
                for word in words {
                    let (name, receipt) = word.split_once('@')?;
                    self.ledger.deliver(name, asked, receipt);
                }
            }
            "d" => {
                let ended = words.next()?.parse().ok()?;
                words.for_each(|name| self.ledger.acknowledge(name, ended));
            }
            "p" => self.late += 1,
            "u" => {}
            "k" => self.dead += words.next()?.parse::<u64>().ok()?,
            "x" => *self.errors.entry(words.next()?.to_owned()).or_default() += 1,
            _ => return None,
        }
        Some(())
    }
}
