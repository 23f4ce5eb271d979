//! Support vector classification with cost C.
//!
//! For labels y = +-1: minimise `1/2 |w|^2 + C sum_i weight_i max(0, 1 - y_i (w.Phi(x_i) + b))`, solved in its dual
//! `min 1/2 a'Qa - sum a`, `0 <= a_i <= C weight_i`, `y'a = 0`. C is LIBSVM's.
//!
//! Memory: the cache limit and O(n d). Problems of several classes run side by side on all threads and share the cache limit.
use rayon::prelude::*;

use super::{
    ClassWeights, Fit, Learner, Multiclass, Report,
    multiclass::check_classes,
    smo::{self, Problem, RowSource, Settings, Solution},
};
use crate::{
    Error, Result,
    data::{Classes, Csr, Dataset, Points},
    error::require_positive,
    kernel::{Kernel, Precomputed},
    linalg::Matrix,
    machine::{Coefficients, Decision, Expansion, Facts, Machine, Pairwise},
    watch::{Status, Watch},
};

/// The support vector classifier.
#[derive(Clone, Debug)]
pub struct Svc {
    /// The kernel. With [`Kernel::Precomputed`] row i of the data holds the kernel values of training row i with all training rows.
    pub kernel: Kernel,
    /// The cost of a margin error; above 0.
    pub c: f64,
    /// Factors of C for each class.
    pub class_weights: ClassWeights,
    /// How several classes become two-class problems.
    pub multiclass: Multiclass,
    /// Stop when no pair violates the optimality conditions by more than this; LIBSVM's epsilon.
    pub tolerance: f64,
    /// Bytes for cached kernel rows.
    pub cache_bytes: usize,
    /// Leave variables alone that look settled at a bound.
    pub shrinking: bool,
    /// Steps after which a problem stops unfinished.
    pub max_iterations: u64,
}

impl Default for Svc {
    fn default() -> Self {
        Svc {
            kernel: Kernel::gaussian(1.0),
            c: 1.0,
            class_weights: ClassWeights::Equal,
            multiclass: Multiclass::OneVsOne,
            tolerance: 1e-3,
            cache_bytes: 200 << 20,
            shrinking: true,
            max_iterations: 100_000_000,
        }
    }
}

/// One two-class problem: the rows of each side, positive first in meaning.
struct Pair {
    rows: Vec<usize>,
    positive: Vec<bool>,
}

/// The outcome of one two-class problem: coefficients y_i a_i of `rows`.
struct Solved {
    rows: Vec<usize>,
    beta: Vec<f64>,
    solution: Solution,
    primal: f64,
}

impl Learner for Svc {
    fn name(&self) -> &'static str {
        "svc"
    }

    fn check(&self) -> Result<()> {
        self.kernel.check()?;
        require_positive("c", self.c)?;
        require_positive("tolerance", self.tolerance)
    }

    fn learn(&self, data: &Dataset, watch: &Watch) -> Result<Fit> {
        self.check()?;
        let classes = check_classes(data)?;
        let weights = self.class_weights.of(classes)?;
        let upper: Vec<f64> = classes.codes.iter().enumerate().map(|(i, &code)| self.c * weights[code as usize] * data.weight(i)).collect();
        let gram = self.gram(data)?;
        let before = watch.evaluations();
        let pairs = self.pairs(classes, &upper);
        let solved = self.solve_all(&pairs, data, gram, &upper, watch)?;
        let report = Report {
            objective: solved.iter().map(|s| s.primal).sum(),
            dual_objective: Some(solved.iter().map(|s| s.solution.objective).sum()),
            iterations: solved.iter().map(|s| s.solution.iterations).sum(),
            status: solved.iter().fold(Status::Converged, |worst, s| worst.worse(s.solution.status)),
            evaluations: watch.evaluations() - before,
        };
        let (expansion, decision) = self.assemble(data, classes, &solved);
        let facts = Facts {
            learner: Some(self.name().into()),
            c: Some(self.c),
            class_weights: (self.class_weights != ClassWeights::Equal).then_some(weights),
            rows: Some(data.len()),
            objective: Some(report.objective),
            ..Facts::default()
        };
        let offsets = solved.iter().map(|s| s.solution.offset).collect();
        let machine = Machine { expansion, offsets, decision, scale: None, names: data.names.clone(), calibration: None, facts };
        Ok(Fit { machine, report })
    }
}

