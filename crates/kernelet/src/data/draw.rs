//! Seeded random draws that never change: ChaCha with 8 rounds, and on top of its bits our own integers.
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

/// A stream of random draws.
pub(super) struct Draw {
    rng: ChaCha8Rng,
}

impl Draw {
    /// The stream with this seed.
    pub fn seeded(seed: u64) -> Self {
        Draw { rng: ChaCha8Rng::seed_from_u64(seed) }
    }

    /// Uniform among 0..bound, without bias; `bound` must be above 0.
    ///
    /// The high half of a 64 x 64 bit product is the draw; low halves that would favour some draws are thrown away.
    pub fn below(&mut self, bound: usize) -> usize {
        let bound = bound.max(1) as u64;
        let unfair = bound.wrapping_neg() % bound;
        loop {
            let product = u128::from(self.rng.next_u64()) * u128::from(bound);
            if product as u64 >= unfair {
                return (product >> 64) as usize;
            }
        }
    }

    /// Puts `items` in random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_streams_of_a_seed_are_fixed_for_ever() {
        let mut draw = Draw::seeded(1);
        let integers: Vec<usize> = (0..8).map(|_| draw.below(100)).collect();
        assert_eq!(integers, [40, 8, 59, 21, 28, 71, 46, 15]);
    }

    #[test]
    fn every_integer_below_the_bound_is_drawn_equally_often() {
        let mut draw = Draw::seeded(3);
        let mut counts = [0usize; 7];
        (0..70_000).for_each(|_| counts[draw.below(7)] += 1);
        assert!(counts.iter().all(|c| c.abs_diff(10_000) < 400), "{counts:?}");
        assert_eq!(draw.below(1), 0);
    }
}
