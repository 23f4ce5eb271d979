//! Kernel values in whole numbers: 15 bits after the point, from a squared distance U or a product U of whole numbers.
//!
//! | kernel | value |
//! |---|---|
//! | gaussian | `2^-t`, t = U rate: a shift by the whole part of t, the Taylor polynomial for the rest |
//! | other functions of the distance | a table, straight between its points, with a constant number of points for each doubling of U |
//! | sigmoid | such a table of 1 - tanh |
//! | polynomial | powers of `(gamma x.z + coef0) / largest`, which is at most 1; the largest is saturated |
use super::{
    VALUE_BITS, Width,
    rows::{Axes, whole},
    unsupported,
};
use crate::{Error, Result, kernel::Kernel, linalg::Matrix, machine::Machine};

/// Kernel values below `2^-CUT` are zero.
const CUT: f64 = 16.0;
/// Where tanh is 1 to 15 bits.
const FLAT: f64 = 10.0;

impl Width {
    /// Bits after the point of the exponent and of powers.
    pub(in crate::model) fn bits(self) -> u32 {
        match self {
            Width::I8 => 16,
            Width::I16 => 30,
        }
    }

    /// Bits of the place in a table, and of the points for each doubling.
    pub(in crate::model) fn table(self) -> (u32, u32) {
        match self {
            Width::I8 => (16, 4),
            Width::I16 => (24, 6),
        }
    }

    /// Terms of the Taylor polynomial behind the first.
    fn terms(self) -> i32 {
        match self {
            Width::I8 => 6,
            Width::I16 => 8,
        }
    }

    /// Products of the exponential have fewer bits than this.
    fn product_bits(self) -> i32 {
        match self {
            Width::I8 => 32,
            Width::I16 => 64,
        }
    }
}

/// From a row and a vector to a kernel value.
#[derive(Clone, Debug)]
pub(in crate::model) struct Values {
    width: Width,
    /// For products: what is added to `x.z` for each vector. None for distances.
    pub(in crate::model) constants: Option<Vec<i64>>,
    pub(in crate::model) curve: Curve,
}

/// The kernel as a function of the distance or of the product.
#[derive(Clone, Debug)]
pub(in crate::model) enum Curve {
    /// `2^-t`, t = ((U >> coarse) rate) >> drop with [`Width::bits`] after the point; zero from `cut` on.
    Gaussian { cut: u64, coarse: u32, rate: u64, drop: u32, terms: Vec<u64> },
    /// The table at `min(U >> coarse, last)`.
    Table { coarse: u32, last: u64, table: Vec<u16> },
    /// The sign of U, and 1 less the table at `(min(|U|, limit) rate) >> drop`.
    Odd { limit: u64, rate: u64, drop: u32, table: Vec<u16> },
    /// The power of `(min(|U|, limit) rate) >> drop`, with [`Width::bits`] after the point.
    Power { limit: u64, rate: u64, drop: u32, degree: u32 },
}

impl Values {
    /// The values, the vectors as whole numbers, and what a value of 1 stands for.
    pub(super) fn of(
        kernel: &Kernel,
        width: Width,
        vectors: &Matrix,
        axes: &Axes,
        sample: Option<(&Machine, &Matrix)>,
    ) -> Result<(Values, Vec<Vec<i32>>, f64)> {
        match kernel {
            Kernel::Polynomial(_) | Kernel::Sigmoid(_) => Values::product(kernel, width, vectors, axes, sample),
            Kernel::Linear(_) | Kernel::Precomputed(_) => Err(Error::data("a linear machine has weights, not vectors")),
            _ => {
                let number = |(i, value): (usize, &f64)| whole((value - axes.centre[i]) / axes.step[i], width);
                let numbers = vectors.iter().map(|z| z.iter().enumerate().map(number).collect()).collect();
                let unit = axes.step.first().map_or(1.0, |step| step * step);
                let widest = 2 * width.most() as u64 + 1;
                let curve = distance_curve(kernel, width, unit, widest * widest * vectors.cols().max(1) as u64)?;
                Ok((Values { width, constants: None, curve }, numbers, 1.0))
            }
        }
    }

