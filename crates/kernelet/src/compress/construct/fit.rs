//! The squared error of the outputs on rows as a function of all vectors together.
//!
//! `J(Z) = min over B of sum_i w_i |f(x_i) - B'k_z(x_i)|^2 + lambda <B, K^z B>`, where lambda is tiny and only keeps B determined. With
//! `R = F - K'B` the gradient with respect to Z is `-2 sum_ui w_i (B R')_ui grad k(z_u, x_i)` plus lambda times that of the penalty.
//!
//! Cost of a value with its gradient: 2 n m d + n m^2.
use super::target::Target;
use crate::{
    Result,
    basis::field::{Field, Workspace, add_gradient},
    data::Points,
    kernel::Kernel,
    linalg::{Cholesky, Matrix, dot, product_transposed, weighted_gram},
    machine::{Decision, Machine, inner_products},
};

/// The penalty, as a fraction of the mean square that the outputs are fitted with.
const PENALTY: f64 = 1e-8;

/// J as a function of Z.
pub(super) struct Fit {
    kernel: Kernel,
    rows: Field,
    /// f without offsets: one row for each row.
    outputs: Matrix,
    weights: Vec<f64>,
    weighted: Matrix,
    square: f64,
    lambda: f64,
    workspace: Workspace,
    own: Workspace,
}

impl Fit {
    /// Rows in the space of the machine's vectors. With `near` rows count the more the nearer they are to the decision.
    pub fn new(machine: &Machine, target: &Target, rows: &Points, near: bool) -> Result<Fit> {
        let outputs = inner_products(&machine.expansion, rows)?;
        let weights: Vec<f64> = match near {
            true => (0..rows.len()).map(|i| 1.0 / (1.0 + margin(machine, outputs.row(i)).powi(2))).collect(),
            false => vec![1.0; rows.len()],
        };
        let weighted = Matrix::from_fn(rows.len(), outputs.cols(), |i, k| weights[i] * outputs.at(i, k));
        let square = dot(weighted.values(), outputs.values());
        let lambda = PENALTY * weights.iter().sum::<f64>();
        let field = Field::new(&target.kernel, target.inside(rows));
        let kernel = target.kernel.clone();
        Ok(Fit {
            kernel,
            rows: field,
            outputs,
            weights,
            weighted,
            square,
            lambda,
            workspace: Workspace::default(),
            own: Workspace::default(),
        })
    }

    /// The value with coefficients eliminated, and the gradient with respect to Z. Infinite where the coefficients are not determined.
    pub fn eliminated(&mut self, z: &[f64], gradient: &mut [f64]) -> f64 {
        let Some((vectors, beta, products)) = self.solve(z) else { return f64::INFINITY };
        let (n, m, q) = (self.rows.len(), vectors.len(), beta.cols());
        let values = self.workspace.values(n).transposed();
        let mut fitted = vec![0.0; n * q];
        product_transposed(values.values(), beta.transposed().values(), m, &mut fitted);
        let error = Matrix::from_fn(n, q, |i, k| self.weighted.at(i, k) - self.weights[i] * fitted[i * q + k]);
        gradient.fill(0.0);
        add_gradient(&self.kernel, z, &self.rows.gradient_sums(&beta, &error, &mut self.workspace), -2.0, gradient);
        add_gradient(&self.kernel, z, &vectors.gradient_sums(&beta, &beta, &mut self.own), 2.0 * self.lambda, gradient);
        self.square - dot(beta.values(), products.values())
    }

    /// The coefficients that are optimal for Z.
    pub fn coefficients(&mut self, z: &[f64]) -> Option<Matrix> {
        self.solve(z).map(|(_, beta, _)| beta)
    }

    /// The weighted squared error of given outputs without offsets.
    pub fn error_of(&self, outputs: &Matrix) -> f64 {
        let square = |i: usize| self.outputs.row(i).iter().zip(outputs.row(i)).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
        (0..self.outputs.rows()).map(|i| self.weights[i] * square(i)).sum()
    }

    fn solve(&mut self, z: &[f64]) -> Option<(Field, Matrix, Matrix)> {
        let dim = self.rows.points().cols();
        let vectors = Matrix::new(z.to_vec(), z.len() / dim.max(1), dim)?;
        let points = Points::from(vectors.clone());
        let products = self.rows.values_times(&points, &self.weighted, &mut self.workspace);
        let vectors = Field::new(&self.kernel, vectors);
        vectors.values_times(&points, &Matrix::zeros(points.len(), 0), &mut self.own);
        let (own, values) = (self.own.values(points.len()), self.workspace.values(self.rows.len()).transposed());
        let mut square = weighted_gram(&values, &self.weights);
        let trace: f64 = (0..square.rows()).map(|u| square.at(u, u)).sum();
        for u in 0..square.rows() {
            square.row_mut(u).iter_mut().zip(own.row(u)).for_each(|(s, o)| *s += self.lambda * o);
            // Vectors that meet leave the penalty singular too.
            square.row_mut(u)[u] += 1e-14 * trace;
        }
        let mut beta = products.clone();
        Cholesky::new(&square)?.solve(&mut beta);
        beta.values().iter().all(|v| v.is_finite()).then_some((vectors, beta, products))
    }
}

/// How far a row is from the decision: |f|, or what the largest output is ahead of the next.
fn margin(machine: &Machine, outputs: &[f64]) -> f64 {
    let mut values: Vec<f64> = outputs.iter().zip(&machine.offsets).map(|(o, b)| o + b).collect();
    if let Decision::Largest { .. } = machine.decision {
        values.sort_by(|a, b| b.total_cmp(a));
        return values.first().zip(values.get(1)).map_or(0.0, |(a, b)| a - b);
    }
    values.iter().map(|v| v.abs()).fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compress::{Task, toy};

    #[test]
    fn the_gradient_agrees_with_differences_and_the_value_with_the_definition() {
        for (kernel, outputs) in
            [(Kernel::gaussian(0.5), 1), (Kernel::gaussian(0.5), 3), (Kernel::named("polynomial", 0.5, 3, 1.0).unwrap(), 2)]
        {
            let machine = toy::machine(kernel.clone(), 30, outputs);
            let target = Target::of(&Task::of(&machine), "test").unwrap();
            for near in [false, true] {
                let rows = toy::rows(50).points;
                let mut fit = Fit::new(&machine, &target, &rows, near).unwrap();
                let z: Vec<f64> = (0..12).map(|i| (i as f64 * 1.3).sin()).collect();
                let (mut gradient, mut unused) = (vec![0.0; 12], vec![0.0; 12]);
                let value = fit.eliminated(&z, &mut gradient);
                let beta = fit.coefficients(&z).unwrap();
                let inside = target.inside(&rows);
                let outputs_of =
                    |i: usize, k: usize| (0..4).map(|u| beta.at(u, k) * kernel.eval(&z[3 * u..3 * u + 3], inside.row(i))).sum();
                let direct = fit.error_of(&Matrix::from_fn(50, outputs, outputs_of));
                assert!((value - direct).abs() < 1e-5 * fit.square, "{value} {direct}");
                for j in 0..12 {
                    let mut at = |step: f64| {
                        let mut z = z.clone();
                        z[j] += step;
                        fit.eliminated(&z, &mut unused)
                    };
                    let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
                    assert!((gradient[j] - slope).abs() < 1e-6 * fit.square, "{} {j}: {} {slope}", kernel.name(), gradient[j]);
                }
            }
        }
    }
}
