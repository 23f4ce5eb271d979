//! What a pass returns: sums over rows, which can be added to those of other rows.
use serde::{Deserialize, Serialize};

use super::{
    packed::{Packed, matrix},
    sample::Sample,
};
use crate::{
    Error, Result,
    basis::field::GradientSums,
    data::{Fingerprints, Summary},
    kernel::Kernel,
    learn::direct::{RowSums, Transform},
    linalg::Matrix,
};

/// Sums that are merged at a time on each level of the tree.
pub const ARITY: usize = 4;

/// Sums at given vectors and weights. What was not asked for is empty.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct FitSums {
    /// Rows.
    pub rows: f64,
    /// Rows with the wrong label, or squared errors.
    pub errors: f64,
    /// Losses: one for each output where outputs are apart, else one.
    pub losses: Vec<f64>,
    /// Newton's systems one after the other, lower triangles.
    pub systems: Vec<f64>,
    /// The gradient of the losses by the weights.
    pub gradient: Vec<f64>,
    /// The sums `M X`, m x d, and `M 1` of the gradient by the vectors.
    pub moved: Vec<f64>,
    /// See `moved`.
    pub totals: Vec<f64>,
    /// What the gradient by the transform of the rows needs beside them: a number for each scale, or one for each entry of a map.
    pub metric: Vec<f64>,
    /// Second derivatives of the losses times the direction.
    pub curved: Vec<f64>,
}

/// What is known of the rows before training.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoutSums {
    /// Moments and ranges of the features.
    pub summary: Summary,
    /// Rows of each class.
    pub counts: Vec<f64>,
    /// Rows of each class whose weight is above 0; one number for values.
    pub weighty: Vec<f64>,
    /// The sum of the weights, and the weighted sum of each target; empty for classes.
    pub totals: Vec<f64>,
    /// Rows drawn by the order of the hash of their number.
    pub sample: Sample,
    /// Fingerprints of the rows, by which the machine recognises them.
    pub seen: Fingerprints,
    /// The most fingerprints that are kept.
    pub most_seen: usize,
}

/// What a pass returns.
#[derive(Clone, Debug, PartialEq)]
pub enum Sums {
    /// To [`Ask::Scout`](super::Ask::Scout).
    Scout(Box<ScoutSums>),
    /// To [`Ask::Fit`](super::Ask::Fit).
    Fit(Box<FitSums>),
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "sums", rename_all = "kebab-case")]
enum Header {
    Scout { sparse: bool, limit: usize, targets: usize, stored_sparse: bool, all_seen: bool, most_seen: usize },
    Fit,
}

impl FitSums {
    fn parts_mut(&mut self) -> [&mut Vec<f64>; 7] {
        let FitSums { losses, systems, gradient, moved, totals, metric, curved, .. } = self;
        [losses, systems, gradient, moved, totals, metric, curved]
    }

    /// Adds those of other rows, which were asked the same.
    pub fn add(&mut self, mut other: FitSums) -> Result<()> {
        (self.rows, self.errors) = (self.rows + other.rows, self.errors + other.errors);
        for (to, from) in self.parts_mut().into_iter().zip(other.parts_mut()) {
            if to.len() != from.len() {
                return Err(Error::Shape { what: "numbers of sums", expected: to.len(), found: from.len() });
            }
            to.iter_mut().zip(from).for_each(|(to, from)| *to += *from);
        }
        Ok(())
    }

    /// The sums of the gradient by m vectors of `dim` transformed features, and by the transform.
    pub(super) fn gradient_sums(&self, transform: &Transform, kernel: &Kernel, m: usize, dim: usize) -> Result<RowSums> {
        let mut sums = RowSums::nothing(transform, kernel.profile().argument(), 0, dim);
        sums.vectors = GradientSums { points: matrix("sums for vectors", self.moved.clone(), m, dim)?, totals: self.totals.clone() };
        let numbers = sums.numbers_mut();
        if numbers.len() != self.metric.len() {
            return Err(Error::Shape { what: "sums for the metric", expected: numbers.len(), found: self.metric.len() });
        }
        numbers.copy_from_slice(&self.metric);
        Ok(sums)
    }

    /// The system with this number, of so many variables.
    pub(super) fn system(&self, index: usize, width: usize) -> Result<Matrix> {
        let (size, found) = (width * width, self.systems.len());
        let part = self.systems.get(index * size..(index + 1) * size).ok_or(Error::Shape {
            what: "systems",
            expected: (index + 1) * size,
            found,
        })?;
        matrix("a system", part.to_vec(), width, width)
    }
}

