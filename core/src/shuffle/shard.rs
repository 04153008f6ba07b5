//! The shard of a tenant: the streams it may write to.
//!
//! A shard is the beginning of a permutation of the streams, drawn from Go's `math/rand` generator
//! with a hash of the tenant's key as its seed, so that every writer in any language finds the same.

use super::{STREAMS_MAX, StreamNumber, check_filled};
use crate::error::{Result, invalid};
use crate::step::fnv::fnv1a64;

/// The streams of this tenant: `streams_per_shard` of `streams`, in the order in which ties between
/// them are broken.
///
/// ```
/// assert_eq!(millpond::shuffle::shard(16, 4, "tuna")?, [15, 13, 2, 12]);
/// # Ok::<(), millpond::Error>(())
/// ```
///
/// # Errors
/// `INVALID_ARGUMENT` for zero streams or more than [`STREAMS_MAX`], for a shard of zero streams or of more than there
/// are, and for an empty key.
pub fn shard(
    streams: u32,
    streams_per_shard: u32,
    shard_key: impl AsRef<[u8]>,
) -> Result<Vec<StreamNumber>> {
    check_sizes(streams, streams_per_shard)?;
    let key = shard_key.as_ref();
    check_key(key)?;
    Ok(permutation_start(streams, streams_per_shard, fnv1a64(key) as i64))
}

/// Refuses numbers of streams that no queue can have.
pub(super) fn check_sizes(streams: u32, streams_per_shard: u32) -> Result<()> {
    if !(1..=STREAMS_MAX).contains(&streams) {
        return Err(invalid(format!("a queue has 1 to {STREAMS_MAX} streams, not {streams}")));
    }
    if !(1..=streams).contains(&streams_per_shard) {
        return Err(invalid(format!(
            "a shard has 1 to {streams} of the queue's {streams} streams, not {streams_per_shard}"
        )));
    }
    Ok(())
}

pub(super) fn check_key(shard_key: &[u8]) -> Result<()> {
    check_filled("the shard key", shard_key)
}

/// The first `count` of Go's `Perm(items)` for this seed.
fn permutation_start(items: u32, count: u32, seed: i64) -> Vec<u32> {
    let mut generator = Generator::new(seed);
    let mut permutation = vec![0; items as usize];
    for i in 0..items {
        let j = generator.below(i + 1);
        permutation[i as usize] = permutation[j as usize];
        permutation[j as usize] = i;
    }
    permutation.truncate(count as usize);
    permutation
}

/// The generator that fills the first state.
const SEED_MODULUS: u64 = (1 << 31) - 1;
const SEED_FACTOR: u64 = 48_271;

const LENGTH: usize = 607;
const TAP: usize = 273;

/// The start values of Go's generator, of 8 bytes each, the lowest first: its own state after 7.8e12 steps. A
/// test derives them.
static START_VALUES: &[u8; 8 * LENGTH] = include_bytes!("start_values.bin");

fn start_value(place: usize) -> u64 {
    u64::from_le_bytes(*START_VALUES.as_chunks().0.get(place).expect("a place in the state"))
}

/// Go's additive lagged Fibonacci generator: each value is the sum of those 607 and 273 back.
///
/// The first state is made as it is used: a shard of 64 streams needs a fifth of it, and making all
/// would be most of what a write costs.
struct Generator {
    state: [u64; LENGTH],
    seed: u64,
    /// How many values were drawn.
    drawn: usize,
}

impl Generator {
    fn new(seed: i64) -> Self {
        Self { state: [0; LENGTH], seed: reduced(seed), drawn: 0 }
    }

    fn next(&mut self) -> u64 {
        let n = self.drawn % LENGTH;
        let (tap, feed) = (LENGTH - 1 - n, (2 * LENGTH - TAP - 1 - n) % LENGTH);
        // After 273 steps the tap comes to places that were fed before, and after 334
        // the feed to places that were tapped: those have been made.
        if self.drawn < TAP {
            self.state[tap] = self.start(tap);
        }
        if self.drawn < LENGTH - TAP {
            self.state[feed] = self.start(feed);
        }
        self.drawn += 1;
        let sum = self.state[feed].wrapping_add(self.state[tap]);
        self.state[feed] = sum;
        sum
    }

    /// What a place of the state holds at first.
    fn start(&self, place: usize) -> u64 {
        seeded(self.seed, place, 40, 20) ^ start_value(place)
    }

    fn next_31_bits(&mut self) -> u32 {
        (self.next() << 1 >> 33) as u32
    }

    /// A number below `bound`, which is at least 1 and at most 2^31 - 1. Draws again where the
    /// last, incomplete round of numbers would favour the low ones.
    fn below(&mut self, bound: u32) -> u32 {
        if bound.is_power_of_two() {
            return self.next_31_bits() & (bound - 1);
        }
        let last = (1u32 << 31) - 1 - (1u32 << 31) % bound;
        loop {
            let drawn = self.next_31_bits();
            if drawn <= last {
                return drawn % bound;
            }
        }
    }
}

/// A seed as the multiplicative generator takes it.
fn reduced(seed: i64) -> u64 {
    match seed.rem_euclid(SEED_MODULUS as i64) as u64 {
        0 => 89_482_311,
        seed => seed,
    }
}

/// A place of a first state, from the multiplicative generator 48271 x mod 2^31 - 1: three numbers
/// a place after the first twenty, the first two shifted.
fn seeded(seed: u64, place: usize, first_shift: u32, second_shift: u32) -> u64 {
    let first = seed * POWERS[place] % SEED_MODULUS;
    let second = first * SEED_FACTOR % SEED_MODULUS;
    let third = second * SEED_FACTOR % SEED_MODULUS;
    first << first_shift ^ second << second_shift ^ third
}

