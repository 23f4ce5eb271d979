//! A learned metric, as far as validation rows prefer it to one width.
//!
//! A fraction of the rows is set aside, or in turn each of a few folds where rows are few. On the others the machine is trained with one width, then with a learned metric for
//! penalties that fall, each started from the vectors and the metric of the one before. The penalty with the least mean loss on the rows set aside is taken for
//! the machine on all rows, which starts from what was validated; where one width is not worse, the kernel stays as it is.
//!
//! A map begins, and is penalised by its distance from, the identity; or, where it has fewer rows than there are features, the directions in which
//! the machine with one width varies most, the eigenvectors of the mean outer product of its gradients.
use super::{
    init::Init,
    metric::{Learned, Metric},
    objective::Variables,
    search::Search,
};
use crate::{
    Error, Result,
    data::{Dataset, Points, Target, plain_folds, stratified_folds},
    kernel::{Argument, Kernel},
    learn::{Fit, Learner},
    linalg::{Eigen, Matrix},
    machine::{Machine, MetricMetadata},
    watch::Watch,
};

/// Penalties that are tried, in units of the objective of one width at its optimum divided by the number of features.
const PENALTIES: [f64; 4] = [1e-1, 1e-2, 1e-3, 1e-4];

/// With fewer rows than the first number, so many folds take the place of one part that is set aside.
const FOLDS: [(usize, usize); 2] = [(500, 5), (2000, 3)];

/// One in so many rows is set aside.
const SET_ASIDE: usize = 5;

/// Rows whose gradients a map begins with.
const MOST_GRADIENTS: usize = 1000;

/// An estimator whose vectors are searched for.
pub(crate) trait Searched: Learner + Clone {
    /// How its vectors are searched for.
    fn search_mut(&mut self) -> &mut Search;
    /// The machine, and the variables at which the search ended.
    fn found(&self, data: &Dataset, watch: &Watch) -> Result<(Fit, Variables)>;
}

/// Learns the metric of the kernel too.
#[derive(Clone, Debug)]
pub(crate) struct LearnedMetric<L> {
    /// The estimator; several where its settings are chosen too, the first is that of one width.
    pub candidates: Vec<L>,
    pub learned: Learned,
    /// The penalty; none where it is chosen, as is whether a metric is learned at all.
    pub penalty: Option<f64>,
    /// Whether scales keep the width.
    pub centred: bool,
    pub seed: u64,
}

/// A metric that was validated.
struct Validated {
    candidate: usize,
    penalty: f64,
    loss: f64,
    /// The metric with which the search of the last fold ended, and its variables.
    metric: Metric,
    at: Variables,
}

impl<L: Searched> Learner for LearnedMetric<L> {
    fn name(&self) -> &'static str {
        self.candidates.first().map_or("", |candidate| candidate.name())
    }

    fn check(&self) -> Result<()> {
        if let Some(penalty) = self.penalty.filter(|penalty| !(*penalty >= 0.0 && penalty.is_finite())) {
            return Err(Error::parameter("metric-penalty", penalty, "0 or a finite number above"));
        }
        if self.learned == Learned::Map(0) {
            return Err(Error::parameter("projection", 0, "at least 1"));
        }
        self.candidates.iter().try_for_each(|candidate| candidate.check())
    }

    fn learn(&self, data: &Dataset, watch: &Watch) -> Result<Fit> {
        self.learn_path(data, watch)?.pop().ok_or_else(|| Error::data("nothing was learned"))
    }

    fn learn_path(&self, data: &Dataset, watch: &Watch) -> Result<Vec<Fit>> {
        self.check()?;
        let Some(first) = self.candidates.first() else { return Err(Error::data("there is no estimator")) };
        if let Some(penalty) = self.penalty {
            let (fit, at) = with(first, |search| search.iterations /= 4).found(data, watch)?;
            let metric = self.metric(&fit.machine, data, penalty)?;
            return self.last(first, metric, at.z, None, data, watch);
        }
        let (one_width, tried) = self.validated(data, watch)?;
        let losses = Some((one_width, tried.iter().map(|tried| (tried.penalty, tried.loss)).collect::<Vec<_>>()));
        match tried.into_iter().min_by(|a, b| a.loss.total_cmp(&b.loss)).filter(|best| best.loss < one_width) {
            None => {
                let mut fits = first.learn_path(data, watch)?;
                fits.iter_mut().for_each(|fit| fit.machine.metadata.metric = Some(self.metadata(None, losses.clone())));
                Ok(fits)
            }
            Some(best) => self.last(&self.candidates[best.candidate], best.metric, best.at.z, losses, data, watch),
        }
    }
}

