//! How results reach the event loop.
//!
//! The core wakes a call on its own threads: they put the call's number on a list and wake the
//! event loop if the list was empty. So a whole pipeline of results costs one wake-up and one call
//! of [`drain`](CallsOfThread::drain), which writes numbers into a typed array; the promises are
//! JavaScript's. The wake-up does not keep a program alive: JavaScript does while calls are under
//! way.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use millpond::Result;
use napi::Env;
use napi::Status;
use napi::bindgen_prelude::{Array, Float64Array, Function};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi_derive::napi;

use crate::convert::{CallResult, Converted, Failure};
use crate::errors;

/// What a row of the typed array says: the call's number, one of these, and two numbers.
const NUMBERS: f64 = 0.0;
/// The first number is the index of a value in the other array.
const VALUE: f64 = 1.0;
/// The same, of an error.
const FAILURE: f64 = 2.0;
const NOT_TEXT: f64 = 3.0;
const ROW: usize = 4;

type Wakeup = ThreadsafeFunction<(), (), (), Status, false, true>;

/// The calls of one thread of JavaScript that are under way.
pub(crate) struct Calls {
    awake: Arc<Awake>,
    slots: RefCell<Vec<Slot>>,
    /// The numbers of the calls that have results, for which there may have been no room yet.
    news: RefCell<VecDeque<u32>>,
}

/// The numbers of the calls that were woken.
struct Awake {
    list: Mutex<Vec<u32>>,
    wakeup: Wakeup,
}

/// A number, which is used again when its call is over. A waker of the earlier call may wake the
/// later one then, which does no harm.
struct Slot {
    call: Option<Box<dyn Call>>,
    waker: Waker,
}

/// A call under way, whatever it returns.
trait Call {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()>;
    fn result(self: Box<Self>, env: &Env) -> Converted;
}

struct Started<F, T, C> {
    future: Option<F>,
    result: Option<Result<T>>,
    convert: C,
}

impl<F, T, C> Call for Started<F, T, C>
where
    F: Future<Output = Result<T>> + Unpin,
    C: FnOnce(&Env, T) -> Converted,
{
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Some(future) = &mut self.future else { return Poll::Ready(()) };
        let result = match errors::catch(|| Ok(Pin::new(future).poll(context))) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(result)) => result,
            Err(error) => Err(error),
        };
        self.future = None;
        self.result = Some(result);
        Poll::Ready(())
    }

    fn result(self: Box<Self>, env: &Env) -> Converted {
        match self.result {
            Some(Ok(result)) => (self.convert)(env, result),
            Some(Err(error)) => Err(Failure::Core(error)),
            None => Ok(CallResult::Numbers(0.0, 0.0)),
        }
    }
}

/// Wakes one call.
struct Caller {
    awake: Arc<Awake>,
    number: u32,
}

impl Wake for Caller {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let mut list = lock(&self.awake.list);
        list.push(self.number);
        let first = list.len() == 1;
        drop(list);
        if first {
            // It is refused when the thread of JavaScript has ended, and nothing waits any more.
            let _ = self.awake.wakeup.call((), ThreadsafeFunctionCallMode::NonBlocking);
        }
    }
}

impl Calls {
    /// Starts a call under a number that JavaScript has chosen. Returns whether it has a result
    /// already, for which there is no wake-up.
    pub(crate) fn start<T: 'static, F: Future<Output = Result<T>> + Unpin + 'static>(
        &self,
        number: u32,
        call: impl FnOnce() -> Result<F>,
        convert: impl FnOnce(&Env, T) -> Converted + 'static,
    ) -> bool {
        let mut started = Started { future: None, result: None, convert };
        match errors::catch(call) {
            Ok(future) => started.future = Some(future),
            Err(error) => started.result = Some(Err(error)),
        }
        let waker = self.waker(number);
        // What the embedded engine has done already needs no wake-up.
        let is_ready = started.poll(&mut Context::from_waker(&waker)).is_ready();
        self.slots.borrow_mut()[number as usize].call = Some(Box::new(started));
        if is_ready {
            // Results come in the order of the calls: those that a server replied to meanwhile are first.
            self.hear();
            self.news.borrow_mut().push_back(number);
        }
        is_ready
    }

    /// Takes over the calls that were woken, behind those that have a result already.
    fn hear(&self) {
        let awake = std::mem::take(&mut *lock(&self.awake.list));
        self.news.borrow_mut().extend(awake);
    }

