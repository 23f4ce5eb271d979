//! A learned metric, as far as validation rows prefer it to one width.
//!
//! A fraction of the rows is set aside for validation, or in turn each of a few folds where rows are few. On the others every candidate of cost and width is trained
//! with one width; the best of them then with a learned metric for falling penalties, each started from the solution before. The setting with the least mean validation
//! loss is trained on all rows, starting from the validated metric and vectors. Where one width is not worse, the kernel stays as it is.
//!
//! Where several forms are asked for, scales and a map, each is tried, and the least loss decides between them too.
//!
//! A map starts from the identity. A map with fewer rows than there are features starts from the directions in which the machine with one width varies most: the
//! leading eigenvectors of the mean outer product of its gradients. The penalty is its squared distance from that start.
use super::{
    init::Init,
    metric::{Learned, Metric},
    objective::Variables,
    search::Search,
};
use crate::{
    Error, Result,
    data::{Dataset, Points, Scale, stratified_folds},
    kernel::{Argument, Kernel},
    learn::{Fit, Learner},
    linalg::{Eigen, Matrix, dot},
    machine::{Machine, MetricLoss, MetricMetadata},
    watch::Watch,
};

/// Penalties that are tried, in units of the objective of one width at its optimum divided by the number of features.
const PENALTIES: [f64; 4] = [1e-1, 1e-2, 1e-3, 1e-4];

/// So many candidates, those that are best with one width, are tried with all penalties.
const PATHS: usize = 3;

/// The penalty, in the same units, of learners without a target that validation rows could be compared by.
const UNVALIDATED: f64 = 1e-2;

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
    /// The mean loss of rows that the machine was not trained on.
    fn loss(&self, machine: &Machine, rows: &Dataset) -> Result<f64> {
        Ok(machine.score(rows)?.loss())
    }
}

/// Learns the metric of the kernel too.
#[derive(Clone, Debug)]
pub(crate) struct LearnedMetric<L> {
    /// The estimator; several where its settings are chosen too.
    pub candidates: Vec<L>,
    /// The forms that a metric may take; validation rows choose where there are several.
    pub forms: Vec<Learned>,
    /// The penalty; none where it is chosen, as is whether a metric is learned at all.
    pub penalty: Option<f64>,
    /// Whether there is no target: scales then keep the width, and the penalty is not validated.
    pub centred: bool,
    pub seed: u64,
}

/// Whether rows can be set aside and others of at least two classes are left.
pub(crate) fn can_be_validated(data: &Dataset) -> bool {
    match data.classes() {
        Ok(classes) => {
            let mut counts = vec![0; classes.labels.len()];
            classes.codes.iter().for_each(|&code| counts[code as usize] += 1);
            counts.iter().filter(|count| **count > 1).count() > 1
        }
        Err(_) => data.len() > 1,
    }
}

/// A metric that was validated.
struct Validated {
    candidate: usize,
    measured: MetricLoss,
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
        if self.forms.contains(&Learned::Map(0)) {
            return Err(Error::parameter("projection", 0, "at least 1"));
        }
        self.candidates.iter().try_for_each(|candidate| candidate.check())
    }

    fn learn(&self, data: &Dataset, watch: &Watch) -> Result<Fit> {
        self.learn_path(data, watch)?.pop().ok_or_else(|| Error::data("nothing was learned"))
    }

    fn learn_path(&self, data: &Dataset, watch: &Watch) -> Result<Vec<Fit>> {
        let chosen = self.choose(data, watch)?;
        let learner = &self.candidates[chosen.candidate];
        let Some((metric, z)) = chosen.start else {
            let mut fits = learner.learn_path(data, watch)?;
            let metadata = MetricMetadata { feature_scales: vec![1.0; data.dim()], ..chosen.metadata };
            fits.iter_mut().for_each(|fit| fit.machine.metadata.metric = Some(metadata.clone()));
            return Ok(fits);
        };
        let learner = changed(learner, |search| (search.metric, search.init) = (metric, Init::Given(z)));
        let mut fits = learner.learn_path(data, watch)?;
        for fit in &mut fits {
            let feature_scales = fit.machine.scale.as_ref().map(feature_scales).unwrap_or_default();
            fit.machine.metadata.metric = Some(MetricMetadata { feature_scales, ..chosen.metadata.clone() });
        }
        Ok(fits)
    }
}

