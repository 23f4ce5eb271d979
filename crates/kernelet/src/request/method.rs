//! The methods of compression by name: which settings each uses, and how it is made from them.
//!
//! A new method is one more name here, and an arm in each `match`.
use serde::{Deserialize, Serialize};

use crate::{
    Error, Named, Result,
    compress::{
        Sparsifier,
        construct::{FixedPoint, Gradient, Objective, Refine, RefineFrom, Refinement, Starts, StartsFrom},
        select::{Chunked, Criterion, Independent, L0, L1, Outputs, Pursuit, Separate, Weights},
    },
    data::Points,
};

/// How the vectors of a smaller machine are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum CompressMethod {
    /// Several strategies, of which the best on validation rows is kept.
    #[default]
    Auto,
    /// Vectors chosen one after the other.
    Pursuit,
    /// Vectors that an l1 penalty keeps.
    L1,
    /// Vectors that a penalty on their number keeps.
    L0,
    /// Vectors that are linearly independent.
    Independent,
    /// New vectors by fixed-point steps.
    FixedPoint,
    /// New vectors by gradient descent.
    Gradient,
    /// New vectors that move together.
    Refine,
}

impl Named for CompressMethod {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("auto", CompressMethod::Auto),
        ("pursuit", CompressMethod::Pursuit),
        ("l1", CompressMethod::L1),
        ("l0", CompressMethod::L0),
        ("independent", CompressMethod::Independent),
        ("fixed-point", CompressMethod::FixedPoint),
        ("gradient", CompressMethod::Gradient),
        ("refine", CompressMethod::Refine),
    ];
}

/// Where searches for new vectors begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum CompressInit {
    /// Vectors of the machine, or rows where vectors are chosen among those.
    #[default]
    Vectors,
    /// Centres of clusters of them.
    KMeans,
}

impl Named for CompressInit {
    const NAMES: &'static [(&'static str, Self)] = &[("vectors", CompressInit::Vectors), ("kmeans", CompressInit::KMeans)];
}

/// Settings of the methods; what is not given is the method's default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct MethodSettings {
    /// What a vector is chosen for.
    #[serde(with = "crate::named", skip_serializing_if = "Option::is_none")]
    pub select_by: Option<Criterion>,
    /// One set of vectors for all outputs, or one for each.
    #[serde(with = "crate::named", skip_serializing_if = "Option::is_none")]
    pub outputs: Option<Outputs>,
    /// Look at a random sample of so many candidates for each vector.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub candidates: Option<usize>,
    /// Set only the newest coefficient instead of refitting all after each vector.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub plain: bool,
    /// How much the penalty weighs on each vector.
    #[serde(with = "crate::named", skip_serializing_if = "Option::is_none")]
    pub weights: Option<Weights>,
    /// Leave out only vectors that the others represent exactly.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub lossless: bool,
    /// Vectors nearer than this to the span of others count as lying in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<f64>,
    /// Work on so many vectors at a time, the others held fixed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chunk: Option<usize>,
    /// How often each chunk has its turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passes: Option<usize>,
    /// Searches for each vector, of which the best is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starts: Option<usize>,
    /// Where searches begin.
    #[serde(with = "crate::named", skip_serializing_if = "Option::is_none")]
    pub init: Option<CompressInit>,
    /// Move all vectors together afterwards, to make this small.
    #[serde(with = "crate::named", skip_serializing_if = "Option::is_none")]
    pub refine: Option<Objective>,
    /// The most steps of that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refine_steps: Option<usize>,
    /// Move coefficients together with the vectors instead of eliminating them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub refine_joint: bool,
}

