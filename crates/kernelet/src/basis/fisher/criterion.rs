//! How well one column of a kernel matrix separates the classes.
//!
//! For the column c with the mean `c_g` and the variance `var_g` within class g, of m_g rows:
//!
//! ```text
//! numerator    class-means   sum over pairs of classes of (c_g - c_h)^2
//!              printed       (y'c)^2 = (m+ c+ - m- c-)^2              [Diethe2015 (11)]
//! denominator  c'B c = (2 m+ m- / m) (var+ + var-)                    [Diethe2015 (2)]
//! ```
//!
//! The printed numerator is Fisher's only where the classes are equally large: it moves when a constant is added to the column. With several
//! classes the printed one is half the sum over classes against the rest, and `2 m+ m- / m` the harmonic mean of the sizes. Weights of rows
//! count as so many rows.
//!
//! For all columns of `K - u w'` the sums follow from those of K: class means `c - w (u'e_g)`, and with `B = D - C`, D diagonal,
//! `c'D c - 2 w (K'D u) + w^2 u'D u`. Cost: n for the means, K times a vector for the denominator.
use super::super::kernel_rows::KernelRows;
use super::deflation::{Deflated, Step};
use crate::Named;
use crate::{data::Dataset, draw::Draw, linalg::dot, watch::Watch};

/// Denominators are taken to be no smaller than this part of what the squares of the column were.
const LEAST: f64 = 1e-12;

/// Which column is chosen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum FisherCriterion {
    /// Any.
    Random,
    /// The largest quotient. [Diethe2015 (7)]
    Optimal,
    /// The largest numerator. [Diethe2015 (11)]
    #[default]
    Pseudo,
    /// The smallest quotient. [Diethe2015 (12)]
    Reverse,
    /// The smallest numerator. [Diethe2015 (13)]
    ReversePseudo,
}

impl Named for FisherCriterion {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("random", FisherCriterion::Random),
        ("optimal", FisherCriterion::Optimal),
        ("pseudo", FisherCriterion::Pseudo),
        ("reverse", FisherCriterion::Reverse),
        ("reverse-pseudo", FisherCriterion::ReversePseudo),
    ];
}

impl FisherCriterion {
    /// True where small is good.
    pub(super) fn is_reverse(self) -> bool {
        matches!(self, FisherCriterion::Reverse | FisherCriterion::ReversePseudo)
    }

    fn is_quotient(self) -> bool {
        matches!(self, FisherCriterion::Optimal | FisherCriterion::Reverse)
    }
}

/// What is above the line of Fisher's quotient.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Numerator {
    /// The squared difference of the class means.
    #[default]
    ClassMeans,
    /// The squared sum over one class less that over the other, as the paper prints it.
    Printed,
}

impl Named for Numerator {
    const NAMES: &'static [(&'static str, Self)] = &[("class-means", Numerator::ClassMeans), ("printed", Numerator::Printed)];
}

/// The classes, as what columns are multiplied with.
pub(super) struct Groups {
    /// The weight of each class.
    sizes: Vec<f64>,
    /// e_g for each class: weight over size for its rows, zero for the others.
    pub shares: Vec<Vec<f64>>,
    /// The harmonic mean of the sizes.
    harmonic: f64,
    /// The diagonal of D.
    pub diagonal: Vec<f64>,
    criterion: FisherCriterion,
    numerator: Numerator,
    /// Numerators are of columns divided by this.
    unit: f64,
}

impl Groups {
    /// The classes of these rows, which all have a weight above 0; `codes` are those of their classes.
    pub fn new(data: &Dataset, codes: &[u32], criterion: FisherCriterion, numerator: Numerator, unit: f64) -> Self {
        let mut sums = vec![0.0; codes.iter().max().map_or(0, |&last| last as usize + 1)];
        codes.iter().enumerate().for_each(|(i, &code)| sums[code as usize] += data.weight(i));
        let present: Vec<usize> = (0..sums.len()).filter(|&c| sums[c] > 0.0).collect();
        let sizes: Vec<f64> = present.iter().map(|&c| sums[c]).collect();
        let share = |i: usize, c: usize| if codes[i] as usize == c { data.weight(i) / sums[c] } else { 0.0 };
        let shares: Vec<Vec<f64>> = present.iter().map(|&c| (0..codes.len()).map(|i| share(i, c)).collect()).collect();
        let harmonic = sizes.len() as f64 / sizes.iter().map(|size| 1.0 / size).sum::<f64>();
        let diagonal = (0..codes.len()).map(|i| harmonic * shares.iter().map(|share| share[i]).sum::<f64>()).collect();
        Groups { sizes, shares, harmonic, diagonal, criterion, numerator, unit }
    }

