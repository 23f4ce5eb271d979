//! Greedy Fisher discriminants in experiments: their settings, and the choice of the kernel's width as Diethe2015 has it.
//!
//! The width is chosen once for each set: cross-validation on the first few training sets finds the best width for each, at the number of vectors
//! that suits it best, and the median is taken for all methods and splits.
use kernelet::{
    data::Scaling,
    sparsify::select::{Deflation, FisherCriterion, Numerator},
    watch::Watch,
};
use rayon::prelude::*;
use serde::Deserialize;

use super::{
    description::{Description, Method, Set},
    material::Material,
};
use crate::fisher_pursuit::PursuitFlags;

/// Settings of fisher-pursuit; what is not given is the default.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pursuit {
    /// Which row is chosen next.
    pub criterion: Option<String>,
    /// How it is taken off the others.
    pub deflation: Option<String>,
    /// How many at a time.
    pub stages: Option<usize>,
    /// What is above the line of the quotient.
    pub numerator: Option<String>,
    /// The number of vectors is chosen by cross-validation among the multiples of this.
    pub every: Option<usize>,
}

/// How the width is chosen.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Widths {
    /// The widths to choose from.
    pub values: Vec<f64>,
    /// How many of the first training sets vote.
    pub splits: usize,
    /// The method they vote with, whose number of vectors is chosen by cross-validation.
    pub method: String,
}

impl Pursuit {
    /// The same as flags of `kernelet train`.
    pub fn flags(&self) -> Result<PursuitFlags, String> {
        Ok(PursuitFlags {
            criterion: named("criterion", &self.criterion, FisherCriterion::named)?,
            deflation: named("deflation", &self.deflation, Deflation::named)?,
            numerator: named("numerator", &self.numerator, Numerator::named)?,
            stages: self.stages,
            every: self.every,
            ..PursuitFlags::default()
        })
    }
}

fn named<T>(what: &str, name: &Option<String>, find: impl Fn(&str) -> Option<T>) -> Result<Option<T>, String> {
    name.as_deref().map(|name| find(name).ok_or(format!("there is no {what} {name:?}"))).transpose()
}

impl Widths {
    /// Refuses what cannot be chosen from.
    pub fn check(&self, description: &Description) -> Result<(), String> {
        if self.values.is_empty() || self.splits == 0 {
            return Err("widths need at least one value and one split".into());
        }
        if description.sets.iter().any(|set| set.scale.is_some() || set.settings.width.is_some() || set.settings.gamma.is_some()) {
            return Err("where widths are chosen, no set has a width or a scale of its own".into());
        }
        let method = self.method(description)?;
        description.sets.iter().try_for_each(|set| set.best_size(method, self.values[0]).map(drop))
    }

    fn method<'a>(&self, description: &'a Description) -> Result<&'a Method, String> {
        let found = description.methods.iter().find(|method| method.name == self.method);
        found.ok_or_else(|| format!("there is no method {} to choose widths with", self.method))
    }

    /// The width for a set: the median of the best widths of its first splits, the lower one of two.
    pub fn choose(&self, description: &Description, set: &Set, material: &Material, watch: &Watch) -> Result<f64, String> {
        let splits = self.splits.min(material.available().unwrap_or(self.splits)).max(1);
        let method = self.method(description)?;
        let pairs: Vec<(usize, f64)> = (0..splits).flat_map(|split| self.values.iter().map(move |&width| (split, width))).collect();
        let loss = |&(split, width): &(usize, f64)| {
            let losses =
                set.best_size(method, width)?.losses(&material.split(split).0, &watch.silent()).map_err(|error| error.to_string())?;
            Ok(losses.iter().map(|size| size.loss).fold(f64::INFINITY, f64::min))
        };
        let losses: Vec<f64> = pairs.par_iter().with_max_len(1).map(loss).collect::<Result<_, String>>()?;
        let best = |losses: &[f64]| losses.iter().zip(&self.values).min_by(|a, b| a.0.total_cmp(b.0)).map_or(1.0, |(_, width)| *width);
        let mut widths: Vec<f64> = losses.chunks(self.values.len()).map(best).collect();
        widths.sort_by(f64::total_cmp);
        Ok(widths[(widths.len() - 1) / 2])
    }
}

impl Set {
    /// The learner of a method with a width, its number of vectors chosen by cross-validation.
    fn best_size(&self, method: &Method, width: f64) -> Result<kernelet::learn::BestSize, String> {
        debug_assert_eq!(self.scaling(), Ok(Scaling::None));
        let mut settings = self.settings_for(method);
        settings.width = Some(width);
        let learner = method.choice()?.best_size(settings.kernel()?, &settings.flags()?);
        learner.ok_or_else(|| format!("method {} must choose the number of its vectors by cross-validation, with every", method.name))
    }
}