    fn product(
        kernel: &Kernel,
        width: Width,
        vectors: &Matrix,
        axes: &Axes,
        sample: Option<(&Machine, &Matrix)>,
    ) -> Result<(Values, Vec<Vec<i32>>, f64)> {
        let (gamma, coef0) = match kernel {
            Kernel::Polynomial(k) => (k.gamma, k.coef0),
            Kernel::Sigmoid(k) => (k.gamma, k.coef0),
            _ => return Err(Error::data("this kernel is no function of a product")),
        };
        let folded = Matrix::from_fn(vectors.rows(), vectors.cols(), |j, i| vectors.at(j, i) * axes.step[i]);
        let largest = folded.values().iter().fold(0.0f64, |largest, value| largest.max(value.abs()));
        let unit = if largest > 0.0 { largest / f64::from(width.most()) } else { 1.0 };
        let numbers = folded.iter().map(|z| z.iter().map(|value| whole(value / unit, width)).collect()).collect();
        let constant = |z: &[f64]| (z.iter().zip(&axes.centre).map(|(z, centre)| z * centre).sum::<f64>() + coef0 / gamma) / unit;
        let constants: Vec<f64> = vectors.iter().map(constant).collect();
        let full = match kernel {
            Kernel::Polynomial(_) => largest_base(vectors, gamma, coef0, sample),
            _ => FLAT,
        };
        let limit = (full / (gamma * unit)).round().max(1.0);
        let too_large = |value: &f64| value.abs() > (1u64 << 46) as f64 || !value.is_finite();
        if constants.iter().any(too_large) || too_large(&limit) {
            return Err(unsupported("products of this size", "export with --precision f32"));
        }
        let (places, points) = width.table();
        let (curve, factor) = match kernel {
            Kernel::Polynomial(k) => {
                let (rate, drop) = rate(f64::from(1u32 << width.bits()) / limit);
                let factor = (limit * gamma * unit).powi(k.degree as i32);
                (Curve::Power { limit: limit as u64, rate, drop, degree: k.degree }, factor)
            }
            _ => {
                let last = (1u64 << places) - 1;
                let (rate, drop) = rate(last as f64 / limit);
                let table = table(points, last, |v| 1.0 - (limit * gamma * unit * v / last as f64).tanh());
                (Curve::Odd { limit: limit as u64, rate, drop, table }, 1.0)
            }
        };
        let constants = Some(constants.iter().map(|value| value.round() as i64).collect());
        Ok((Values { width, constants, curve }, numbers, factor))
    }

    /// The kernel of a row and vector j, which is `z`.
    pub(super) fn value(&self, row: &[i32], j: usize, z: &[i32]) -> i64 {
        match &self.constants {
            None => {
                let squared = |(x, z): (&i32, &i32)| u64::from(x.abs_diff(*z).wrapping_mul(x.abs_diff(*z)));
                self.curve.of_distance(row.iter().zip(z).map(squared).sum(), self.width)
            }
            Some(constants) => {
                let product: i64 = row.iter().zip(z).map(|(&x, &z)| i64::from(x * z)).sum();
                self.curve.of_product(product + constants[j], self.width)
            }
        }
    }
}

impl Curve {
    fn of_distance(&self, distance: u64, width: Width) -> i64 {
        match self {
            Curve::Gaussian { cut, .. } if distance >= *cut => 0,
            Curve::Gaussian { coarse, rate, drop, terms, .. } => {
                let bits = width.bits();
                let exponent = ((distance >> coarse) * rate) >> drop;
                let rest = exponent & ((1 << bits) - 1);
                let sum = terms.iter().rev().copied().reduce(|sum, term| term - ((sum * rest) >> bits)).unwrap_or(0);
                rounded(sum, bits - VALUE_BITS + (exponent >> bits) as u32)
            }
            Curve::Table { coarse, last, table } => i64::from(look_up(table, (distance >> coarse).min(*last), width.table().1)),
            Curve::Odd { .. } | Curve::Power { .. } => 0,
        }
    }