    /// The score of a column with these class means; `square` is its `c'D c`, and `original` what that was before anything was taken off.
    fn score(&self, means: impl Iterator<Item = f64> + Clone, square: f64, original: f64) -> f64 {
        let numerator = self.numerator(means.clone());
        match self.criterion.is_quotient() {
            false => numerator * self.unit * self.unit,
            true => {
                let within = square - self.harmonic * means.map(|mean| mean * mean).sum::<f64>();
                numerator / within.max(LEAST * original)
            }
        }
    }

    fn numerator(&self, means: impl Iterator<Item = f64> + Clone) -> f64 {
        let count = self.sizes.len() as f64;
        match self.numerator {
            Numerator::ClassMeans => {
                let middle = means.clone().sum::<f64>() / count;
                count * means.map(|mean| (mean - middle) * (mean - middle)).sum::<f64>()
            }
            Numerator::Printed => {
                let sums = means.zip(&self.sizes).map(|(mean, size)| mean * size);
                let whole: f64 = sums.clone().sum();
                0.5 * sums.map(|sum| (2.0 * sum - whole) * (2.0 * sum - whole)).sum::<f64>()
            }
        }
    }

    /// The score of a column that is at hand.
    pub fn score_of(&self, column: &[f64], original: f64) -> f64 {
        self.score(self.shares.iter().map(|share| dot(share, column)), self.square(column), original)
    }

    /// `c'D c`.
    pub fn square(&self, column: &[f64]) -> f64 {
        if !self.criterion.is_quotient() {
            return 0.0;
        }
        column.iter().zip(&self.diagonal).map(|(c, d)| d * c * c).sum()
    }
}

/// The scores of all columns, kept up to date.
pub(super) enum Scores {
    /// Drawn once.
    Drawn(Vec<f64>),
    /// From sums over the columns.
    Sums {
        /// One row of numbers for each class.
        means: Vec<Vec<f64>>,
        /// Empty where only numerators are needed.
        squares: Vec<f64>,
        originals: Vec<f64>,
    },
}

impl Scores {
    /// The scores of the columns of K.
    pub fn new(rows: &KernelRows, groups: &Groups, watch: &Watch) -> Self {
        let shares: Vec<&[f64]> = groups.shares.iter().map(Vec::as_slice).collect();
        let means = rows.times(&shares, watch);
        let squares = if groups.criterion.is_quotient() { rows.weighted_squares(&groups.diagonal, watch) } else { vec![] };
        Scores::Sums { means, originals: squares.clone(), squares }
    }

    /// Scores that mean nothing.
    pub fn drawn(n: usize, draw: &mut Draw) -> Self {
        Scores::Drawn((0..n).map(|_| draw.uniform()).collect())
    }

    /// The scores after a step of `deflated`, which has not been taken yet.
    pub fn follow(&mut self, deflated: &Deflated, step: &Step, groups: &Groups, watch: &Watch) {
        let Scores::Sums { means, squares, .. } = self else { return };
        for (means, share) in means.iter_mut().zip(&groups.shares) {
            let part = dot(&step.u, share);
            means.iter_mut().zip(&step.w).for_each(|(mean, w)| *mean -= part * w);
        }
        if !squares.is_empty() {
            let weighted: Vec<f64> = step.u.iter().zip(&groups.diagonal).map(|(u, d)| u * d).collect();
            let (product, own) = (deflated.transposed_times(&weighted, watch), dot(&step.u, &weighted));
            for ((square, w), p) in squares.iter_mut().zip(&step.w).zip(product) {
                *square += w * (w * own - 2.0 * p);
            }
        }
    }

    /// The score of each of the columns.
    pub fn of(&self, which: &[usize], groups: &Groups) -> Vec<f64> {
        match self {
            Scores::Drawn(scores) => which.iter().map(|&i| scores[i]).collect(),
            Scores::Sums { means, squares, originals } => {
                let at = |numbers: &[f64], i: usize| numbers.get(i).copied().unwrap_or(0.0);
                which.iter().map(|&i| groups.score(means.iter().map(|m| m[i]), at(squares, i), at(originals, i))).collect()
            }
        }
    }
}
