//! Values that are chosen before the experiment, as the papers chose theirs: the ones of least error among given ones, on the first splits.
//!
//! | `by` | the error is that |
//! |---|---|
//! | `test` | on the test rows, as Franc2003 has it |
//! | `folds` | of cross-validation on the training rows; where the number of vectors is chosen by it too, that of the best number |
//!
//! The errors are averaged over splits. With `median` every split has its own best value, and the median of them is taken, as Diethe2015 has it.
use std::collections::BTreeMap;

use kernelet::{data::Dataset, evaluate::cross_validate, request::Given, watch::Watch};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{
    description::{Description, MOST_SPLITS, Method, Set, Value, Values},
    machines::Machines,
    material::Material,
};

/// Folds of cross-validation.
const FOLDS: usize = 5;

/// Values to choose from, and how.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Choose {
    /// The values of each name.
    pub values: BTreeMap<String, Vec<f64>>,
    /// The methods that choose, each for itself.
    pub methods: Vec<String>,
    /// Methods that take what the first of the others chose; `*` for all.
    #[serde(default)]
    pub also: Vec<String>,
    /// What the error is measured on.
    pub by: By,
    /// How many of the first splits are looked at.
    pub splits: usize,
    /// The median of each split's best value instead of the best of the mean error.
    #[serde(default)]
    pub median: bool,
}

/// What a choice is made by.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// The test rows.
    Test,
    /// Cross-validation on the training rows.
    Folds,
}

/// Where values are chosen.
pub struct Place<'a> {
    /// The experiment.
    pub description: &'a Description,
    /// The set.
    pub set: &'a Set,
    /// Its rows.
    pub material: &'a Material,
    /// Seed of what is drawn.
    pub seed: u64,
}

/// What was chosen for a set: values for each method.
pub type Chosen = BTreeMap<String, Values>;

impl Choose {
    /// Refuses a choice from nothing, or for nobody.
    pub fn check(&self, description: &Description) -> Result<(), String> {
        if self.splits > MOST_SPLITS {
            return Err(format!("a choice looks at {} splits, but {MOST_SPLITS} are the most", self.splits));
        }
        if self.splits == 0 || self.methods.is_empty() || self.values.is_empty() || self.values.values().any(Vec::is_empty) {
            return Err("a choice needs methods, splits, and at least one value of every name".into());
        }
        if self.median && self.values.len() != 1 {
            return Err("a median is that of values of one name".into());
        }
        for name in &self.methods {
            if description.method(name)?.train.is_none() || description.method(name)?.compress.is_some() {
                return Err(format!("values are chosen by what is trained, but {name} is compressed or describes rows"));
            }
        }
        self.methods.iter().chain(self.also.iter().filter(|name| *name != "*")).try_for_each(|name| description.method(name).map(drop))
    }

    /// The first values of all choices that concern a method, to check its requests with.
    pub fn first(choices: &[Choose], method: &Method) -> Values {
        let these = choices.iter().filter(|choice| choice.concerns(&method.name));
        these.flat_map(|choice| choice.values.iter().map(|(name, values)| (name.clone(), Value::Number(values[0])))).collect()
    }

    fn concerns(&self, method: &str) -> bool {
        self.methods.iter().chain(&self.also).any(|name| name == method || name == "*")
    }

