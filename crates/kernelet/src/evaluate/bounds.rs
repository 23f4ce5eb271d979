//! Bounds on the error on new rows, without test rows.
//!
//! For a machine on k vectors chosen from m independent rows, a direction w of length 1 in their span, and R the radius of a ball that holds all
//! of feature space that rows come from: with probability 1 - delta, rows of a class with mean mu and covariance S in the span, measured on the m - k
//! rows that were not chosen, fall on the wrong side of the threshold b with a probability below 1 - alpha, where
//!
//! ```text
//! alpha = g^2 / (w'S w + B + g^2),   g = b - w'mu - A,  for g above 0                  [Diethe2015 (9)]
//! A = R / sqrt(m - k)   (2 + sqrt(k ln(e m / k) + 2 ln(2 m / delta)))                 [Diethe2015 (10)]
//! B = 2 R^2 / sqrt(m - k) (2 + sqrt(k ln(e m / k) + 2 ln(4 m / delta)))
//! ```
//!
//! (9) is about one class; here each has half of delta, m is its number of rows, and k counts for both. At usual sizes the bound says nothing:
//! A alone is mostly larger than any distance in the span. Cost: n k d.
//!
//! For vectors drawn at random: where a hyperplane through the origin of feature space separates all rows with margin g, of rows of length at most 1, a
//! projection on `k >= 8 / f (1 / g^2 + ln(1 / delta))` rows drawn at random keeps, with probability 1 - delta, a margin of g / 2 for all but a fraction f of the rows
//! [Diethe2015 (3.3.1)].
use std::collections::HashSet;

use crate::{
    Error, Result,
    data::{Dataset, Points},
    kernel::block::diagonal,
    machine::{Decision, Machine, squared_norm},
};

/// A bound of the error on new rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// The error on all rows: those of the classes, weighted by their shares.
    pub error: f64,
    /// The part of each class that may be wrong, the negative class first.
    pub classes: Vec<f64>,
    /// It holds with this probability.
    pub probability: f64,
    /// The error of always naming the larger class.
    pub guessing: f64,
}

impl Bound {
    /// True where guessing does as well.
    pub fn says_nothing(&self) -> bool {
        self.error >= self.guessing
    }

    /// What it says, in a sentence.
    pub fn sentence(&self) -> String {
        let sure = format!("with probability {:.0} %", 100.0 * self.probability);
        match self.says_nothing() {
            false => format!("error below {:.1} % {sure}", 100.0 * self.error),
            true => format!("says nothing: below {:.1} % {sure}, but guessing has {:.1} %", 100.0 * self.error, 100.0 * self.guessing),
        }
    }
}

/// How many rows, drawn at random as vectors, keep half of a hard margin for all but a fraction of the rows, with probability 1 - `delta`.
/// `margin` is a fraction of the largest length of a row in feature space. [Diethe2015 (3.3.1)]
pub fn random_vectors_for_margin(margin: f64, fraction: f64, delta: f64) -> Result<usize> {
    for (name, value) in [("margin", margin), ("fraction", fraction), ("delta", delta)] {
        if !(value > 0.0 && value <= 1.0) {
            return Err(Error::parameter(name, value, "a number above 0 and at most 1"));
        }
    }
    Ok((8.0 / fraction * (margin.powi(-2) - delta.ln())).ceil() as usize)
}

