//! A channel: several Icks that share the work of many consumers.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::{Add, Added, BATCH_MEMBERS_MAX, Batches, Ick};
use crate::client::{Blocking, Client, Mode};
use crate::error::{Result, ensure};
use crate::step::fnv::fnv1a64;
use crate::step::limits::{CallSize, first_of};

/// The most Icks in a channel.
pub const SHARDS_MAX: u32 = 65_536;

/// Several Icks that share the members of one dirty list, so that as many consumers can work at the
/// same time; made by [`Client::ick_channel`]. A member lives in the Ick numbered FNV-1a-64(member)
/// mod n, named `<name>/<number>`.
///
/// Resizing is safe at any time. Each producer and consumer can switch to the new number when it
/// suits, and consumers [also drain](Self::draining) the old Icks until they are empty. A member
/// may be processed twice during the switch; none is lost.
///
/// ```
/// let client = millpond::connect("memory:")?;
/// let channel = client.ick_channel("files", 4)?;
/// channel.add([(1.0, "a.txt"), (2.0, "b.txt"), (3.0, "c.txt")])?;
///
/// let mut seen = 0;
/// for batch in channel.batches(0..4, 100)? {
///     seen += batch?.len();
/// }
/// assert_eq!(seen, 3);
/// # Ok::<(), millpond::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct IckChannel<M: Mode = Blocking> {
    client: Client<M>,
    name: Vec<u8>,
    shards: u32,
    readable: u32,
}

impl<M: Mode> IckChannel<M> {
    pub(crate) fn new(client: Client<M>, name: &[u8], shards: u32) -> Result<Self> {
        let is_allowed = (1..=SHARDS_MAX).contains(&shards);
        ensure!(is_allowed, "a channel has 1 to {SHARDS_MAX} icks, not {shards}");
        Ok(Self { client, name: name.to_vec(), shards, readable: shards })
    }

    /// The same channel, for a consumer that also reads the Icks of an earlier, larger number of
    /// Icks.
    #[must_use]
    pub fn draining(self, earlier: u32) -> Self {
        Self { readable: self.shards.max(earlier.min(SHARDS_MAX)), ..self }
    }

    /// How many Icks the members are spread over.
    pub fn shards(&self) -> u32 {
        self.shards
    }

    /// How many Icks consumers have to read; larger while an earlier size is being drained.
    pub fn readable(&self) -> u32 {
        self.readable
    }

    /// The Ick with this number.
    pub fn ick(&self, number: u32) -> Ick<M> {
        self.client.ick(self.ick_name(number))
    }

    /// The name of the Ick with this number, for calls that are made by name.
    pub fn ick_name(&self, number: u32) -> Vec<u8> {
        [&self.name, b"/".as_slice(), number.to_string().as_bytes()].concat()
    }

    /// The number of the Ick in which this member lives.
    pub fn ick_of(&self, member: impl AsRef<[u8]>) -> u32 {
        (fnv1a64(member.as_ref()) % u64::from(self.shards)) as u32
    }

    /// Flags members as dirty, each in its Ick; see [`Ick::add`].
    ///
    /// # Errors
    /// As [`Ick::add`]. The call takes one step per Ick: after an error some Icks may already have
    /// their members; adding all of them again is safe.
    pub fn add<S: Into<Option<f64>>, B: AsRef<[u8]>>(
        &self,
        pairs: impl IntoIterator<Item = (S, B)>,
    ) -> M::Reply<Added> {
        let steps = self.steps(pairs);
        self.client.run_all(steps, Added::sum)
    }

    fn steps<S: Into<Option<f64>>, B: AsRef<[u8]>>(
        &self,
        pairs: impl IntoIterator<Item = (S, B)>,
    ) -> Result<Vec<Add>> {
        let mut open: BTreeMap<u32, Add> = BTreeMap::new();
        let mut steps = Vec::new();
        let mut size = CallSize::default();
        for (score, member) in pairs {
            size.add("members", member.as_ref().len())?;
            let number = self.ick_of(&member);
            if open.get(&number).is_some_and(|step| step.len() == BATCH_MEMBERS_MAX) {
                steps.extend(open.remove(&number));
            }
            let step = match open.entry(number) {
                Entry::Occupied(step) => step.into_mut(),
                Entry::Vacant(place) => place.insert(Add::empty(self.ick(number).name()?)),
            };
            step.push(score.into(), member.as_ref())?;
        }
        steps.extend(open.into_values());
        Ok(steps)
    }

    /// The loop of a consumer of the Icks with these numbers, which takes from each in turn.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a number that the channel does not have, for no numbers, and for more
    /// than [`SHARDS_MAX`].
    pub fn batches(&self, numbers: impl IntoIterator<Item = u32>, max: u64) -> Result<Batches<M>> {
        let numbers: Vec<u32> = first_of(numbers, SHARDS_MAX as usize).collect();
        let is_allowed = numbers.len() <= SHARDS_MAX as usize;
        ensure!(is_allowed, "a consumer takes at most {SHARDS_MAX} numbers");
        let last = self.readable - 1;
        for number in &numbers {
            ensure!(*number <= last, "there is no ick {number}; the channel has 0 to {last}");
        }
        ensure!(!numbers.is_empty(), "a consumer needs at least one ick");
        Ok(Batches::new(numbers.into_iter().map(|number| self.ick(number)).collect(), max))
    }
}
