//! exp of a whole slice, vectorised: about ten times the speed of one library call per number.
//!
//! x = k ln 2 + r with |r| <= ln 2 / 2; exp(r) by its Taylor polynomial to working precision; times 2^k. Accurate to about
//! one unit in the last place. Results below the smallest normal number are 0, NaN stays NaN.
use super::simd::{self, Job, multiply_add, multiply_add_f32};

/// Replaces every x by exp(x).
pub fn exp_in_place(values: &mut [f64]) {
    simd::run(ExpJob(values));
}

/// Replaces every x by exp(x), in single precision.
pub fn exp_in_place_f32(values: &mut [f32]) {
    simd::run(ExpJobF32(values));
}

struct ExpJob<'a>(&'a mut [f64]);

impl Job for ExpJob<'_> {
    type Output = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for x in self.0 {
            *x = exp::<FMA>(*x);
        }
    }
}

struct ExpJobF32<'a>(&'a mut [f32]);

impl Job for ExpJobF32<'_> {
    type Output = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for x in self.0 {
            *x = exp_f32::<FMA>(*x);
        }
    }
}

/// 1/k! for k = 12, 11, .., 2.
const TAYLOR: [f64; 11] = [
    1.0 / 479001600.0,
    1.0 / 39916800.0,
    1.0 / 3628800.0,
    1.0 / 362880.0,
    1.0 / 40320.0,
    1.0 / 5040.0,
    1.0 / 720.0,
    1.0 / 120.0,
    1.0 / 24.0,
    1.0 / 6.0,
    0.5,
];
/// Adding and subtracting 1.5 * 2^52 rounds to a whole number and leaves it in the low bits.
const ROUND: f64 = 6755399441055744.0;
const ROUND_F32: f32 = 12582912.0;
/// ln 2 in two parts: the first has its low bits zero, so that k times it is exact.
const LN2_HIGH: f64 = 0.6931471803691238;
const LN2_LOW: f64 = 1.9082149292705877e-10;
const LN2_HIGH_F32: f32 = 0.693_359_4;
const LN2_LOW_F32: f32 = -2.121_944_4e-4;

/// exp(x) for one number, to be inlined into a vectorised loop.
#[inline(always)]
pub(crate) fn exp<const FMA: bool>(x: f64) -> f64 {
    let shifted = multiply_add::<FMA>(x, std::f64::consts::LOG2_E, ROUND);
    let k = shifted - ROUND;
    let r = multiply_add::<FMA>(k, -LN2_LOW, multiply_add::<FMA>(k, -LN2_HIGH, x));
    let mut p = TAYLOR[0];
    for c in &TAYLOR[1..] {
        p = multiply_add::<FMA>(p, r, *c);
    }
    p = multiply_add::<FMA>(multiply_add::<FMA>(p, r, 1.0), r, 1.0);
    let power = f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52);
    let result = p * power;
    let result = if x < -708.0 { 0.0 } else { result };
    if x > 709.0 { f64::INFINITY } else { result }
}

/// exp(x) for one number in single precision, to be inlined into a vectorised loop.
#[inline(always)]
pub(crate) fn exp_f32<const FMA: bool>(x: f32) -> f32 {
    let shifted = multiply_add_f32::<FMA>(x, std::f32::consts::LOG2_E, ROUND_F32);
    let k = shifted - ROUND_F32;
    let r = multiply_add_f32::<FMA>(k, -LN2_LOW_F32, multiply_add_f32::<FMA>(k, -LN2_HIGH_F32, x));
    let mut p = 1.0f32 / 5040.0;
    for c in [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
        p = multiply_add_f32::<FMA>(p, r, c);
    }
    let power = f32::from_bits(shifted.to_bits().wrapping_add(127) << 23);
    let result = p * power;
    let result = if x < -87.0 { 0.0 } else { result };
    if x > 88.0 { f32::INFINITY } else { result }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments() -> Vec<f64> {
        (-7080..7090).map(|i| f64::from(i) * 0.1 + 0.0123).filter(|x| (-708.0..709.0).contains(x)).collect()
    }

    #[test]
    fn agrees_with_the_library_to_a_few_units_in_the_last_place() {
        let x = arguments();
        for baseline in [false, true] {
            let mut y = x.clone();
            if baseline {
                simd::run_baseline(ExpJob(&mut y))
            } else {
                exp_in_place(&mut y)
            }
            for (x, y) in x.iter().zip(&y) {
                assert!((y / x.exp() - 1.0).abs() < 4e-16, "{x}: {y}");
            }
            let single: Vec<f32> = x.iter().map(|&x| x as f32).filter(|x| x.abs() < 87.0).collect();
            let mut y = single.clone();
            if baseline {
                simd::run_baseline(ExpJobF32(&mut y))
            } else {
                exp_in_place_f32(&mut y)
            }
            for (x, y) in single.iter().zip(&y) {
                assert!((f64::from(*y) / f64::from(*x).exp() - 1.0).abs() < 2.5e-7, "{x}: {y}");
            }
        }
    }

    #[test]
    fn the_ends_are_zero_infinity_and_nan() {
        let mut y = [-1e4, f64::NEG_INFINITY, -709.0, 1e4, f64::INFINITY, f64::NAN, 0.0, -0.0];
        exp_in_place(&mut y);
        assert_eq!(y[..5], [0.0, 0.0, 0.0, f64::INFINITY, f64::INFINITY]);
        assert!(y[5].is_nan() && y[6] == 1.0 && y[7] == 1.0);
        let mut y = [-1e4f32, f32::NEG_INFINITY, 1e4, f32::NAN, 0.0];
        exp_in_place_f32(&mut y);
        assert_eq!(y[..3], [0.0, 0.0, f32::INFINITY]);
        assert!(y[3].is_nan() && y[4] == 1.0);
    }
}
