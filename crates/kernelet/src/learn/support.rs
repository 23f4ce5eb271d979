//! What the learners of the support vector family share: where kernel rows come from, warm starts, and how solutions become a machine.
use std::{collections::HashMap, sync::Arc};

use super::{
    Fit, Report, Support,
    smo::{self, Problem, RowSource, Settings, Solution},
};
use crate::{
    Error, Result,
    data::{Csr, Dataset, Points},
    kernel::{Kernel, Precomputed},
    linalg::Matrix,
    machine::{Coefficients, Decision, Expansion, Machine, Metadata},
    watch::{Status, Watch},
};

/// The training points, or the kernel matrix that the data are when the kernel is precomputed.
pub(super) struct Source<'a> {
    kernel: &'a Kernel,
    points: &'a Points,
    gram: Option<Arc<Matrix>>,
}

impl<'a> Source<'a> {
    pub fn new(kernel: &'a Kernel, data: &'a Dataset) -> Result<Self> {
        let points = &data.points;
        if *kernel != Kernel::Precomputed(Precomputed {}) {
            return Ok(Source { kernel, points, gram: None });
        }
        match data.dim() == data.len() {
            true => Ok(Source { kernel, points, gram: Some(Arc::new(points.to_dense())) }),
            false => Err(Error::Shape { what: "columns of a precomputed kernel matrix", expected: data.len(), found: data.dim() }),
        }
    }

    /// The kernel rows of the chosen points among themselves.
    pub fn rows(&self, chosen: &[usize], tolerance: f64) -> Result<Box<dyn RowSource>> {
        match &self.gram {
            Some(gram) => smo::rows_of_gram(gram, chosen),
            None => smo::rows_of(self.kernel, &self.points.select(chosen), tolerance),
        }
    }

    /// The chosen points as expansion vectors; for a precomputed kernel the unit rows of their places.
    pub fn vectors(&self, chosen: &[usize]) -> Points {
        if self.gram.is_none() {
            return self.points.select(chosen);
        }
        let columns = chosen.iter().map(|&i| i as u32).collect();
        let rows = Csr::new((0..=chosen.len()).collect(), columns, vec![1.0; chosen.len()], self.points.dim());
        rows.map_or_else(|_| self.points.select(&[]), Points::Sparse)
    }

    /// The coefficients that an earlier machine has for each of our points, one column for each output; 0 for points it does not know.
    pub fn known(&self, machine: &Machine) -> Matrix {
        let (vectors, coefficients) = (&machine.expansion.vectors, machine.expansion.coefficients.to_dense());
        let mut known = Matrix::zeros(self.points.len(), coefficients.cols());
        // Equal rows take the coefficients of equal vectors in turn.
        let mut places: HashMap<Vec<(u32, u64)>, Vec<usize>> = HashMap::new();
        for j in (0..vectors.len()).rev() {
            places.entry(key(vectors, j)).or_default().push(j);
        }
        let ours = if self.gram.is_some() { &self.vectors(&(0..self.points.len()).collect::<Vec<_>>()) } else { self.points };
        for i in 0..ours.len() {
            if let Some(j) = places.get_mut(&key(ours, i)).and_then(Vec::pop) {
                known.row_mut(i).copy_from_slice(coefficients.row(j));
            }
        }
        known
    }
}

/// A row to look up: its values that are not zero, with their columns.
fn key(points: &Points, i: usize) -> Vec<(u32, u64)> {
    let mut key: Vec<(u32, f64)> = match points {
        Points::Sparse(rows) => {
            let (columns, values) = rows.row(i);
            columns.iter().copied().zip(values.iter().copied()).collect()
        }
        Points::F64(matrix) => (0..).zip(matrix.row(i).iter().copied()).collect(),
        Points::F32(matrix) => (0..).zip(matrix.row(i).iter().map(|&v| f64::from(v))).collect(),
    };
    key.retain(|(_, value)| *value != 0.0);
    key.into_iter().map(|(column, value)| (column, value.to_bits())).collect()
}

/// Brings coefficients into their bounds and their sum to `sum`, changing them in order of their rows as little as that takes.
pub(super) fn feasible(wish: &[f64], lower: &[f64], upper: &[f64], sum: f64) -> Vec<f64> {
    let mut b: Vec<f64> = wish.iter().zip(lower.iter().zip(upper)).map(|(b, (low, high))| b.max(*low).min(*high)).collect();
    let mut missing = sum - b.iter().sum::<f64>();
    // First the coefficients that are there already, so that few new ones come in.
    for fresh in [false, true] {
        for i in (0..b.len()).filter(|&i| fresh || wish[i] != 0.0) {
            let change = missing.max(lower[i] - b[i]).min(upper[i] - b[i]);
            b[i] += change;
            missing -= change;
        }
    }
    b
}

