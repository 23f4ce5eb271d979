//! What construction works on: the machine's expansion in dense, centred coordinates.
use crate::{
    Error, Result,
    basis::{
        check_definite,
        field::{Field, check_dense},
    },
    compress::Task,
    data::Points,
    kernel::{Argument, Kernel},
    linalg::{Matrix, dot},
    machine::inner_products,
};

/// `Psi_k = sum_i a_ik Phi(x_i)`.
pub(super) struct Target {
    pub kernel: Kernel,
    pub field: Field,
    /// One row for each vector, one column for each output.
    pub coefficients: Matrix,
    /// Taken off every point, so that gradients keep their digits far from the origin; zero for kernels that are functions of x.z.
    pub shift: Vec<f64>,
    /// The values `<Psi_k, Phi(x_i)>`.
    pub values: Matrix,
    /// `sum_k ||Psi_k||^2`.
    pub norm: f64,
    /// The root mean square distance of the vectors from their mean, the length that steps are measured by.
    pub radius: f64,
}

impl Target {
    pub fn of(task: &Task, method: &'static str) -> Result<Target> {
        let expansion = &task.machine.expansion;
        let (kernel, vectors) = (expansion.kernel.clone(), &expansion.vectors);
        check_smooth(&kernel, method)?;
        check_dense("construction", vectors, vectors.len())?;
        let coefficients = expansion.coefficients.to_dense();
        let values = inner_products(expansion, vectors)?;
        let norm = dot(coefficients.values(), values.values()).max(0.0);
        let mut points = vectors.to_dense();
        let mean = mean(&points);
        let spread: f64 = points.iter().map(|row| row.iter().zip(&mean).map(|(x, m)| (x - m).powi(2)).sum::<f64>()).sum();
        let shift = if radial(&kernel) { mean } else { vec![0.0; points.cols()] };
        move_by(&mut points, &shift, -1.0);
        let radius = (spread / points.rows().max(1) as f64).sqrt();
        // A single vector has no spread; any length will do then, and that of the vector is at hand.
        let radius = if radius > 0.0 { radius } else { dot(vectors.to_dense().row(0), vectors.to_dense().row(0)).sqrt().max(1.0) };
        Ok(Target { field: Field::new(&kernel, points), kernel, coefficients, shift, values, norm, radius })
    }

    /// Points in the coordinates of the target.
    pub fn inside(&self, points: &Points) -> Matrix {
        let mut points = points.to_dense();
        move_by(&mut points, &self.shift, -1.0);
        points
    }

    /// Points in the coordinates of the machine.
    pub fn outside(&self, mut points: Matrix) -> Points {
        move_by(&mut points, &self.shift, 1.0);
        points.into()
    }
}

/// True for functions of the distance.
pub(super) fn radial(kernel: &Kernel) -> bool {
    kernel.profile().argument() == Argument::SquaredDistance
}

fn move_by(points: &mut Matrix, shift: &[f64], sign: f64) {
    for i in 0..points.rows() {
        points.row_mut(i).iter_mut().zip(shift).for_each(|(x, s)| *x += sign * s);
    }
}

fn mean(points: &Matrix) -> Vec<f64> {
    let mut mean = vec![0.0; points.cols()];
    for row in points.iter() {
        mean.iter_mut().zip(row).for_each(|(m, x)| *m += x / points.rows() as f64);
    }
    mean
}

/// Gradients with respect to a vector must exist, and a feature space to project in.
fn check_smooth(kernel: &Kernel, method: &'static str) -> Result<()> {
    check_definite(kernel)?;
    if kernel.profile().smooth() {
        return Ok(());
    }
    Err(Error::Unsupported {
        method,
        with: format!("the {} kernel, which is not differentiable where vectors coincide", kernel.name()),
        instead: "use pursuit, or train with the gaussian kernel".into(),
    })
}
