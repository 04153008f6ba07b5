//! Why a job was not done.

use std::time::Duration;

/// Why a job was not done, for the handler of a worker. Any error and any text converts to an [`Error`](Self::Error).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The job failed for this reason: it is tried again after the worker's backoff, or put aside if this was the
    /// last attempt.
    Error(String),
    /// Try again later, for this reason.
    Retry(String),
    /// Try again after this time, for this reason.
    RetryAfter(String, Duration),
    /// Move it to this queue of its task store, for this reason. A message of a shuffle queue cannot be moved.
    Move(String, String),
    /// Put it aside immediately, into the error queue or the dead letters, for this reason: another attempt would not
    /// help.
    Reject(String),
    /// Give it back untried, for another worker, after a short random time.
    Release,
    /// Give it back untried, for another worker, after this time.
    ReleaseAfter(Duration),
}

/// From an error or a text.
impl<E: Into<Box<dyn std::error::Error + Send + Sync>>> From<E> for Failure {
    fn from(error: E) -> Self {
        Failure::Error(error.into().to_string())
    }
}

/// What a handler may return: nothing, or a [`Result`] whose error is a [`Failure`] or converts to one. A handler of
/// tasks may also return a [`Modification`](crate::tasks::Modification), bare or in an [`Option`], for which `D`
/// stands.
pub trait Outcome<D> {
    /// How the job ends.
    ///
    /// # Errors
    /// The failure of the handler.
    fn outcome(self) -> Result<D, Failure>;
}

impl Outcome<()> for () {
    fn outcome(self) -> Result<(), Failure> {
        Ok(())
    }
}

impl<E: Into<Failure>> Outcome<()> for Result<(), E> {
    fn outcome(self) -> Result<(), Failure> {
        self.map_err(Into::into)
    }
}
