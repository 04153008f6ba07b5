//! The subscriber: one SUBSCRIBE connection a process, for all channels that anybody waits for.
//!
//! Producers publish on a channel; the subscriber wakes listeners for it. A listener is woken once
//! when its subscription stands, and all are when the connection was lost and is back, so nothing
//! falls into a gap. After the last listener of a channel has gone its subscription stays for
//! [`LINGER`], and so does the connection: a consumer that works between two waits then makes no new one.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::async_socket::AsyncSocket;
use super::command;
use super::reconnect::Reconnect;
use super::router::Router;
use super::socket::lost;
use crate::error::Result;
use crate::runtime::sync::lock;
use crate::runtime::waiters::{self, Listener, Topic, Unheard, Waiters};
use crate::step::Reply;

/// How long a subscription without listeners stays.
const LINGER: Duration = Duration::from_secs(5);

/// How long the connection may be silent before a PING asks whether the server is there: one that is gone
/// without a word would leave all who listen to their polls.
const SILENCE_MAX: Duration = Duration::from_secs(5);

pub(super) struct Subscriber {
    router: Arc<Router>,
    waiters: Arc<Waiters>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// How many listeners each topic has.
    wanted: HashMap<Topic, usize>,
    /// The topics whose subscriptions stand.
    standing: HashSet<Topic>,
    /// Tells the task what changed; there while the task runs.
    changes: Option<mpsc::UnboundedSender<Change>>,
}

enum Change {
    /// And the listener to wake when the subscriptions stand.
    Subscribe(Vec<Topic>, waiters::Handle),
    /// Nobody listens any more.
    Leave(Topic),
}

impl Subscriber {
    pub(super) fn new(router: Arc<Router>) -> Arc<Self> {
        Arc::new(Self { router, waiters: Arc::default(), state: Mutex::default() })
    }

    /// How many listeners would hear what is published on this channel now.
    pub(super) fn listeners(&self, topic: &[u8]) -> usize {
        let state = lock(&self.state);
        let stands = state.standing.contains(topic);
        state.wanted.get(topic).copied().filter(|_| stands).unwrap_or(0)
    }

    /// Does this from now on when something is published on this channel and nobody listens any more.
    pub(super) fn on_unheard(&self, topic: &Topic, unheard: Unheard) {
        self.waiters.on_unheard(topic, unheard);
    }

    /// Listens for nothing but the end of the client.
    pub(super) fn sleeper(&self) -> Listener {
        self.waiters.sleeper()
    }

    /// Listens for what is published on these channels.
    pub(super) fn listen(self: &Arc<Self>, background: &Handle, topics: Vec<Topic>) -> Listener {
        let listener = self.waiters.listen(topics.clone());
        let mut state = lock(&self.state);
        for topic in &topics {
            *state.wanted.entry(topic.clone()).or_default() += 1;
        }
        match &state.changes {
            Some(changes) => {
                // The task ends only under this lock, so it is there to hear it.
                let _ = changes.send(Change::Subscribe(topics.clone(), listener.handle()));
            }
            None => {
                let (changes, inbox) = mpsc::unbounded_channel();
                state.changes = Some(changes);
                background.spawn(self.clone().run(inbox));
            }
        }
        drop(state);
        let subscriber = Arc::downgrade(self);
        listener.on_drop(move || {
            if let Some(subscriber) = subscriber.upgrade() {
                subscriber.unlisten(&topics);
            }
        })
    }

    fn unlisten(&self, topics: &[Topic]) {
        let mut state = lock(&self.state);
        for topic in topics {
            if let Some(count) = state.wanted.get_mut(topic) {
                *count -= 1;
                if *count == 0 {
                    state.wanted.remove(topic);
                    if let Some(changes) = &state.changes {
                        let _ = changes.send(Change::Leave(topic.clone()));
                    }
                }
            }
        }
    }

    /// Closes the connection and wakes all listeners, to find out that the client is closed.
    pub(super) fn close(&self) {
        lock(&self.state).changes = None;
        self.waiters.wake_everyone();
    }

