//! Whether the server can be reached, as the steps of a run see it: one report when an outage begins, and one when it
//! is over, independent of what the run was doing.

use super::report::{Report, ReportKind};
use crate::error::{Error, ErrorKind};

/// A kind of steps of a run. Each kind may go to different servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Steps {
    /// Steps that take jobs.
    Takes,
    Renewals,
    Ends,
}

#[derive(Default)]
pub(super) struct Outage {
    /// Which steps failed the last time, in the order of [`Steps`].
    fails: [bool; 3],
    /// For the outage that was reported: the kind of its first error, and how many steps have failed.
    begun: Option<(ErrorKind, u32)>,
}

impl Outage {
    pub(super) fn has_begun(&self) -> bool {
        self.begun.is_some()
    }

    /// A step failed with a retryable error. Returns the report on the beginning of an outage.
    pub(super) fn failed<J>(&mut self, steps: Steps, error: &Error) -> Option<Report<J>> {
        self.fails[steps as usize] = true;
        if let Some((_, failures)) = &mut self.begun {
            *failures += 1;
            return None;
        }
        self.begun = Some((error.kind(), 1));
        let message = format!("the server is away, and is asked again: {error}");
        Some(Report::of_run(ReportKind::Away, message, error.copy()))
    }

    /// A step was done, or none of its kind is left to be repeated. Returns the report on the end of an outage.
    pub(super) fn reached<J>(&mut self, steps: Steps) -> Option<Report<J>> {
        self.fails[steps as usize] = false;
        if self.fails.contains(&true) {
            return None;
        }
        let (kind, failures) = self.begun.take()?;
        let times = if failures == 1 { "time" } else { "times" };
        let message = format!("the server is back; it was asked {failures} {times} in vain");
        let over = Error::new(kind, &*message);
        Some(Report::of_run(ReportKind::Back, message, over))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(report: Option<Report<()>>) -> Option<(ReportKind, ErrorKind, String)> {
        report.map(|report| {
            let error = report.error.expect("a report on the server has an error");
            (report.kind, error.kind(), report.message)
        })
    }

    #[test]
    fn an_outage_is_reported_once_and_over_when_all_steps_are_done() {
        let mut outage = Outage::default();
        let error = Error::new(ErrorKind::ConnectionLost, "it broke");
        assert_eq!(told(outage.reached(Steps::Takes)), None);
        let away = "the server is away, and is asked again: it broke".to_owned();
        let begun = Some((ReportKind::Away, ErrorKind::ConnectionLost, away));
        assert_eq!(told(outage.failed(Steps::Ends, &error)), begun);
        let later = Error::new(ErrorKind::ConnectionFailed, "refused");
        assert_eq!(told(outage.failed(Steps::Takes, &later)), None);
        assert_eq!(told(outage.failed(Steps::Renewals, &later)), None);
        assert_eq!(told(outage.reached(Steps::Takes)), None);
        assert_eq!(told(outage.reached(Steps::Renewals)), None);
        assert!(outage.has_begun());
        let back = "the server is back; it was asked 3 times in vain".to_owned();
        let over = Some((ReportKind::Back, ErrorKind::ConnectionLost, back));
        assert_eq!(told(outage.reached(Steps::Ends)), over);
        assert!(!outage.has_begun());
    }
}