/// The bound for a two-class machine whose vectors are rows of the data it was trained on. `delta` is the probability that it fails to hold.
pub fn fisher_bound(machine: &Machine, data: &Dataset, delta: f64) -> Result<Bound> {
    if !(delta > 0.0 && delta < 1.0) {
        return Err(Error::parameter("delta", delta, "a number above 0 and below 1"));
    }
    let Decision::Sign { negative, positive } = &machine.decision else {
        return Err(Error::data("the bound is for machines of two classes"));
    };
    data.check()?;
    let points = match &machine.scale {
        None => data.points.clone(),
        Some(scale) => scale.apply(&data.points)?,
    };
    let places = data.classes()?.places_in(&[negative.clone(), positive.clone()]);
    let length = squared_norm(&machine.expansion)?.first().copied().unwrap_or(0.0).sqrt();
    let radius = diagonal(&machine.expansion.kernel, &points).into_iter().fold(0.0, f64::max).sqrt();
    let (outputs, vectors) = (machine.outputs_for(&data.points)?, rows_of(&machine.expansion.vectors));
    let rows = rows_of(&points);
    let chosen: HashSet<&Vec<u64>> = vectors.iter().collect();
    let mut sides = [vec![], vec![]];
    let mut sizes = [0usize; 2];
    for (i, &code) in data.classes()?.codes.iter().enumerate() {
        let Some(side) = places.get(code as usize).copied().flatten() else { continue };
        sizes[side] += 1;
        if !chosen.contains(&rows[i]) {
            // Along w of length 1, with the right side above 0.
            sides[side].push(outputs.at(i, 0) / length * if side == 1 { 1.0 } else { -1.0 });
        }
    }
    let classes: Vec<f64> =
        sides.iter().zip(sizes).map(|(side, m)| wrong_side(side, m, machine.n_vectors(), radius, delta / 2.0)).collect();
    let whole = (sizes[0] + sizes[1]).max(1) as f64;
    let error = (classes[0] * sizes[0] as f64 + classes[1] * sizes[1] as f64) / whole;
    Ok(Bound { error, classes, probability: 1.0 - delta, guessing: sizes[0].min(sizes[1]) as f64 / whole })
}

/// [Diethe2015 (9)] for the distances of rows from the threshold, of a class with m rows.
fn wrong_side(distances: &[f64], m: usize, k: usize, radius: f64, delta: f64) -> f64 {
    if m <= k || distances.is_empty() {
        return 1.0;
    }
    let count = distances.len() as f64;
    let mean = distances.iter().sum::<f64>() / count;
    let variance = distances.iter().map(|d| (d - mean) * (d - mean)).sum::<f64>() / count;
    let (of_mean, of_covariance) = deviations(m, k, radius, delta);
    let gap = mean - of_mean;
    if gap.is_nan() || gap <= 0.0 {
        return 1.0;
    }
    1.0 - gap * gap / (variance + of_covariance + gap * gap)
}

/// [Diethe2015 (10)]: how far the mean and the covariance may be from the true ones.
fn deviations(m: usize, k: usize, radius: f64, delta: f64) -> (f64, f64) {
    let (m, k) = (m as f64, k as f64);
    let choices = k * (1.0 + (m / k).ln());
    let size = |failures: f64| (2.0 + (choices + 2.0 * (failures * m / delta).ln()).sqrt()) / (m - k).sqrt();
    (radius * size(2.0), 2.0 * radius * radius * size(4.0))
}