    fn of_product(&self, product: i64, width: Width) -> i64 {
        let place = |limit: u64, rate: u64, drop: u32| (product.unsigned_abs().min(limit) * rate) >> drop;
        match self {
            Curve::Odd { limit, rate, drop, table } => {
                let value = (1 << VALUE_BITS) - i64::from(look_up(table, place(*limit, *rate, *drop), width.table().1));
                if product < 0 { -value } else { value }
            }
            Curve::Power { limit, rate, drop, degree } => {
                let base = place(*limit, *rate, *drop);
                let power = (1..*degree).fold(base, |power, _| (power * base) >> width.bits());
                let value = rounded(power, width.bits() - VALUE_BITS);
                if product < 0 && degree % 2 == 1 { -value } else { value }
            }
            Curve::Gaussian { .. } | Curve::Table { .. } => 0,
        }
    }
}

/// A number without its last bits, of which there is at least one.
fn rounded(value: u64, drop: u32) -> i64 {
    (((value >> (drop - 1)) + 1) >> 1) as i64
}

/// The table between its points.
fn look_up(table: &[u16], place: u64, points: u32) -> u32 {
    let mut octave = 0;
    while place >> octave >= 2 << points {
        octave += 1;
    }
    let at = ((octave as usize) << points) + (place >> octave) as usize;
    let rest = place & ((1 << octave) - 1);
    let (here, next) = (u64::from(table[at]), u64::from(table[at + 1]));
    (here - (((here - next) * rest) >> octave)) as u32
}

/// Values at the points of a table that covers places up to `last`; the function does not rise.
fn table(points: u32, last: u64, value: impl Fn(f64) -> f64) -> Vec<u16> {
    let place = |at: u64| {
        let octave = (at >> points).saturating_sub(1);
        (at - (octave << points)) << octave
    };
    let one = f64::from(1u32 << VALUE_BITS);
    let mut table = vec![];
    // One point behind the last.
    for at in 0.. {
        table.push((value(place(at) as f64) * one).round().clamp(0.0, one) as u16);
        if place(at) > last {
            break;
        }
    }
    table
}

/// A rate as a whole number of at most 31 bits and the bits to drop after it.
fn rate(rate: f64) -> (u64, u32) {
    let drop = (30.0 - rate.log2().floor()).clamp(0.0, 32.0) as u32;
    ((rate * 2f64.powi(drop as i32)).round() as u64, drop)
}

/// The curve of a kernel of `unit` times a whole number up to `largest`.
fn distance_curve(kernel: &Kernel, width: Width, unit: f64, largest: u64) -> Result<Curve> {
    let Kernel::Gaussian(gaussian) = kernel else {
        return Ok(distance_table(kernel, width, unit, largest));
    };
    let step = gaussian.gamma * unit * std::f64::consts::LOG2_E;
    if !(step.is_finite() && step > 0.0) {
        return Err(unsupported(format!("the width {} of its kernel", gaussian.gamma), "export with --precision f64"));
    }
    let cut = (CUT / step).ceil().min(largest as f64 + 1.0) as u64;
    let half = width.product_bits() / 2;
    let coarse = (64 - cut.leading_zeros() as i32 - half).max(0) as u32;
    // The exponent of the farthest distance below the cut has to fit with its bits behind the point.
    let scaled = step * 2f64.powi((coarse + width.bits()) as i32);
    let places = ((cut >> coarse) + 1) as f64;
    let drop = (2f64.powi(width.product_bits()) / (places * (scaled + 1.0))).log2().floor().clamp(0.0, f64::from(half + 14)) as u32;
    let room = 2f64.powi(width.product_bits()) / places - 1.0;
    let rate = (scaled * 2f64.powi(drop as i32)).round().min(room) as u64;
    let one = f64::from(1u32 << width.bits());
    let term = |i: i32| std::f64::consts::LN_2.powi(i) / (1..=i).map(f64::from).product::<f64>();
    let terms = (0..=width.terms()).map(|i| (term(i) * one).round() as u64).collect();
    Ok(Curve::Gaussian { cut, coarse, rate, drop, terms })
}

