//! The posterior of a relevance vector machine for fixed weights of the rows, and how one action changes it.
//!
//! Targets t have independent noise with precisions B = diag(b); coefficients have priors N(0, 1 / alpha_m). With Phi the columns in the
//! model, `Sigma = (diag(alpha) + Phi' B Phi)^-1` and `mean = Sigma Phi' B t`, and the logarithm of the evidence is
//! `-1/2 (n log 2 pi + log |C| + t' C^-1 t)` with `C = B^-1 + Phi diag(alpha)^-1 Phi'`. For every column c, in the model or not,
//! `S_c = phi_c' C^-1 phi_c` and `Q_c = phi_c' C^-1 t`; with s and q the same without column c, the evidence depends on alpha_c through
//! `l(alpha) = 1/2 (log alpha - log (alpha + s) + q^2 / (alpha + s))` alone, which is largest at s^2 / (q^2 - s) where q^2 > s, else at
//! infinity: the column leaves. So every action's gain is known before it is done. Cost of an action: n m, and n^2 more for a new column.
//!
//! Tipping and Faul: Fast marginal likelihood maximisation for sparse Bayesian models. AISTATS 2003.
use super::design::{Design, Stack, add_multiple};
use crate::{
    linalg::{Cholesky, Matrix, dot},
    watch::Watch,
};

/// A column whose S is below this fraction of its squares is numerically a linear combination of columns in the model.
const DEPENDENT: f64 = 1e-9;

/// One step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Action {
    /// Takes a column into the model.
    Add { column: usize, alpha: f64 },
    /// Gives a column of the model another alpha.
    Estimate { place: usize, alpha: f64 },
    /// Takes a column out.
    Delete { place: usize },
}

/// The columns in the model.
#[derive(Clone, Debug)]
pub(super) struct Basis {
    /// Which columns.
    pub chosen: Vec<usize>,
    /// The precision of each coefficient's prior.
    pub alpha: Vec<f64>,
    /// Their values, a row for each.
    pub columns: Stack,
    /// The coefficients.
    pub mean: Vec<f64>,
}

impl Basis {
    fn remove(&mut self, place: usize) {
        self.chosen.remove(place);
        self.alpha.remove(place);
        self.mean.remove(place);
        self.columns.remove(place);
    }
}

/// What a model is fitted to: row weights b, and all that is known of the columns under them.
pub(super) struct Problem<'a> {
    pub design: &'a Design<'a>,
    pub weights: &'a [f64],
    /// phi_c' B t.
    pub targets: &'a [f64],
    /// phi_c' B phi_c.
    pub squares: &'a [f64],
    /// n log 2 pi - sum log b + t' B t.
    pub constant: f64,
    /// The columns whose figures are kept up to date by actions; all where None.
    pub open: Option<&'a [usize]>,
}

/// Basis, posterior and the figures of every column.
#[derive(Clone, Debug)]
pub(super) struct Model {
    pub basis: Basis,
    pub sigma: Matrix,
    /// phi_c' B phi_m for each m of the model and every column c.
    pub products: Stack,
    s: Vec<f64>,
    q: Vec<f64>,
    pub evidence: f64,
}

/// l(alpha): the part of the logarithm of the evidence that depends on one alpha.
fn part(alpha: f64, s: f64, q: f64) -> f64 {
    0.5 * ((alpha / (alpha + s)).ln() + q * q / (alpha + s))
}

impl Model {
    /// Everything from the basis and the products; None where the matrix is not positive definite to working precision.
    pub fn new(mut basis: Basis, products: Stack, problem: &Problem) -> Option<Self> {
        let m = basis.chosen.len();
        let mut precision = Matrix::zeros(m, m);
        for i in 0..m {
            for j in 0..m {
                precision.row_mut(i)[j] = products.row(j)[basis.chosen[i]] + if i == j { basis.alpha[i] } else { 0.0 };
            }
        }
        let mut model = Model { basis: basis.clone(), sigma: Matrix::default(), products, s: vec![], q: vec![], evidence: 0.0 };
        model.s = problem.squares.to_vec();
        model.q = problem.targets.to_vec();
        let (mut log_determinant, mut fit) = (0.0, 0.0);
        if m > 0 {
            let factor = Cholesky::new(&precision)?;
            let mut sigma = Matrix::from_fn(m, m, |i, j| f64::from(u8::from(i == j)));
            factor.solve(&mut sigma);
            let targets: Vec<f64> = basis.chosen.iter().map(|&c| problem.targets[c]).collect();
            basis.mean = sigma.iter().map(|row| dot(row, &targets)).collect();
            log_determinant = factor.log_determinant();
            fit = dot(&basis.mean, &targets);
            model.take_off(factor.lower().matrix(), &basis.mean);
            model.sigma = sigma;
        }
        let priors: f64 = basis.alpha.iter().map(|alpha| alpha.ln()).sum();
        model.evidence = -0.5 * (problem.constant + log_determinant - priors - fit);
        model.basis = basis;
        model.evidence.is_finite().then_some(model)
    }

