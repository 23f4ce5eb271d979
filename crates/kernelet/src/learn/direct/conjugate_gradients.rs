//! Conjugate gradients for systems of several columns at once.
use crate::linalg::{Matrix, dot};

const MOST_STEPS: usize = 200;

/// The step to the minimum of the quadratic with this gradient, whose second derivatives times a direction `curved` gives: by conjugate
/// gradients that leave the part `left` of the residual, with a preconditioner that `solved` applies. None where `curved` gives none.
pub(crate) fn conjugate_gradients(
    solved: impl Fn(&Matrix) -> Matrix,
    left: f64,
    gradient: &Matrix,
    mut curved: impl FnMut(&Matrix) -> Option<Matrix>,
) -> Option<Matrix> {
    let stop = left * left;
    let mut rest = Matrix::from_fn(gradient.rows(), gradient.cols(), |j, k| -gradient.at(j, k));
    let mut step = Matrix::zeros(gradient.rows(), gradient.cols());
    let mut scaled = solved(&rest);
    let mut direction = scaled.clone();
    let mut left = dot(rest.values(), scaled.values());
    let enough = stop * left;
    for _ in 0..MOST_STEPS {
        if left <= enough || !left.is_finite() {
            break;
        }
        let bent = curved(&direction)?;
        let far = left / dot(direction.values(), bent.values());
        if !(far.is_finite() && far > 0.0) {
            break;
        }
        add(&mut step, far, &direction);
        add(&mut rest, -far, &bent);
        scaled = solved(&rest);
        let before = std::mem::replace(&mut left, dot(rest.values(), scaled.values()));
        let kept = left / before;
        direction.values_mut().iter_mut().zip(scaled.values()).for_each(|(d, s)| *d = s + kept * *d);
    }
    Some(step)
}

/// Adds `factor` times `what`.
pub(crate) fn add(to: &mut Matrix, factor: f64, what: &Matrix) {
    to.values_mut().iter_mut().zip(what.values()).for_each(|(to, what)| *to += factor * what);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Cholesky;

    #[test]
    fn the_step_solves_the_system_whatever_the_preconditioner() {
        let system = Matrix::from_fn(5, 5, |i, j| if i == j { 4.0 + i as f64 } else { 1.0 / (1 + i + j) as f64 });
        let gradient = Matrix::from_fn(5, 2, |i, k| (i as f64 - 2.0) * (k as f64 + 1.0) + 0.5);
        let curved = |x: &Matrix| Some(Matrix::from_fn(5, 2, |i, k| dot(system.row(i), &x.col(k))));
        let mut want = Matrix::from_fn(5, 2, |i, k| -gradient.at(i, k));
        Cholesky::new(&system).unwrap().solve(&mut want);
        for scale in [1.0, 0.2] {
            let solved = |rest: &Matrix| Matrix::from_fn(5, 2, |i, k| scale * rest.at(i, k));
            let step = conjugate_gradients(solved, 1e-10, &gradient, curved).unwrap();
            assert!(step.values().iter().zip(want.values()).all(|(a, b)| (a - b).abs() < 1e-9));
        }
        assert!(conjugate_gradients(Matrix::clone, 0.1, &gradient, |_| None).is_none());
    }
}