impl CompressMethod {
    /// The settings that are the method's own.
    pub(super) fn uses(self) -> &'static [&'static str] {
        match self {
            CompressMethod::Auto => &["effort", "labels", "ard", "device"],
            CompressMethod::Pursuit => &["select-by", "outputs", "candidates", "plain", "chunk", "passes"],
            CompressMethod::L1 => &["outputs", "weights", "chunk", "passes"],
            CompressMethod::L0 => &["outputs", "lossless", "tolerance", "chunk", "passes"],
            CompressMethod::Independent => &["tolerance", "chunk", "passes"],
            CompressMethod::FixedPoint | CompressMethod::Gradient => &["outputs", "starts", "init"],
            CompressMethod::Refine => &["init"],
        }
    }

    /// True when it makes new vectors, whose search begins somewhere.
    pub(super) fn makes_vectors(self) -> bool {
        self.uses().contains(&"init")
    }
}

impl MethodSettings {
    /// The method with these settings. `start` are points that searches begin at, in the space of the machine's vectors.
    pub(super) fn make(&self, method: CompressMethod, start: Option<&Points>, seed: u64, sizes: bool) -> Result<Box<dyn Sparsifier>> {
        let outputs = self.outputs.unwrap_or_default();
        let made: Box<dyn Sparsifier> = match method {
            CompressMethod::Auto | CompressMethod::Pursuit => Box::new(Pursuit {
                criterion: self.select_by.unwrap_or_default(),
                outputs,
                backfit: !self.plain,
                sample: self.candidates,
                seed,
            }),
            CompressMethod::L1 => self.for_each(Box::new(L1 { weights: self.weights.unwrap_or_default() })),
            CompressMethod::L0 => {
                let usual = L0::default();
                self.for_each(Box::new(L0 { lossless: self.lossless, tolerance: self.tolerance.unwrap_or(usual.tolerance), ..usual }))
            }
            CompressMethod::Independent => Box::new(Independent { tolerance: self.tolerance.unwrap_or(Independent::default().tolerance) }),
            CompressMethod::FixedPoint => Box::new(FixedPoint { starts: self.starts(start, seed), outputs, ..FixedPoint::default() }),
            CompressMethod::Gradient => Box::new(Gradient { starts: self.starts(start, seed), outputs, ..Gradient::default() }),
            CompressMethod::Refine => {
                let from = if self.init == Some(CompressInit::Vectors) { RefineFrom::Random } else { RefineFrom::KMeans };
                Box::new(Refine { how: self.refinement().unwrap_or_default(), from, grid: sizes, seed })
            }
        };
        if matches!(method, CompressMethod::L1 | CompressMethod::L0) && outputs == Outputs::Pooled {
            return Err(Error::request("`outputs` pooled is for vectors that are made; l1 and l0 have joint or separate"));
        }
        let made = match self.chunk {
            Some(_) if outputs == Outputs::Separate => {
                return Err(Error::request("`chunk` goes with joint outputs; leave out `outputs` separate"));
            }
            Some(size) => Box::new(Chunked { method: made, size, passes: self.passes.unwrap_or(2) }),
            None if self.passes.is_some() => return Err(Error::request("`passes` goes with `chunk`")),
            None => made,
        };
        made.check()?;
        Ok(made)
    }

    fn starts(&self, start: Option<&Points>, seed: u64) -> Starts {
        let from = match (start, self.init.unwrap_or_default()) {
            (Some(points), _) => StartsFrom::Given(points.clone()),
            (None, CompressInit::KMeans) => StartsFrom::KMeans,
            (None, CompressInit::Vectors) => StartsFrom::Vectors,
        };
        Starts { from, count: self.starts.unwrap_or(Starts::default().count), seed }
    }

    /// The method, for each output by itself where that is asked for.
    fn for_each(&self, method: Box<dyn Sparsifier>) -> Box<dyn Sparsifier> {
        match self.outputs {
            Some(Outputs::Separate) => Box::new(Separate { method }),
            _ => method,
        }
    }

    /// How vectors are moved together, where that is asked for.
    pub(super) fn refinement(&self) -> Option<Refinement> {
        let asked = self.refine.is_some() || self.refine_steps.is_some() || self.refine_joint;
        let usual = Refinement::default();
        asked.then(|| Refinement {
            objective: self.refine.unwrap_or_default(),
            max_steps: self.refine_steps.unwrap_or(usual.max_steps),
            joint: self.refine_joint,
        })
    }
}
