//! Every size of a smaller machine, from one run.
use std::collections::BTreeSet;

use crate::{
    Result,
    data::Points,
    linalg::{Factor, Matrix},
    machine::{Coefficients, Expansion, Machine, Metadata},
    watch::Status,
};

/// The machines of one run, smallest first.
#[derive(Clone, Debug)]
pub struct Path {
    /// Everything that is the same in all of them: the decision, the scaling, the names.
    like: Machine,
    levels: Levels,
    /// One for each level.
    residuals: Vec<f64>,
    start: f64,
    /// Which candidates were chosen, in order, where vectors are chosen one at a time: level i has the first of them.
    pub chosen: Vec<usize>,
    /// How the run ended.
    pub status: Status,
    /// What the user should know, in a sentence.
    pub note: Option<String>,
}

#[derive(Clone, Debug)]
enum Levels {
    /// The machine of m vectors has the first m of these, and coefficients `L_m^-T y_1..m`.
    Nested { vectors: Points, factor: Factor, coordinates: Matrix },
    /// Each machine as it is.
    List(Vec<Expansion>),
    /// Each machine has those of these vectors that it lists, with coefficients of its own.
    Subsets { vectors: Points, levels: Vec<(Vec<usize>, Matrix)> },
    /// Level i joins level i, or the last, of a path for each output; the paths choose among `vectors`.
    Joined { vectors: Points, parts: Vec<(usize, Path)> },
}

/// One size of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// Its vectors.
    pub n_vectors: usize,
    /// `sum_k ||w_k - w'_k||^2`.
    pub residual: f64,
    /// The same over `sum_k ||w_k||^2`.
    pub relative_residual: f64,
}

impl Path {
    /// A path on prefixes: the machine of m vectors has the first m of `vectors` and coefficients `L_m^-T y_1..m` [Weston2004 (7)], whose outputs at these vectors are those of the machine [Weston2004 (11)], where L is `factor` and y
    /// are the rows of `coordinates` (m x q). Residuals are those of the sizes 1..m; `start` is that without vectors.
    pub(crate) fn nested(like: &Machine, vectors: Points, factor: Factor, coordinates: Matrix, residuals: Vec<f64>, start: f64) -> Self {
        Path::with(like, Levels::Nested { vectors, factor, coordinates }, residuals, start)
    }

    /// A path of machines as they are, smallest first.
    pub(crate) fn list(like: &Machine, levels: Vec<Expansion>, residuals: Vec<f64>, start: f64) -> Self {
        Path::with(like, Levels::List(levels), residuals, start)
    }

    /// A path of machines that each take their own of `vectors`, smallest first, with coefficients (m x q) for them.
    pub(crate) fn subsets(like: &Machine, vectors: &Points, levels: Vec<(Vec<usize>, Matrix)>, residuals: Vec<f64>, start: f64) -> Self {
        let used: BTreeSet<usize> = levels.iter().flat_map(|(chosen, _)| chosen.iter().copied()).collect();
        let used: Vec<usize> = used.into_iter().collect();
        let place = |chosen: Vec<usize>| chosen.iter().map(|c| used.partition_point(|u| u < c)).collect();
        let levels = levels.into_iter().map(|(chosen, coefficients)| (place(chosen), coefficients)).collect();
        Path::with(like, Levels::Subsets { vectors: vectors.select(&used), levels }, residuals, start)
    }

    /// A path that joins one for each of the given outputs, all of which chose among `candidates`.
    pub(crate) fn joined(like: &Machine, mut parts: Vec<(usize, Path)>, candidates: &Points) -> Self {
        let all: BTreeSet<usize> = parts.iter().flat_map(|(_, part)| part.chosen.iter().copied()).collect();
        let all: Vec<usize> = all.into_iter().collect();
        for chosen in parts.iter_mut().flat_map(|(_, part)| &mut part.chosen) {
            *chosen = all.partition_point(|a| a < chosen);
        }
        let longest = parts.iter().map(|(_, part)| part.len()).max().unwrap_or(0);
        let residuals = (0..longest).map(|i| parts.iter().map(|(_, part)| part.residual_up_to(i)).sum()).collect();
        let start = parts.iter().map(|(_, part)| part.start).sum();
        let status = parts.iter().fold(Status::Converged, |worst, (_, part)| worst.worse(part.status));
        Path { status, ..Path::with(like, Levels::Joined { vectors: candidates.select(&all), parts }, residuals, start) }
    }

    fn with(like: &Machine, levels: Levels, residuals: Vec<f64>, start: f64) -> Self {
        Path { like: template(like), levels, residuals, start, chosen: vec![], status: Status::Converged, note: None }
    }

    fn residual_up_to(&self, i: usize) -> f64 {
        self.residuals.get(i).or(self.residuals.last()).copied().unwrap_or(self.start)
    }

    /// The same path, with the candidates chosen and how the run ended.
    pub(crate) fn ended(self, chosen: Vec<usize>, status: Status) -> Self {
        Path { chosen, status, ..self }
    }

    /// The same path with other residuals.
    pub(crate) fn with_residuals(self, residuals: Vec<f64>) -> Self {
        Path { residuals, ..self }
    }

    /// The same path with its last size alone.
    pub(crate) fn only_last(self) -> Self {
        let Some(last) = self.len().checked_sub(1) else { return self };
        let (level, residual) = (self.expansion(last), self.residuals[last]);
        Path { levels: Levels::List(vec![level]), residuals: vec![residual], ..self }
    }

