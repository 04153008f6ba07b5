//! The stream watcher: one connection that blocks in XREAD on the notification streams of all queues
//! that anybody waits for, after the last entry that an empty read has seen.
//!
//! A cluster reads several streams in one command only if they lie in one slot, so there it is a
//! connection for each slot. After the last listener has gone the connection and what it watches stay
//! until its command ends: a consumer that works between two waits then costs no command.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::Notify;

use super::async_socket::AsyncSocket;
use super::attempt::Outcome;
use super::command;
use super::pool::Pool;
use super::reconnect::Reconnect;
use super::router::Router;
use crate::error::{ErrorKind, Result};
use crate::options::Address;
use crate::runtime::sync::lock;
use crate::runtime::waiters::{Audience, Listener, Topic, Waiters};
use crate::step::reply::malformed;
use crate::step::{Reply, StreamId};

/// How long the server lets one command wait: a connection that is dead is found out after it.
const BLOCK: Duration = Duration::from_secs(10);

/// How often listeners poll where the user has no right to read the stream.
const FORBIDDEN_PAUSE: Duration = Duration::from_secs(5);

/// The pause before a command that the server may not have seen yet is ended once more.
const UNBLOCK_PAUSE: Duration = Duration::from_millis(1);

pub(super) struct StreamWatcher {
    router: Arc<Router>,
    pool: Arc<Pool>,
    waiters: Arc<Waiters>,
    /// What is watched, by slot; there while the slot's task runs.
    slots: Mutex<HashMap<u16, Watch>>,
    closed: AtomicBool,
}

#[derive(Default)]
struct Watch {
    topics: HashMap<Topic, Watched>,
    /// There is a topic that the command under way does not watch.
    is_stale: bool,
    changed: Arc<Notify>,
}

struct Watched {
    /// The last entry that listeners were woken for.
    seen: StreamId,
    listeners: usize,
}

impl StreamWatcher {
    pub(super) fn new(router: Arc<Router>, pool: Arc<Pool>) -> Arc<Self> {
        let (waiters, slots) = (Arc::default(), Mutex::default());
        Arc::new(Self { router, pool, waiters, slots, closed: AtomicBool::new(false) })
    }

    /// Listens for the entries of a stream after this one.
    pub(super) fn listen(
        self: &Arc<Self>,
        background: &Handle,
        audience: Audience,
        topic: Topic,
        after: StreamId,
    ) -> Listener {
        let listener = self.waiters.listen_as(audience, vec![topic.clone()]);
        // A consumer that waits has read before, so the name has a slot.
        let slot = self.router.slot(&[&topic], "").unwrap_or(0);
        let mut slots = lock(&self.slots);
        // The counts of listeners are dropped after this was set: a listener that came later would
        // begin a new count, from which the earlier ones would be subtracted.
        if self.closed.load(Ordering::Acquire) {
            listener.wake();
            return listener;
        }
        let is_new = !slots.contains_key(&slot);
        let watch = slots.entry(slot).or_default();
        match watch.topics.get_mut(&topic) {
            Some(watched) => {
                watched.listeners += 1;
                if after < watched.seen {
                    listener.wake();
                }
            }
            None => {
                watch.topics.insert(topic.clone(), Watched { seen: after, listeners: 1 });
                watch.is_stale = true;
                watch.changed.notify_one();
            }
        }
        if is_new {
            background.spawn(self.clone().run(slot, watch.changed.clone()));
        }
        drop(slots);
        // A close that ran meanwhile has perhaps not seen the listener.
        if self.closed.load(Ordering::Acquire) {
            listener.wake();
        }
        let own = Arc::downgrade(self);
        listener.on_drop(move || {
            let Some(own) = own.upgrade() else { return };
            if let Some(watch) = lock(&own.slots).get_mut(&slot)
                && let Some(watched) = watch.topics.get_mut(&topic)
            {
                watched.listeners -= 1;
            }
        })
    }