    /// Keeps the subscriptions until nobody wants any.
    async fn run(self: Arc<Self>, mut inbox: mpsc::UnboundedReceiver<Change>) {
        let mut reconnect = Reconnect::begin();
        loop {
            // A connection that fails is made again: meanwhile listeners poll by themselves.
            // One that ends well has ended this task, and a listener that came since has begun
            // the next one: to connect once more would keep both.
            if self.subscribe(&mut inbox).await.is_ok() {
                return;
            }
            lock(&self.state).standing.clear();
            reconnect.wait().await;
            if self.end() {
                return;
            }
        }
    }

    /// Whether a subscription stands that nobody wants: it counts no more then.
    fn forget(&self, topic: &Topic) -> bool {
        let mut state = lock(&self.state);
        !state.wanted.contains_key(topic) && state.standing.remove(topic)
    }

    /// Ends the task if nobody wants anything.
    fn end(&self) -> bool {
        let mut state = lock(&self.state);
        let unwanted = state.wanted.is_empty();
        if unwanted {
            state.changes = None;
            state.standing.clear();
        }
        unwanted
    }

    /// Subscribes to what is wanted and handles messages; returns when nothing is wanted, which it
    /// has noted with [`end`](Self::end).
    async fn subscribe(&self, inbox: &mut mpsc::UnboundedReceiver<Change>) -> Result<()> {
        let mut subscription = self.connect().await?;
        let wanted: Vec<Topic> = lock(&self.state).wanted.keys().cloned().collect();
        if wanted.is_empty() && self.end() {
            return Ok(());
        }
        for topic in self.subscribe_to(&mut subscription, wanted).await? {
            lock(&self.state).standing.insert(topic.clone());
            self.waiters.wake_all(&topic);
        }
        // Topics without listeners, and until when their subscriptions stay.
        let mut left: VecDeque<(Instant, Topic)> = VecDeque::new();
        loop {
            let first = left.front().map(|(until, _)| *until);
            let silent = subscription.heard + SILENCE_MAX;
            tokio::select! {
                message = subscription.next() => {
                    let (topic, payload) = message?;
                    self.handle_message(&topic, &payload);
                }
                change = inbox.recv() => match change {
                    Some(Change::Subscribe(topics, listener)) => {
                        let all = topics.len();
                        let new: Vec<Topic> = {
                            let standing = &lock(&self.state).standing;
                            topics.into_iter().filter(|topic| !standing.contains(topic)).collect()
                        };
                        let known = all - new.len();
                        let stand = self.subscribe_to(&mut subscription, new).await?;
                        let any = known + stand.len() > 0;
                        lock(&self.state).standing.extend(stand);
                        if any {
                            listener.wake();
                        }
                    }
                    Some(Change::Leave(topic)) => left.push_back((Instant::now() + LINGER, topic)),
                    None => return Ok(()),
                },
                () = tokio::time::sleep_until(silent) => {
                    self.in_time(subscription.ping()).await?;
                }
                () = tokio::time::sleep_until(first.unwrap_or_else(Instant::now)),
                    if first.is_some() =>
                {
                    let topic = left.pop_front().map(|(_, topic)| topic);
                    if let Some(topic) = topic.filter(|topic| self.forget(topic)) {
                        self.in_time(subscription.send("UNSUBSCRIBE", &[&topic])).await?;
                        self.waiters.forget_unheard(&topic);
                    }
                    if left.is_empty() && self.end() {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Subscribes to topics in one command; returns those that stand. A server refuses all at once to
    /// a user who has no right to one of them, so then each is tried by itself. The listeners of one
    /// that is refused poll by themselves.
    async fn subscribe_to(
        &self,
        subscription: &mut Subscription,
        topics: Vec<Topic>,
    ) -> Result<Vec<Topic>> {
        let mut subscribe =
            async |topics: &[&Topic]| self.in_time(subscription.send("SUBSCRIBE", topics)).await;
        if topics.is_empty() || subscribe(&topics.iter().collect::<Vec<_>>()).await? {
            return Ok(topics);
        }
        let mut stand = Vec::new();
        for topic in topics {
            if subscribe(&[&topic]).await? {
                stand.push(topic);
            }
        }
        Ok(stand)
    }

    /// Handles a message. It holds the number of listeners that there is work for, one where it is
    /// empty, or as `+<ms>` the milliseconds until there is work for one.
    fn handle_message(&self, topic: &[u8], payload: &[u8]) {
        let number = |text: &[u8]| std::str::from_utf8(text).ok()?.parse().ok();
        match payload.split_first() {
            Some((b'+', delay)) if self.waiters.is_heard(topic) => {
                let delay = Duration::from_millis(number(delay).unwrap_or(0));
                self.waiters.wake_after(topic, delay);
            }
            Some((b'+', _)) => self.waiters.unheard(topic),
            _ => self.waiters.wake(topic, number(payload).unwrap_or(1) as usize),
        }
    }

    /// See [`Waiters::wake_one`].
    pub(super) fn wake_one(&self, topic: &[u8]) {
        self.waiters.wake_one(topic);
    }

    /// See [`Waiters::wake_after`].
    pub(super) fn wake_after(&self, topic: &[u8], delay: Duration) {
        self.waiters.wake_after(topic, delay);
    }

    async fn connect(&self) -> Result<Subscription> {
        let (socket, _) = AsyncSocket::open_to_slot(&self.router, 0).await?;
        Ok(Subscription { socket, messages: VecDeque::new(), heard: Instant::now() })
    }

    /// Waits for a reply for as long as any call may take.
    async fn in_time<T>(&self, reply: impl Future<Output = Result<T>>) -> Result<T> {
        let late = |_| lost(io::ErrorKind::TimedOut.into());
        tokio::time::timeout(self.router.dialer.options.timeout, reply).await.map_err(late)?
    }
}

/// The connection, and the messages that came while something else was waited for.
struct Subscription {
    socket: AsyncSocket,
    messages: VecDeque<(Vec<u8>, Vec<u8>)>,
    /// When the server said something last.
    heard: Instant,
}

impl Subscription {
    /// Sends SUBSCRIBE or UNSUBSCRIBE for topics. Returns false if the server refuses it, as it does
    /// a user without rights to a channel.
    async fn send(&mut self, command: &str, topics: &[&Topic]) -> Result<bool> {
        let mut words = vec![command.as_bytes()];
        words.extend(topics.iter().map(|topic| &***topic));
        self.socket.out().extend(command::words(&words));
        let mut missing = topics.len();
        while missing > 0 {
            let reply = self.reply().await?;
            if let Reply::Error(_) = reply {
                return Ok(false);
            }
            missing -= usize::from(!self.keep(reply)?);
        }
        Ok(true)
    }

    /// The next message: its channel and its payload.
    async fn next(&mut self) -> Result<(Vec<u8>, Vec<u8>)> {
        loop {
            if let Some(message) = self.messages.pop_front() {
                return Ok(message);
            }
            let reply = self.reply().await?;
            self.keep(reply)?;
        }
    }

    /// Waits until the server has replied to a PING.
    async fn ping(&mut self) -> Result<()> {
        self.socket.out().extend(command::words(&["PING"]));
        loop {
            match self.reply().await? {
                // With subscriptions the reply is an array with an empty message, without any it is a simple string.
                Reply::Array(pong) if pong.len() == 2 => return Ok(()),
                reply @ Reply::Array(_) => drop(self.keep(reply)?),
                _ => return Ok(()),
            }
        }
    }

    async fn reply(&mut self) -> Result<Reply> {
        let reply = self.socket.reply().await?;
        self.heard = Instant::now();
        Ok(reply)
    }

    /// Keeps a message; returns whether it was one.
    fn keep(&mut self, reply: Reply) -> Result<bool> {
        let [kind, channel, payload] = <[Reply; 3]>::try_from(reply.elements()?)
            .map_err(|_| lost(io::ErrorKind::InvalidData.into()))?;
        let is_message = kind.bytes()? == b"message";
        if is_message {
            self.messages.push_back((channel.bytes()?, payload.bytes()?));
        }
        Ok(is_message)
    }
}
