//! What recruiters have beside what follows from the core's methods; see `generated/handles.rs`. The core decides which
//! slices run; JavaScript calls the handlers.

use std::time::Duration;

use millpond::recruiter::{Begun, NewJob, Why};
use napi::bindgen_prelude::{Either, Null};
use napi::{Env, Unknown};
use napi_derive::napi;

use crate::convert::duration;
use crate::entries::Entries;
use crate::handles::{Recruiter, Slice};
use crate::list::{Done, List, Push};
use crate::loops::{Loop, Slices};

#[napi]
impl Recruiter {
    /// Installs a job, whose options are steps.
    #[napi]
    pub fn install(&self, env: Env, id: String, options: Entries) -> napi::Result<()> {
        let job = options.reader().new_job(NewJob::new(id))?;
        self.0.at_once(&env, |core| core.install_job(job))
    }

    /// Returns a slice, or why there is none; null if the server has to be asked.
    #[napi]
    pub fn decide(
        &self,
        env: Env,
        budget_ms: Option<f64>,
    ) -> napi::Result<Option<Either<&'static str, Slice>>> {
        let begun = self.0.at_once(&env, |core| Ok(core.decide(budget_ms.map(duration))))?;
        Ok(begun.map(|begun| match begun {
            Begun::Dismissed(duty, _) => Either::A(duty.why.name()),
            Begun::Slice(slice) => Either::B(Slice::new(self.0.with(slice))),
        }))
    }

    /// Asks the server; returns a slice and null, or why there is none and the error, if that is why.
    #[napi]
    pub fn ask(&self, number: u32, budget_ms: Option<f64>) -> bool {
        let handle = self.0.with(());
        let convert = move |env: &Env, _, begun| {
            let mut list = List::new(env)?;
            let error = match begun {
                Begun::Slice(slice) => {
                    list.value(Slice::new(handle.with(slice)))?;
                    None
                }
                Begun::Dismissed(duty, error) => {
                    duty.why.push(&mut list)?;
                    error
                }
            };
            match error {
                Some(error) => list.failure(&error)?,
                None => list.value(Null)?,
            }
            list.finish()
        };
        self.0.start(number, |core| Ok(core.ask(budget_ms.map(duration))), convert)
    }

    /// Slices as often as they come.
    #[napi]
    pub fn slices(&self) -> Slices {
        let slices = self.0.core.slices().wait(Duration::MAX).yield_errors();
        Slices(Loop::new(self.0.with(slices)))
    }
}

#[napi]
impl Slice {
    /// Ends it, and returns the duty.
    #[napi]
    pub fn end<'env>(&self, env: &'env Env, items: f64) -> napi::Result<Unknown<'env>> {
        let duty = self.0.at_once(env, |core| Ok(core.end(items as u64)))?;
        List::of(env, &duty)
    }

    /// Ends one that failed, and returns the duty.
    #[napi]
    pub fn fail<'env>(&self, env: &'env Env) -> napi::Result<Unknown<'env>> {
        let duty = self.0.at_once(env, |core| Ok(core.fail()))?;
        List::of(env, &duty)
    }
}

impl Push for Why {
    fn push(&self, list: &mut List<'_>) -> Done {
        list.value(self.name())
    }
}