/// What validation rows chose, or what is used without them.
pub(crate) struct Chosen {
    /// The estimator, by its place among the candidates.
    pub candidate: usize,
    /// The metric and the vectors that training on all rows starts from; none where one width is used.
    pub start: Option<(Metric, Matrix)>,
    /// How that was chosen.
    pub metadata: MetricMetadata,
}

/// The validation losses of one width, and of all that was tried.
type Losses = (MetricLoss, Vec<MetricLoss>);

impl<L: Searched> LearnedMetric<L> {
    /// Chooses the estimator, and whether and with which penalty a metric is learned.
    pub fn choose(&self, data: &Dataset, watch: &Watch) -> Result<Chosen> {
        self.check()?;
        let Some(first) = self.candidates.first() else { return Err(Error::data("there is no estimator")) };
        if self.penalty.is_some() || self.centred {
            let Some(form) = self.forms.first() else { return Err(Error::data("there is no form of a metric")) };
            let (fit, at) = changed(first, |search| search.iterations /= 4).found(data, watch)?;
            let penalty = self.penalty.unwrap_or(UNVALIDATED * fit.report.objective.abs() / data.dim().max(1) as f64);
            let metric = self.metric(*form, &fit.machine, data, penalty)?;
            return Ok(Chosen { candidate: 0, metadata: metadata(form.name().into(), Some(penalty), None), start: Some((metric, at.z)) });
        }
        let (one_widths, tried) = self.validated(data, watch)?;
        let least = |a: &MetricLoss, b: &MetricLoss| a.loss.total_cmp(&b.loss);
        let Some((candidate, one_width)) = one_widths.into_iter().enumerate().min_by(|a, b| least(&a.1, &b.1)) else {
            return Err(Error::data("there is no estimator"));
        };
        let losses = Some((one_width, tried.iter().map(|tried| tried.measured).collect::<Vec<_>>()));
        match tried.into_iter().min_by(|a, b| least(&a.measured, &b.measured)).filter(|best| best.measured.loss < one_width.loss) {
            None => {
                let forms = self.forms.iter().map(|form| form.name()).collect::<Vec<_>>().join(" or ");
                Ok(Chosen { candidate, start: None, metadata: metadata(forms, None, losses) })
            }
            Some(best) => {
                let metadata = metadata(best.metric.learned.name().into(), Some(best.metric.penalty), losses);
                Ok(Chosen { candidate: best.candidate, start: Some((best.metric, best.at.z)), metadata })
            }
        }
    }

    /// The mean validation losses of the candidates with one width, and of the best of them with every penalty.
    fn validated(&self, data: &Dataset, watch: &Watch) -> Result<(Vec<MetricLoss>, Vec<Validated>)> {
        if !can_be_validated(data) {
            return Err(Error::data(
                "a learned metric is compared with one width on rows that are set aside, which takes two rows of each of two classes, or two rows; \
                 learn none, or give more rows",
            ));
        }
        let folds: Vec<(Dataset, Dataset)> = self.folds(data)?.iter().map(|rows| (data.without(rows), data.select(rows))).collect();
        let plain: Vec<L> =
            self.candidates.iter().map(|learner| changed(learner, |search| search.iterations = search.iterations.div_ceil(2))).collect();
        let mut one_widths = vec![MetricLoss::default(); plain.len()];
        let mut starts = vec![];
        for (k, (fit, validation)) in folds.iter().enumerate() {
            for (candidate, learner) in plain.iter().enumerate() {
                let found = learner.found(fit, watch)?;
                check_going(watch)?;
                one_widths[candidate] = with_fold(one_widths[candidate], k, learner, &found.0.machine, validation)?;
                starts.push(found);
            }
        }
        let mut order: Vec<usize> = (0..plain.len()).collect();
        order.sort_by(|a, b| one_widths[*a].loss.total_cmp(&one_widths[*b].loss));
        let mut tried = vec![];
        for &candidate in order.iter().take(PATHS) {
            let starts: Vec<&(Fit, Variables)> = starts.iter().skip(candidate).step_by(plain.len()).collect();
            for form in &self.forms {
                tried.extend(self.along_penalties(*form, (candidate, &plain[candidate]), &folds, &starts, watch)?);
            }
        }
        Ok((one_widths, tried))
    }