    /// The same path with every machine rewritten.
    pub(crate) fn mapped(self, map: impl Fn(&Machine) -> Result<Machine>) -> Result<Path> {
        let machines: Vec<Machine> = (0..self.len()).filter_map(|i| self.machine(i)).map(|machine| map(&machine)).collect::<Result<_>>()?;
        let like = machines.last().map_or_else(|| self.like.clone(), template);
        let levels = Levels::List(machines.into_iter().map(|machine| machine.expansion).collect());
        Ok(Path { like, levels, ..self })
    }

    /// Number of sizes.
    pub fn len(&self) -> usize {
        self.residuals.len()
    }

    /// True when the run was stopped before the first vector.
    pub fn is_empty(&self) -> bool {
        self.residuals.is_empty()
    }

    /// The sizes, smallest first.
    pub fn levels(&self) -> Vec<Level> {
        let relative = |residual: f64| if self.start > 0.0 { residual / self.start } else { 0.0 };
        let level = |(i, &residual): (usize, &f64)| Level { n_vectors: self.size(i), residual, relative_residual: relative(residual) };
        self.residuals.iter().enumerate().map(level).collect()
    }

    /// The machine of level `i`, counted from 0. None behind the last.
    pub fn machine(&self, i: usize) -> Option<Machine> {
        (i < self.len()).then(|| Machine { expansion: self.expansion(i), ..self.like.clone() })
    }

    /// The largest machine of at most so many vectors; none where all are larger.
    pub fn at(&self, vectors: usize) -> Option<Machine> {
        let levels = (0..self.len()).take_while(|&i| self.size(i) <= vectors).count();
        self.machine(levels.checked_sub(1)?)
    }

    /// The smallest machine whose relative residual is at most this; none where the path does not get there.
    pub fn smallest_within(&self, relative_residual: f64) -> Option<Machine> {
        self.machine(self.levels().iter().position(|level| level.relative_residual <= relative_residual)?)
    }

    /// The largest machine.
    pub fn last(&self) -> Option<Machine> {
        self.machine(self.len().checked_sub(1)?)
    }

    fn size(&self, i: usize) -> usize {
        match &self.levels {
            Levels::Nested { .. } => i + 1,
            Levels::List(list) => list[i].vectors.len(),
            Levels::Subsets { levels, .. } => levels[i].0.len(),
            Levels::Joined { parts, .. } => union(parts, i).len(),
        }
    }

    /// The coefficients of level `i`.
    pub(crate) fn coefficients(&self, i: usize) -> Matrix {
        match &self.levels {
            Levels::Nested { factor, coordinates, .. } => {
                let mut coefficients = coordinates.select(&(0..=i).collect::<Vec<_>>());
                factor.solve_transposed(&mut coefficients);
                coefficients
            }
            _ => self.expansion(i).coefficients.to_dense(),
        }
    }

    fn expansion(&self, i: usize) -> Expansion {
        match &self.levels {
            Levels::List(list) => list[i].clone(),
            Levels::Subsets { vectors, levels } => {
                let (chosen, coefficients) = &levels[i];
                let kernel = self.like.expansion.kernel.clone();
                Expansion { kernel, vectors: vectors.select(chosen), coefficients: Coefficients::Dense(coefficients.clone()) }
            }
            Levels::Nested { vectors, .. } => {
                let first: Vec<usize> = (0..=i).collect();
                let kernel = self.like.expansion.kernel.clone();
                Expansion { kernel, vectors: vectors.select(&first), coefficients: Coefficients::Dense(self.coefficients(i)) }
            }
            Levels::Joined { vectors, parts } => {
                let union = union(parts, i);
                let mut coefficients = Matrix::zeros(union.len(), self.like.n_outputs());
                for (output, part) in parts.iter().filter(|(_, part)| !part.is_empty()) {
                    let beta = part.coefficients(i.min(part.len() - 1));
                    for (row, chosen) in beta.iter().zip(&part.chosen) {
                        coefficients.row_mut(union.partition_point(|u| u < chosen))[*output] = row[0];
                    }
                }
                let kernel = self.like.expansion.kernel.clone();
                Expansion { kernel, vectors: vectors.select(&union), coefficients: Coefficients::Dense(coefficients) }
            }
        }
    }
}

/// The candidates that level `i` of all parts has, in order.
fn union(parts: &[(usize, Path)], i: usize) -> Vec<usize> {
    let size = |part: &Path| if part.is_empty() { 0 } else { part.size(i.min(part.len() - 1)) };
    let all: BTreeSet<usize> = parts.iter().flat_map(|(_, part)| part.chosen[..size(part)].iter().copied()).collect();
    all.into_iter().collect()
}

/// The machine without its vectors. Probabilities belong to the outputs they were made for, and go.
fn template(machine: &Machine) -> Machine {
    let Expansion { kernel, vectors, .. } = &machine.expansion;
    let coefficients = Coefficients::Dense(Matrix::zeros(0, machine.n_outputs()));
    let expansion = Expansion { kernel: kernel.clone(), vectors: vectors.select(&[]), coefficients };
    // The vectors of a basis are gone.
    let metadata = Metadata { basis: None, seen: None, ..machine.metadata.clone() };
    Machine { expansion, calibration: None, metadata, ..machine.clone() }
}
