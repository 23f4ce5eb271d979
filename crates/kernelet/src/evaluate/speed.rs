//! How fast could this machine be? The yardstick against which kernels are measured.
use std::time::Instant;

use crate::kernel::simd::{Isa, SimdReal, Vector, VectorJob};

/// Multiply-adds in flight at once: enough to hide the latency of the instruction on all machines known.
const CHAINS: usize = 12;
const STEPS: usize = 100_000;

/// The most double-precision floating-point operations a second that one thread can do: multiply-adds on registers alone, best of several runs.
pub fn peak_f64() -> f64 {
    peak::<f64>()
}

/// The same in single precision.
pub fn peak_f32() -> f64 {
    peak::<f32>()
}

fn peak<R: SimdReal>() -> f64 {
    let isa = Isa::detect();
    let mut fastest = f64::INFINITY;
    let mut operations = 0.0;
    for _ in 0..50 {
        let mut lanes = [R::default(); 16];
        let start = Instant::now();
        R::run_vectors(isa, Chains { lanes: &mut lanes, operations: &mut operations });
        fastest = fastest.min(start.elapsed().as_secs_f64());
        std::hint::black_box(&lanes);
    }
    operations / fastest
}

struct Chains<'a, R> {
    lanes: &'a mut [R],
    operations: &'a mut f64,
}

impl<R: SimdReal> VectorJob<R> for Chains<'_, R> {
    #[inline(always)]
    fn run<V: Vector<Real = R>, const ROWS: usize, const COLS: usize>(self) {
        let factor = V::splat(R::from_f64(std::hint::black_box(0.999)));
        let mut sums = [factor; CHAINS];
        for _ in 0..STEPS {
            for sum in &mut sums {
                *sum = sum.multiply_add(factor, factor);
            }
        }
        let total = sums.iter().fold(factor, |a, b| a.add(*b));
        total.store(self.lanes);
        *self.operations = (2 * V::WIDTH * CHAINS * STEPS) as f64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peak_is_a_positive_number_of_operations() {
        assert!(peak_f64() > 1e6 && peak_f32() > 1e6);
    }
}
