//! Few vectors, and how they are found: with the machine, on a basis chosen before, or as in the papers' baselines.
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::learner::LearnerName;
use crate::{
    Named,
    basis::{Deflation, First, FisherCriterion, Numerator},
    compress::Baseline,
    learn::{
        Shrink,
        direct::{DirectLoss, Growth},
    },
};

/// How vectors are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Method {
    /// With the machine where the estimator can, else by a greedy basis.
    #[default]
    Auto,
    /// With the machine, by the estimator whose direct method this is.
    Direct(LearnerName),
    /// Rows far from the span of those chosen before.
    GreedyBasis,
    /// Rows that are far from the span of those before them, in one pass.
    OnlineBasis,
    /// Rows by randomly pivoted Cholesky.
    RpCholesky,
    /// Centres of k-means.
    KMeans,
    /// Rows drawn at random.
    Random,
    /// Rows by Fisher's quotient.
    FisherPursuit,
    /// Rows whose kernel columns explain the targets best.
    MatchingPursuit,
    /// The support vectors of the full machine.
    SupportVectors,
    /// A machine that papers compare with.
    Baseline(Baseline),
}

impl Named for Method {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("auto", Method::Auto),
        ("margin", Method::Direct(LearnerName::Svc)),
        ("ridge", Method::Direct(LearnerName::Ridge)),
        ("svr", Method::Direct(LearnerName::Svr)),
        ("huber", Method::Direct(LearnerName::Huber)),
        ("fisher", Method::Direct(LearnerName::Fisher)),
        ("logistic", Method::Direct(LearnerName::Logistic)),
        ("one-class", Method::Direct(LearnerName::OneClass)),
        ("pca", Method::Direct(LearnerName::Pca)),
        ("greedy-basis", Method::GreedyBasis),
        ("online-basis", Method::OnlineBasis),
        ("rpcholesky", Method::RpCholesky),
        ("kmeans", Method::KMeans),
        ("random", Method::Random),
        ("fisher-pursuit", Method::FisherPursuit),
        ("matching-pursuit", Method::MatchingPursuit),
        ("support-vectors", Method::SupportVectors),
        ("rs", Method::Baseline(Baseline::Rs)),
        ("mrs", Method::Baseline(Baseline::Mrs)),
        ("rsvm", Method::Baseline(Baseline::Rsvm)),
        ("rsvm-squared", Method::Baseline(Baseline::RsvmSquared)),
        ("mrsvm", Method::Baseline(Baseline::Mrsvm)),
        ("rvm-margin", Method::Baseline(Baseline::RvmMargin)),
    ];
}

impl Method {
    /// The method that finds the vectors of an estimator with it, where there is one.
    pub fn direct_for(learner: LearnerName) -> Option<Method> {
        let direct = Method::Direct(learner);
        Self::NAMES.iter().any(|(_, method)| *method == direct).then_some(direct)
    }
}

/// How many vectors, and how they are found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Vectors {
    /// The number of vectors; none for the full machine.
    #[serde(rename = "vectors", skip_serializing_if = "Option::is_none")]
    pub count: Option<usize>,
    /// How they are found; none for [`Method::Auto`].
    #[serde(with = "crate::named", skip_serializing_if = "Option::is_none")]
    pub method: Option<Method>,
    /// Stop once no row is farther than this from the span of the vectors, in squared distance in feature space.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_error: Option<f64>,
    /// The vector that the greedy choice begins with.
    #[serde(with = "crate::named", skip_serializing_if = "Option::is_none")]
    pub first: Option<First>,
    /// What is done where fewer rows support the machine than the basis has vectors.
    #[serde(with = "crate::named", skip_serializing_if = "Option::is_none")]
    pub shrink: Option<Shrink>,
}

/// Settings of the method fisher-pursuit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Pursuit {
    /// Which row is chosen next.
    #[serde(with = "crate::named", skip_serializing_if = "Option::is_none")]
    pub criterion: Option<FisherCriterion>,
    /// How a chosen column is taken off the others.
    #[serde(with = "crate::named", skip_serializing_if = "Option::is_none")]
    pub deflation: Option<Deflation>,
    /// Rows chosen before all are scored again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stages: Option<usize>,
    /// Choose all rows with a score beyond this before all are scored again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score_threshold: Option<f64>,
    /// The numerator of Fisher's quotient.
    #[serde(with = "crate::named", skip_serializing_if = "Option::is_none")]
    pub numerator: Option<Numerator>,
    /// Score a random sample of so many rows each time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub candidates: Option<usize>,
    /// Choose the number of vectors by cross-validation among multiples of this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<usize>,
}

/// Whose coefficients a discriminant has on its vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Coefficients {
    /// Fisher's.
    #[default]
    Own,
    /// Those of a large-margin machine.
    Margin,
}

impl Named for Coefficients {
    const NAMES: &'static [(&'static str, Self)] = &[("own", Coefficients::Own), ("margin", Coefficients::Margin)];
}

/// Settings of direct training: the search for the vectors together with the machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Search {
    /// What an error costs.
    #[serde(with = "crate::named", skip_serializing_if = "Option::is_none")]
    pub loss: Option<DirectLoss>,
    /// Whose coefficients a discriminant has.
    #[serde(with = "crate::named", skip_serializing_if = "Option::is_none")]
    pub coefficients: Option<Coefficients>,
    /// Where the vectors start.
    #[serde(with = "crate::named", skip_serializing_if = "Option::is_none")]
    pub init: Option<InitName>,
    /// Starts, of which the best is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starts: Option<usize>,
    /// Steps of the vectors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iterations: Option<usize>,
    /// Whether the number of vectors grows.
    #[serde(with = "crate::named", skip_serializing_if = "Option::is_none")]
    pub growth: Option<Growth>,
    /// A model file that is written from time to time, from which the same request goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<PathBuf>,
    /// Megabytes for rows and what is computed of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<usize>,
    /// Whether training passes over blocks of rows.
    #[serde(with = "crate::named", skip_serializing_if = "Option::is_none")]
    pub blocks: Option<BlocksName>,
    /// Search on a sample of so many rows first, then on all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample_first: Option<usize>,
    /// Where the sums over rows are computed: `cpu`, `gpu` or `gpu:N`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// How many vectors each class has of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parts: Option<Vec<usize>>,
}

/// When training passes over blocks of rows instead of holding all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum BlocksName {
    /// Where a file is larger than the memory.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Named for BlocksName {
    const NAMES: &'static [(&'static str, Self)] =
        &[("auto", BlocksName::Auto), ("always", BlocksName::Always), ("never", BlocksName::Never)];
}

/// Where the vectors of direct training start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum InitName {
    /// Centres of k-means.
    #[default]
    KMeans,
    /// Distinct rows drawn at random.
    Random,
    /// Rows spread by k-means++.
    Spread,
    /// Rows chosen by randomly pivoted Cholesky.
    RpCholesky,
}

impl Named for InitName {
    const NAMES: &'static [(&'static str, Self)] =
        &[("kmeans", InitName::KMeans), ("random", InitName::Random), ("spread", InitName::Spread), ("rpcholesky", InitName::RpCholesky)];
}
