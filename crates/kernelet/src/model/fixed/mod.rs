//! A machine in whole numbers, for devices without floating point: rows and vectors of 8 or 16 bits, coefficients of 16.
//!
//! A feature becomes `round((x - zero) * rate)`, saturated; a kernel value has 15 bits after the point; an output is a whole number O that
//! stands for `O / 2^shift`. Distances need one step for all features, as scaled: the error of a distance is that of its coarsest feature.
//! Products of rows have a step for each feature, folded into the vectors. Sums of 8 bits are 32 bits wide and of 16 bits 64, and the steps
//! of the coefficients are the finest for which no row makes them overflow.
//!
//! [`Fixed`] computes here, bit for bit, what the C source of [`crate::model::c::fixed_code`] computes on the device, so that the loss of
//! the rounding is measured before anything is written. Cost of a row: as for the machine.
mod cascade;
mod kernel;
mod rows;
mod sums;

use crate::parallel::*;

pub use cascade::FixedCascade;
pub(super) use cascade::FixedStage;
pub(super) use kernel::{Curve, Values};
pub(super) use rows::Input;
pub(super) use sums::{BIAS, Mapped, Multipliers};

use super::target::weights;
use crate::{
    Error, Named, Result,
    data::Points,
    linalg::Matrix,
    machine::{Coefficients, Decision, Machine, Prediction},
};

/// Bits of a row and of a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// 8 bits, with sums of 32.
    I8,
    /// 16 bits, with sums of 64.
    I16,
}

impl Named for Width {
    const NAMES: &'static [(&'static str, Self)] = &[("i8", Width::I8), ("i16", Width::I16)];
}

impl Width {
    /// The largest magnitude of a number of a row or a vector.
    pub fn most(self) -> i32 {
        match self {
            Width::I8 => i32::from(i8::MAX),
            Width::I16 => i32::from(i16::MAX),
        }
    }

    /// Bytes of a number of a row or a vector.
    pub fn bytes(self) -> usize {
        match self {
            Width::I8 => 1,
            Width::I16 => 2,
        }
    }

    /// No sum exceeds this. Sums of 16 bits stay exact in double precision.
    pub(super) fn largest_sum(self) -> f64 {
        match self {
            Width::I8 => f64::from(i32::MAX),
            Width::I16 => (1i64 << 52) as f64,
        }
    }
}

/// Bits after the point of a kernel value.
pub(super) const VALUE_BITS: u32 = 15;

/// A machine in whole numbers.
#[derive(Clone, Debug)]
pub struct Fixed {
    pub(super) width: Width,
    pub(super) decision: Decision,
    pub(super) input: Input,
    /// The linear map of rows, where the machine has one that is not part of its weights.
    pub(super) map: Option<Mapped>,
    pub(super) body: Body,
    /// Sums begin with these.
    pub(super) offsets: Vec<i64>,
    /// Output k stands for `O_k / 2^shift_k`.
    pub(super) shifts: Vec<i32>,
}

/// How outputs come from a row of whole numbers.
#[derive(Clone, Debug)]
pub(super) enum Body {
    /// Linear: `O_k = sum_i W_ki x_i`.
    Weights(Multipliers),
    /// `O_k = sum_j B_jk K(x, z_j)`.
    Expansion {
        /// One row of numbers for each vector.
        vectors: Vec<Vec<i32>>,
        /// From a row and a vector to a kernel value.
        values: Values,
        /// B: one row for each vector, one column for each output.
        coefficients: Multipliers,
    },
}

impl Fixed {
    /// The machine in whole numbers. The ranges of features are those of `rows`, with the vectors, and the step is the one of the least error
    /// there; without rows they are those of the vectors and half as much around them.
    pub fn of(machine: &Machine, width: Width, rows: Option<&Points>) -> Result<Fixed> {
        let only = Fixed::together(&[machine], width, rows)?.pop();
        only.ok_or_else(|| Error::data("the machine has no features to quantise"))
    }

