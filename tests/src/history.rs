//! Whether steps that ran at once have one order.

use std::collections::BTreeSet;
use std::time::Duration;

/// Why steps have no order, by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disorder {
    /// The first returned before the second was called, and comes behind it.
    Behind(usize, usize),
    /// It comes behind another that comes behind it.
    Circle(usize),
}

/// Looks for one order of steps, of each of which is known when it was called and when it returned: in it each comes
/// before those that were called after it returned, and before those at the next point of a line.
///
/// # Errors
/// Why there is none.
pub fn order(
    times: &[(Duration, Duration)],
    lines: impl IntoIterator<Item = Vec<BTreeSet<usize>>>,
) -> Result<(), Disorder> {
    // How many steps each one waits for, and which wait for it.
    let mut before = vec![0_usize; times.len()];
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); times.len()];
    for line in lines {
        for pair in line.windows(2) {
            for one in &pair[0] {
                for other in pair[1].iter().filter(|other| *other != one) {
                    after[*one].push(*other);
                    before[*other] += 1;
                }
            }
        }
    }
    let called = |number: usize| (times[number].0, number);
    let mut returns: BTreeSet<_> = (0..times.len()).map(|n| (times[n].1, n)).collect();
    let mut ready: BTreeSet<_> = (0..times.len()).filter(|n| before[*n] == 0).map(called).collect();
    while let Some((time, number)) = ready.pop_first() {
        // The step that was called first is the least of those that must come before another.
        if let Some((returned, waits)) = returns.first()
            && *returned < time
        {
            return Err(Disorder::Behind(*waits, number));
        }
        returns.remove(&(times[number].1, number));
        for other in &after[number] {
            before[*other] -= 1;
            if before[*other] == 0 {
                ready.insert(called(*other));
            }
        }
    }
    returns.first().map_or(Ok(()), |(_, number)| Err(Disorder::Circle(*number)))
}