/// The loss of one width, and the penalties tried with their losses.
type Losses = (f64, Vec<(f64, f64)>);

impl<L: Searched> LearnedMetric<L> {
    /// The machine on all rows, from vectors and a metric that were found on fewer, or with one width.
    fn last(&self, learner: &L, metric: Metric, z: Matrix, losses: Option<Losses>, data: &Dataset, watch: &Watch) -> Result<Vec<Fit>> {
        let metadata = self.metadata(Some(metric.penalty), losses);
        let learner = with(learner, |search| {
            (search.metric, search.init) = (metric, Init::Given(z));
        });
        let mut fits = learner.learn_path(data, watch)?;
        for fit in &mut fits {
            let feature_scales = fit.machine.scale.as_ref().map(|scale| scale.factor.clone()).unwrap_or_default();
            fit.machine.metadata.metric = Some(MetricMetadata { feature_scales, ..metadata.clone() });
        }
        Ok(fits)
    }

    fn metadata(&self, penalty: Option<f64>, losses: Option<Losses>) -> MetricMetadata {
        let (one_width, tried) = losses.unzip();
        MetricMetadata {
            learned: match self.learned {
                Learned::Nothing => "none",
                Learned::Width => "width",
                Learned::Scales => "scales",
                Learned::Map(_) => "map",
            }
            .into(),
            used: penalty.is_some(),
            penalty,
            one_width_loss: one_width,
            tried: tried.unwrap_or_default(),
            feature_scales: vec![],
        }
    }

    /// The mean validation loss of one width, and of every penalty.
    fn validated(&self, data: &Dataset, watch: &Watch) -> Result<(f64, Vec<Validated>)> {
        let folds = self.folds(data)?;
        let (mut one_width, mut tried): (f64, Vec<Validated>) = (0.0, vec![]);
        for (k, rows) in folds.iter().enumerate() {
            let mut kept = vec![true; data.len()];
            rows.iter().for_each(|&i| kept[i] = false);
            let others: Vec<usize> = (0..data.len()).filter(|&i| kept[i]).collect();
            let (fit, validation) = (data.select(&others), data.select(rows));
            let loss = |machine: &Machine| Ok::<f64, Error>(machine.score(&validation)?.loss() / folds.len() as f64);
            for (candidate, learner) in self.candidates.iter().enumerate() {
                let (plain, start) = learner.found(&fit, watch)?;
                if candidate == 0 {
                    one_width += loss(&plain.machine)?;
                }
                let unit = plain.report.objective.abs() / data.dim().max(1) as f64;
                let mut at = start;
                for (place, penalty) in PENALTIES.iter().map(|penalty| penalty * unit).enumerate() {
                    if watch.cancelled() {
                        return Err(Error::Cancelled);
                    }
                    let mut metric = self.metric(&plain.machine, &fit, penalty)?;
                    metric.start = at.metric;
                    let learner = with(learner, |search| {
                        (search.metric, search.init) = (metric.clone(), Init::Given(at.z));
                        search.iterations = search.iterations.div_ceil(2);
                    });
                    let (found, end) = learner.found(&fit, watch)?;
                    at = end;
                    metric.start = at.metric.clone();
                    let loss = loss(&found.machine)?;
                    let before = if k == 0 { 0.0 } else { tried[candidate * PENALTIES.len() + place].loss };
                    let now = Validated { candidate, penalty, loss: before + loss, metric, at: at.clone() };
                    match k {
                        0 => tried.push(now),
                        _ => tried[candidate * PENALTIES.len() + place] = now,
                    }
                }
            }
        }
        Ok((one_width, tried))
    }