impl Svc {
    /// The kernel matrix that the data are, when the kernel is precomputed.
    fn gram(&self, data: &Dataset) -> Result<Option<Matrix>> {
        if self.kernel != Kernel::Precomputed(Precomputed {}) {
            return Ok(None);
        }
        match data.dim() == data.len() {
            true => Ok(Some(data.points.to_dense())),
            false => Err(Error::Shape { what: "columns of a precomputed kernel matrix", expected: data.len(), found: data.dim() }),
        }
    }

    /// The two-class problems, in the order of the machine's outputs. Rows that cost nothing are left out.
    fn pairs(&self, classes: &Classes, upper: &[f64]) -> Vec<Pair> {
        let pair = |inside: &dyn Fn(u32) -> bool, positive: &dyn Fn(u32) -> bool| {
            let rows: Vec<usize> = (0..upper.len()).filter(|&i| upper[i] > 0.0 && inside(classes.codes[i])).collect();
            let positive = rows.iter().map(|&i| positive(classes.codes[i])).collect();
            Pair { rows, positive }
        };
        let k = classes.labels.len() as u32;
        match self.multiclass {
            _ if k == 2 => vec![pair(&|_| true, &|c| c == 1)],
            Multiclass::OneVsOne => {
                let pairs = Pairwise::pairs(k as usize).map(|(a, b)| (a as u32, b as u32));
                pairs.map(|(a, b)| pair(&|c| c == a || c == b, &|c| c == a)).collect()
            }
            Multiclass::OneVsRest => (0..k).map(|class| pair(&|_| true, &|c| c == class)).collect(),
        }
    }

    fn solve_all(&self, pairs: &[Pair], data: &Dataset, gram: Option<Matrix>, upper: &[f64], watch: &Watch) -> Result<Vec<Solved>> {
        let threads = rayon::current_num_threads().min(pairs.len()).max(1);
        let settings = Settings {
            tolerance: self.tolerance,
            max_iterations: self.max_iterations,
            cache_bytes: self.cache_bytes / threads,
            shrinking: self.shrinking,
        };
        let quiet = watch.silent();
        let done = std::sync::atomic::AtomicU64::new(0);
        let solve = |pair: &Pair| {
            let rows = match &gram {
                Some(gram) => smo::rows_of_gram(gram, &pair.rows)?,
                None => smo::rows_of(&self.kernel, &data.points.select(&pair.rows), self.tolerance)?,
            };
            let solved = self.solve_pair(pair, &*rows, upper, &settings, if pairs.len() == 1 { watch } else { &quiet });
            if pairs.len() > 1 {
                let finished = done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
                watch.report("two-class problems", finished, Some(pairs.len() as u64), None);
            }
            Ok(solved)
        };
        let solved = pairs.par_iter().with_max_len(1).map(solve).collect();
        watch.evaluated(quiet.evaluations());
        solved
    }

    fn solve_pair(&self, pair: &Pair, rows: &dyn RowSource, upper: &[f64], settings: &Settings, watch: &Watch) -> Solved {
        let signs: Vec<f64> = pair.positive.iter().map(|&p| if p { 1.0 } else { -1.0 }).collect();
        let upper = pair.rows.iter().map(|&i| upper[i]).collect();
        let problem = Problem { linear: vec![-1.0; signs.len()], upper, start: None, signs };
        let solution = smo::solve(&problem, rows, settings, watch);
        // At row i, w.Phi(x_i) = y_i - v_i.
        let (mut squared_norm, mut loss) = (0.0, 0.0);
        let mut beta = Vec::with_capacity(problem.signs.len());
        for (i, &y) in problem.signs.iter().enumerate() {
            beta.push(y * solution.variables[i]);
            squared_norm += beta[i] * (y - solution.v[i]);
            loss += problem.upper[i] * (y * (solution.v[i] - solution.offset)).max(0.0);
        }
        Solved { rows: pair.rows.clone(), beta, primal: 0.5 * squared_norm + loss, solution }
    }