    /// One candidate with penalties that fall, from where one width ended on each of the folds.
    fn along_penalties(
        &self,
        form: Learned,
        (candidate, learner): (usize, &L),
        folds: &[(Dataset, Dataset)],
        starts: &[&(Fit, Variables)],
        watch: &Watch,
    ) -> Result<Vec<Validated>> {
        let mut tried: Vec<Validated> = vec![];
        for (k, ((fit, validation), (one_width, start))) in folds.iter().zip(starts).enumerate() {
            let unit = one_width.report.objective.abs() / fit.dim().max(1) as f64;
            let (origin, mut at) = (self.metric(form, &one_width.machine, fit, 0.0)?, start.clone());
            for (place, penalty) in PENALTIES.iter().map(|penalty| penalty * unit).enumerate() {
                let mut metric = Metric { penalty, start: at.metric, ..origin.clone() };
                let learner = changed(learner, |search| (search.metric, search.init) = (metric.clone(), Init::Given(at.z)));
                let (found, end) = learner.found(fit, watch)?;
                check_going(watch)?;
                at = end;
                metric.start = at.metric.clone();
                let before = if k == 0 { MetricLoss::default() } else { tried[place].measured };
                let measured = MetricLoss {
                    penalty: Some(penalty),
                    dimensions: form.dimensions(),
                    ..with_fold(before, k, &learner, &found.machine, validation)?
                };
                let now = Validated { candidate, measured, metric, at: at.clone() };
                if k == 0 { tried.push(now) } else { tried[place] = now }
            }
        }
        Ok(tried)
    }

    /// The rows that are set aside, in turn.
    fn folds(&self, data: &Dataset) -> Result<Vec<Vec<usize>>> {
        let few = FOLDS.iter().find(|(rows, _)| data.len() < *rows).map(|(_, folds)| *folds);
        let mut folds = stratified_folds(&data.target, few.unwrap_or(SET_ASIDE).min(data.len()), self.seed)?;
        folds.truncate(few.unwrap_or(1));
        Ok(folds)
    }

    /// The metric that a search begins with; a map begins at the directions in which a machine varies.
    fn metric(&self, form: Learned, machine: &Machine, data: &Dataset, penalty: f64) -> Result<Metric> {
        let dim = data.dim();
        let origin = match form {
            Learned::Map(rows) if rows > dim => {
                return Err(Error::parameter("projection", rows, format!("at most {dim}, the number of features")));
            }
            Learned::Map(rows) if rows < dim => steepest(machine, &data.points, rows)?.into_values(),
            _ => vec![],
        };
        Ok(Metric { learned: form, penalty, origin, start: vec![], centred: self.centred })
    }
}

fn metadata(learned: String, penalty: Option<f64>, losses: Option<Losses>) -> MetricMetadata {
    let (one_width, tried) = losses.unzip();
    MetricMetadata { learned, used: penalty.is_some(), penalty, one_width, tried: tried.unwrap_or_default(), feature_scales: vec![] }
}

/// The factor of each feature; of a map the length of its column.
pub(crate) fn feature_scales(scale: &Scale) -> Vec<f64> {
    match &scale.map {
        Some(map) => (0..map.cols()).map(|j| dot(&map.col(j), &map.col(j)).sqrt()).collect(),
        None => scale.factor.clone(),
    }
}

/// A search for settings that is cancelled has no result.
fn check_going(watch: &Watch) -> Result<()> {
    if watch.cancelled() { Err(Error::Cancelled) } else { Ok(()) }
}

/// The mean over `k` folds and one more.
fn with_fold<L: Searched>(before: MetricLoss, k: usize, learner: &L, machine: &Machine, rows: &Dataset) -> Result<MetricLoss> {
    let add = |before: f64, now: f64| (k as f64 * before + now) / (k + 1) as f64;
    let (error, loss) = (machine.score(rows)?.loss(), learner.loss(machine, rows)?);
    Ok(MetricLoss { error: add(before.error, error), loss: add(before.loss, loss), ..before })
}

