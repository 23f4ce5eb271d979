//! The distance in feature space as a function of all vectors together.
//!
//! `J(Z, B) = sum_k ||Psi_k||^2 - 2 <B, K^zx A> + <B, K^z B>`. With coefficients eliminated, `B = (K^z)^-1 K^zx A` [Schoelkopf1998 (17)], its
//! gradient with respect to Z is that of J with B held fixed, because J is stationary in B.
//!
//! Cost of a value with its gradient: 2 N m d + 2 m^2 d + m^3 / 3.
use super::target::Target;
use crate::{
    basis::{
        JITTER,
        field::{Field, Workspace, add_gradient},
    },
    data::Points,
    linalg::{Cholesky, Matrix, dot},
};

/// J as a function of Z.
pub(super) struct Distance<'a> {
    pub target: &'a Target,
    workspace: Workspace,
    own: Workspace,
}

/// Z with what every form of the objective needs of it.
struct Place {
    vectors: Field,
    matrix: Matrix,
    products: Matrix,
}

impl<'a> Distance<'a> {
    pub fn new(target: &'a Target) -> Self {
        Distance { target, workspace: Workspace::default(), own: Workspace::default() }
    }

    /// Kernel values between Z and the target, and their sums, in single precision or not.
    pub fn set_single(&mut self, single: bool) {
        self.workspace.single = single;
    }

    /// The value with coefficients eliminated, and the gradient with respect to Z. Infinite where the kernel matrix cannot be factored.
    pub fn eliminated(&mut self, z: &[f64], gradient: &mut [f64]) -> f64 {
        let place = self.look(z);
        let Some(beta) = solve(&place.matrix, &place.products) else { return f64::INFINITY };
        self.gradient(z, &place.vectors, &beta, gradient);
        self.target.norm - dot(beta.values(), place.products.values())
    }

    /// The coefficients that are optimal for Z.
    pub fn coefficients(&mut self, z: &[f64]) -> Option<Matrix> {
        let place = self.look(z);
        solve(&place.matrix, &place.products)
    }

    /// The value for both, and the gradients with respect to Z and to B, one after the other.
    pub fn joint(&mut self, z: &[f64], beta: &Matrix, gradient: &mut [f64]) -> f64 {
        let place = self.look(z);
        let (for_vectors, for_coefficients) = gradient.split_at_mut(z.len());
        self.gradient(z, &place.vectors, beta, for_vectors);
        let columns = beta.transposed();
        let mut value = self.target.norm;
        for (u, row) in place.matrix.iter().enumerate() {
            for k in 0..beta.cols() {
                let (product, own) = (place.products.at(u, k), dot(row, columns.row(k)));
                value += beta.at(u, k) * (own - 2.0 * product);
                for_coefficients[u * beta.cols() + k] = 2.0 * (own - product);
            }
        }
        value
    }

    fn look(&mut self, z: &[f64]) -> Place {
        let dim = self.target.shift.len();
        let vectors = Matrix::new(z.to_vec(), z.len() / dim.max(1), dim).unwrap_or_default();
        let points = Points::from(vectors.clone());
        let products = self.target.field.values_times(&points, &self.target.coefficients, &mut self.workspace);
        let vectors = Field::new(&self.target.kernel, vectors);
        vectors.values_times(&points, &Matrix::zeros(points.len(), 0), &mut self.own);
        Place { matrix: self.own.values(points.len()), vectors, products }
    }

    fn gradient(&mut self, z: &[f64], vectors: &Field, beta: &Matrix, out: &mut [f64]) {
        out.fill(0.0);
        let sums = self.target.field.gradient_sums(beta, &self.target.coefficients, &mut self.workspace);
        add_gradient(&self.target.kernel, z, &sums, -2.0, out);
        let own = vectors.gradient_sums(beta, beta, &mut self.own);
        add_gradient(&self.target.kernel, z, &own, 2.0, out);
    }
}

/// `(K + jitter)^-1 b`.
fn solve(matrix: &Matrix, b: &Matrix) -> Option<Matrix> {
    let mut raised = matrix.clone();
    let largest = (0..raised.rows()).map(|i| raised.at(i, i)).fold(0.0, f64::max);
    (0..raised.rows()).for_each(|i| raised.row_mut(i)[i] += JITTER * largest);
    let mut solution = b.clone();
    Cholesky::new(&raised)?.solve(&mut solution);
    solution.values().iter().all(|v| v.is_finite()).then_some(solution)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        compress::{Task, toy},
        kernel::Kernel,
    };

    #[test]
    fn gradients_agree_with_differences_for_every_smooth_kernel() {
        for kernel in Kernel::examples().into_iter().filter(|k| k.profile().definite() && k.profile().smooth() && k.name() != "linear") {
            for outputs in [1, 3] {
                let machine = toy::machine(kernel.clone(), 30, outputs);
                let target = Target::of(&Task::of(&machine), "test").unwrap();
                let mut distance = Distance::new(&target);
                let z: Vec<f64> = (0..12).map(|i| (i as f64 * 1.3).sin()).collect();
                let beta = Matrix::from_fn(4, outputs, |i, k| ((i + 3 * k) as f64).cos());
                let (mut eliminated, mut joint, mut unused) = (vec![0.0; 12], vec![0.0; 12 + 4 * outputs], vec![0.0; 12 + 4 * outputs]);
                distance.eliminated(&z, &mut eliminated);
                distance.joint(&z, &beta, &mut joint);
                for j in 0..12 + 4 * outputs {
                    let mut value = |step: f64| {
                        let (mut z, mut beta) = (z.clone(), beta.clone());
                        if j < 12 {
                            z[j] += step
                        } else {
                            beta.values_mut()[j - 12] += step
                        }
                        let both = distance.joint(&z, &beta, &mut unused);
                        (distance.eliminated(&z, &mut unused[..12]), both)
                    };
                    let (up, down) = (value(1e-5), value(-1e-5));
                    let slope = (up.1 - down.1) / 2e-5;
                    assert!((joint[j] - slope).abs() < 1e-6 * (1.0 + target.norm), "{} joint {j}: {} {slope}", kernel.name(), joint[j]);
                    if j < 12 {
                        let slope = (up.0 - down.0) / 2e-5;
                        let tolerance = 1e-6 * (1.0 + target.norm);
                        assert!((eliminated[j] - slope).abs() < tolerance, "{} {j}: {} {slope}", kernel.name(), eliminated[j]);
                    }
                }
            }
        }
    }
}
