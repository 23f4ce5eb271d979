//! How a machine predicts: rows in chunks, each through one kernel block and one product with the coefficients.
//!
//! Cost a row: m d for the kernel values and m q for the outputs; one-vs-one machines evaluate each vector once for all pairs,
//! m (classes - 1) for the outputs. No array of size n x m is made.
use rayon::prelude::*;

use super::{Coefficients, Decision, Machine, Pairwise};
use crate::{
    Error, Result,
    data::{Label, Points, Scale},
    kernel::block::{CHUNK, Columns, Scratch},
    linalg::{Matrix, add_product},
};

/// What a machine says about rows.
#[derive(Clone, Debug, PartialEq)]
pub enum Prediction {
    /// For each row the place of its class in `labels`.
    Classes {
        /// The classes in order.
        labels: Vec<Label>,
        /// One place a row.
        codes: Vec<u32>,
    },
    /// Real targets or features, one row of numbers each.
    Values(Matrix),
}

/// A machine made ready to predict: build it once, use it for many rows, from any thread.
#[derive(Debug)]
pub struct Predictor {
    columns: Columns,
    coefficients: Coefficients,
    offsets: Vec<f64>,
    decision: Decision,
    scale: Option<Scale>,
    dim: usize,
}

impl Predictor {
    /// Prepares a machine.
    pub fn new(machine: &Machine) -> Self {
        let expansion = &machine.expansion;
        Predictor {
            columns: Columns::new(&expansion.kernel, &expansion.vectors),
            coefficients: expansion.coefficients.clone(),
            offsets: machine.offsets.clone(),
            decision: machine.decision.clone(),
            scale: machine.scale.clone(),
            dim: machine.dim(),
        }
    }

    /// The outputs f_k(x) + b_k, one row for each row of `points`, on all threads of the current pool.
    pub fn outputs(&self, points: &Points) -> Result<Matrix> {
        if !points.is_sparse() && points.dim() != self.dim {
            return Err(Error::Shape { what: "features of a row", expected: self.dim, found: points.dim() });
        }
        let q = self.offsets.len();
        let mut out = Matrix::zeros(points.len(), q);
        if q == 0 {
            return Ok(out);
        }
        out.values_mut().par_chunks_mut(CHUNK * q).enumerate().try_for_each_init(Work::default, |work, (c, out)| {
            let first = c * CHUNK;
            self.chunk(points, first, out, work)
        })?;
        Ok(out)
    }

    /// Classes, targets or features. A row with a number that is not finite is an error that names it.
    pub fn predict(&self, points: &Points) -> Result<Prediction> {
        points.check_finite()?;
        let outputs = self.outputs(points)?;
        Ok(match self.decision {
            Decision::Values | Decision::Features => Prediction::Values(outputs),
            _ => Prediction::Classes {
                labels: self.decision.labels(),
                codes: outputs.iter().map(|row| self.decision.class(row) as u32).collect(),
            },
        })
    }

    fn chunk(&self, points: &Points, first: usize, out: &mut [f64], work: &mut Work) -> Result<()> {
        let (q, m) = (self.offsets.len(), self.columns.len());
        let n = out.len() / q;
        out.chunks_exact_mut(q).for_each(|row| row.copy_from_slice(&self.offsets));
        work.block.resize(n * m, 0.0);
        match &self.scale {
            None => self.columns.fill(points, first..first + n, &mut work.block, &mut work.scratch),
            Some(scale) => {
                let rows: Vec<usize> = (first..first + n).collect();
                let scaled = scale.apply(&points.select(&rows))?;
                self.columns.fill(&scaled, 0..n, &mut work.block, &mut work.scratch);
            }
        }
        match &self.coefficients {
            Coefficients::Dense(coefficients) => add_product(&work.block, coefficients.values(), m, q, out),
            Coefficients::Pairwise(pairwise) => add_pairs(&work.block, pairwise, n, out, &mut work.sums, &mut work.part),
        }
        Ok(())
    }
}

#[derive(Default)]
struct Work {
    scratch: Scratch,
    block: Vec<f64>,
    sums: Vec<f64>,
    part: Vec<f64>,
}

/// Adds the one-vs-one outputs: with S_c the sums over the vectors of class c, output (a, b) is S_a[b - 1] + S_b[a].
fn add_pairs(block: &[f64], pairwise: &Pairwise, n: usize, out: &mut [f64], sums: &mut Vec<f64>, part: &mut Vec<f64>) {
    let (classes, m) = (pairwise.classes(), pairwise.values.rows());
    if m == 0 {
        return;
    }
    let width = classes - 1;
    sums.clear();
    sums.resize(classes * n * width, 0.0);
    for c in 0..classes {
        let range = pairwise.starts[c]..pairwise.starts[c + 1];
        part.clear();
        for row in block.chunks_exact(m) {
            part.extend_from_slice(&row[range.clone()]);
        }
        let coefficients = &pairwise.values.values()[range.start * width..range.end * width];
        add_product(part, coefficients, range.len(), width, &mut sums[c * n * width..(c + 1) * n * width]);
    }
    let sum = |c: usize, i: usize, column: usize| sums[(c * n + i) * width + column];
    for (i, row) in out.chunks_exact_mut(classes * width / 2).enumerate() {
        for (f, (a, b)) in row.iter_mut().zip(Pairwise::pairs(classes)) {
            *f += sum(a, i, b - 1) + sum(b, i, a);
        }
    }
}