fn changed<L: Searched>(learner: &L, change: impl FnOnce(&mut Search)) -> L {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::{Target, banana, waveform3},
        draw::Draw,
        learn::{
            Fisher, Logistic, OneClass, Pca, Ridge, Svr,
            direct::{DirectLearner, DirectTask, Margin},
        },
        machine::Decision,
    };

    /// Rows with so many columns of noise behind their own.
    fn with_noise(data: &Dataset, columns: usize, seed: u64) -> Dataset {
        let (mut draw, own, rows) = (Draw::seeded(seed), data.dim(), data.points.to_dense());
        let points = Matrix::from_fn(data.len(), own + columns, |i, j| if j < own { rows.at(i, j) } else { draw.normal() });
        Dataset { points: points.into(), ..data.clone() }
    }

    /// A number that depends on one direction of four.
    fn along(n: usize, seed: u64) -> Dataset {
        let mut draw = Draw::seeded(seed);
        let points = Matrix::from_fn(n, 4, |_, _| draw.normal());
        let values = Matrix::from_fn(n, 1, |i, _| {
            let row = points.row(i);
            (1.5 * (row[0] + row[1] - row[2])).sin() + 0.05 * draw.normal()
        });
        Dataset::new(points, Target::Values(values))
    }

    fn margin(gamma: f64) -> Margin {
        let search = Search { n_vectors: 10, iterations: 100, ..Search::default() };
        Margin { kernel: Kernel::gaussian(gamma), c: 10.0, search, ..Margin::default() }
    }

    fn ridge(gamma: f64) -> DirectLearner {
        let search = Search { n_vectors: 12, iterations: 100, ..Search::default() };
        DirectLearner { task: DirectTask::Ridge(Ridge { kernel: Kernel::gaussian(gamma), lambda: 0.01 }), search }
    }

    fn learned<L: Searched>(learner: L, learned: Learned) -> LearnedMetric<L> {
        LearnedMetric { candidates: vec![learner], forms: vec![learned], penalty: None, centred: false, seed: 0 }
    }

    fn loss(fit: &Fit, data: &Dataset) -> f64 {
        fit.machine.score(data).unwrap().loss()
    }

    #[test]
    fn learned_scales_switch_noise_off() {
        let (train, test) = (banana(600, 1), banana(2000, 2));
        let (noisy, noisy_test) = (with_noise(&train, 20, 3), with_noise(&test, 20, 4));
        let clean = loss(&margin(1.0).learn(&train, &Watch::none()).unwrap(), &test);
        let one_width = loss(&margin(0.05).learn(&noisy, &Watch::none()).unwrap(), &noisy_test);
        let fit = learned(margin(0.05), Learned::Scales).learn(&noisy, &Watch::none()).unwrap();
        let metric = fit.machine.metadata.metric.clone().unwrap();
        let scales = fit.machine.scale.as_ref().unwrap().factor.clone();
        assert!(metric.used && metric.feature_scales == scales);
        let largest_noise = scales[2..].iter().fold(0.0, |a: f64, b| a.max(*b));
        assert!(largest_noise < 0.2 * scales[0].min(scales[1]), "{scales:?}");
        let found = loss(&fit, &noisy_test);
        assert!(found - clean < 0.1 * (one_width - clean), "{clean} {one_width} {found}");
    }

    #[test]
    fn a_map_finds_the_direction_that_counts() {
        let (train, test) = (along(600, 1), along(1000, 2));
        let one_width = loss(&ridge(0.25).learn(&train, &Watch::none()).unwrap(), &test);
        for rows in [1, 2, 4] {
            let fit = learned(ridge(0.25), Learned::Map(rows)).learn(&train, &Watch::none()).unwrap();
            // The noise has a variance of 0.0025.
            assert!(loss(&fit, &test) < 0.02, "{rows}: {} against {one_width}", loss(&fit, &test));
            assert_eq!((fit.machine.expansion.vectors.dim(), fit.machine.dim()), (rows, 4));
        }
        assert!(one_width > 0.08, "{one_width}");
        let error = learned(ridge(0.25), Learned::Map(5)).learn(&train, &Watch::none()).unwrap_err().to_string();
        assert_eq!(error, "projection is 5, but must be at most 4, the number of features");
    }

    #[test]
    fn validation_rows_choose_between_scales_and_a_map() {
        let both = |learner| LearnedMetric { forms: vec![Learned::Scales, Learned::Map(2)], ..learned(learner, Learned::Nothing) };
        let fit = both(ridge(0.25)).learn(&along(600, 1), &Watch::none()).unwrap();
        let metric = fit.machine.metadata.metric.unwrap();
        assert_eq!((metric.learned.as_str(), metric.best().unwrap().dimensions), ("map", Some(2)));
        assert!(metric.tried.iter().any(|tried| tried.dimensions.is_none()));
        let alone = learned(ridge(0.25), Learned::Map(2)).learn(&along(600, 1), &Watch::none()).unwrap();
        assert_eq!(fit.machine.expansion, alone.machine.expansion);
    }

    #[test]
    fn random_labels_stay_at_chance() {
        let mut data = with_noise(&banana(400, 1), 4, 2);
        if let Target::Classes(classes) = &mut data.target {
            let mut draw = Draw::seeded(5);
            draw.shuffle(&mut classes.codes);
        }
        let fit = learned(margin(0.2), Learned::Scales).learn(&data, &Watch::none()).unwrap();
        let metric = fit.machine.metadata.metric.unwrap();
        assert!(metric.best().unwrap().error.min(metric.one_width.unwrap().error) > 0.4, "{metric:?}");
    }

    #[test]
    fn factors_of_one_change_no_bit() {
        let data = waveform3(200, 1);
        for learned in [Learned::Width, Learned::Scales] {
            let mut still = margin(0.05);
            still.search.iterations = 0;
            let plain = still.learn(&data, &Watch::none()).unwrap().machine;
            still.search.metric = Metric { learned, ..Metric::default() };
            let same = still.learn(&data, &Watch::none()).unwrap().machine;
            assert_eq!(same.expansion, plain.expansion);
            assert_eq!(same.outputs_for(&data.points).unwrap(), plain.outputs_for(&data.points).unwrap());
        }
    }

    #[test]
    fn every_estimator_gains_by_learned_scales() {
        let (classes, values) = (with_noise(&banana(300, 1), 6, 2), with_noise(&along(300, 1), 4, 2));
        let kernel = Kernel::gaussian(0.1);
        let tasks = [
            (DirectTask::Fisher { fisher: Fisher { kernel: kernel.clone(), lambda: 0.01, ..Fisher::default() }, margin: None }, &classes),
            (DirectTask::Logistic(Logistic { kernel: kernel.clone(), c: 10.0, ..Logistic::default() }), &classes),
            (DirectTask::OneClass(OneClass { kernel: kernel.clone(), nu: 0.1, ..OneClass::default() }), &classes),
            (DirectTask::Pca(Pca { kernel: kernel.clone(), ..Pca::default() }), &classes),
            (DirectTask::Svr(Svr { kernel, c: 10.0, ..Svr::default() }), &values),
        ];
        for (task, data) in tasks {
            let search = Search { n_vectors: 12, iterations: 40, ..Search::default() };
            let direct = DirectLearner { task, search };
            let plain = direct.learn(data, &Watch::none()).unwrap();
            let centred = matches!(plain.machine.decision, Decision::Novelty | Decision::Features);
            let penalty = Some(1e-4 * plain.report.objective.abs());
            let fit = LearnedMetric { penalty, centred, ..learned(direct, Learned::Scales) }.learn(data, &Watch::none()).unwrap();
            assert!(
                fit.report.objective < plain.report.objective,
                "{}: {} {}",
                fit.machine.metadata.learner.unwrap(),
                fit.report.objective,
                plain.report.objective
            );
            let scales = fit.machine.scale.unwrap().factor;
            let middle: f64 = scales.iter().map(|s| s.ln()).sum::<f64>() / scales.len() as f64;
            assert!(!centred || middle.abs() < 1e-9, "{scales:?}");
        }
    }
}
