//! Several classes as two-class problems: which these are, how all of them are solved, and the machine they make.
//!
//! Problems run side by side on all threads and share the cache limit. One-vs-rest problems and those of output codes are over the same
//! points and share kernel rows too. One-vs-one problems do not: together they need hardly more kernel values than one row
//! over all points for each vector would be.
use std::sync::atomic::{AtomicU64, Ordering};

use crate::parallel::*;

use super::{
    Fit, Multiclass,
    codes::code_words,
    smo::{RowSource, Settings, SharedRows},
    support::{self, Solved, Source},
};
use crate::{
    Error, Result,
    data::{Classes, Dataset, Label},
    kernel::Kernel,
    linalg::Matrix,
    machine::{Coefficients, Decision, Expansion, Machine, Metadata, Pairwise},
    watch::Watch,
};

/// One two-class problem: its rows and the sign of each.
pub(super) struct TwoClass {
    pub rows: Vec<usize>,
    pub signs: Vec<f64>,
    /// What the problem separates, for error messages.
    pub between: String,
}

impl TwoClass {
    /// The rows' own values of one sign, 0 for the others.
    pub fn of_sign(&self, sign: f64, value: impl Fn(usize) -> f64) -> Vec<f64> {
        self.rows.iter().zip(&self.signs).map(|(&i, &y)| if y == sign { y * value(i) } else { 0.0 }).collect()
    }
}

/// What the outputs of machines for these classes mean.
pub(super) fn decision(labels: &[Label], multiclass: Multiclass) -> Result<Decision> {
    let all = labels.to_vec();
    Ok(match (labels, multiclass) {
        ([negative, positive], _) => Decision::Sign { negative: negative.clone(), positive: positive.clone() },
        (_, Multiclass::OneVsOne) => Decision::Votes { labels: all },
        (_, Multiclass::OneVsRest) => Decision::Largest { labels: all },
        (_, Multiclass::Shared) => {
            return Err(Error::Unsupported {
                method: "sharing vectors among classes",
                with: "a machine without a budget".into(),
                instead: "say how many vectors it may have (--vectors), or train one-vs-one or one-vs-rest".into(),
            });
        }
        (_, Multiclass::OutputCodes { seed }) => Decision::Codes { labels: all, words: code_words(labels.len(), seed)? },
    })
}

/// All two-class problems of a data set, in the order of the machine's outputs.
pub(super) struct Plan<'a> {
    pub data: &'a Dataset,
    pub classes: &'a Classes,
    pub source: Source<'a>,
    pub problems: Vec<TwoClass>,
    decision: Decision,
    kernel: &'a Kernel,
}

impl<'a> Plan<'a> {
    /// Plans the problems. Rows of weight 0 are left out.
    pub fn new(kernel: &'a Kernel, data: &'a Dataset, classes: &'a Classes, multiclass: Multiclass) -> Result<Self> {
        let labels = classes.labels.clone();
        let k = labels.len();
        let problem = |between: String, sign: &dyn Fn(usize) -> f64| {
            let sign = |i: usize| sign(classes.codes[i] as usize);
            let rows: Vec<usize> = (0..data.len()).filter(|&i| data.weight(i) > 0.0 && sign(i) != 0.0).collect();
            TwoClass { signs: rows.iter().map(|&i| sign(i)).collect(), rows, between }
        };
        let one_against = |a: usize, b: usize| {
            let sign = move |class: usize| f64::from(i8::from(class == a) - i8::from(class == b));
            problem(format!("the classes {} and {}", labels[a], labels[b]), &sign)
        };
        let decision = decision(&labels, multiclass)?;
        let problems = match &decision {
            Decision::Votes { .. } => Pairwise::pairs(k).map(|(a, b)| one_against(a, b)).collect(),
            Decision::Largest { .. } => {
                let one = |a: usize| problem(format!("the class {} and the rest", labels[a]), &|class| if class == a { 1.0 } else { -1.0 });
                (0..k).map(one).collect()
            }
            Decision::Codes { words, .. } => {
                let column = |c: usize| problem(format!("the two sides of code column {}", c + 1), &|class| f64::from(words[class][c]));
                (0..words[0].len()).map(column).collect()
            }
            _ => vec![one_against(1, 0)],
        };
        Ok(Plan { data, classes, source: Source::new(kernel, data)?, problems, decision, kernel })
    }