impl Sums {
    /// Adds those of other rows, which were asked the same.
    pub fn add(&mut self, other: Sums) -> Result<()> {
        match (self, other) {
            (Sums::Fit(to), Sums::Fit(from)) => to.add(*from),
            (Sums::Scout(to), Sums::Scout(from)) => {
                if (to.counts.len(), to.totals.len()) != (from.counts.len(), from.totals.len()) {
                    return Err(Error::Shape { what: "classes", expected: to.counts.len(), found: from.counts.len() });
                }
                to.summary.add(&from.summary);
                to.counts.iter_mut().zip(&from.counts).for_each(|(to, from)| *to += from);
                to.weighty.iter_mut().zip(&from.weighty).for_each(|(to, from)| *to += from);
                to.totals.iter_mut().zip(&from.totals).for_each(|(to, from)| *to += from);
                to.seen = to.seen.merged(&from.seen, to.most_seen);
                let samples = [std::mem::take(&mut to.sample), from.sample];
                to.sample = Sample::merged(&samples)?;
                Ok(())
            }
            _ => Err(Error::data("sums that answer different asks cannot be added")),
        }
    }

    /// Sums of blocks in their order, added up in a tree whose shape depends on the number of blocks alone, so that any number of workers gives
    /// the same bits.
    pub fn merged(mut level: Vec<Sums>) -> Result<Sums> {
        while level.len() > 1 {
            let mut next = Vec::with_capacity(level.len().div_ceil(ARITY));
            for some in level.chunks_mut(ARITY) {
                next.push(added(some.iter_mut().map(|sums| std::mem::replace(sums, Sums::Fit(Box::default()))))?);
            }
            level = next;
        }
        level.pop().ok_or_else(|| Error::data("there are no rows"))
    }

    /// As bytes, for other processes.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let packed = match self {
            Sums::Fit(sums) => {
                let FitSums { rows, errors, losses, systems, gradient, moved, totals, metric, curved } = &**sums;
                let arrays = [losses, systems, gradient, moved, totals, metric, curved].into_iter().cloned();
                Packed::new(&Header::Fit, [vec![*rows, *errors]].into_iter().chain(arrays).collect())
            }
            Sums::Scout(scout) => {
                let ScoutSums { summary, counts, weighty, totals, sample, seen, most_seen } = &**scout;
                let header = Header::Scout {
                    sparse: summary.sparse,
                    limit: sample.limit,
                    targets: sample.targets.cols(),
                    stored_sparse: sample.points.is_sparse(),
                    all_seen: seen.all,
                    most_seen: *most_seen,
                };
                let hashes: Vec<f64> = seen.hashes().iter().map(|&hash| f64::from(hash)).collect();
                let Summary { rows, means, squares, low, high, .. } = summary;
                let arrays = [means, squares, low, high, counts, weighty, totals].into_iter().cloned();
                Packed::new(&header, [vec![*rows], hashes].into_iter().chain(arrays).chain(sample.arrays()).collect())
            }
        };
        Ok(packed?.to_bytes())
    }

    /// From such bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let packed = Packed::from_bytes(bytes)?;
        match packed.header()? {
            Header::Fit => {
                let [first, losses, systems, gradient, moved, totals, metric, curved] = packed.arrays()?;
                let [rows, errors] = first[..] else {
                    return Err(Error::Shape { what: "counts of sums", expected: 2, found: first.len() });
                };
                Ok(Sums::Fit(Box::new(FitSums { rows, errors, losses, systems, gradient, moved, totals, metric, curved })))
            }
            Header::Scout { sparse, limit, targets, stored_sparse, all_seen, most_seen } => {
                let [rows, hashes, means, squares, low, high, counts, weighty, totals, keys, a, b, c, y, w] = packed.arrays()?;
                let dim = means.len();
                if [&squares, &low, &high].iter().any(|part| part.len() != dim) {
                    return Err(Error::Shape { what: "moments", expected: dim, found: squares.len() });
                }
                let summary = Summary { rows: rows.first().copied().unwrap_or(0.0), means, squares, low, high, sparse };
                let sample = Sample::of_arrays([keys, a, b, c, y, w], (limit, dim, targets), stored_sparse)?;
                let seen = Fingerprints::of_hashes(all_seen, hashes.into_iter().map(|hash| hash as u32).collect());
                Ok(Sums::Scout(Box::new(ScoutSums { summary, counts, weighty, totals, sample, seen, most_seen })))
            }
        }
    }
}

/// Sums added up one after the other. Their samples are merged all at once, which copies each row once.
pub(super) fn added(parts: impl Iterator<Item = Sums>) -> Result<Sums> {
    let mut samples = vec![];
    let mut without_samples = parts.map(|mut part| {
        if let Sums::Scout(scout) = &mut part {
            samples.push(std::mem::take(&mut scout.sample));
        }
        part
    });
    let mut sum = without_samples.next().ok_or_else(|| Error::data("there are no rows"))?;
    without_samples.try_for_each(|part| sum.add(part))?;
    if let Sums::Scout(scout) = &mut sum {
        scout.sample = Sample::merged(&samples)?;
    }
    Ok(sum)
}
