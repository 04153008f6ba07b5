//! Which job a draw runs, if any.

use std::sync::Arc;

use super::new_job::{DRAWS, JOBS_MAX, NewJob};
use crate::error::{Result, ensure, invalid};

/// The jobs of a handle, with the draws that run those by share: half-open intervals, one after the other in the order
/// of installation.
#[derive(Clone, Debug, Default)]
pub(super) struct Lottery {
    jobs: Vec<Arc<NewJob>>,
    /// Where the interval of a job by share ends, and the number of the job.
    ends: Vec<(u64, usize)>,
    has_paced: bool,
}

impl Lottery {
    /// This lottery with one more job.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a job beyond its limits, an id that is installed already, too many jobs, and shares that
    /// add up to more than 100 %.
    pub(super) fn with(&self, job: NewJob) -> Result<Self> {
        job.check()?;
        let id = job.id();
        ensure!(self.number(id).is_none(), "the job {id} is installed already");
        ensure!(self.jobs.len() < JOBS_MAX, "a recruiter has at most {JOBS_MAX} jobs");
        let mut jobs = self.jobs.clone();
        jobs.push(Arc::new(job));
        Self::of(jobs)
    }

    /// The number of a job, and this lottery without it; `None` if it is not installed.
    pub(super) fn without(&self, id: &str) -> Option<(usize, Self)> {
        let number = self.number(id)?;
        let mut jobs = self.jobs.clone();
        jobs.remove(number);
        Some((number, Self::of(jobs).ok()?))
    }

    fn of(jobs: Vec<Arc<NewJob>>) -> Result<Self> {
        let (mut ends, mut sum) = (Vec::new(), 0);
        let widths =
            jobs.iter().enumerate().filter_map(|(number, job)| Some((job.width()?, number)));
        for (width, number) in widths {
            sum += width;
            ends.push((sum.min(DRAWS), number));
        }
        // Each width is rounded, so a sum of exactly 100 % may come out a little higher.
        if sum > DRAWS + jobs.len() as u64 {
            let percent = sum as f64 / DRAWS as f64 * 100.0;
            return Err(invalid(format!("the shares of all jobs come to {percent:.4} %")));
        }
        let has_paced = jobs.len() > ends.len();
        Ok(Self { jobs, ends, has_paced })
    }

    /// The job that this draw, below [`DRAWS`], runs.
    pub(super) fn winner(&self, draw: u64) -> Option<usize> {
        self.ends.iter().find(|(end, _)| draw < *end).map(|(_, number)| *number)
    }

    /// Whether there are jobs per second.
    pub(super) fn has_paced(&self) -> bool {
        self.has_paced
    }

    pub(super) fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    pub(super) fn jobs(&self) -> &[Arc<NewJob>] {
        &self.jobs
    }

    fn number(&self, id: &str) -> Option<usize> {
        self.jobs.iter().position(|job| **job.id() == *id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(shares: &[f64]) -> Result<Lottery> {
        let jobs = shares.iter().enumerate();
        jobs.map(|(number, share)| NewJob::new(number.to_string()).share(*share))
            .try_fold(Lottery::default(), |lottery, job| lottery.with(job))
    }

    /// L1, L2, S1, S2.
    #[test]
    fn a_share_of_0_never_runs_and_one_of_1_always() {
        let lottery = shares(&[0.0, 1.0]).unwrap();
        for draw in [0, 1, DRAWS / 2, DRAWS - 1] {
            assert_eq!(lottery.winner(draw), Some(1));
        }
        assert_eq!(shares(&[0.0]).unwrap().winner(0), None);
    }

    /// L3, L5.
    #[test]
    fn a_draw_at_the_edge_belongs_to_the_next_job() {
        let lottery = shares(&[0.25, 0.5]).unwrap();
        let found = [DRAWS / 4 - 1, DRAWS / 4, DRAWS / 4 * 3 - 1, DRAWS / 4 * 3];
        assert_eq!(found.map(|draw| lottery.winner(draw)), [Some(0), Some(1), Some(1), None]);
    }

    /// L6, L7, S3, S5.
    #[test]
    fn shares_of_100_percent_install_in_any_order() {
        let (mut random, mut refused) = (1_u64, 0);
        for _ in 0..2_000 {
            // Parts of a thousand, which add up to exactly a thousand.
            let (mut left, mut parts) = (1_000, Vec::new());
            while left > 0 {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let part = (1 + (random >> 40) % 400).min(left);
                left -= part;
                parts.push(part as f64 / 1_000.0);
            }
            let lottery = shares(&parts).unwrap();
            assert!(lottery.winner(DRAWS - parts.len() as u64 - 1).is_some());
            refused += u32::from(parts.iter().sum::<f64>() > 1.0);
        }
        // A plain sum of the shares would have refused these.
        assert!(refused > 0);
        let error = shares(&[0.5, 0.501]).unwrap_err();
        assert_eq!(error.to_string(), "the shares of all jobs come to 100.1000 %");
    }

    /// L9, P17.
    #[test]
    fn an_id_is_installed_once_and_jobs_have_a_limit() {
        let lottery = Lottery::default().with(NewJob::new("a").share(0.1)).unwrap();
        assert!(lottery.with(NewJob::new("a").per_second(1.0)).is_err());
        let lottery =
            lottery.without("a").unwrap().1.with(NewJob::new("a").per_second(1.0)).unwrap();
        assert!(lottery.without("b").is_none());
        assert!(lottery.has_paced());
        let all = (1..JOBS_MAX).try_fold(lottery, |lottery, number| {
            lottery.with(NewJob::new(number.to_string()).share(0.0))
        });
        assert!(all.unwrap().with(NewJob::new("last").share(0.0)).is_err());
    }
}