    fn waker(&self, number: u32) -> Waker {
        let mut slots = self.slots.borrow_mut();
        while slots.len() <= number as usize {
            let caller = Caller { awake: self.awake.clone(), number: slots.len() as u32 };
            slots.push(Slot { call: None, waker: Waker::from(Arc::new(caller)) });
        }
        slots[number as usize].waker.clone()
    }

    /// The result of a call, if it has one.
    fn finish(&self, env: &Env, number: u32) -> Option<Converted> {
        let slot = |slots: &mut Vec<Slot>| {
            let slot = &mut slots[number as usize];
            Some((slot.call.take()?, slot.waker.clone()))
        };
        // The slots are unlocked meanwhile: what is dropped or polled may wake another call.
        let (mut call, waker) = slot(&mut self.slots.borrow_mut())?;
        match call.poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(()) => {
                let converted = errors::catch(|| Ok(call.result(env)));
                Some(converted.unwrap_or_else(|error| Err(Failure::Core(error))))
            }
            Poll::Pending => {
                self.slots.borrow_mut()[number as usize].call = Some(call);
                None
            }
        }
    }
}

/// The [`Calls`] as JavaScript has them.
#[napi(js_name = "Calls")]
pub struct CallsOfThread(pub(crate) Rc<Calls>);

/// The thread of JavaScript has ended. Its calls hold handles, which hold the [`Calls`]: unless
/// they are dropped here, they keep each other alive, and a loop among them still consumes
/// notifications.
impl Drop for CallsOfThread {
    fn drop(&mut self) {
        // The slots are unlocked when the calls are dropped, which may wake other calls.
        let slots = self.0.slots.take();
        self.0.news.take();
        drop(slots);
    }
}

#[napi]
impl CallsOfThread {
    /// Calls `wake` when there is something to drain.
    #[napi(constructor)]
    pub fn new(wake: Function<'_, (), ()>) -> napi::Result<Self> {
        let wakeup = wake.build_threadsafe_function::<()>().weak::<true>().build()?;
        let awake = Arc::new(Awake { list: Mutex::default(), wakeup });
        let calls = Calls { awake, slots: RefCell::default(), news: RefCell::default() };
        Ok(Self(Rc::new(calls)))
    }

    /// Fills `rows` and `values` with the results of calls; returns the number of rows that
    /// are written. If that is all there are, there may be more.
    #[napi]
    pub fn drain(
        &self,
        env: Env,
        mut rows: Float64Array,
        mut values: Array<'_>,
    ) -> napi::Result<u32> {
        // SAFETY: JavaScript does not run meanwhile, and no other thread has the array.
        let rows = unsafe { rows.as_mut() };
        let mut rows = rows.chunks_exact_mut(ROW);
        self.0.hear();
        let mut written = 0;
        while rows.len() > 0 {
            let Some(number) = self.0.news.borrow_mut().pop_front() else { break };
            let Some(result) = self.0.finish(&env, number) else { continue };
            let Some(row) = rows.next() else { break };
            let (kind, first, second) = report(&env, result, &mut values)?;
            row.copy_from_slice(&[f64::from(number), kind, first, second]);
            written += 1;
        }
        Ok(written)
    }

    /// Drops a call that nothing waits for any more. What it does is done all the same.
    #[napi]
    pub fn forget(&self, number: u32) {
        let slot = |slots: &mut Vec<Slot>| slots.get_mut(number as usize)?.call.take();
        let call = slot(&mut self.0.slots.borrow_mut());
        drop(call);
    }

    /// Panics where the core might, so that a test can show what happens then.
    #[napi]
    pub fn panic(&self, number: u32) -> bool {
        let call = || -> Result<std::future::Ready<Result<()>>> { panic!("on request") };
        self.0.start(number, call, |env, done| CallResult::nothing(env, true, done))
    }
}

/// A result as a row has it.
fn report(env: &Env, result: Converted, values: &mut Array<'_>) -> napi::Result<(f64, f64, f64)> {
    let place = f64::from(values.len());
    match result {
        Ok(CallResult::Numbers(first, second)) => Ok((NUMBERS, first, second)),
        Ok(CallResult::Value(value)) => {
            // SAFETY: the value was made in this call, of this environment.
            values.insert(unsafe { napi::Unknown::from_raw_unchecked(env.raw(), value) })?;
            Ok((VALUE, place, 0.0))
        }
        Err(Failure::Core(error)) => {
            values.insert(errors::failure(env, &error)?)?;
            Ok((FAILURE, place, 0.0))
        }
        Err(Failure::NotText) => Ok((NOT_TEXT, 0.0, 0.0)),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
