//! What a request asks of the kernel's metric: one width, learned scales or a learned map, and where they come from.
use serde::{Deserialize, Serialize};

use super::{
    kernel::Gamma,
    learner::LearnerName,
    plan::Plan,
    train::{Given, Train},
    vectors::{Method, Vectors},
};
use crate::{
    Error, Result,
    data::{Dataset, Scale, Scaling, read::Wanted},
    kernel::{Kernel, Precomputed},
    learn::{
        centred,
        direct::{Chosen, Learned, LearnedMetric, Searched},
    },
    machine::{Machine, MetricMetadata},
    text::figure,
    watch::Watch,
};

/// Vectors with which a metric is learned for machines that have no such budget.
const VECTORS: usize = 30;

/// Widths that are compared where none is given, as factors of `1 / (features * variance)`; the first is the default.
const WIDTHS: [f64; 3] = [1.0, 0.25, 1.0 / 16.0];

/// What of the metric is learned with the vectors.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct MetricSettings {
    /// A scale for each feature.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ard: bool,
    /// A linear map to so many dimensions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub projection: Option<usize>,
    /// The weight of the penalty; none where validation rows choose it.
    #[serde(rename = "metric-penalty", skip_serializing_if = "Option::is_none")]
    pub penalty: Option<f64>,
    /// The costs that are compared on validation rows; empty for those of the estimator.
    #[serde(skip)]
    pub(super) costs: Vec<f64>,
}

impl Train {
    /// The forms of a metric that are to be learned; validation rows choose where there are several.
    pub(super) fn learned(&self) -> Vec<Learned> {
        let width = (self.kernel.gamma == Some(Gamma::Learned)).then_some(Learned::Width);
        let scales = self.metric.ard.then_some(Learned::Scales);
        width.into_iter().chain(scales).chain(self.metric.projection.map(Learned::Map)).collect()
    }

    /// How features are scaled. The penalty of a learned metric takes all of them alike, so that they must be of one size.
    pub(super) fn scaling(&self) -> Scaling {
        let usual = if self.learned().is_empty() { Scaling::None } else { Scaling::Standard };
        self.scale.unwrap_or(usual)
    }

    /// The same request with one width.
    pub(super) fn with_one_width(&self) -> Train {
        let mut train = Train { metric: MetricSettings::default(), ..self.clone() };
        train.kernel.gamma = train.kernel.gamma.filter(|gamma| *gamma != Gamma::Learned);
        train
    }

    /// Takes the scales of an earlier machine: its scaling with what was learned of the metric, for [`Given`]; and its width where this request has none and
    /// the kernel is the same.
    pub fn take_scales(&mut self, machine: &Machine) -> Result<Scale> {
        let Some(scale) = &machine.scale else {
            return Err(Error::request("the model of `scales-from` has no scales; train it with `ard`, `projection` or `scale`"));
        };
        let kernel = &machine.expansion.kernel;
        let same = self.kernel.kernel()?.name() == kernel.name();
        if let (None, Some(gamma), true, false) = (self.kernel.gamma, kernel.gamma(), same, self.tune) {
            self.kernel.gamma = Some(Gamma::Given(gamma));
        }
        Ok(scale.clone())
    }

    /// The costs and kernels that validation rows choose from.
    pub(super) fn metric_candidates(&self, kernel: &Kernel) -> Vec<(f64, Kernel)> {
        let tuned = !self.metric.costs.is_empty();
        let costs = if tuned { self.metric.costs.clone() } else { self.metric_costs() };
        let free = !tuned && matches!(self.kernel.gamma, None | Some(Gamma::Scale | Gamma::Learned));
        let gammas: Vec<f64> = match kernel.gamma().filter(|_| free) {
            Some(gamma) => WIDTHS.map(|factor| factor * gamma).to_vec(),
            None => kernel.gamma().into_iter().collect(),
        };
        let kernels: Vec<Kernel> = match gammas.is_empty() {
            true => vec![kernel.clone()],
            false => gammas.into_iter().map(|gamma| kernel.clone().with_gamma(gamma)).collect(),
        };
        costs.into_iter().flat_map(|cost| kernels.iter().map(move |kernel| (cost, kernel.clone()))).collect()
    }

    /// The estimator with a learned metric, for the costs and kernels that validation rows choose from.
    pub(super) fn with_metric<L: Searched>(&self, kernel: &Kernel, make: impl Fn(&Train, Kernel) -> L) -> LearnedMetric<L> {
        LearnedMetric {
            candidates: self.metric_candidates(kernel).into_iter().map(|(cost, kernel)| make(&self.with_cost(cost), kernel)).collect(),
            forms: self.learned(),
            penalty: self.metric.penalty,
            centred: self.wanted() == Wanted::Nothing,
            seed: self.seed,
        }
    }

    /// What rows choose of a metric for a machine whose vectors are searched for: the cost and the kernel of the estimator, and where its search begins.
    pub(super) fn chosen_metric(&self, kernel: &Kernel, rows: &Dataset, watch: &Watch) -> Result<(f64, Kernel, Chosen)> {
        let centred = self.settings.centre.then(|| centred(rows).map(|(rows, _)| rows)).transpose()?;
        let rows = centred.as_ref().unwrap_or(rows);
        let chosen = match self.learner() {
            LearnerName::Svc => self.with_metric(kernel, Train::margin).choose(rows, watch)?,
            _ => self.with_metric(kernel, Train::direct_learner).choose(rows, watch)?,
        };
        let (cost, kernel) = self.metric_candidates(kernel).swap_remove(chosen.candidate);
        Ok((cost, kernel, chosen))
    }