    /// The rows that are set aside, in turn.
    fn folds(&self, data: &Dataset) -> Result<Vec<Vec<usize>>> {
        let few = FOLDS.iter().find(|(rows, _)| data.len() < *rows).map(|(_, folds)| *folds);
        let count = few.unwrap_or(SET_ASIDE);
        let mut folds = match &data.target {
            Target::Classes(_) => stratified_folds(&data.target, count, self.seed)?,
            _ => plain_folds(data.len(), count, self.seed)?,
        };
        folds.truncate(few.unwrap_or(1));
        Ok(folds)
    }

    /// The metric that a search begins with; a map begins at the directions in which a machine varies.
    fn metric(&self, machine: &Machine, data: &Dataset, penalty: f64) -> Result<Metric> {
        let dim = data.dim();
        let origin = match self.learned {
            Learned::Map(rows) if rows > dim => {
                return Err(Error::parameter("projection", rows, format!("at most {dim}, the number of features")));
            }
            Learned::Map(rows) if rows < dim => steepest(machine, &data.points, rows)?.into_values(),
            _ => vec![],
        };
        Ok(Metric { learned: self.learned, penalty, origin, start: vec![], centred: self.centred })
    }
}

fn with<L: Searched>(learner: &L, change: impl FnOnce(&mut Search)) -> L {
    let mut changed = learner.clone();
    change(changed.search_mut());
    changed
}

/// `count` orthogonal directions in which the outputs of a machine vary most over these rows, as rows that keep squared distances on the average.
fn steepest(machine: &Machine, points: &Points, count: usize) -> Result<Matrix> {
    let dim = points.dim();
    let step = points.len().div_ceil(MOST_GRADIENTS).max(1);
    let rows = points.select(&(0..points.len()).step_by(step).collect::<Vec<_>>()).to_dense();
    let (kernel, vectors, coefficients) =
        (&machine.expansion.kernel, machine.expansion.vectors.to_dense(), machine.expansion.coefficients.to_dense());
    let mut outer = Matrix::zeros(dim, dim);
    for row in rows.iter() {
        for k in 0..coefficients.cols() {
            let gradient = output_gradient(kernel, &vectors, &coefficients, k, row);
            for (i, a) in gradient.iter().enumerate() {
                outer.row_mut(i).iter_mut().zip(&gradient).for_each(|(o, b)| *o += a * b);
            }
        }
    }
    let directions = Eigen::of(&outer).ok_or_else(|| Error::data("the gradients of the machine are not finite"))?.vectors;
    let length = (dim as f64 / count as f64).sqrt();
    Ok(Matrix::from_fn(count, dim, |i, j| length * directions.at(i, j)))
}

/// The gradient of output k at a row.
fn output_gradient(kernel: &Kernel, vectors: &Matrix, coefficients: &Matrix, k: usize, row: &[f64]) -> Vec<f64> {
    let profile = kernel.profile();
    let mut gradient = vec![0.0; row.len()];
    for (j, vector) in vectors.iter().enumerate() {
        let beta = coefficients.at(j, k);
        match profile.argument() {
            Argument::SquaredDistance => {
                let u: f64 = row.iter().zip(vector).map(|(x, z)| (x - z) * (x - z)).sum();
                let weight = 2.0 * beta * profile.slope(u);
                gradient.iter_mut().zip(row.iter().zip(vector)).for_each(|(g, (x, z))| *g += weight * (x - z));
            }
            Argument::DotProduct => {
                let weight = beta * profile.slope(row.iter().zip(vector).map(|(x, z)| x * z).sum());
                gradient.iter_mut().zip(vector).for_each(|(g, z)| *g += weight * z);
            }
        }
    }
    gradient
}