    /// Machines that see one row of whole numbers: the steps of the least error of all of them together.
    fn together(machines: &[&Machine], width: Width, rows: Option<&Points>) -> Result<Vec<Fixed>> {
        machines.iter().try_for_each(|machine| has_place(machine, width))?;
        let sample = rows.map(|rows| rows::sample(machines, rows)).transpose()?;
        let mut best: Option<(f64, Vec<Fixed>)> = None;
        for input in rows::inputs(machines, width, sample.as_ref())? {
            let found =
                machines.iter().map(|machine| Fixed::on(machine, width, &input, sample.as_ref())).collect::<Result<Vec<(f64, Fixed)>>>()?;
            let error = found.iter().map(|(error, _)| error).sum();
            if best.as_ref().is_none_or(|(least, _)| error < *least) {
                best = Some((error, found.into_iter().map(|(_, fixed)| fixed).collect()));
            }
        }
        Ok(best.map_or_else(Vec::new, |(_, all)| all))
    }

    /// The machine for rows of these whole numbers, and its squared error on the sample.
    fn on(machine: &Machine, width: Width, input: &Input, sample: Option<&Matrix>) -> Result<(f64, Fixed)> {
        let weights = weights(&machine.expansion);
        let mut best: Option<(f64, Fixed)> = None;
        for axes in rows::axes(machine, width, input, weights.is_none(), sample) {
            let fixed = match &weights {
                Some(weights) => Fixed::linear(machine, width, weights, input.clone(), &axes),
                None => Fixed::expansion(machine, width, input.clone(), &axes, sample),
            }?;
            let error = sample.map_or(Ok(0.0), |sample| fixed.squared_error(machine, sample))?;
            if best.as_ref().is_none_or(|(least, _)| error < *least) {
                best = Some((error, fixed));
            }
        }
        best.ok_or_else(|| Error::data("the machine has no features to quantise"))
    }

    fn linear(machine: &Machine, width: Width, weights: &Matrix, input: Input, axes: &rows::Axes) -> Result<Fixed> {
        let weights = match machine.map() {
            Some(map) => Matrix::from_fn(weights.rows(), map.cols(), |k, i| (0..map.rows()).map(|l| weights.at(k, l) * map.at(l, i)).sum()),
            None => weights.clone(),
        };
        let folded = Matrix::from_fn(weights.cols(), weights.rows(), |i, k| weights.at(k, i) * axes.step[i]);
        let constants: Vec<f64> = weights
            .iter()
            .zip(&machine.offsets)
            .map(|(w, offset)| w.iter().zip(&axes.centre).map(|(w, centre)| w * centre).sum::<f64>() + offset)
            .collect();
        let (multipliers, offsets, shifts) =
            sums::finest(&folded, &constants, f64::from(width.most()) + 1.0, width.largest_sum(), &machine.decision)?;
        Ok(Fixed { width, decision: machine.decision.clone(), input, map: None, body: Body::Weights(multipliers), offsets, shifts })
    }

    fn expansion(machine: &Machine, width: Width, input: Input, axes: &rows::Axes, sample: Option<&Matrix>) -> Result<Fixed> {
        let expansion = &machine.expansion;
        let map = match machine.map().filter(|_| machine.n_vectors() > 0) {
            Some(map) => Some(Mapped::of(machine, map, width, &input, axes)?),
            None => None,
        };
        let vectors = expansion.vectors.to_dense();
        let (values, vectors, factor) = Values::of(&expansion.kernel, width, &vectors, axes, sample.map(|rows| (machine, rows)))?;
        let dense = expansion.coefficients.to_dense();
        let coefficients = Matrix::from_fn(dense.rows(), dense.cols(), |j, k| dense.at(j, k) * factor);
        let one = f64::from(1u32 << VALUE_BITS);
        let offsets: Vec<f64> = machine.offsets.iter().map(|offset| offset * one).collect();
        let (coefficients, offsets, shifts) = sums::finest(&coefficients, &offsets, one, width.largest_sum(), &machine.decision)?;
        let shifts = shifts.iter().map(|shift| shift + VALUE_BITS as i32).collect();
        let body = Body::Expansion { vectors, values, coefficients };
        Ok(Fixed { width, decision: machine.decision.clone(), input, map, body, offsets, shifts })
    }

    /// Bits of rows and vectors.
    pub fn width(&self) -> Width {
        self.width
    }

    /// Whether kernel values are computed.
    pub(super) fn has_vectors(&self) -> bool {
        matches!(&self.body, Body::Expansion { vectors, .. } if !vectors.is_empty())
    }