    /// A metric is learned in one form, with vectors that are searched for.
    pub(super) fn check_metric(&self, plan: Plan, given: &Given) -> Result<()> {
        let MetricSettings { ard, projection, penalty, .. } = &self.metric;
        let width = self.kernel.gamma == Some(Gamma::Learned);
        if width && (*ard || projection.is_some()) {
            return Err(Error::request("`gamma` learned contradicts `ard` and `projection`, which learn the width too; leave it out"));
        }
        if *ard && projection.is_some() && (penalty.is_some() || self.wanted() == Wanted::Nothing) {
            return Err(Error::request(
                "validation rows choose between `ard` and `projection`, which neither an estimator without targets nor `metric-penalty` has; give one of them",
            ));
        }
        if self.learned().is_empty() {
            return match penalty {
                Some(_) => Err(Error::request("`metric-penalty` is used with `ard`, `projection` or `gamma` learned")),
                None => Ok(()),
            };
        }
        let kernel = self.kernel.kernel()?;
        if width && kernel.gamma().is_none() {
            return Err(Error::request(format!("the {} kernel has no `gamma` to be learned", kernel.name())));
        }
        if kernel == Kernel::Precomputed(Precomputed {}) {
            return Err(Error::request(
                "a learned metric needs features, and with the kernel precomputed only its values are given; leave `ard` and `projection` out",
            ));
        }
        if matches!(plan, Plan::Baseline(_)) {
            return Err(Error::request(format!("a learned metric is not used by {}", self.described(plan))));
        }
        if plan != Plan::Direct {
            self.learns_metric().check()?;
        }
        match given.start.is_some() || self.search.checkpoint.is_some() {
            true => Err(Error::request("a learned metric goes neither with `start` nor with `checkpoint`")),
            false => Ok(()),
        }
    }

    /// The request that learns the metric for a machine that does not search for its vectors.
    fn learns_metric(&self) -> Train {
        let direct = |learner: LearnerName| Method::direct_for(learner).is_some();
        let learner = match (direct(self.learner()), self.wanted()) {
            (true, _) => self.learner(),
            (false, Wanted::Values) => LearnerName::Ridge,
            (false, _) => LearnerName::Svc,
        };
        let same = learner == self.learner();
        let mut train = Train {
            learner: Some(learner),
            kernel: self.kernel.clone(),
            metric: self.metric.clone(),
            tune: self.tune,
            folds: self.folds.filter(|_| self.tune),
            vectors: Vectors { count: Some(VECTORS), ..Vectors::default() },
            seed: self.seed,
            ..Train::default()
        };
        if same {
            (train.settings.c, train.settings.nu, train.settings.epsilon) = (self.settings.c, self.settings.nu, self.settings.epsilon);
            (train.settings.lambda, train.settings.class_weight) = (self.settings.lambda, self.settings.class_weight.clone());
            (train.settings.components, train.settings.centre) = (self.settings.components, self.settings.centre);
        }
        train
    }

    /// For machines that do not search for their vectors: the request with one width on rows that a learned metric has transformed, what it is given, and
    /// how the metric was learned. None where nothing is to be done.
    pub(super) fn after_metric(
        &self,
        data: &Dataset,
        given: &Given,
        notes: &mut Vec<String>,
        watch: &Watch,
    ) -> Result<Option<(Train, Given, MetricMetadata)>> {
        if self.learned().is_empty() || self.plan()? == Plan::Direct {
            return Ok(None);
        }
        let first = Train { scale: self.scale, ..self.learns_metric() }.run(data, given, watch)?;
        if watch.cancelled() {
            return Err(Error::Cancelled);
        }
        let machine = first.fit.machine;
        notes.push(format!("the metric is learned with {} vectors", machine.n_vectors()));
        let metric = machine.metadata.metric.unwrap_or_default();
        let mut train = Train { scale: None, ..self.with_one_width() };
        if let Some(gamma) = machine.expansion.kernel.gamma().filter(|_| !self.tune) {
            train.kernel.gamma = Some(Gamma::Given(gamma));
        }
        Ok(Some((train, Given { scale: machine.scale, ..given.clone() }, metric)))
    }
}

/// What the user should know of a metric.
pub(super) fn note_of(metric: &MetricMetadata) -> Option<String> {
    let name = match metric.learned.as_str() {
        "map" => "a learned map",
        "width" => "a learned width",
        "scales or map" => "learned scales or a learned map",
        _ => "learned scales",
    };
    let (best, one) = (figure(metric.best()?.error), figure(metric.one_width?.error));
    Some(match metric.used {
        true if best == one => format!("validation rows prefer {name} to one width; both have an error of {best}"),
        true => format!("validation rows prefer {name}: an error of {best} against {one} with one width"),
        false => format!("validation rows do not prefer {name} (an error of {best}) to one width ({one}), which is used"),
    })
}

#[cfg(test)]
mod tests {
    use crate::request::Train;

    #[test]
    fn a_metric_is_not_learned_from_kernel_values() {
        for asked in ["\"ard\": true", "\"projection\": 2"] {
            for vectors in ["", ", \"vectors\": 4", ", \"vectors\": 4, \"method\": \"random\""] {
                let train = Train::from_json(&format!("{{\"kernel\": \"precomputed\", {asked}{vectors}}}")).unwrap();
                assert!(train.check().unwrap_err().to_string().contains("a learned metric needs features"), "{asked}{vectors}");
            }
        }
    }
}
