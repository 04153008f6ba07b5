//! The random numbers of steps.

/// The minimal standard generator, which a script can compute with doubles, so scripts draw the same numbers.
pub(crate) struct Chance(u64);

impl Chance {
    /// Every number drawn is below this.
    pub(crate) const MODULUS: u64 = 2_147_483_647;

    /// The factor from one number to the next.
    pub(crate) const FACTOR: u64 = 48_271;

    pub(crate) fn new(seed: u32) -> Self {
        Self(u64::from(seed) % (Self::MODULUS - 1) + 1)
    }

    pub(crate) fn draw(&mut self) -> u64 {
        self.0 = self.0 * Self::FACTOR % Self::MODULUS;
        self.0
    }

    /// Shuffles these randomly.
    pub(crate) fn shuffle(&mut self, order: &mut [usize]) {
        for last in (1..order.len()).rev() {
            order.swap(last, (self.draw() % (last as u64 + 1)) as usize);
        }
    }
}