    /// The names of chosen values that are the first or the last of at least three to choose from.
    pub fn edges<'a>(&'a self, method: &str, values: &'a Values) -> impl Iterator<Item = (&'a str, f64)> {
        let concerned = self.concerns(method);
        self.values.iter().filter(move |(_, grid)| concerned && grid.len() > 2).filter_map(|(name, grid)| {
            let value = values.get(name).and_then(Value::number)?;
            let inside = grid.iter().any(|other| *other < value) && grid.iter().any(|other| *other > value);
            (!inside).then_some((name.as_str(), value))
        })
    }

    /// All combinations of the values, the first name slowest.
    fn candidates(&self) -> Vec<Values> {
        let mut all = vec![Values::new()];
        for (name, values) in &self.values {
            // In order, so that the median of the places is that of the values.
            let mut values = values.clone();
            values.sort_by(f64::total_cmp);
            let with = |one: &Values, value: f64| {
                let mut one = one.clone();
                one.insert(name.clone(), Value::Number(value));
                one
            };
            all = all.iter().flat_map(|one| values.iter().map(move |&value| with(one, value))).collect();
        }
        all
    }

    /// The values for the methods on a set, after what was chosen for them before.
    pub fn run(&self, place: &Place, before: &Chosen, watch: &Watch) -> Result<Chosen, String> {
        let mut chosen = Chosen::new();
        for (turn, name) in self.methods.iter().enumerate() {
            let values = self.best(place, place.description.method(name)?, before.get(name).unwrap_or(&Values::new()), watch)?;
            let others = place.description.methods.iter().map(|method| &method.name).filter(|_| turn == 0);
            let others = others.filter(|other| !self.methods.contains(other) && self.concerns(other));
            others.chain([name]).for_each(|name| drop(chosen.insert(name.clone(), values.clone())));
        }
        Ok(chosen)
    }

    fn best(&self, place: &Place, method: &Method, before: &Values, watch: &Watch) -> Result<Values, String> {
        let candidates = self.candidates();
        let splits = self.splits.min(place.material.available().unwrap_or(self.splits));
        let pairs: Vec<(usize, &Values)> = (0..splits).flat_map(|split| candidates.iter().map(move |values| (split, values))).collect();
        let loss = |&(split, values): &(usize, &Values)| {
            let mut values = values.clone();
            values.extend(before.clone());
            match watch.cancelled() {
                true => Ok(f64::INFINITY),
                false => self.loss(place, method, &values, &place.material.split(split, 0), &watch.silent()),
            }
        };
        let losses: Vec<f64> = pairs.par_iter().with_max_len(1).map(loss).collect::<Result<_, String>>()?;
        if losses.iter().all(|loss| loss.is_infinite()) && !watch.cancelled() {
            return Err(format!("{}: none of the values to choose from gives a machine", method.name));
        }
        let of = |split: usize, place: usize| losses[split * candidates.len() + place];
        if self.median {
            let best = |split: usize| least((0..candidates.len()).map(|place| of(split, place)));
            let mut places: Vec<usize> = (0..splits).map(best).collect();
            places.sort_unstable();
            return Ok(candidates[places[(places.len() - 1) / 2]].clone());
        }
        let mean = |place: usize| (0..splits).map(|split| of(split, place)).sum::<f64>();
        Ok(candidates[least((0..candidates.len()).map(mean))].clone())
    }

    fn loss(&self, place: &Place, method: &Method, values: &Values, rows: &(Dataset, Dataset), watch: &Watch) -> Result<f64, String> {
        let (Place { set, seed, .. }, (train, test)) = (place, rows);
        let ready = Machines::new(set, train, *seed).ready(method, values, watch)?;
        // Values that give no machine are not chosen.
        if self.by == By::Folds
            && let Some(sized) = set.best_size(&ready.train, *seed)?
        {
            let losses = scaled(set, train)?.and_then(|train| sized.losses(&train, watch));
            return Ok(losses.map_or(f64::INFINITY, |sizes| sizes.iter().map(|size| size.loss).fold(f64::INFINITY, f64::min)));
        }
        let request = set.request(&ready.train, ready.parts, *seed)?;
        let fit = |rows: &Dataset, watch: &Watch| Ok(request.run(rows, &Given::default(), watch)?.fit.machine);
        let loss = match self.by {
            By::Test => fit(train, watch).and_then(|machine| Ok(machine.score(test)?.loss())),
            By::Folds => cross_validate(fit, train, FOLDS, *seed, watch),
        };
        Ok(loss.unwrap_or(f64::INFINITY))
    }
}

/// The rows as the set scales them, by all of them.
fn scaled(set: &Set, train: &Dataset) -> Result<kernelet::Result<Dataset>, String> {
    let scale = set.scaling()?.fit(&train.points);
    let points = scale.and_then(|scale| scale.map_or(Ok(train.points.clone()), |scale| scale.apply(&train.points)));
    Ok(points.map(|points| Dataset { points, ..train.clone() }))
}

/// The place of the least number, the first of equal ones.
fn least(values: impl Iterator<Item = f64>) -> usize {
    values.enumerate().min_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |(place, _)| place)
}

/// Values as a list of `NAME value`, for people; those at the edge of what there was to choose from say so.
pub fn listed(values: &Values, at_edge: impl Fn(&str, &Value) -> bool) -> String {
    let one = |(name, value): (&String, &Value)| format!("{name} {}{}", value.text(), if at_edge(name, value) { " (edge)" } else { "" });
    values.iter().map(one).collect::<Vec<_>>().join(", ")
}
