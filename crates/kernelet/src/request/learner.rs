//! The estimators by name: what each learns, which settings it uses, and how it is made from them.
//!
//! A new estimator is one more name here, and an arm in each `match`.
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::train::Train;
use crate::{
    Named,
    basis::Numerator,
    data::read::Wanted,
    kernel::Kernel,
    learn::{
        ClassWeights, Components, Fisher, FrameLearner, Huber, Learner, Logistic, Multiclass, NadarayaWatson, NuSvc, NuSvr, OneClass,
        Parzen, Pca, Penalty, Ridge, Rvm, Svc, Svr, Threshold,
    },
};

/// An estimator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum LearnerName {
    /// Support vector classification.
    #[default]
    Svc,
    /// The same with nu in place of C.
    NuSvc,
    /// Support vector regression.
    Svr,
    /// The same with nu in place of epsilon.
    NuSvr,
    /// One-class support vector machine.
    OneClass,
    /// Kernel ridge regression.
    Ridge,
    /// Kernel regression with Huber's loss.
    Huber,
    /// Kernel Fisher discriminant.
    Fisher,
    /// Kernel logistic regression.
    Logistic,
    /// Kernel principal component analysis.
    Pca,
    /// Relevance vector machine.
    Rvm,
    /// Parzen window classification.
    Parzen,
    /// Nadaraya-Watson regression.
    NadarayaWatson,
}

impl Named for LearnerName {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("svc", LearnerName::Svc),
        ("nu-svc", LearnerName::NuSvc),
        ("svr", LearnerName::Svr),
        ("nu-svr", LearnerName::NuSvr),
        ("one-class", LearnerName::OneClass),
        ("ridge", LearnerName::Ridge),
        ("huber", LearnerName::Huber),
        ("fisher", LearnerName::Fisher),
        ("logistic", LearnerName::Logistic),
        ("pca", LearnerName::Pca),
        ("rvm", LearnerName::Rvm),
        ("parzen", LearnerName::Parzen),
        ("nadaraya-watson", LearnerName::NadarayaWatson),
    ];
}

/// What an estimator that can do both learns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskName {
    /// Classes.
    Classification,
    /// Numbers.
    Regression,
}

impl Named for TaskName {
    const NAMES: &'static [(&'static str, Self)] = &[("classification", TaskName::Classification), ("regression", TaskName::Regression)];
}

/// What is kept between uses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Cache {
    /// Kernel values, in so many megabytes.
    Megabytes(usize),
    /// Rows in binary, in this file.
    File(PathBuf),
}

/// Settings of the estimators; what is not given is the estimator's default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Settings {
    /// Cost of an error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub c: Option<f64>,
    /// Fraction of the rows that may be margin errors or lie outside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nu: Option<f64>,
    /// Errors up to this cost nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epsilon: Option<f64>,
    /// Penalty of large coefficients.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lambda: Option<f64>,
    /// Subtract the mean of the targets, and add it to what is predicted.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub centre: bool,
    /// Classification or regression.
    #[serde(with = "crate::named", skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskName>,
    /// When training stops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<f64>,
    /// Steps after which a problem of the support vector family stops unfinished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_iterations: Option<u64>,
    /// Keep variables in the problem that look settled at a bound.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_shrinking: bool,
    /// Megabytes for kernel values, or the file of rows for training by blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<Cache>,
    /// Factors for the classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class_weight: Option<ClassWeights>,
    /// How several classes become two-class problems.
    #[serde(with = "crate::named", skip_serializing_if = "Option::is_none")]
    pub multiclass: Option<Multiclass>,
    /// What lambda penalises.
    #[serde(with = "crate::named", skip_serializing_if = "Option::is_none")]
    pub penalty: Option<Penalty>,
    /// What the direction of a discriminant separates.
    #[serde(with = "crate::named", skip_serializing_if = "Option::is_none")]
    pub direction: Option<Numerator>,
    /// How the threshold is chosen.
    #[serde(with = "crate::named", skip_serializing_if = "Option::is_none")]
    pub bias: Option<Threshold>,
    /// Components to keep.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub components: Option<usize>,
    /// Fraction of the variance to keep, in place of a number of components.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explained: Option<f64>,
    /// Divide the features by their standard deviations.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub whiten: bool,
}