    /// S_c = squares_c - |L^-1 g_c|^2 and Q_c = targets_c - mean.g_c, with g_c the products of column c.
    fn take_off(&mut self, lower: &Matrix, mean: &[f64]) {
        let width = self.s.len();
        let mut solved = Stack::new(width);
        for (m, &mean) in mean.iter().enumerate() {
            let mut row = self.products.row(m).to_vec();
            add_multiple(&mut self.q, -mean, &row);
            for r in 0..m {
                add_multiple(&mut row, -lower.at(m, r), solved.row(r));
            }
            let pivot = 1.0 / lower.at(m, m);
            row.iter_mut().for_each(|value| *value *= pivot);
            self.s.iter_mut().zip(&row).for_each(|(s, u)| *s -= u * u);
            solved.push(&row);
        }
    }

    /// s and q of a column in the model.
    fn without(&self, place: usize) -> (f64, f64) {
        let variance = self.sigma.at(place, place);
        (1.0 / variance - self.basis.alpha[place], self.basis.mean[place] / variance)
    }

    /// The action that raises the evidence most, and by how much. Columns in `barred` are left as they are, and so is the constant.
    pub fn best(&self, problem: &Problem, barred: &[bool]) -> Option<(Action, f64)> {
        let constant = problem.design.rows();
        let mut best: Option<(Action, f64)> = None;
        let mut offer = |action: Action, gain: f64| {
            if gain.is_finite() && best.is_none_or(|(_, most)| gain > most) {
                best = Some((action, gain));
            }
        };
        let mut inside = vec![false; constant];
        for (place, &c) in self.basis.chosen.iter().enumerate() {
            if c == constant {
                continue;
            }
            inside[c] = true;
            if barred[c] {
                continue;
            }
            let ((s, q), alpha) = (self.without(place), self.basis.alpha[place]);
            if q * q > s && s > DEPENDENT * problem.squares[c] {
                let other = s * s / (q * q - s);
                offer(Action::Estimate { place, alpha: other }, part(other, s, q) - part(alpha, s, q));
            } else if self.basis.chosen.len() > 1 {
                offer(Action::Delete { place }, -part(alpha, s.max(0.0), q));
            }
        }
        for c in (0..constant).filter(|&c| !inside[c] && !barred[c]) {
            if let Some((action, gain)) = self.addition(c, problem) {
                offer(action, gain);
            }
        }
        best
    }

    /// The exchange of a column of the model for another that raises the evidence most, where no single action does: both actions, to be
    /// done in this order, and the gain of each. Cost: n m^2.
    pub fn best_exchange(&self, problem: &Problem, barred: &[bool], watch: &Watch) -> Option<[(Action, f64); 2]> {
        let mut best: Option<[(Action, f64); 2]> = None;
        for (place, &c) in self.basis.chosen.iter().enumerate() {
            if c == problem.design.rows() || barred[c] || watch.cancelled() {
                continue;
            }
            let (s, q) = self.without(place);
            let loss = -part(self.basis.alpha[place], s.max(0.0), q);
            let mut other = self.clone();
            other.apply(Action::Delete { place }, loss, problem, watch);
            let Some((column, gain)) = other.best_addition(problem, barred, c) else { continue };
            let pair = [(Action::Delete { place }, loss), (column, gain)];
            if best.is_none_or(|best| loss + gain > best[0].1 + best[1].1) {
                best = Some(pair);
            }
        }
        best
    }

    /// The best column to add, other than `not` and those in the model.
    fn best_addition(&self, problem: &Problem, barred: &[bool], not: usize) -> Option<(Action, f64)> {
        let mut open = barred.iter().map(|barred| !barred).collect::<Vec<_>>();
        for &c in self.basis.chosen.iter().chain([&not]) {
            open.iter_mut().skip(c).take(1).for_each(|open| *open = false);
        }
        let offers = (0..open.len()).filter(|&c| open[c]).filter_map(|c| self.addition(c, problem));
        offers.reduce(|best, offer| if offer.1 > best.1 { offer } else { best })
    }

    /// The columns of the model, and as many others as given, of those whose addition gains most.
    pub fn shortlist(&self, count: usize, problem: &Problem, barred: &[bool]) -> Vec<usize> {
        let mut inside = vec![false; self.s.len()];
        self.basis.chosen.iter().for_each(|&c| inside[c] = true);
        let outside = (0..barred.len()).filter(|&c| !inside[c] && !barred[c]);
        let mut gains: Vec<(usize, f64)> = outside.filter_map(|c| self.addition(c, problem).map(|(_, gain)| (c, gain))).collect();
        gains.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        self.basis.chosen.iter().copied().chain(gains.iter().take(count).map(|(c, _)| *c)).collect()
    }

