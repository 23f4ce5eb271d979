//! The directions: one factor for all classes.
//!
//! In the notation of [`Scatter`], with the unit vectors Q of the classes and `G = D^1/2 K D^1/2`, the means of the classes have the
//! coefficients `D^1/2 Q diag(class weight)^-1/2`, and the scatter is `Phi' D^1/2 P D^1/2 Phi`. For means combined by the columns of H,
//! `d = Phi' D^1/2 Q H`:
//!
//! ```text
//! weight        (B + lambda I)^-1 d   has the coefficients  D^1/2 (Q H - (P G P + lambda I)^-1 P G Q H) / lambda      [Wu2006 (49)]
//! coefficients  (K Z K + lambda I) a = K D^1/2 Q H                                          [Franc2003 (5)]
//! none          B^+ d                 has the coefficients  D^1/2 V L^-2 V'P G Q H,   P G P = V L V'
//! ```
//!
//! The first line is the push-through identity; its two parts are orthogonal, so nothing cancels. Cost: n^3/3; n^3 more for the product
//! of the second; a whole eigendecomposition for the third.
use super::{Fisher, Penalty};
use crate::{
    Error, Result,
    learn::scatter::Scatter,
    linalg::{Cholesky, Eigen, Matrix, dot, outer_product, rows_times},
};

/// What was solved.
pub(super) struct Directions {
    /// One row for each training row, or each coordinate in a frame; one column for each output.
    pub coefficients: Matrix,
    /// The objective at the solution: `w'B w` and the penalty, summed over outputs.
    pub objective: f64,
    /// Directions that were used, where nothing was penalised.
    pub rank: Option<usize>,
}

/// Solves for all outputs: two classes have one, the second against the first; several classes have one each.
pub(super) fn directions(
    fisher: &Fisher,
    gram: Matrix,
    scatter: &Scatter,
    class_weights: &[f64],
    mixes: &[Vec<f64>],
) -> Result<Directions> {
    // One row of coefficients for each output: D^1/2 Q H, transposed.
    let scaled_mixes: Vec<Vec<f64>> = mixes.iter().map(|mix| mix.iter().zip(class_weights).map(|(m, v)| m / v.sqrt()).collect()).collect();
    let (solved, separations, rank) = match fisher.penalty {
        Penalty::Weight => by_weight(fisher.lambda, gram, scatter, &scaled_mixes)?,
        Penalty::Coefficients => by_coefficients(fisher.lambda, gram, scatter, &scaled_mixes)?,
        Penalty::None => by_pseudo_inverse(gram, scatter, &scaled_mixes)?,
    };
    scaled_apart(solved, &separations, rank, scatter.count)
}

/// How the means of the classes are combined for each output: their difference for two, each less the mean of all for several.
pub(crate) fn mixes(classes: usize) -> Vec<Vec<f64>> {
    if classes == 2 {
        return vec![vec![-1.0, 1.0]];
    }
    (0..classes).map(|c| (0..classes).map(|other| f64::from(c == other) - 1.0 / classes as f64).collect()).collect()
}

/// The sum over one class less that over the others, as the numerator y'X is printed [Diethe2015 (1)]: one output for two classes, the second against the
/// first. Divided by half of the rows, so that it is the difference of the means where two classes have the same size.
pub(super) fn printed_mixes(sizes: &[f64]) -> Vec<Vec<f64>> {
    let half = 0.5 * sizes.iter().sum::<f64>();
    let against = |class: usize| sizes.iter().enumerate().map(|(g, size)| if g == class { size / half } else { -size / half }).collect();
    if sizes.len() == 2 { vec![against(1)] } else { (0..sizes.len()).map(against).collect() }
}

/// Coefficients, one row an output; `d_c.w_c` for each output; and the rank.
type Solved = (Matrix, Vec<f64>, Option<usize>);

fn by_weight(lambda: f64, mut gram: Matrix, scatter: &Scatter, mixes: &[Vec<f64>]) -> Result<Solved> {
    scatter.scale(&mut gram);
    let group_rows = scatter.group_rows(&gram);
    let combined = combined_means(&group_rows, mixes);
    scatter.project(&mut gram, &group_rows);
    (0..gram.rows()).for_each(|i| gram.row_mut(i)[i] += lambda);
    let mut inside = combined.clone();
    scatter.project_rows(&mut inside);
    let Some(factor) = Cholesky::new(&gram) else { return Err(not_definite(lambda)) };
    let mut solution = inside.transposed();
    factor.solve(&mut solution);
    let mut solution = solution.transposed();
    // Along Q the matrix has only lambda, so a small lambda makes rounding there large.
    scatter.project_rows(&mut solution);
    let (mut coefficients, mut separations) = (Matrix::zeros(mixes.len(), gram.rows()), vec![]);
    for (k, mix) in mixes.iter().enumerate() {
        let scaled: Vec<f64> =
            scatter.spread(mix).iter().zip(solution.row(k)).map(|(outside, inside)| (outside - inside) / lambda).collect();
        separations.push(dot(&scaled, combined.row(k)));
        coefficients.row_mut(k).copy_from_slice(&scatter.coefficients(&scaled));
    }
    Ok((coefficients, separations, None))
}

