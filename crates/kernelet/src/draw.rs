//! Seeded random draws that never change: ChaCha with 8 rounds, and on top of its bits our own integers, uniforms and normals.
//! Integers and uniforms are the same on every machine; a normal may differ in its last digit where the logarithm does.
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

/// A stream of random draws.
pub(crate) struct Draw {
    rng: ChaCha8Rng,
    spare: Option<f64>,
}

impl Draw {
    /// The stream with this seed.
    pub fn seeded(seed: u64) -> Self {
        Draw { rng: ChaCha8Rng::seed_from_u64(seed), spare: None }
    }

    /// Uniform in [0, 1), a multiple of 2^-53.
    pub fn uniform(&mut self) -> f64 {
        (self.rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform in [low, high).
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }

    /// True with probability `share`.
    pub fn chance(&mut self, share: f64) -> bool {
        self.uniform() < share
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

    /// Standard normal, by the polar method: two draws from one point in the unit disc, the second kept for the next call.
    pub fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        loop {
            let (x, y) = (self.between(-1.0, 1.0), self.between(-1.0, 1.0));
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                let stretch = (-2.0 * square.ln() / square).sqrt();
                self.spare = Some(y * stretch);
                return x * stretch;
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
        assert_eq!(draw.uniform(), 0.8747810784358925);
        assert!((draw.normal() - 1.8704990002565272).abs() < 1e-14);
    }

    #[test]
    fn normals_have_the_moments_of_a_normal() {
        let mut draw = Draw::seeded(2);
        let x: Vec<f64> = (0..100_000).map(|_| draw.normal()).collect();
        let moment = |power: i32| x.iter().map(|v| v.powi(power)).sum::<f64>() / x.len() as f64;
        // Four standard errors of each moment: sqrt(1, 2, 15, 96) / sqrt(n).
        for (power, want, error) in [(1, 0.0, 0.0127), (2, 1.0, 0.0179), (3, 0.0, 0.049), (4, 3.0, 0.124)] {
            assert!((moment(power) - want).abs() < error, "moment {power} is {}", moment(power));
        }
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