/// A problem that was solved, with its primal objective.
pub(super) struct Solved {
    pub solution: Solution,
    pub primal: f64,
}

/// The rows with a weight above 0, or an error where there are none.
pub(crate) fn rows_that_count(data: &Dataset) -> Result<Vec<usize>> {
    let rows: Vec<usize> = (0..data.len()).filter(|&i| data.weight(i) > 0.0).collect();
    match rows.is_empty() {
        true => Err(Error::data("no row has a weight above 0")),
        false => Ok(rows),
    }
}

/// Solves a problem over `rows` of the data.
pub(super) fn solve(source: &Source, rows: &[usize], problem: &Problem, settings: &Settings, watch: &Watch) -> Result<Solution> {
    let kernel_rows = source.rows(rows, settings.tolerance)?;
    Ok(smo::solve(problem, &*kernel_rows, settings, watch))
}

/// The report of several solved problems.
pub(super) fn report(solved: &[Solved], evaluations: u64) -> Report {
    let iterations = solved.iter().map(|s| s.solution.iterations);
    Report {
        objective: solved.iter().map(|s| s.primal).sum(),
        dual_objective: Some(solved.iter().map(|s| s.solution.objective).sum()),
        iterations: iterations.clone().sum(),
        status: solved.iter().fold(Status::Converged, |worst, s| worst.worse(s.solution.status)),
        evaluations,
        support: Some(Support { rows: vec![], iterations: iterations.collect() }),
    }
}

/// The report where these rows are the vectors.
pub(super) fn on_rows(report: Report, rows: Vec<usize>) -> Report {
    let support = report.support.map(|support| Support { rows, ..support });
    Report { support, ..report }
}

/// The machine of problems that were all solved over the same `rows`, one for each output.
pub(super) fn fit(
    source: &Source,
    data: &Dataset,
    rows: &[usize],
    solved: &[Solved],
    decision: Decision,
    metadata: Metadata,
    report: Report,
) -> Fit {
    let used: Vec<usize> = (0..rows.len()).filter(|&t| solved.iter().any(|s| s.solution.coefficients[t] != 0.0)).collect();
    let values = Matrix::from_fn(used.len(), solved.len(), |j, k| solved[k].solution.coefficients[used[j]]);
    let rows: Vec<usize> = used.iter().map(|&t| rows[t]).collect();
    let vectors = source.vectors(&rows);
    let expansion = Expansion { kernel: source.kernel.clone(), vectors, coefficients: Coefficients::Dense(values) };
    let offsets = solved.iter().map(|s| s.solution.offset).collect();
    let metadata = Metadata { n_rows: Some(data.len()), objective: Some(report.objective), ..metadata };
    let machine = Machine { expansion, offsets, decision, scale: None, names: data.names.clone(), calibration: None, metadata };
    Fit { machine, report: on_rows(report, rows) }
}

/// Targets beyond this make objectives that do not fit a number.
const LARGEST_TARGET: f64 = 1e100;

/// Refuses targets that are too large to compute with.
pub(super) fn check_targets(targets: &Matrix) -> Result<()> {
    match targets.values().iter().find(|y| y.abs() > LARGEST_TARGET) {
        Some(y) => Err(Error::data(format!("the targets reach {y:.1e}; divide them by their size"))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_brought_into_its_bounds_and_to_its_sum() {
        let (lower, upper) = ([-1.0, 0.0, 0.0, -2.0], [0.0, 3.0, 1.0, 0.0]);
        let b = feasible(&[-4.0, 2.0, 0.0, 0.0], &lower, &upper, 0.0);
        assert_eq!(b, [-1.0, 1.0, 0.0, 0.0]);
        let b = feasible(&[0.0, 2.5, 0.0, -9.0], &lower, &upper, 2.0);
        assert_eq!(b, [0.0, 3.0, 0.0, -1.0]);
        assert_eq!(feasible(&[0.0; 4], &lower, &upper, 0.0), [0.0; 4]);
    }

    #[test]
    fn an_earlier_machine_is_known_by_its_vectors() {
        let x = Matrix::new(vec![1.0, 2.0, 1.0, 0.0], 4, 1).unwrap();
        let data = Dataset::new(x, crate::data::Target::None);
        let kernel = Kernel::gaussian(1.0);
        let source = Source::new(&kernel, &data).unwrap();
        let expansion = Expansion {
            kernel: kernel.clone(),
            vectors: Matrix::new(vec![1.0, -0.0, 5.0], 3, 1).unwrap().into(),
            coefficients: Coefficients::Dense(Matrix::column(vec![0.1, 0.2, 0.3])),
        };
        let machine = Machine {
            expansion,
            offsets: vec![0.0],
            decision: Decision::Values,
            scale: None,
            names: None,
            calibration: None,
            metadata: Metadata::default(),
        };
        assert_eq!(source.known(&machine).values(), [0.1, 0.0, 0.0, 0.2]);
    }
}
