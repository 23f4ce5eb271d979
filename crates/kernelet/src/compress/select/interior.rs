//! Least squares with a penalty on the largest coefficient of each row, on few candidates: an interior-point method.
//!
//! `min sum_k (1/2 b_k'K b_k - v_k'b_k) + sum_i c_i t_i` subject to `-t_i <= b_ik <= t_i`, half of [Weston2004 (5)]. In each step, with S_k and
//! E_k the sum and the difference of multipliers over slacks, the equations `(K + S_k) db_k + E_k dt = g_k` are eliminated output by
//! output, and `sum_k (S_k - E_k (K + S_k)^-1 E_k)` remains for dt: the cost is that of q small problems, not of one with all m q unknowns.
//!
//! Cost: about 2 q m^3 a step, some 15 to 30 steps; the outputs are on all threads.
use crate::parallel::*;

use crate::linalg::{Cholesky, Lower, Matrix, dot, outer_product, rows_times};

/// The steps end when the gap between the two problems is this part of the objective.
const GAP: f64 = 1e-11;

const STEPS: usize = 80;

/// The coefficients, one row for each output.
pub(super) fn solve(gram: &Matrix, values: &Matrix, penalties: &[f64]) -> Matrix {
    let mut point = Point::new(gram, values, penalties);
    for _ in 0..STEPS {
        let gap = point.gap();
        if gap <= GAP * point.objective_size() && point.stationary() {
            break;
        }
        let Some(system) = System::new(&point) else { break };
        let zero = Matrix::zeros(values.rows(), gram.rows());
        let forward = point.direction(&system, 0.0, &zero, &zero);
        let (step, _) = point.longest(&forward);
        let after = point.moved_gap(&forward, step);
        let centre = (after / gap).powi(3) * gap / (2 * values.values().len()) as f64;
        let both = point.direction(
            &system,
            centre,
            &products(&forward.upper, &forward.upper_dual),
            &products(&forward.lower, &forward.lower_dual),
        );
        let (step, _) = point.longest(&both);
        if step < 1e-12 {
            break;
        }
        point.step(&both, 0.99 * step.min(1.0 / 0.99));
    }
    point.b
}

fn products(a: &Matrix, b: &Matrix) -> Matrix {
    Matrix::from_fn(a.rows(), a.cols(), |i, j| a.at(i, j) * b.at(i, j))
}

/// Where the method stands. Matrices have one row for each output.
struct Point<'a> {
    gram: &'a Matrix,
    values: &'a Matrix,
    penalties: &'a [f64],
    b: Matrix,
    t: Vec<f64>,
    /// `t - b` and `t + b`.
    upper: Matrix,
    lower: Matrix,
    upper_dual: Matrix,
    lower_dual: Matrix,
    /// `K b - v`.
    gradient: Matrix,
}

/// A step, or a direction of one.
struct Step {
    b: Matrix,
    t: Vec<f64>,
    upper: Matrix,
    lower: Matrix,
    upper_dual: Matrix,
    lower_dual: Matrix,
}

/// The factors of the equations at a point.
struct System {
    factors: Vec<Lower>,
    reduced: Cholesky,
    /// E_k.
    differences: Matrix,
}