    /// The whole numbers that stand for a row as it was measured.
    pub fn quantised(&self, row: &[f64]) -> Vec<i32> {
        self.input.quantised(row, self.width)
    }

    /// The outputs of a row of whole numbers, each in its own unit.
    pub fn sums(&self, row: &[i32]) -> Vec<i64> {
        let mapped = self.map.as_ref().map(|map| map.apply(row, self.width));
        let row = mapped.as_deref().unwrap_or(row);
        let mut sums = self.offsets.clone();
        match &self.body {
            Body::Weights(weights) => weights.add(row.iter().map(|&x| i64::from(x)), &mut sums),
            Body::Expansion { vectors, values, coefficients } => {
                coefficients.add(vectors.iter().enumerate().map(|(j, z)| values.value(row, j, z)), &mut sums)
            }
        }
        sums
    }

    /// The place of the class that the outputs of a row stand for.
    fn class(&self, sums: &[i64]) -> usize {
        let outputs: Vec<f64> = sums.iter().zip(&self.shifts).map(|(&sum, &shift)| sum as f64 * 2f64.powi(-shift)).collect();
        self.decision.class(&outputs)
    }

    /// The outputs of every row as numbers, as [`Machine::outputs_for`] has them.
    pub fn outputs(&self, points: &Points) -> Result<Matrix> {
        let (dim, q) = (self.input.zero.len(), self.offsets.len());
        if !points.is_sparse() && points.dim() != dim {
            return Err(Error::Shape { what: "features of a row", expected: dim, found: points.dim() });
        }
        points.check_finite()?;
        let mut out = Matrix::zeros(points.len(), q);
        out.values_mut().par_chunks_mut(q.max(1)).enumerate().for_each_init(
            || vec![0.0; dim],
            |row, (i, out)| {
                points.copy_rows(i..i + 1, dim, row);
                let sums = self.sums(&self.quantised(row));
                out.iter_mut().zip(sums).zip(&self.shifts).for_each(|((out, sum), &shift)| *out = sum as f64 * 2f64.powi(-shift));
            },
        );
        Ok(out)
    }

    /// Classes, targets or features for every row.
    pub fn predict(&self, points: &Points) -> Result<Prediction> {
        let outputs = self.outputs(points)?;
        Ok(match self.decision {
            Decision::Values | Decision::Ratio | Decision::Features => Prediction::Values(outputs),
            _ => {
                let codes = outputs.iter().map(|row| self.decision.class(row) as u32).collect();
                Prediction::Classes { labels: self.decision.labels(), codes }
            }
        })
    }

    /// The mean squared difference of the outputs from the machine's.
    fn squared_error(&self, machine: &Machine, rows: &Matrix) -> Result<f64> {
        let points = Points::from(rows.clone());
        let (want, have) = (machine.outputs_for(&points)?, self.outputs(&points)?);
        let sum: f64 = want.values().iter().zip(have.values()).map(|(a, b)| (a - b) * (a - b)).sum();
        Ok(sum / want.values().len().max(1) as f64)
    }
}

/// Checks that the machine can be computed in whole numbers.
fn has_place(machine: &Machine, width: Width) -> Result<()> {
    machine.check()?;
    if machine.decision == Decision::Ratio {
        return Err(unsupported("ratios of outputs", "export with --precision f32, which divides"));
    }
    let widths = machine.expansion.vectors.dim().max(machine.dim()) as f64;
    let most = 2.0 * f64::from(width.most()) + 1.0;
    if widths * most * most > width.largest_sum() * 2.0 {
        return Err(unsupported(format!("{widths} features in {}", width.name()), "sums would overflow; export with --precision f32"));
    }
    Ok(())
}

/// Whether one-vs-one coefficients are stored by class, as LIBSVM has them.
pub(super) fn class_starts(machine: &Machine) -> Option<&[usize]> {
    match &machine.expansion.coefficients {
        Coefficients::Pairwise(pairwise) => Some(&pairwise.starts),
        Coefficients::Dense(_) => None,
    }
}

fn unsupported(with: impl Into<String>, instead: impl Into<String>) -> Error {
    Error::Unsupported { method: "fixed-point C source", with: with.into(), instead: instead.into() }
}