/// The setting that tuning searches beside the width of the kernel.
#[derive(Debug)]
pub struct Tuned {
    /// Its name.
    pub name: &'static str,
    /// The values that are tried first, in factors of 10.
    pub grid: &'static [f64],
    /// The values that are compared where a metric is learned, the default first.
    pub with_metric: &'static [f64],
    /// Where it stands.
    pub place: fn(&mut Settings) -> &mut Option<f64>,
}

const C: Tuned =
    Tuned { name: "c", grid: &[0.1, 1.0, 10.0, 100.0, 1000.0], with_metric: &[1.0, 10.0, 100.0], place: |settings| &mut settings.c };
const LOGISTIC_C: Tuned = Tuned { with_metric: &[10.0, 1.0, 100.0], ..C };
// Half a step of the grid up is still a nu that most data allow.
const NU: Tuned = Tuned { name: "nu", grid: &[0.001, 0.01, 0.1], with_metric: &[0.5], place: |settings| &mut settings.nu };
const LAMBDA: Tuned = Tuned {
    name: "lambda",
    grid: &[1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0],
    with_metric: &[1.0, 0.1, 0.01],
    place: |settings| &mut settings.lambda,
};

impl LearnerName {
    /// The target it learns from.
    pub(super) fn wanted(self) -> Wanted {
        match self {
            LearnerName::Svc
            | LearnerName::NuSvc
            | LearnerName::Fisher
            | LearnerName::Logistic
            | LearnerName::Rvm
            | LearnerName::Parzen => Wanted::Classes,
            LearnerName::Svr | LearnerName::NuSvr | LearnerName::Ridge | LearnerName::Huber | LearnerName::NadarayaWatson => Wanted::Values,
            LearnerName::OneClass | LearnerName::Pca => Wanted::Nothing,
        }
    }

    /// The setting that tuning searches beside the width.
    pub(super) fn tuned(self) -> Option<Tuned> {
        match self {
            LearnerName::Svc | LearnerName::Svr | LearnerName::NuSvr | LearnerName::Huber => Some(C),
            LearnerName::Logistic => Some(LOGISTIC_C),
            LearnerName::NuSvc | LearnerName::OneClass => Some(NU),
            LearnerName::Ridge | LearnerName::Fisher => Some(LAMBDA),
            LearnerName::Pca | LearnerName::Rvm | LearnerName::Parzen | LearnerName::NadarayaWatson => None,
        }
    }