    /// Closes the connections and wakes all listeners, to find out that the client is closed.
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        lock(&self.slots).values().for_each(|watch| watch.changed.notify_one());
        self.waiters.wake_everyone();
    }

    /// What to watch now. Ends the slot's task, for which there is no next command then, if nobody
    /// listens for anything.
    fn watched(&self, slot: u16) -> Option<Vec<(Topic, StreamId)>> {
        let mut slots = lock(&self.slots);
        let watch = slots.get_mut(&slot)?;
        watch.topics.retain(|_, watched| watched.listeners > 0);
        watch.is_stale = false;
        if watch.topics.is_empty() || self.closed.load(Ordering::Acquire) {
            slots.remove(&slot);
            return None;
        }
        Some(watch.topics.iter().map(|(topic, watched)| (topic.clone(), watched.seen)).collect())
    }

    /// Handles an entry: wakes one listener for it.
    fn notify(&self, slot: u16, topic: &[u8], id: StreamId) {
        if let Some(watch) = lock(&self.slots).get_mut(&slot)
            && let Some(watched) = watch.topics.get_mut(topic)
        {
            watched.seen = watched.seen.max(id);
        }
        self.waiters.wake_one(topic);
    }

    async fn run(self: Arc<Self>, slot: u16, changed: Arc<Notify>) {
        let mut reconnect = Reconnect::begin();
        loop {
            match self.watch(slot, &changed).await {
                Ok(()) => return,
                // A right that is missing does not come by itself, nor soon.
                Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                    tokio::time::sleep(FORBIDDEN_PAUSE).await;
                }
                Err(_) => reconnect.wait().await,
            }
            // Where nothing can be watched, listeners poll now and then.
            let topics: Vec<Topic> = lock(&self.slots)
                .get(&slot)
                .map(|watch| watch.topics.keys().cloned().collect())
                .unwrap_or_default();
            topics.iter().for_each(|topic| self.waiters.wake_all(topic));
        }
    }

    /// Watches until there is nothing to watch.
    async fn watch(&self, slot: u16, changed: &Notify) -> Result<()> {
        let mut open: Option<Connection> = None;
        while let Some(watched) = self.watched(slot) {
            let mut connection = match open.take() {
                Some(connection) => connection,
                None => self.connect(slot).await?,
            };
            let reply = self.read(slot, &mut connection, &watched, changed).await?;
            open = Some(connection);
            for stream in reply.elements()? {
                let mut stream = stream.list()?;
                let (key, entries) = (stream.next()?.bytes()?, stream.next()?.elements()?);
                stream.end()?;
                for entry in entries {
                    let id = entry.list()?.next()?.bytes()?;
                    let id = std::str::from_utf8(&id).map_err(|_| malformed())?.parse()?;
                    self.notify(slot, &key, id);
                }
            }
        }
        Ok(())
    }

    /// Reads the entries after those that were seen; nothing if there is none for a while, or if
    /// there is more to watch.
    async fn read(
        &self,
        slot: u16,
        connection: &mut Connection,
        watched: &[(Topic, StreamId)],
        changed: &Notify,
    ) -> Result<Reply> {
        let mut read = ["XREAD", "BLOCK", &BLOCK.as_millis().to_string(), "STREAMS"]
            .map(|word| word.as_bytes().to_vec())
            .to_vec();
        read.extend(watched.iter().map(|(topic, _)| topic.to_vec()));
        read.extend(watched.iter().map(|(_, seen)| seen.to_string().into_bytes()));
        let deadline = self.deadline() + BLOCK;
        let Connection { socket, address, id } = connection;
        let read = command::words(&read);
        let mut reading = std::pin::pin!(socket.call(&read, deadline));
        let is_stale = || lock(&self.slots).get(&slot).is_some_and(|watch| watch.is_stale);
        let reply = loop {
            tokio::select! {
                reply = &mut reading => break reply,
                () = changed.notified() => if self.closed.load(Ordering::Acquire) {
                    return Ok(Reply::Nil);
                } else if is_stale() && !self.unblock(address, *id).await? {
                    // The server had not begun to wait, or has already ended.
                    changed.notify_one();
                    tokio::select! {
                        reply = &mut reading => break reply,
                        () = tokio::time::sleep(UNBLOCK_PAUSE) => {}
                    }
                },
            }
        };
        reply.and_then(Reply::ok).inspect_err(|_| self.router.forget())
    }

    /// Ends the command under way; returns whether there was one.
    async fn unblock(&self, address: &Address, id: i64) -> Result<bool> {
        let (pool, address) = (self.pool.clone(), address.clone());
        let deadline = self.deadline();
        let unblocked = tokio::task::spawn_blocking(move || {
            let unblock = command::words(&["CLIENT", "UNBLOCK", &id.to_string()]);
            pool.call(&address, &unblock, false, deadline)
        });
        match unblocked.await.map_err(|_| malformed())? {
            Outcome::Reply(reply, _) => Ok(reply.integer()? == 1),
            // A new connection watches everything.
            Outcome::NotSent(error) | Outcome::NoReply(error) => Err(error),
        }
    }

    async fn connect(&self, slot: u16) -> Result<Connection> {
        let (mut socket, address) = AsyncSocket::open_to_slot(&self.router, slot).await?;
        let id = socket.call(&command::words(&["CLIENT", "ID"]), self.deadline()).await?;
        Ok(Connection { socket, address, id: id.integer()? })
    }

    fn deadline(&self) -> Instant {
        Instant::now() + self.router.dialer.options.timeout
    }
}

/// The connection that blocks.
struct Connection {
    socket: AsyncSocket,
    address: Address,
    /// Its id on the server.
    id: i64,
}
