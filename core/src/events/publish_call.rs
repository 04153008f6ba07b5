//! Publish call: a command that publishes an event, for a transaction of the caller.

use std::sync::{Arc, OnceLock};

use super::config::Config;
use super::map::{even_ranges, text_of};
use super::partition::Partition;
use super::{EventQueue, IfExists, NewEvent, embedded, publish};
use crate::client::Mode;
use crate::error::{Error, ErrorKind, Result, ensure};
use crate::step::{ByteList, Invocation, Script, State, has_tag};

impl<M: Mode> EventQueue<M> {
    /// Makes a command that publishes an event, for a transaction of your own: a change of data on the same Redis and
    /// the event that announces it happen together or not at all. It sends nothing.
    ///
    /// The command is a list of byte strings, `EVAL` and its arguments, to queue after a `MULTI` over a connection to
    /// the same database. Whenever it runs, it publishes as [`publish`](Self::publish) does: it creates the queue if
    /// that does not exist, finds the partition if the queue was resharded, and counts a delay from that time. Its
    /// reply is the id of the event as text, or for a duplicate the id of the existing event.
    ///
    /// ```no_run
    /// use millpond::events::NewEvent;
    ///
    /// let queue = millpond::connect("redis://localhost")?.events("orders");
    /// let call = queue.publish_call(NewEvent::new("paid").key("customer-12"))?;
    /// // With redis-rs, which returns the id:
    /// // redis::pipe().atomic().set("order:7", "paid").ignore().cmd("EVAL").arg(&call[1..]).query(&mut connection)?
    /// assert_eq!(&*call[0], b"EVAL");
    ///
    /// let queue = millpond::connect("memory:")?.events("orders");
    /// let error = queue.publish_call(NewEvent::new("paid")).unwrap_err();
    /// assert_eq!(error.kind(), millpond::ErrorKind::InvalidArgument);
    /// # Ok::<(), millpond::Error>(())
    /// ```
    ///
    /// Redis does not roll back when a command of a transaction fails, so this command does not fail because of the
    /// queue's contents. It adds an event even to a full queue. An event that asks for an error if its deduplication id
    /// is taken is refused by this call.
    ///
    /// On a cluster a transaction stays in one slot: the keys that it changes and the queue's name need the same
    /// `{tag}`.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for an event beyond its limits, for [`IfExists::Error`], and with `memory:` and `file:`,
    /// which have no transactions; `CROSS_SLOT` for a name without a tag on a cluster.
    ///
    /// # Delivery
    /// The command publishes each time it runs; with a deduplication id, a repeated transaction publishes once. The
    /// command fails, but the rest of the transaction does not, if the queue is being deleted, and if a key of the
    /// queue holds something else or was written by a version that this one does not know.
    pub fn publish_call(&self, event: NewEvent) -> M::Reply<Vec<Arc<[u8]>>> {
        self.call("events.publish_call", self.command(&event), async |_, command| Ok(command))
    }

    fn command(&self, event: &NewEvent) -> Result<Vec<Arc<[u8]>>> {
        let name = self.name()?;
        event.check()?;
        ensure!(
            !self.client.is_embedded(),
            "memory: and file: have no transactions to publish with: publish it, or ack_with it"
        );
        ensure!(
            event.if_exists != IfExists::Error,
            "a transaction is not undone if the deduplication id is taken: let it be ignored or replaced"
        );
        if self.client.is_cluster() && !has_tag(&name) {
            let message = "a queue whose name has no {tag} can have its partitions in several slots of a cluster: \
                a transaction is in one";
            return Err(Error::new(ErrorKind::CrossSlot, message));
        }
        Ok(command(&invocation(&name, event, self.client.draw() as u16)?))
    }
}

/// The scripts that it may run, each a function of a partition; the last file calls them.
static SCRIPT: Script = Script::new(
    <embedded::State as State>::constants,
    concat!(
        include_str!("../step/commands.lua"),
        "local function partition(root)\nlocal KEYS, ARGV, steps = {root}, nil, {}\n",
        include_str!("partition.lua"),
        include_str!("look.lua"),
        include_str!("records.lua"),
        include_str!("lanes.lua"),
        include_str!("names.lua"),
        include_str!("event_end.lua"),
        include_str!("retry.lua"),
        include_str!("withdraw.lua"),
        include_str!("delivery_end.lua"),
        include_str!("commit.lua"),
        "function steps.open()\n",
        include_str!("open.lua"),
        "end\nfunction steps.delete()\n",
        include_str!("delete.lua"),
        "end\nfunction steps.leave()\n",
        include_str!("reshard/leave.lua"),
        "end\nfunction steps.arrive()\n",
        include_str!("reshard/arrive.lua"),
        "end\nfunction steps.export()\n",
        include_str!("reshard/export.lua"),
        "end\nfunction steps.import()\n",
        include_str!("reshard/import.lua"),
        "end\nfunction steps.publish()\n",
        include_str!("publish.lua"),
        "end\nreturn function(step, args)\nARGV = args\nreturn steps[step]()\nend\nend\n",
        include_str!("publish_call.lua"),
    ),
);

/// The source as it is sent with each event: without comments and indentation, which are a third of it.
fn source() -> &'static str {
    static SOURCE: OnceLock<String> = OnceLock::new();
    SOURCE.get_or_init(|| {
        let lines = SCRIPT.source().lines().map(str::trim_start);
        let code = lines.filter(|line| !line.is_empty() && !line.starts_with("--"));
        code.flat_map(|line| [line, "\n"]).collect()
    })
}

fn invocation(name: &[u8], event: &NewEvent, drawn: u16) -> Result<Invocation> {
    let root = Partition::new(name, 0, 0)?;
    let (before, behind) = Partition::around_number(name)?;
    let config = Config::default();
    let mut args = ByteList::default();
    args.push(&before);
    args.push(&behind);
    args.push(text_of(&even_ranges(config.partitions)).as_bytes());
    args.push(&config.packed());
    args.push_number(event.vslot(drawn).into());
    args.push(&event.dedup_id.as_ref().map_or_else(Vec::new, |_| event.name()));
    publish::push(event, drawn, &mut args);
    Ok(Invocation { script: &SCRIPT, keys: root.keys(), args })
}

/// The command with its source: a call by hash fails on a server whose scripts have been flushed.
fn command(call: &Invocation) -> Vec<Arc<[u8]>> {
    let keys = call.keys.len().to_string();
    let head = [b"EVAL".as_slice(), source().as_bytes(), keys.as_bytes()].map(Arc::from);
    let args = call.args.iter().map(Arc::from);
    head.into_iter().chain(call.keys.iter().cloned()).chain(args).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::script_header;

    #[test]
    fn the_script_is_called_as_its_header_says() {
        let event = NewEvent::new("paid").key("7").dedup_id("a");
        script_header::check_call(
            "events.publish_call",
            &invocation(b"orders", &event, 0).unwrap(),
        );
    }

    #[test]
    fn what_is_sent_has_no_comments() {
        assert!(source().len() < SCRIPT.source().len() * 2 / 3, "{} bytes", source().len());
        assert!(source().lines().all(|line| !line.starts_with("--") && !line.starts_with(' ')));
    }

    #[test]
    fn an_embedded_engine_is_refused() {
        let queue = crate::connect("memory:").unwrap().events("orders");
        let error = queue.publish_call(NewEvent::new("paid")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    }
}
