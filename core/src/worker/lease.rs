//! A lease, which a native thread renews until it is given back or lost: outside any event loop and any interpreter's
//! lock, so that a busy handler keeps it.

use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::{Duration, Instant};

use super::renewal::{Known, Next, Outcome, Renewal};
use super::term::Term;
use crate::client::{Client, Mode, WeakClient};
use crate::error::{Error, ErrorKind, Result, Retry, invalid};
use crate::runtime::fork;
use crate::runtime::sync::lock;
use crate::runtime::timer::{Scheduled, Timer};
use crate::step::Operation;

/// The shortest lease that can be renewed.
const LENGTH_MIN: Duration = Duration::from_millis(1);

/// Refuses a worker's lease that is too short to be renewed.
pub(crate) fn check_length(lease: Duration) -> Result<()> {
    match lease < LENGTH_MIN {
        true => Err(invalid("a worker's lease has to be a millisecond or more")),
        false => Ok(()),
    }
}

/// The leased item, and the steps that keep it.
pub(crate) trait Held: Clone + Send + 'static {
    /// The step that renews it.
    type Renew: Operation;

    fn renew(&self, length: Duration) -> Result<Self::Renew>;

    /// Handles the output of a renewal. Returns whether the lease is held; an error of the kind `DEPENDENCY` means
    /// that it is not.
    fn renewed(&mut self, output: <Self::Renew as Operation>::Output) -> bool;

    /// Whether a renewal reported that the work is no longer wanted; the holder is then notified as if the lease were
    /// lost.
    fn is_cancelled(&self) -> bool {
        false
    }

    /// Whether a renewal failed because the leased item has moved to a place where the next renewal finds it.
    fn has_moved(_error: &Error) -> bool {
        false
    }

    /// Receives the error of a renewal that failed and is tried again.
    fn failed<M: Mode>(&self, _client: &Client<M>, _error: &Error) {}

    /// Looks up the leased item after a renewal whose result was lost, and calls [`Lease::checked`]. By default a
    /// refusal is final.
    fn check<M: Mode>(lease: Arc<Lease<M, Self>>, _client: &Client<M>) {
        lease.checked(|_, _| Ok(false));
    }
}

/// An observer of a lease's renewals.
pub(crate) trait Contact: Send + Sync {
    /// A renewal was done or refused; with an error it could not be sent, or its result was lost.
    fn renewed(&self, error: Option<&Error>);
}

/// A lease that is renewed. It holds no client: a lease that outlives its client must not keep an engine open.
pub(crate) struct Lease<M: Mode, H> {
    client: WeakClient<M>,
    term: Arc<Term>,
    state: Mutex<State<H>>,
    process: u32,
}

/// The state behind the lock of a lease, which the child of a fork must not take.
pub(crate) struct State<H> {
    pub(crate) held: H,
    renewal: Renewal,
    contact: Option<Weak<dyn Contact>>,
    /// The next renewal.
    next: Option<Scheduled>,
    /// The callbacks that wait for the result of the call in progress.
    waiting: Vec<Box<dyn FnOnce(H) + Send>>,
    /// The callbacks for the loss of the lease; `None` once the holder no longer needs the lease.
    on_lost: Option<Vec<Box<dyn FnOnce() + Send>>>,
    /// The timer for the end of the term, if there are such callbacks.
    expiry: Option<Scheduled>,
}

impl<H> State<H> {
    /// Whether the lease is no longer renewed because its holder has ended it.
    pub(crate) fn is_ended(&self) -> bool {
        self.renewal.is_ended()
    }
}

/// A change of the leased item, which lasts until this is dropped. A renewal that is refused in that time does not end
/// the lease.
pub(crate) struct Change<M: Mode, H: Held>(Arc<Lease<M, H>>);

impl<M: Mode, H: Held> Drop for Change<M, H> {
    fn drop(&mut self) {
        self.0.lock().renewal.end_change();
    }
}