impl System {
    /// None where the factors do not exist, which ends the run at the best point so far.
    fn new(point: &Point) -> Option<System> {
        let (q, m) = (point.b.rows(), point.b.cols());
        let sums = point.combined(1.0);
        let differences = point.combined(-1.0);
        let part = |k: usize| {
            let shifted =
                Matrix::from_fn(m, m, |i, j| point.gram.at(i, j) + if i == j { sums.at(k, i) * (1.0 + 1e-15) + 1e-15 } else { 0.0 });
            let lower = Cholesky::new(&shifted)?.lower();
            // Rows are L^-1 E e_i, so that their products are E (K + S)^-1 E.
            let mut rows = Matrix::from_fn(m, m, |i, j| if i == j { differences.at(k, i) } else { 0.0 });
            lower.solve_rows(rows.values_mut());
            Some((lower, outer_product(&rows)))
        };
        let parts: Vec<(Lower, Matrix)> = (0..q).into_par_iter().map(part).collect::<Option<_>>()?;
        let mut reduced = Matrix::zeros(m, m);
        let mut factors = vec![];
        for (k, (lower, product)) in parts.into_iter().enumerate() {
            reduced.values_mut().iter_mut().zip(product.values()).for_each(|(r, p)| *r -= p);
            (0..m).for_each(|i| reduced.row_mut(i)[i] += sums.at(k, i));
            factors.push(lower);
        }
        let largest = (0..m).map(|i| reduced.at(i, i)).fold(0.0, f64::max);
        let factor = [0.0, 1e-15, 1e-13, 1e-11].into_iter().find_map(|part| {
            let mut raised = reduced.clone();
            (0..m).for_each(|i| raised.row_mut(i)[i] += part * largest);
            Cholesky::new(&raised)
        })?;
        Some(System { factors, reduced: factor, differences })
    }
}

impl<'a> Point<'a> {
    fn new(gram: &'a Matrix, values: &'a Matrix, penalties: &'a [f64]) -> Self {
        let (q, m) = (values.rows(), gram.rows());
        let reach = |i: usize| values.col(i).iter().fold(0.0, |a: f64, v| a.max(v.abs())) / gram.at(i, i).max(f64::MIN_POSITIVE);
        let size = (0..m).map(reach).fold(f64::MIN_POSITIVE, f64::max);
        let duals = Matrix::from_fn(q, m, |_, i| penalties[i] / (2 * q) as f64);
        let mut gradient = values.clone();
        gradient.values_mut().iter_mut().for_each(|g| *g = -*g);
        let slack = Matrix::from_fn(q, m, |_, _| size);
        Point {
            gram,
            values,
            penalties,
            b: Matrix::zeros(q, m),
            t: vec![size; m],
            upper: slack.clone(),
            lower: slack,
            upper_dual: duals.clone(),
            lower_dual: duals,
            gradient,
        }
    }

    /// S for sign 1, E for sign -1: multipliers over slacks, lower plus or minus upper.
    fn combined(&self, sign: f64) -> Matrix {
        let part = |k, i| self.lower_dual.at(k, i) / self.lower.at(k, i) + sign * self.upper_dual.at(k, i) / self.upper.at(k, i);
        Matrix::from_fn(self.b.rows(), self.b.cols(), part)
    }

    fn gap(&self) -> f64 {
        dot(self.upper.values(), self.upper_dual.values()) + dot(self.lower.values(), self.lower_dual.values())
    }

    fn objective_size(&self) -> f64 {
        let quadratic = 0.5 * (dot(self.b.values(), self.gradient.values()) - dot(self.b.values(), self.values.values()));
        quadratic.abs() + dot(&self.t, self.penalties)
    }

    /// True when the multipliers account for the gradient to 1e-9 of the penalty.
    fn stationary(&self) -> bool {
        let (q, m) = (self.b.rows(), self.b.cols());
        (0..m).all(|i| {
            let off = |k: usize| (self.gradient.at(k, i) + self.upper_dual.at(k, i) - self.lower_dual.at(k, i)).abs();
            (0..q).all(|k| off(k) <= 1e-9 * self.penalties[i])
        })
    }