    /// Solves all problems by `solve`, which gets the place of the problem and its kernel rows.
    pub fn solve_all(
        &self,
        settings: &Settings,
        watch: &Watch,
        solve: impl Fn(usize, &dyn RowSource, &Settings, &Watch) -> Result<Solved> + Sync,
    ) -> Result<Vec<Solved>> {
        let count = self.problems.len();
        let shared = match count > 1 && !matches!(self.decision, Decision::Votes { .. }) {
            true => Some(SharedRows::new(self.source.rows(&self.problems[0].rows, settings.tolerance)?, settings.cache_bytes / 2)),
            false => None,
        };
        let threads = current_num_threads().min(count).max(1);
        let own = if shared.is_some() { settings.cache_bytes / 2 } else { settings.cache_bytes };
        let settings = Settings { cache_bytes: own / threads, ..*settings };
        let quiet = watch.silent();
        let done = AtomicU64::new(0);
        let solve = |place: usize| {
            let listener = if count == 1 { watch } else { &quiet };
            let solved = match &shared {
                Some(rows) => solve(place, rows, &settings, listener)?,
                None => solve(place, &*self.source.rows(&self.problems[place].rows, settings.tolerance)?, &settings, listener)?,
            };
            if count > 1 {
                watch.report("two-class problems", done.fetch_add(1, Ordering::Relaxed) + 1, Some(count as u64), None);
            }
            Ok(solved)
        };
        let solved = (0..count).into_par_iter().with_max_len(1).map(solve).collect();
        watch.evaluated(quiet.evaluations());
        solved
    }

    /// What an earlier machine knows of the problems: for each output a coefficient for each row of the data.
    pub fn known(&self, earlier: Option<&Machine>) -> Option<Matrix> {
        earlier.map(|machine| self.source.known(machine)).filter(|known| known.cols() == self.problems.len())
    }

    /// The machine of the solved problems.
    pub fn fit(self, solved: &[Solved], metadata: Metadata, evaluations: u64) -> Fit {
        let report = support::report(solved, evaluations);
        let metadata = Metadata { n_rows: Some(self.data.len()), objective: Some(report.objective), ..metadata };
        let offsets = solved.iter().map(|s| s.solution.offset).collect();
        let (expansion, rows) = self.expansion(solved);
        let names = self.data.names.clone();
        let machine = Machine { expansion, offsets, decision: self.decision, scale: None, names, calibration: None, metadata };
        Fit { machine, report: support::on_rows(report, rows) }
    }

    /// The vectors with their coefficients, and which rows they are.
    fn expansion(&self, solved: &[Solved]) -> (Expansion, Vec<usize>) {
        let mut used = vec![false; self.data.len()];
        for (problem, s) in self.problems.iter().zip(solved) {
            problem.rows.iter().zip(&s.solution.coefficients).for_each(|(&row, &b)| used[row] |= b != 0.0);
        }
        // Class by class, as LIBSVM's layout wants it: the positive class of two comes first.
        let k = self.classes.labels.len();
        let order: Vec<usize> = if k == 2 { vec![1, 0] } else { (0..k).collect() };
        let (mut vectors, mut starts) = (vec![], vec![0]);
        for &class in &order {
            vectors.extend((0..self.data.len()).filter(|&i| used[i] && self.classes.codes[i] as usize == class));
            starts.push(vectors.len());
        }
        let mut place = vec![0; self.data.len()];
        vectors.iter().enumerate().for_each(|(j, &row)| place[row] = j);
        let pairwise = matches!(self.decision, Decision::Votes { .. });
        let mut values = Matrix::zeros(vectors.len(), if pairwise { k - 1 } else { solved.len() });
        let pairs: Vec<(usize, usize)> = if pairwise { Pairwise::pairs(k).collect() } else { vec![] };
        for (output, (problem, s)) in self.problems.iter().zip(solved).enumerate() {
            for (&row, &b) in problem.rows.iter().zip(&s.solution.coefficients).filter(|(_, b)| **b != 0.0) {
                let column = match pairs.get(output) {
                    Some(&(first, second)) if self.classes.codes[row] as usize == first => second - 1,
                    Some(&(first, _)) => first,
                    None => output,
                };
                values.row_mut(place[row])[column] = b;
            }
        }
        let coefficients = match pairwise {
            true => Coefficients::Pairwise(Pairwise { starts, values }),
            false => Coefficients::Dense(values),
        };
        (Expansion { kernel: self.kernel.clone(), vectors: self.source.vectors(&vectors), coefficients }, vectors)
    }
}