fn distance_table(kernel: &Kernel, width: Width, unit: f64, largest: u64) -> Curve {
    let value = |distance: f64| kernel.profile().value(unit * distance);
    let mut end = 1u64;
    while end < largest && value(end as f64) > 2f64.powf(-CUT - 1.0) {
        end *= 2;
    }
    let end = end.min(largest);
    let (places, points) = width.table();
    let coarse = (64 - end.leading_zeros()).saturating_sub(places);
    let (last, middle) = (end >> coarse, ((1u64 << coarse) - 1) as f64 / 2.0);
    Curve::Table { coarse, last, table: table(points, last, |place| value(place * (1u64 << coarse) as f64 + middle)) }
}

/// The largest `|gamma x.z + coef0|` of rows and vectors, and a quarter more; without rows the vectors stand for them, and twice as much.
fn largest_base(vectors: &Matrix, gamma: f64, coef0: f64, sample: Option<(&Machine, &Matrix)>) -> f64 {
    let rows: Vec<Vec<f64>> = match sample {
        None => vectors.iter().map(<[f64]>::to_vec).collect(),
        Some((machine, rows)) => {
            rows.iter().map(|row| machine.scale.as_ref().map_or_else(|| row.to_vec(), |scale| scale.apply_row(row.to_vec()))).collect()
        }
    };
    let wider = if sample.is_some() { 1.25 } else { 2.0 };
    let base = |x: &[f64], z: &[f64]| (gamma * crate::linalg::dot(x, z) + coef0).abs();
    let largest = rows.iter().flat_map(|x| vectors.iter().map(move |z| base(x, z))).fold(0.0, f64::max);
    if largest > 0.0 { wider * largest } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: f64 = (1u32 << VALUE_BITS) as f64;

    #[test]
    fn the_curves_of_distances_agree_with_the_kernels() {
        for kernel in
            Kernel::examples().into_iter().filter(|kernel| kernel.profile().argument() == crate::kernel::Argument::SquaredDistance)
        {
            // Straight lines between 64 points for each doubling, and three units in the last place.
            for (width, tolerance) in [(Width::I8, 6e-4), (Width::I16, 1.1e-4)] {
                // From a kernel that vanishes within a few steps to one that hardly falls.
                for unit in [30.0, 1.0, 1e-2, 1e-4, 1e-9] {
                    let widest = 2 * width.most() as u64 + 1;
                    let largest = widest * widest * 64;
                    let curve = distance_curve(&kernel, width, unit, largest).unwrap();
                    for i in 0..4000u64 {
                        let distance = if i < 40 { i } else { (i * i * i * 977) % largest };
                        let want = kernel.profile().value(unit * distance as f64);
                        let have = curve.of_distance(distance, width) as f64 / ONE;
                        // Where bits of the distance are dropped, what they are worth.
                        let dropped = match &curve {
                            Curve::Gaussian { .. } => 0.0,
                            Curve::Table { coarse, .. } => {
                                let low = (distance >> coarse) << coarse;
                                let ends = [low, low + (1 << coarse)].map(|end| kernel.profile().value(unit * end as f64));
                                ends[0] - ends[1]
                            }
                            _ => panic!(),
                        };
                        assert!((have - want).abs() <= tolerance + dropped, "{} {width:?} {unit} {distance}: {have} {want}", kernel.name());
                    }
                }
            }
        }
    }

    #[test]
    fn tables_are_exact_at_their_points_and_straight_between() {
        let table = table(4, 1000, |place| 1.0 - place / 2048.0);
        for place in 0..=1000 {
            assert_eq!(look_up(&table, place, 4), 32768 - 16 * place as u32);
        }
    }
}