    /// The settings that the full machine uses.
    pub(super) fn uses(self) -> &'static [&'static str] {
        match self {
            LearnerName::Svc => &["c", "tolerance", "max-iterations", "no-shrinking", "cache", "class-weight", "multiclass"],
            LearnerName::NuSvc => &["nu", "tolerance", "max-iterations", "no-shrinking", "cache", "multiclass"],
            LearnerName::Svr => &["c", "epsilon", "tolerance", "max-iterations", "no-shrinking", "cache"],
            LearnerName::NuSvr => &["c", "nu", "tolerance", "max-iterations", "no-shrinking", "cache"],
            LearnerName::OneClass => &["nu", "tolerance", "max-iterations", "no-shrinking", "cache"],
            LearnerName::Ridge => &["lambda", "centre"],
            LearnerName::Huber => &["c", "epsilon", "cache"],
            LearnerName::Fisher => &["lambda", "penalty", "direction", "bias", "c", "class-weight", "cache"],
            LearnerName::Logistic => &["c", "class-weight", "cache"],
            LearnerName::Pca => &["components", "explained", "whiten", "tolerance", "cache"],
            LearnerName::Rvm => &["task", "tolerance", "cache"],
            LearnerName::Parzen => &["class-weight"],
            LearnerName::NadarayaWatson => &[],
        }
    }

    /// The estimators that can be trained on a basis.
    pub(super) fn on_bases() -> impl Iterator<Item = LearnerName> {
        let train = Train::default();
        Self::NAMES.iter().map(|(_, learner)| *learner).filter(move |learner| learner.in_frame(Kernel::gaussian(1.0), &train).is_some())
    }

    /// The estimator that can also learn on a basis; none for those that cannot.
    pub(super) fn in_frame(self, kernel: Kernel, train: &Train) -> Option<Box<dyn FrameLearner>> {
        Some(match self {
            LearnerName::Svc => Box::new(svc(kernel, train)),
            LearnerName::NuSvc => Box::new(nu_svc(kernel, train)),
            LearnerName::Svr => Box::new(svr(kernel, train)),
            LearnerName::NuSvr => Box::new(nu_svr(kernel, train)),
            LearnerName::OneClass => Box::new(one_class(kernel, train)),
            LearnerName::Ridge => Box::new(ridge(kernel, train)),
            LearnerName::Huber => Box::new(huber(kernel, train)),
            LearnerName::Fisher => Box::new(fisher(kernel, train)),
            LearnerName::Logistic => Box::new(logistic(kernel, train)),
            LearnerName::Pca => Box::new(pca(kernel, train)),
            LearnerName::Rvm | LearnerName::Parzen | LearnerName::NadarayaWatson => return None,
        })
    }

    /// The full machine of an estimator that has no other.
    pub(super) fn only_full(self, kernel: Kernel, train: &Train) -> Box<dyn Learner> {
        let settings = &train.settings;
        match self {
            LearnerName::Parzen => Box::new(Parzen { kernel, class_weights: settings.class_weight.clone().unwrap_or_default() }),
            LearnerName::NadarayaWatson => Box::new(NadarayaWatson { kernel }),
            _ => {
                let usual = Rvm::default();
                let (tolerance, cache_bytes) = (settings.tolerance.unwrap_or(usual.tolerance), settings.cache_bytes(usual.cache_bytes));
                Box::new(Rvm { kernel, tolerance, cache_bytes, ..usual })
            }
        }
    }
}

impl Settings {
    /// Bytes for kernel values, as given or as usual.
    pub(super) fn cache_bytes(&self, usual: usize) -> usize {
        match self.cache {
            Some(Cache::Megabytes(megabytes)) => megabytes.saturating_mul(1 << 20),
            _ => usual,
        }
    }

    fn weights(&self) -> ClassWeights {
        self.class_weight.clone().unwrap_or_default()
    }
}

pub(super) fn svc(kernel: Kernel, train: &Train) -> Svc {
    let (settings, usual) = (&train.settings, Svc::default());
    Svc {
        kernel,
        c: settings.c.unwrap_or(usual.c),
        class_weights: settings.weights(),
        multiclass: train.multiclass(),
        tolerance: settings.tolerance.unwrap_or(usual.tolerance),
        cache_bytes: settings.cache_bytes(usual.cache_bytes),
        shrinking: !settings.no_shrinking,
        max_iterations: settings.max_iterations.unwrap_or(usual.max_iterations),
    }
}

fn nu_svc(kernel: Kernel, train: &Train) -> NuSvc {
    let (settings, usual) = (&train.settings, NuSvc::default());
    NuSvc {
        kernel,
        nu: settings.nu.unwrap_or(usual.nu),
        multiclass: match settings.multiclass.unwrap_or_default() {
            Multiclass::OutputCodes { .. } => Multiclass::OutputCodes { seed: train.seed },
            how => how,
        },
        tolerance: settings.tolerance.unwrap_or(usual.tolerance),
        cache_bytes: settings.cache_bytes(usual.cache_bytes),
        shrinking: !settings.no_shrinking,
        max_iterations: settings.max_iterations.unwrap_or(usual.max_iterations),
    }
}