    /// What adding a column would gain; None where it would not.
    fn addition(&self, c: usize, problem: &Problem) -> Option<(Action, f64)> {
        let (s, q) = (self.s[c], self.q[c]);
        if !(q * q > s && s > DEPENDENT * problem.squares[c]) {
            return None;
        }
        let alpha = s * s / (q * q - s);
        Some((Action::Add { column: c, alpha }, part(alpha, s, q))).filter(|(_, gain)| gain.is_finite())
    }

    /// The basis without every second of its columns in the order of their worth, beginning with the least or the one above it.
    pub fn half(&self, first: usize) -> Basis {
        let m = self.basis.chosen.len();
        let constant = self.s.len() - 1;
        let worth = |&place: &usize| {
            let (s, q) = self.without(place);
            part(self.basis.alpha[place], s.max(0.0), q)
        };
        let mut order: Vec<usize> = (0..m).filter(|&place| self.basis.chosen[place] != constant).collect();
        order.sort_by(|a, b| worth(a).total_cmp(&worth(b)));
        let mut gone: Vec<usize> = order.into_iter().skip(first).step_by(2).collect();
        gone.sort_unstable();
        let mut basis = self.basis.clone();
        for place in gone.into_iter().rev().filter(|_| m > 1) {
            basis.remove(place);
        }
        basis
    }

    /// The column that an action is about.
    pub fn column_of(&self, action: Action) -> usize {
        match action {
            Action::Add { column, .. } => column,
            Action::Estimate { place, .. } | Action::Delete { place } => self.basis.chosen[place],
        }
    }

    /// Does an action whose gain is known.
    pub fn apply(&mut self, action: Action, gain: f64, problem: &Problem, watch: &Watch) {
        self.evidence += gain;
        match action {
            Action::Add { column, alpha } => self.add(column, alpha, problem, watch),
            Action::Estimate { place, alpha } => {
                let change = alpha - self.basis.alpha[place];
                if change != 0.0 {
                    self.shift(place, 1.0 / (self.sigma.at(place, place) + 1.0 / change));
                }
                self.basis.alpha[place] = alpha;
            }
            Action::Delete { place } => {
                self.shift(place, 1.0 / self.sigma.at(place, place));
                self.remove(place);
            }
        }
    }

    fn add(&mut self, column: usize, alpha: f64, problem: &Problem, watch: &Watch) {
        let values = problem.design.column(column, watch);
        let weighted: Vec<f64> = values.iter().zip(problem.weights).map(|(v, b)| v * b).collect();
        let product = match problem.open {
            None => problem.design.product(&weighted, watch),
            Some(open) => problem.design.product_with(open, &weighted, watch),
        };
        let m = self.basis.chosen.len();
        let crossed: Vec<f64> = self.basis.chosen.iter().map(|&c| product[c]).collect();
        let v: Vec<f64> = (0..m).map(|i| dot(self.sigma.row(i), &crossed)).collect();
        let variance = 1.0 / (alpha + self.s[column]);
        let mean = variance * self.q[column];
        // What the new column has beyond those of the model, along every column.
        let mut beyond = product.clone();
        for (i, v) in v.iter().enumerate() {
            add_multiple(&mut beyond, -v, self.products.row(i));
        }
        for ((s, q), e) in self.s.iter_mut().zip(&mut self.q).zip(&beyond) {
            *s -= variance * e * e;
            *q -= mean * e;
        }
        let old = &self.sigma;
        self.sigma = Matrix::from_fn(m + 1, m + 1, |i, j| match (i < m, j < m) {
            (true, true) => old.at(i, j) + variance * v[i] * v[j],
            (true, false) => -variance * v[i],
            (false, true) => -variance * v[j],
            (false, false) => variance,
        });
        self.basis.mean.iter_mut().zip(&v).for_each(|(to, v)| *to -= mean * v);
        self.basis.mean.push(mean);
        self.basis.chosen.push(column);
        self.basis.alpha.push(alpha);
        self.basis.columns.push(&values);
        self.products.push(&product);
    }

    /// Sigma loses `factor` times the outer product of its column `place` with itself, and all else follows.
    fn shift(&mut self, place: usize, factor: f64) {
        let column = self.sigma.row(place).to_vec();
        let along = self.products.combined(&column);
        let mean = self.basis.mean[place];
        for ((s, q), e) in self.s.iter_mut().zip(&mut self.q).zip(&along) {
            *s += factor * e * e;
            *q += factor * mean * e;
        }
        for (i, &value) in column.iter().enumerate() {
            add_multiple(self.sigma.row_mut(i), -factor * value, &column);
            self.basis.mean[i] -= factor * mean * value;
        }
    }

    fn remove(&mut self, place: usize) {
        let m = self.basis.chosen.len();
        let kept: Vec<usize> = (0..m).filter(|&i| i != place).collect();
        self.sigma = Matrix::from_fn(m - 1, m - 1, |i, j| self.sigma.at(kept[i], kept[j]));
        self.basis.remove(place);
        self.products.remove(place);
    }
}