impl Machine {
    /// The outputs f_k(x) + b_k for every row.
    pub fn outputs_for(&self, points: &Points) -> Result<Matrix> {
        Predictor::new(self).outputs(points)
    }

    /// Classes, targets or features for every row.
    pub fn predict(&self, points: &Points) -> Result<Prediction> {
        Predictor::new(self).predict(points)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::Csr,
        kernel::Kernel,
        machine::{Expansion, Facts},
    };

    fn machine(kernel: Kernel, coefficients: Coefficients, decision: Decision) -> Machine {
        let m = coefficients.stored().rows();
        let vectors = Matrix::from_fn(m, 3, |i, j| ((i * 5 + j) as f64).sin());
        let offsets = (0..coefficients.outputs()).map(|k| k as f64 * 0.1 - 0.2).collect();
        let expansion = Expansion { kernel, vectors: vectors.into(), coefficients };
        Machine { expansion, offsets, decision, scale: None, names: None, calibration: None, facts: Facts::default() }
    }

    fn naive(machine: &Machine, x: &Matrix) -> Matrix {
        let (z, beta) = (machine.expansion.vectors.to_dense(), machine.expansion.coefficients.to_dense());
        Matrix::from_fn(x.rows(), machine.outputs(), |i, k| {
            let sum: f64 = (0..z.rows()).map(|j| beta.at(j, k) * machine.expansion.kernel.eval(x.row(i), z.row(j))).sum();
            sum + machine.offsets[k]
        })
    }

    fn coefficients() -> [Coefficients; 2] {
        let values = Matrix::from_fn(9, 3, |i, j| ((i + 3 * j) as f64).cos());
        [Coefficients::Dense(values.clone()), Coefficients::Pairwise(Pairwise { starts: vec![0, 2, 2, 5, 9], values })]
    }

    #[test]
    fn outputs_agree_with_the_definition_for_every_kernel_and_layout() {
        let x = Matrix::from_fn(600, 3, |i, j| ((i * 7 + j * 3) as f64).cos());
        for kernel in Kernel::examples() {
            for coefficients in coefficients() {
                let machine = machine(kernel.clone(), coefficients, Decision::Features);
                let want = naive(&machine, &x);
                for points in [Points::from(x.clone()), Points::from(Csr::from_dense(&x))] {
                    let have = machine.outputs_for(&points).unwrap();
                    for (a, b) in have.values().iter().zip(want.values()) {
                        assert!((a - b).abs() < 1e-12 * (1.0 + b.abs()), "{}: {a} {b}", kernel.name());
                    }
                }
            }
        }
    }

    #[test]
    fn without_vectors_the_offsets_remain() {
        let none = || Matrix::zeros(0, 2);
        let pairwise = Coefficients::Pairwise(Pairwise { starts: vec![0; 4], values: none() });
        for coefficients in [Coefficients::Dense(none()), pairwise] {
            let machine = machine(Kernel::gaussian(0.5), coefficients, Decision::Features);
            let outputs = machine.outputs_for(&Matrix::<f64>::zeros(2, 3).into()).unwrap();
            assert!(outputs.iter().all(|row| row == machine.offsets));
        }
    }

    #[test]
    fn raw_rows_are_scaled_first() {
        let [dense, _] = coefficients();
        let mut machine = machine(Kernel::gaussian(0.5), dense, Decision::Features);
        let x = Matrix::from_fn(300, 3, |i, j| (i + j) as f64 * 0.01);
        let plain = machine.outputs_for(&x.clone().into()).unwrap();
        machine.scale = Some(Scale { shift: Some(vec![1.0; 3]), factor: vec![0.5; 3] });
        let raw = Matrix::from_fn(300, 3, |i, j| 2.0 * x.at(i, j) + 1.0);
        let scaled = machine.outputs_for(&raw.into()).unwrap();
        for (a, b) in plain.values().iter().zip(scaled.values()) {
            assert!((a - b).abs() < 1e-12);
        }
    }

    #[test]
    fn wrong_widths_and_bad_numbers_are_refused() {
        let [dense, _] = coefficients();
        let machine = machine(Kernel::gaussian(0.5), dense, Decision::Features);
        let narrow = machine.predict(&Matrix::<f64>::zeros(1, 2).into()).unwrap_err();
        assert_eq!(narrow.to_string(), "features of a row: expected 3, found 2");
        let nan = machine.predict(&Matrix::from_fn(2, 3, |i, _| if i == 1 { f64::NAN } else { 0.0 }).into()).unwrap_err();
        assert_eq!(nan.to_string(), "a value in row 2, column 1 is NaN; every number must be finite");
    }
}