    fn assemble(&self, data: &Dataset, classes: &Classes, solved: &[Solved]) -> (Expansion, Decision) {
        let mut used = vec![false; data.len()];
        for s in solved {
            s.rows.iter().zip(&s.beta).for_each(|(&row, &beta)| used[row] |= beta != 0.0);
        }
        // Class by class, as LIBSVM's layout wants it: the positive class of two comes first.
        let labels = classes.labels.clone();
        let k = labels.len();
        let order: Vec<usize> = if k == 2 { vec![1, 0] } else { (0..k).collect() };
        let (mut vectors, mut starts) = (vec![], vec![0]);
        for &class in &order {
            vectors.extend((0..data.len()).filter(|&i| used[i] && classes.codes[i] as usize == class));
            starts.push(vectors.len());
        }
        let mut place = vec![0; data.len()];
        vectors.iter().enumerate().for_each(|(j, &row)| place[row] = j);
        let pairwise = k > 2 && self.multiclass == Multiclass::OneVsOne;
        let mut values = Matrix::zeros(vectors.len(), if pairwise { k - 1 } else { solved.len() });
        let mut put = |s: &Solved, column: &dyn Fn(usize) -> usize| {
            for (&row, &beta) in s.rows.iter().zip(&s.beta).filter(|(_, beta)| **beta != 0.0) {
                values.row_mut(place[row])[column(classes.codes[row] as usize)] = beta;
            }
        };
        let (coefficients, decision) = if pairwise {
            for (s, (a, b)) in solved.iter().zip(Pairwise::pairs(k)) {
                put(s, &|class| if class == a { b - 1 } else { a });
            }
            (Coefficients::Pairwise(Pairwise { starts, values }), Decision::Votes { labels })
        } else {
            solved.iter().enumerate().for_each(|(output, s)| put(s, &|_| output));
            let decision = match solved.len() {
                1 => Decision::Sign { negative: labels[0].clone(), positive: labels[1].clone() },
                _ => Decision::Largest { labels },
            };
            (Coefficients::Dense(values), decision)
        };
        (Expansion { kernel: self.kernel.clone(), vectors: self.vectors(data, &vectors), coefficients }, decision)
    }

    /// The chosen rows; for a precomputed kernel the unit rows of their places.
    fn vectors(&self, data: &Dataset, chosen: &[usize]) -> Points {
        if self.kernel != Kernel::Precomputed(Precomputed {}) {
            return data.points.select(chosen);
        }
        let columns = chosen.iter().map(|&i| i as u32).collect();
        let rows = Csr::new((0..=chosen.len()).collect(), columns, vec![1.0; chosen.len()], data.dim());
        rows.map_or_else(|_| data.points.select(&[]), Points::Sparse)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, atomic::AtomicBool};

    use super::*;
    use crate::data::waveform3;

    #[test]
    fn cancelling_reaches_every_two_class_problem_and_leaves_a_machine_that_predicts() {
        let data = waveform3(600, 1);
        for multiclass in [Multiclass::OneVsOne, Multiclass::OneVsRest] {
            let watch = Watch::none().with_cancel(Arc::new(AtomicBool::new(true)));
            let fit = Svc { multiclass, c: 1e3, kernel: Kernel::gaussian(0.01), ..Svc::default() }.learn(&data, &watch).unwrap();
            assert_eq!(fit.report.status, Status::Cancelled);
            assert!(fit.machine.check().is_ok());
            assert!(fit.machine.predict(&data.points).is_ok());
        }
    }
}
