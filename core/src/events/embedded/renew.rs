//! How leases are renewed.

use super::State;
use super::contents::{Phase, Stored};
use crate::error::Result;
use crate::events::partition::Partition;
use crate::events::receive::Receipt;
use crate::events::renew::{Held, Renewed};
use crate::events::state::Delivery;
use crate::step::StepContext;
impl State {
    pub(in crate::events) fn renew(
        &self,
        partition: &Partition,
        held: &[Receipt],
        (lease_us, begins): (u64, bool),
        context: &mut StepContext<'_>,
    ) -> Result<Renewed> {
        let mut step = self.begin(partition, context)?;
        let lease_us = if lease_us == 0 { step.lease_us() } else { lease_us };
        let leased_until = step.now + lease_us;
        let held = held.iter().map(|Receipt { id, token }| match step.contents.events.get(id) {
            Some(Stored { phase: Phase::Leased(_), delivery: Some(delivery), .. })
                if delivery.token == *token =>
            {
                let is_cancelled = delivery.is_cancelled;
                let begun = (begins && delivery.is_unbegun)
                    .then(|| Delivery { is_unbegun: false, ..(**delivery).clone() });
                step.contents.put(*id, Phase::Leased(leased_until));
                if let Some(begun) = begun {
                    step.contents.set_delivery(*id, begun);
                }
                if is_cancelled { Held::Cancelled } else { Held::Held }
            }
            _ => Held::Lost,
        });
        let held = held.collect();
        step.finish(partition, None, None, context);
        Ok(Renewed { leased_until, held })
    }
}