/// How the multiplicative generator comes from the seed to the first number of each place.
const POWERS: [u64; LENGTH] = {
    let mut powers = [0; LENGTH];
    let (mut power, mut step) = (1, 0);
    while step < 21 + 3 * LENGTH {
        if step >= 21 && step % 3 == 0 {
            powers[(step - 21) / 3] = power;
        }
        power = power * SEED_FACTOR % SEED_MODULUS;
        step += 1;
    }
    powers
};

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn recorded() -> Value {
        serde_json::from_str(include_str!("../../../tests/conformance/cases/shuffle/shards.json"))
            .unwrap()
    }

    fn key(value: &Value) -> Vec<u8> {
        use base64::Engine as _;
        match value.as_str() {
            Some(text) => text.into(),
            None => base64::engine::general_purpose::STANDARD
                .decode(value["b64"].as_str().unwrap())
                .unwrap(),
        }
    }

    fn numbers(values: &Value) -> Vec<u32> {
        values.as_array().unwrap().iter().map(|n| n.as_u64().unwrap() as u32).collect()
    }

    #[test]
    fn every_recorded_shard_is_ours() {
        let recorded = recorded();
        let cases = recorded["cases"].as_array().unwrap();
        assert_eq!(cases.len(), 1_398);
        for case in cases {
            let key = key(&case["key"]);
            let hash = fnv1a64(&key);
            assert_eq!(format!("{hash:016x}"), case["fnv1a64"].as_str().unwrap());
            let size = |name: &str| u32::try_from(case[name].as_u64().unwrap()).unwrap();
            let (items, count) = (size("items"), size("count"));
            assert_eq!(permutation_start(items, count, hash as i64), numbers(&case["shard"]));
            // What a queue refuses are the empty key and sizes that no queue has.
            let is_refused = key.is_empty() || !(1..=items.min(STREAMS_MAX)).contains(&count);
            assert_eq!(shard(items, count, &key).is_err(), is_refused, "{case}");
        }
    }

    #[test]
    fn every_recorded_seed_gives_the_same_numbers() {
        for seed in recorded()["seeds"].as_array().unwrap() {
            let number = seed["seed"].as_str().unwrap().parse().unwrap();
            let mut generator = Generator::new(number);
            for expected in seed["int63"].as_array().unwrap() {
                assert_eq!((generator.next() << 1 >> 1).to_string(), expected.as_str().unwrap());
            }
            let mut generator = Generator::new(number);
            for (bound, expected) in (1..).zip(seed["int31n_1_to_10"].as_array().unwrap()) {
                assert_eq!(generator.below(bound).to_string(), expected.as_str().unwrap());
            }
            for (items, name) in [(20, "perm20"), (1, "perm1")] {
                assert_eq!(permutation_start(items, items, number), numbers(&seed[name]));
            }
        }
    }

    /// The start values are the generator's own state after 7.8e12 steps from seed 1 (with other
    /// shifts). As y(n) = y(n-607) + y(n-273), a later value is a combination of the first 607,
    /// with the coefficients of x^steps modulo x^607 - x^334 - 1.
    #[test]
    fn the_start_values_are_derived_again_by_jumping_ahead() {
        const STEPS: u64 = 7_800_000_000_000;
        // Step n writes at this place; the state at first holds what steps -606 to 0 would have written.
        let place = |step: i64| (334 - step).rem_euclid(LENGTH as i64) as usize;
        let state: Vec<u64> = (0..LENGTH).map(|place| seeded(1, place, 20, 10)).collect();
        let mut values: Vec<u64> = (-606..=0).map(|step| state[place(step)]).collect();
        for n in LENGTH..2 * LENGTH {
            values.push(values[n - LENGTH].wrapping_add(values[n - TAP]));
        }

        let reduce = |mut polynomial: Vec<u64>| {
            for degree in (LENGTH..polynomial.len()).rev() {
                let coefficient = polynomial[degree];
                for back in [LENGTH, TAP] {
                    polynomial[degree - back] = polynomial[degree - back].wrapping_add(coefficient);
                }
            }
            polynomial.truncate(LENGTH);
            polynomial
        };
        let mut power = vec![0; LENGTH];
        power[0] = 1u64;
        for bit in (0..u64::BITS - STEPS.leading_zeros()).rev() {
            let mut square = vec![0u64; 2 * LENGTH];
            for (i, a) in power.iter().enumerate() {
                for (j, b) in power.iter().enumerate() {
                    square[i + j] = square[i + j].wrapping_add(a.wrapping_mul(*b));
                }
            }
            if STEPS >> bit & 1 == 1 {
                square.rotate_right(1);
            }
            power = reduce(square);
        }

        for k in 0..LENGTH {
            let sum = power.iter().zip(&values[k..]).fold(0u64, |sum, (coefficient, value)| {
                sum.wrapping_add(coefficient.wrapping_mul(*value))
            });
            let step = STEPS as i64 - 606 + k as i64;
            assert_eq!(sum, start_value(place(step)), "{k}");
        }
    }

    #[test]
    fn impossible_shards_are_refused() {
        for (streams, per_shard, key) in
            [(0, 0, "k"), (1, 0, "k"), (4, 5, "k"), (4, 2, ""), (STREAMS_MAX + 1, 1, "k")]
        {
            let error = shard(streams, per_shard, key).unwrap_err();
            assert_eq!(error.kind(), crate::ErrorKind::InvalidArgument);
        }
    }
}