pub(super) fn svr(kernel: Kernel, train: &Train) -> Svr {
    let (settings, usual) = (&train.settings, Svr::default());
    Svr {
        kernel,
        c: settings.c.unwrap_or(usual.c),
        epsilon: settings.epsilon.unwrap_or(usual.epsilon),
        tolerance: settings.tolerance.unwrap_or(usual.tolerance),
        cache_bytes: settings.cache_bytes(usual.cache_bytes),
        shrinking: !settings.no_shrinking,
        max_iterations: settings.max_iterations.unwrap_or(usual.max_iterations),
    }
}

fn nu_svr(kernel: Kernel, train: &Train) -> NuSvr {
    let (settings, usual) = (&train.settings, NuSvr::default());
    NuSvr {
        kernel,
        c: settings.c.unwrap_or(usual.c),
        nu: settings.nu.unwrap_or(usual.nu),
        tolerance: settings.tolerance.unwrap_or(usual.tolerance),
        cache_bytes: settings.cache_bytes(usual.cache_bytes),
        shrinking: !settings.no_shrinking,
        max_iterations: settings.max_iterations.unwrap_or(usual.max_iterations),
    }
}

pub(super) fn one_class(kernel: Kernel, train: &Train) -> OneClass {
    let (settings, usual) = (&train.settings, OneClass::default());
    OneClass {
        kernel,
        nu: settings.nu.unwrap_or(usual.nu),
        tolerance: settings.tolerance.unwrap_or(usual.tolerance),
        cache_bytes: settings.cache_bytes(usual.cache_bytes),
        shrinking: !settings.no_shrinking,
        max_iterations: settings.max_iterations.unwrap_or(usual.max_iterations),
    }
}

pub(super) fn ridge(kernel: Kernel, train: &Train) -> Ridge {
    Ridge { kernel, lambda: train.settings.lambda.unwrap_or(Ridge::default().lambda) }
}

pub(super) fn huber(kernel: Kernel, train: &Train) -> Huber {
    let (settings, usual) = (&train.settings, Huber::default());
    Huber {
        kernel,
        c: settings.c.unwrap_or(usual.c),
        epsilon: settings.epsilon.unwrap_or(usual.epsilon),
        cache_bytes: settings.cache_bytes(usual.cache_bytes),
    }
}

pub(super) fn fisher(kernel: Kernel, train: &Train) -> Fisher {
    let (settings, usual) = (&train.settings, Fisher::default());
    let bias = match settings.bias {
        Some(Threshold::Svm { .. }) => Threshold::Svm { c: settings.c.unwrap_or(1.0) },
        rule => rule.unwrap_or_default(),
    };
    Fisher {
        kernel,
        penalty: settings.penalty.unwrap_or_default(),
        lambda: settings.lambda.unwrap_or(usual.lambda),
        direction: settings.direction.unwrap_or_default(),
        bias,
        class_weights: settings.weights(),
        cache_bytes: settings.cache_bytes(usual.cache_bytes),
    }
}

pub(super) fn logistic(kernel: Kernel, train: &Train) -> Logistic {
    let (settings, usual) = (&train.settings, Logistic::default());
    Logistic {
        kernel,
        c: settings.c.unwrap_or(usual.c),
        class_weights: settings.weights(),
        cache_bytes: settings.cache_bytes(usual.cache_bytes),
    }
}

pub(super) fn pca(kernel: Kernel, train: &Train) -> Pca {
    let (settings, usual) = (&train.settings, Pca::default());
    let count = settings.components.map(Components::Count);
    Pca {
        kernel,
        components: settings.explained.map(Components::Explained).or(count).unwrap_or(usual.components),
        whiten: settings.whiten,
        tolerance: settings.tolerance.unwrap_or(usual.tolerance),
        cache_bytes: settings.cache_bytes(usual.cache_bytes),
        seed: train.seed,
    }
}