    /// The direction in which products of slack and multiplier become `centre` less the given corrections.
    fn direction(&self, system: &System, centre: f64, upper: &Matrix, lower: &Matrix) -> Step {
        let (q, m) = (self.b.rows(), self.b.cols());
        let aim_upper = Matrix::from_fn(q, m, |k, i| (centre - upper.at(k, i)) / self.upper.at(k, i));
        let aim_lower = Matrix::from_fn(q, m, |k, i| (centre - lower.at(k, i)) / self.lower.at(k, i));
        let right = Matrix::from_fn(q, m, |k, i| -self.gradient.at(k, i) - aim_upper.at(k, i) + aim_lower.at(k, i));
        let mut dt: Vec<f64> =
            (0..m).map(|i| (0..q).map(|k| aim_upper.at(k, i) + aim_lower.at(k, i)).sum::<f64>() - self.penalties[i]).collect();
        let solved = |k: usize, mut row: Vec<f64>| {
            system.factors[k].solve_rows(&mut row);
            system.factors[k].solve_rows_transposed(&mut row);
            row
        };
        for k in 0..q {
            let x = solved(k, right.row(k).to_vec());
            (0..m).for_each(|i| dt[i] -= system.differences.at(k, i) * x[i]);
        }
        let mut column = Matrix::column(dt);
        system.reduced.solve(&mut column);
        let t = column.into_values();
        let mut b = Matrix::zeros(q, m);
        for k in 0..q {
            let rest = (0..m).map(|i| right.at(k, i) - system.differences.at(k, i) * t[i]).collect();
            b.row_mut(k).copy_from_slice(&solved(k, rest));
        }
        let upper = Matrix::from_fn(q, m, |k, i| t[i] - b.at(k, i));
        let lower = Matrix::from_fn(q, m, |k, i| t[i] + b.at(k, i));
        let dual = |aim: &Matrix, dual: &Matrix, slack: &Matrix, step: &Matrix| {
            Matrix::from_fn(q, m, |k, i| aim.at(k, i) - dual.at(k, i) - dual.at(k, i) / slack.at(k, i) * step.at(k, i))
        };
        let upper_dual = dual(&aim_upper, &self.upper_dual, &self.upper, &upper);
        let lower_dual = dual(&aim_lower, &self.lower_dual, &self.lower, &lower);
        Step { b, t, upper, lower, upper_dual, lower_dual }
    }

    fn pairs<'b>(&'b self, step: &'b Step) -> [(&'b Matrix, &'b Matrix); 4] {
        [(&self.upper, &step.upper), (&self.lower, &step.lower), (&self.upper_dual, &step.upper_dual), (&self.lower_dual, &step.lower_dual)]
    }

    /// The longest feasible step along a direction, at most 1, and whether it is the full step.
    fn longest(&self, step: &Step) -> (f64, bool) {
        let mut longest = 1.0_f64;
        for (now, change) in self.pairs(step) {
            for (now, change) in now.values().iter().zip(change.values()) {
                if now + longest * change < 0.0 {
                    longest = -now / change;
                }
            }
        }
        (longest, longest == 1.0)
    }

    fn moved_gap(&self, step: &Step, length: f64) -> f64 {
        let gap = |slack: (&Matrix, &Matrix), dual: (&Matrix, &Matrix)| -> f64 {
            let at = |(now, change): (&Matrix, &Matrix), j: usize| now.values()[j] + length * change.values()[j];
            (0..slack.0.values().len()).map(|j| at(slack, j) * at(dual, j)).sum()
        };
        let [upper, lower, upper_dual, lower_dual] = self.pairs(step);
        gap(upper, upper_dual) + gap(lower, lower_dual)
    }

    fn step(&mut self, step: &Step, length: f64) {
        let add = |to: &mut Matrix, change: &Matrix| to.values_mut().iter_mut().zip(change.values()).for_each(|(a, b)| *a += length * b);
        add(&mut self.b, &step.b);
        add(&mut self.upper, &step.upper);
        add(&mut self.lower, &step.lower);
        add(&mut self.upper_dual, &step.upper_dual);
        add(&mut self.lower_dual, &step.lower_dual);
        self.t.iter_mut().zip(&step.t).for_each(|(t, s)| *t += length * s);
        self.gradient = rows_times(&self.b, self.gram);
        self.gradient.values_mut().iter_mut().zip(self.values.values()).for_each(|(g, v)| *g -= v);
    }
}