impl<M: Mode, H: Held> Lease<M, H> {
    /// Runs the step that takes a lease, and `then` on the lease if it was taken.
    pub(crate) fn acquire<O: Operation, T: Send + 'static>(
        client: &Client<M>,
        step: Result<O>,
        length: Duration,
        held: impl FnOnce(O::Output) -> Option<H> + Send + 'static,
        then: impl FnOnce(Arc<Self>) -> T + Send + 'static,
    ) -> M::Reply<Option<T>> {
        let (taken, weak) = (Instant::now(), client.downgrade());
        let step = step.and_then(|step| Timer::ensure().map(|()| step));
        client.run_then(step, move |output| {
            held(output).map(|held| then(Self::begin(weak, held, length, taken)))
        })
    }

    /// Begins to renew an item that was taken by a step sent at this time.
    pub(crate) fn begin(
        client: WeakClient<M>,
        held: H,
        length: Duration,
        taken: Instant,
    ) -> Arc<Self> {
        let term = Arc::new(Term::new(length, taken));
        // A client that no longer exists renews nothing.
        let interval = client.upgrade().map(|client| client.renewal_interval(length));
        let renewal = Renewal::new(term.clone(), interval.unwrap_or(length / 3));
        let first = renewal.first();
        let (contact, next, expiry, on_lost) = (None, None, None, Some(Vec::new()));
        let state = State { held, renewal, contact, next, waiting: Vec::new(), on_lost, expiry };
        let state = Mutex::new(state);
        let lease = Arc::new(Self { client, term, state, process: std::process::id() });
        lease.clone().go_on(first);
        lease
    }

    pub(crate) fn length(&self) -> Duration {
        self.term.length
    }

    /// Whether the lease is lost, because a renewal was refused or because none has succeeded for a whole
    /// lease.
    pub(crate) fn is_lost(&self) -> bool {
        self.term.is_over(Instant::now())
    }

    /// Whether another holder may have it: it is lost, and not because it was given back.
    pub(crate) fn is_gone(&self) -> bool {
        self.term.is_gone(Instant::now())
    }

    /// Calls back when the lease is lost, immediately if it is already lost. After [`stop`](Self::stop) the callback
    /// is dropped without being called. It is not called in the child of a fork either.
    pub(crate) fn on_lost(self: &Arc<Self>, then: impl FnOnce() + Send + 'static) {
        if !self.is_own() {
            return;
        }
        if let Some(calls) = &mut self.lock().on_lost {
            calls.push(Box::new(then));
        }
        self.clone().watch();
    }

    /// Calls back if the lease is lost, otherwise as soon as its term is over.
    fn watch(self: Arc<Self>) {
        let mut state = self.lock();
        let is_over = self.is_lost() || state.held.is_cancelled();
        let calls = match &mut state.on_lost {
            Some(calls) if !calls.is_empty() => calls,
            _ => return,
        };
        if is_over {
            let calls = std::mem::take(calls);
            drop(state);
            calls.into_iter().for_each(|then| then());
        } else {
            let lease = self.clone();
            let before = state.expiry.replace(Timer::at(self.term.end(), move || lease.watch()));
            drop(state);
            drop(before);
        }
    }

    /// Sets the observer of the renewals.
    pub(crate) fn watch_renewals(&self, contact: Weak<dyn Contact>) {
        self.lock().contact = Some(contact);
    }

    /// Tells the waiting callbacks that the lease is lost, because it is given back.
    pub(crate) fn revoke(self: &Arc<Self>) {
        self.term.revoked();
        self.clone().watch();
    }

    /// Refuses the child of a fork, with an error that says what to do there.
    pub(crate) fn check_process(&self, advice: &str) -> Result<()> {
        fork::check(self.is_own(), advice)
    }

    /// Whether this is the process that took the lease. The copy in the child of a fork does not own it, and its lock
    /// could stay held forever.
    pub(crate) fn is_own(&self) -> bool {
        self.process == std::process::id()
    }

    pub(crate) fn client(&self) -> Option<Client<M>> {
        self.client.upgrade()
    }

    /// As [`Client::draw`].
    pub(crate) fn draw(&self) -> u64 {
        self.client.draw()
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State<H>> {
        lock(&self.state)
    }

    /// Begins a change of the leased item.
    pub(crate) fn change(self: &Arc<Self>) -> Change<M, H> {
        self.lock().renewal.begin_change();
        Change(self.clone())
    }

    /// Ends the renewals, for a holder that no longer needs the lease. Returns whether this was the first time; false
    /// in the child of a fork.
    pub(crate) fn stop(&self) -> bool {
        if !self.is_own() {
            return false;
        }
        let mut state = self.lock();
        let scheduled = [state.next.take(), state.expiry.take()];
        let on_lost = state.on_lost.take();
        let is_first = state.renewal.stop();
        drop(state);
        drop((scheduled, on_lost));
        is_first
    }

    /// Ends the renewals, and calls back with the last version of the leased item.
    pub(crate) fn end(self: &Arc<Self>, then: impl FnOnce(H) + Send + 'static) {
        let mut state = self.lock();
        let next = state.next.take();
        let known = state.renewal.end();
        if known == Known::Now {
            let held = state.held.clone();
            drop(state);
            drop(next);
            then(held);
            return;
        }
        state.waiting.push(Box::new(then));
        drop(state);
        drop(next);
        if known == Known::AfterCheck {
            self.clone().go_on(Next::Check);
        }
    }

    /// Handles the result of a check. `handle` gets the leased item and whether the lease was ended, and returns
    /// whether the lease is held.
    pub(crate) fn checked(self: Arc<Self>, handle: impl FnOnce(&mut H, bool) -> Result<bool>) {
        let mut state = self.lock();
        let is_ended = state.is_ended();
        let outcome = handle(&mut state.held, is_ended).into();
        let next = state.renewal.handle_check(Instant::now(), outcome);
        self.settle(state, next);
    }

    fn renew(self: Arc<Self>) {
        let Some(client) = self.client() else { return };
        let mut state = self.lock();
        if !state.renewal.begin(Instant::now()) {
            return;
        }
        let step = state.held.renew(self.length());
        drop(state);
        let sent = Instant::now();
        client.submit(step, move |renewed| {
            let mut state = self.lock();
            if let (Err(error), Some(client)) = (&renewed, self.client()) {
                state.held.failed(&client, error);
            }
            let contact = state.contact.clone();
            let is_away = |error: &&Error| error.retry() != Retry::Never && !H::has_moved(error);
            let error = renewed.as_ref().err().filter(is_away).map(Error::copy);
            let outcome = renewed.map(|output| state.held.renewed(output)).into();
            let next = state.renewal.handle(sent, Instant::now(), outcome);
            self.settle(state, next);
            if let Some(contact) = contact.and_then(|contact| contact.upgrade()) {
                contact.renewed(error.as_ref());
            }
        });
    }

    /// Runs the callbacks that wait for the result of a call, once it has arrived and needs no check.
    fn settle(self: &Arc<Self>, mut state: MutexGuard<'_, State<H>>, next: Next) {
        let is_known = next != Next::Check;
        let waiting = if is_known { std::mem::take(&mut state.waiting) } else { Vec::new() };
        let waiting: Vec<_> = waiting.into_iter().map(|then| (then, state.held.clone())).collect();
        let is_cancelled = state.held.is_cancelled();
        drop(state);
        waiting.into_iter().for_each(|(then, held)| then(held));
        if is_cancelled || self.is_lost() {
            self.clone().watch();
        }
        self.clone().go_on(next);
    }

    fn go_on(self: Arc<Self>, next: Next) {
        match next {
            Next::Nothing => {}
            Next::Check => {
                if let Some(client) = self.client() {
                    H::check(self, &client);
                }
            }
            Next::Renew(time) => {
                // The lock is held here, so that a renewal that runs immediately does not schedule the next one
                // before this one is recorded.
                let mut state = self.lock();
                if !state.is_ended() {
                    let lease = self.clone();
                    let before = state.next.replace(Timer::at(time, move || lease.renew()));
                    drop(state);
                    drop(before);
                }
            }
        }
    }
}

impl From<Result<bool>> for Outcome {
    fn from(is_held: Result<bool>) -> Self {
        match is_held {
            Ok(true) => Outcome::Held,
            Ok(false) => Outcome::Refused,
            Err(error) if error.kind() == ErrorKind::Dependency => Outcome::Refused,
            Err(error) => Outcome::Failed(error.retry()),
        }
    }
}