fn by_coefficients(lambda: f64, mut gram: Matrix, scatter: &Scatter, mixes: &[Vec<f64>]) -> Result<Solved> {
    let n = gram.rows();
    let means: Vec<f64> = mixes.iter().flat_map(|mix| scatter.coefficients(&scatter.spread(mix))).collect();
    let combined = rows_times(&Matrix::new(means, mixes.len(), n).unwrap_or_default(), &gram);
    for i in 0..n {
        gram.row_mut(i).iter_mut().zip(&scatter.roots).for_each(|(value, root)| *value *= root);
    }
    scatter.project_rows(&mut gram);
    let mut spread = outer_product(&gram);
    drop(gram);
    (0..n).for_each(|i| spread.row_mut(i)[i] += lambda);
    let Some(factor) = Cholesky::new(&spread) else { return Err(not_definite(lambda)) };
    let mut solution = combined.transposed();
    factor.solve(&mut solution);
    let coefficients = solution.transposed();
    let separations = coefficients.iter().zip(combined.iter()).map(|(a, m)| dot(a, m)).collect();
    Ok((coefficients, separations, None))
}

fn by_pseudo_inverse(mut gram: Matrix, scatter: &Scatter, mixes: &[Vec<f64>]) -> Result<Solved> {
    scatter.scale(&mut gram);
    let group_rows = scatter.group_rows(&gram);
    let combined = combined_means(&group_rows, mixes);
    let size = (0..gram.rows()).map(|i| gram.at(i, i)).fold(0.0, f64::max);
    scatter.project(&mut gram, &group_rows);
    let Some(eigen) = Eigen::of(&gram) else { return Err(Error::data("the eigenvalues of the scatter were not found; scale the data")) };
    let largest = eigen.values.first().copied().unwrap_or(0.0);
    // What the subtraction of the means leaves of rows that coincide is rounding.
    let rank = eigen.values.iter().filter(|&&value| value > Fisher::NO_SCATTER * largest && value > 1e-13 * size).count();
    if rank == 0 {
        return Err(Error::data("the rows of each class coincide, so there is no scatter to measure by; use the penalty weight"));
    }
    let mut coefficients = Matrix::zeros(mixes.len(), gram.rows());
    let mut separations = vec![];
    for k in 0..mixes.len() {
        let mut scaled = vec![0.0; gram.rows()];
        for (value, vector) in eigen.values.iter().zip(eigen.vectors.iter()).take(rank) {
            let part = dot(vector, combined.row(k)) / (value * value);
            scaled.iter_mut().zip(vector).for_each(|(sum, v)| *sum += part * v);
        }
        separations.push(dot(&scaled, combined.row(k)));
        coefficients.row_mut(k).copy_from_slice(&scatter.coefficients(&scaled));
    }
    Ok((coefficients, separations, Some(rank)))
}

/// The means of the classes combined, G Q H, one row an output.
fn combined_means(group_rows: &Matrix, mixes: &[Vec<f64>]) -> Matrix {
    Matrix::from_fn(mixes.len(), group_rows.cols(), |k, j| mixes[k].iter().enumerate().map(|(g, m)| m * group_rows.at(g, j)).sum())
}

/// Scales the solution so that the means of two classes lie 2 apart on their line [Franc2003 (6)], on average over the pairs where
/// there are several. At a solution the objective is `d.w` before scaling, so that it is the square of the factor times that after.
pub(super) fn scaled_apart(solved: Matrix, separations: &[f64], rank: Option<usize>, classes: usize) -> Result<Directions> {
    // Over all pairs, the sum of (w_a - w_b).(mean_a - mean_b) is `classes` times the sum of w_a.(mean_a - mean).
    let sum: f64 = separations.iter().sum();
    let apart = if classes == 2 { sum } else { 2.0 * sum / (classes as f64 - 1.0) };
    let factor = 2.0 / apart;
    let size = solved.values().iter().fold(0.0, |most: f64, a| most.max(a.abs()));
    if !(apart > 0.0 && factor.is_finite() && (factor * size).is_finite()) {
        return Err(Error::data(
            "the means of the classes coincide in feature space, so no direction separates them; use another kernel or other features",
        ));
    }
    let coefficients = solved.transposed();
    let coefficients = Matrix::from_fn(coefficients.rows(), coefficients.cols(), |i, k| factor * coefficients.at(i, k));
    Ok(Directions { coefficients, objective: factor * factor * sum, rank })
}

pub(super) fn not_definite(lambda: f64) -> Error {
    Error::data(format!(
        "the scatter with lambda {lambda} on its diagonal is not positive definite to working precision; raise lambda, or use the penalty none"
    ))
}
