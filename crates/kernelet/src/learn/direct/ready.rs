//! What each learner makes of its rows before the search, and its optimum on coordinates of them.
use super::{
    discriminant::Discriminant,
    inner::Inner,
    learner::DirectTask,
    newton::Smooth,
    soft_losses::{OfResiduals, ResidualLoss, SoftNovelty},
    squared::Squared,
    variance::Variance,
};
use crate::{
    Error, Result,
    basis::distinct_rows,
    data::Dataset,
    kernel::{Kernel, block::symmetric},
    learn::{Components, LogisticRows, Scatter, shares, total_variance},
    linalg::{Matrix, dot},
};

/// A learner's rows.
pub(super) enum Ready<'a> {
    Ridge { targets: &'a Matrix, weights: Vec<f64>, lambda: f64 },
    Fisher { scatter: Scatter, mu: f64 },
    Logistic(LogisticRows),
    OneClass { costs: Vec<f64>, nu: f64, width: f64 },
    OfResiduals { targets: &'a Matrix, costs: Vec<f64>, loss: ResidualLoss },
    Pca { shares: Vec<f64>, count: usize, total: f64 },
}

impl<'a> Ready<'a> {
    /// Of rows that all count.
    pub fn new(task: &DirectTask, rows: &'a Dataset) -> Result<Ready<'a>> {
        let weights: Vec<f64> = (0..rows.len()).map(|i| rows.weight(i)).collect();
        Ok(match task {
            DirectTask::Ridge(ridge) => Ready::Ridge { targets: rows.values()?, weights, lambda: ridge.lambda },
            DirectTask::Fisher { fisher, .. } => Ready::Fisher { scatter: fisher.scatter(rows)?, mu: fisher.lambda },
            DirectTask::Logistic(logistic) => Ready::Logistic(logistic.rows(rows)?),
            DirectTask::OneClass(one_class) => {
                let width = SOFT * one_class.nu * weights.iter().sum::<f64>() * mean_square(&one_class.kernel, rows);
                Ready::OneClass { costs: weights, nu: one_class.nu, width: width.max(f64::MIN_POSITIVE) }
            }
            DirectTask::Svr(svr) => {
                let targets = rows.values()?;
                let width = SOFT * (2.0 * svr.epsilon).max(spread(targets));
                let costs = weights.iter().map(|weight| svr.c * weight).collect();
                let loss = ResidualLoss::SoftInsensitive { epsilon: svr.epsilon, width: width.max(f64::MIN_POSITIVE) };
                Ready::OfResiduals { targets, costs, loss }
            }
            DirectTask::Huber(huber) => Ready::OfResiduals {
                targets: rows.values()?,
                costs: huber.costs(rows),
                loss: ResidualLoss::Huber { epsilon: huber.epsilon },
            },
            DirectTask::Pca(pca) => {
                let shares = shares(rows);
                let total = total_variance(&pca.kernel, &rows.points, &shares);
                if total.is_nan() || total <= 0.0 {
                    return Err(Error::data(
                        "nothing varies: all rows are the same point in feature space; other rows or another kernel are needed",
                    ));
                }
                let Components::Count(count) = pca.components else {
                    return Err(Error::data("direct training of pca needs the number of components"));
                };
                Ready::Pca { shares, count, total }
            }
        })
    }

    /// The optimum on coordinates of the rows.
    pub fn inner(&self) -> Box<dyn Inner + '_> {
        match self {
            Ready::Ridge { targets, weights, lambda } => Box::new(Squared { targets, weights, lambda: *lambda }),
            Ready::Fisher { scatter, mu } => Box::new(Discriminant { scatter, mu: *mu }),
            Ready::Logistic(rows) => rows.inner(None),
            Ready::OneClass { costs, nu, width } => Box::new(Smooth::new(SoftNovelty { costs, nu: *nu, width: *width })),
            Ready::OfResiduals { targets, costs, loss } => Box::new(Smooth::new(OfResiduals { targets, costs, loss: *loss })),
            Ready::Pca { shares, count, total } => Box::new(Variance { shares, count: *count, total: *total }),
        }
    }
}

/// The bend of a soft loss, as a fraction of the size of what it is applied to.
const SOFT: f64 = 0.05;

/// Rows that are enough to know the size of things.
const ENOUGH: usize = 1000;

/// The squared length of the mean of a sample of the rows in feature space: the size of outputs whose coefficients sum to one.
fn mean_square(kernel: &Kernel, rows: &Dataset) -> f64 {
    let sample = rows.points.select(&distinct_rows(&rows.points, ENOUGH, 0));
    let ones = vec![1.0 / sample.len().max(1) as f64; sample.len()];
    symmetric(kernel, &sample).iter().map(|row| dot(row, &ones)).sum::<f64>() / sample.len().max(1) as f64
}

/// Half of all targets lie no farther than this from their median; outliers do not move it. Where that is nothing, a millionth of their size.
fn spread(targets: &Matrix) -> f64 {
    let median = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(0.0)
    };
    let of_one = |k: usize| {
        let middle = median(targets.col(k));
        let apart = median(targets.col(k).iter().map(|y| (y - middle).abs()).collect());
        if apart > 0.0 { apart } else { 1e-6 * (1.0 + middle.abs()) }
    };
    (0..targets.cols()).map(of_one).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::{super::gradients::assert_gradient, *};
    use crate::{
        data::{Target, banana, waveform3},
        learn::{Huber, Logistic, OneClass, Svr},
    };

    fn check(task: &DirectTask, data: &Dataset, gamma: f64) {
        check_to(task, data, gamma, 1e-7);
    }

    fn check_to(task: &DirectTask, data: &Dataset, gamma: f64, tolerance: f64) {
        let ready = Ready::new(task, data).unwrap();
        assert_gradient(&Kernel::gaussian(gamma), &data.points, || ready.inner(), tolerance);
    }

    #[test]
    fn gradients_of_smooth_losses_agree_with_differences() {
        let (two, three) = (banana(120, 3), waveform3(90, 1));
        check(&DirectTask::Logistic(Logistic { c: 3.0, ..Logistic::default() }), &two, 0.8);
        check(&DirectTask::Logistic(Logistic { c: 3.0, ..Logistic::default() }), &three, 0.05);
        check(&DirectTask::OneClass(OneClass { nu: 0.3, ..OneClass::default() }), &two, 0.8);
        let rows = two.points.to_dense();
        let values = Matrix::from_fn(120, 2, |i, k| (rows.at(i, 0) + k as f64).sin());
        let data = Dataset { target: Target::Values(values), weights: Some((0..120).map(|i| 1.0 + (i % 2) as f64).collect()), ..two };
        // The second derivative jumps where a residual passes epsilon, as that of the squared hinge does: differences there are less exact.
        check_to(&DirectTask::Huber(Huber { c: 5.0, epsilon: 0.2, ..Huber::default() }), &data, 0.8, 1e-6);
        check(&DirectTask::Svr(Svr { c: 5.0, epsilon: 0.05, ..Svr::default() }), &data, 0.8);
    }

    #[test]
    fn an_outlier_does_not_change_the_size_of_targets() {
        let values = |last: f64| Matrix::column((0..99).map(f64::from).chain([last]).collect());
        assert_eq!(spread(&values(99.0)), spread(&values(1e12)));
        assert!(spread(&Matrix::column(vec![4.0; 9])) > 0.0);
    }
}