/// The rows as bits, to find those that are equal; of sparse rows what they store.
fn rows_of(points: &Points) -> Vec<Vec<u64>> {
    // Adding zero makes one of the two zeros.
    let bits = |value: &f64| (value + 0.0).to_bits();
    if let Points::Sparse(rows) = points {
        let pairs =
            |i: usize| rows.row(i).0.iter().zip(rows.row(i).1).flat_map(|(&column, value)| [u64::from(column), bits(value)]).collect();
        return (0..rows.len()).map(pairs).collect();
    }
    points.to_dense().iter().map(|row| row.iter().map(bits).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        basis::{BasisBudget, FisherPursuit, Frame},
        data::{Scaling, twonorm, waveform3},
        kernel::Kernel,
        learn::{Fisher, HowToScale, Learner, OnBasis, Scaled, Shrink},
        linalg::{Matrix, dot},
        machine::{Coefficients, Expansion, inner_products},
        watch::Watch,
    };

    fn learner() -> OnBasis {
        let fisher = Box::new(Fisher { kernel: Kernel::gaussian(0.02), ..Fisher::default() });
        OnBasis { basis: Box::new(FisherPursuit::default()), budget: BasisBudget::vectors(5), learner: fisher, shrink: Shrink::Never }
    }

    #[test]
    fn eq_10_is_computed_as_it_is_written() {
        let (a, b) = deviations(1000, 10, 2.0, 0.05);
        let inner = 10.0 * (std::f64::consts::E * 100.0).ln();
        assert!((a - 2.0 / 990f64.sqrt() * (2.0 + (inner + 2.0 * 40_000f64.ln()).sqrt())).abs() < 1e-12);
        assert!((b - 8.0 / 990f64.sqrt() * (2.0 + (inner + 2.0 * 80_000f64.ln()).sqrt())).abs() < 1e-12);
    }

    #[test]
    fn eq_9_falls_with_the_distance_and_with_the_rows_and_is_never_below_chebyshev() {
        let near: Vec<f64> = (0..100).map(|i| 1.0 + 0.1 * (i as f64).sin()).collect();
        let far: Vec<f64> = near.iter().map(|d| d + 1.0).collect();
        let at = |distances: &[f64], m| wrong_side(distances, m, 5, 1.0, 0.05);
        assert!(at(&far, 100_000) < at(&near, 100_000) && at(&near, 10_000_000) < at(&near, 100_000));
        assert_eq!((at(&near, 20), at(&near, 4), at(&[], 1000)), (1.0, 1.0, 1.0));
        // With endless rows only the variance is left: v / (v + mean^2).
        let mean = near.iter().sum::<f64>() / 100.0;
        let variance = near.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / 100.0;
        let limit = variance / (variance + mean * mean);
        let endless = wrong_side(&near, usize::MAX / 2, 5, 1.0, 0.05);
        assert!(endless >= limit && endless < 1.01 * limit + 1e-6, "{endless} {limit}");
    }

    #[test]
    fn section_3_3_1_so_many_random_rows_keep_half_the_margin_of_all_but_a_fraction() {
        assert_eq!(random_vectors_for_margin(0.5, 0.4, 0.1).unwrap(), (20.0 * (4.0 + 10f64.ln())).ceil() as usize);
        // Two clusters, the direction between some of their rows, and the margin that it has on all of them.
        let (kernel, mut draw) = (Kernel::gaussian(1.0), crate::draw::Draw::seeded(1));
        let signs: Vec<f64> = (0..600).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
        let rows: Points = Matrix::from_fn(600, 2, |i, j| 0.25 * draw.normal() + if j == 0 { 1.5 * signs[i] } else { 0.0 }).into();
        let direction = Expansion {
            kernel: kernel.clone(),
            vectors: rows.select(&(0..20).collect::<Vec<_>>()),
            coefficients: Coefficients::Dense(Matrix::column(signs[..20].to_vec())),
        };
        let length = squared_norm(&direction).unwrap()[0].sqrt();
        let values = inner_products(&direction, &rows).unwrap().col(0);
        let margin = values.iter().zip(&signs).map(|(v, y)| v * y / length).fold(1.0, f64::min);
        let (fraction, delta) = (0.6, 0.1);
        let count = random_vectors_for_margin(margin, fraction, delta).unwrap();
        assert!(margin > 0.2 && count < 500, "{margin} {count}");
        for seed in 0..5 {
            let mut order: Vec<usize> = (0..600).collect();
            crate::draw::Draw::seeded(seed).shuffle(&mut order);
            let frame = Frame::fixed(&kernel, &rows.select(&order[..count]), 1e-10).unwrap();
            let mut projected = inner_products(&direction, frame.vectors()).unwrap().transposed();
            frame.lower().solve_rows(projected.values_mut());
            let size = dot(projected.row(0), projected.row(0)).sqrt();
            let coordinates = frame.coordinates(&rows);
            let small = (0..600).filter(|&i| signs[i] * dot(coordinates.row(i), projected.row(0)) < 0.5 * margin * size);
            assert!(small.count() as f64 <= fraction * 600.0, "seed {seed}");
        }
        for bad in [0.0, 1.5, f64::NAN] {
            assert!(random_vectors_for_margin(bad, 0.1, 0.1).is_err() && random_vectors_for_margin(0.1, bad, 0.1).is_err());
        }
    }

    #[test]
    fn usual_sizes_say_nothing_and_say_so_and_scaled_rows_are_found_again() {
        let data = twonorm(400, 1);
        let how = HowToScale::Fitted(Scaling::Standard);
        let fit = Scaled { how, learner: Box::new(learner()) }.learn(&data, &Watch::none()).unwrap();
        let bound = fisher_bound(&fit.machine, &data, 0.05).unwrap();
        assert!(bound.says_nothing() && bound.sentence().starts_with("says nothing: below 100.0 % with probability 95 %"), "{bound:?}");
        let clear = Bound { error: 0.2, classes: vec![0.2; 2], probability: 0.95, guessing: 0.5 };
        assert_eq!(clear.sentence(), "error below 20.0 % with probability 95 %");
        assert!(fisher_bound(&fit.machine, &data, 1.0).is_err());
        let three = waveform3(90, 1);
        let several = learner().learn(&three, &Watch::none()).unwrap();
        assert!(fisher_bound(&several.machine, &three, 0.05).unwrap_err().to_string().contains("two classes"));
    }
}
