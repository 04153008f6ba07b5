//! What tools need to handle every kind of queue in the same way.

use std::fmt;
use std::sync::Arc;

use crate::client::Client;
use crate::error::Result;
use crate::step::{Script, State};

/// A kind of queue; [`kinds`](crate::kinds) lists all of them.
pub struct Kind {
    /// Its number in journals, which is never given to another kind.
    pub number: u8,
    /// Its name, such as `ick`.
    pub name: &'static str,
    pub(crate) empty_state: fn() -> Arc<dyn State>,
    pub(crate) statistics: fn(&Client, &[u8]) -> Result<Vec<Statistic>>,
    pub(crate) scripts: fn() -> Scripts,
    /// Each step, for the tests that walk all of them.
    #[cfg(test)]
    pub(crate) cases: fn() -> Vec<crate::step::cases::Case>,
}

/// Names and scripts of steps.
type Scripts = Vec<(&'static str, &'static Script)>;

/// One number about a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statistic {
    /// The queue within a task store that the number is about; `None` if it is about the whole.
    pub queue: Option<Arc<str>>,
    /// What is counted, such as `available`.
    pub name: &'static str,
    /// How many there are.
    pub value: u64,
}

impl Kind {
    /// How much the queue of this kind and name holds. A queue that was never used is empty, which is not an error.
    ///
    /// ```
    /// let client = millpond::connect("memory:")?;
    /// client.tasks("shop").insert("orders", "7")?;
    /// let kind = millpond::kinds().iter().find(|kind| kind.name == "tasks").unwrap();
    /// let available = kind.statistics(&client, "shop")?.into_iter().find(|s| s.name == "available");
    /// assert_eq!(available.map(|s| (s.queue.as_deref().map(str::to_owned), s.value)),
    ///     Some((Some("orders".to_owned()), 1)));
    /// # Ok::<(), millpond::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of the queue's own statistics, such as `INVALID_ARGUMENT` for a name that is too long and
    /// `WRONG_TYPE` if the keys hold something else.
    pub fn statistics(&self, client: &Client, name: impl AsRef<[u8]>) -> Result<Vec<Statistic>> {
        (self.statistics)(client, name.as_ref())
    }

    /// The name and the script of each step, for connections of your own.
    ///
    /// ```
    /// let scripts = millpond::kinds().iter().flat_map(millpond::Kind::scripts);
    /// let add = scripts.into_iter().find(|(name, _)| *name == "ick.add").unwrap().1;
    /// assert_eq!(add.sha1().len(), 40);
    /// ```
    pub fn scripts(&self) -> Vec<(&'static str, &'static Script)> {
        (self.scripts)()
    }
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kind").field("number", &self.number).field("name", &self.name).finish()
    }
}

impl Statistic {
    pub(crate) fn of(name: &'static str, value: u64) -> Self {
        Self { queue: None, name, value }
    }
}
