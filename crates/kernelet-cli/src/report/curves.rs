//! Machines of many sizes: a curve for each method.
//!
//! Sizes grow by a constant factor, because what a vector more is worth falls with their number. Methods that rewrite the machine give all
//! sizes in one run; direct training is run again for every second size.
use std::time::Instant;

use kernelet::{
    compress::{Auto, Budget, Effort, EmpiricalMap, Goals, Metrics, Task},
    data::Dataset,
    kernel::Kernel,
    machine::Machine,
};

use crate::{
    bases, direct,
    failure::{Failure, Result},
    session::Session,
    sparsifiers::{self, Settings},
};

use super::direct_curve;

/// The most sizes on the way to the largest.
const STEPS: i32 = 19;

/// The largest size, where none is given.
pub const USUAL_LARGEST: usize = 128;

/// A method of the command line.
#[derive(Clone, Copy, Debug)]
pub enum Choice {
    /// Whatever is best at each size.
    Auto,
    /// It rewrites the machine.
    Rewrites(&'static sparsifiers::Method),
    /// It trains a small machine on the rows.
    Direct(&'static str),
}

/// The machines of one method.
#[derive(Debug)]
pub struct Curve {
    /// The name on the command line.
    pub name: String,
    /// Seconds for all of them.
    pub seconds: f64,
    /// What should be known about the run.
    pub note: Option<String>,
    /// The machines, smallest first.
    pub steps: Vec<Step>,
}

/// One machine, and how far its weight vector is from the full machine's as a part of the start; none where that is not known.
#[derive(Debug)]
pub struct Step {
    /// The machine.
    pub machine: Machine,
    /// The relative residual.
    pub residual: Option<f64>,
}

/// What curves are made of.
pub struct Material<'a> {
    /// The machine to make smaller.
    pub machine: &'a Machine,
    /// The rows it was trained on, or like them.
    pub data: Option<&'a Dataset>,
    /// The sizes that are wanted, smallest first.
    pub sizes: Vec<usize>,
}

impl Choice {
    /// The method with this name.
    pub fn named(name: &str) -> std::result::Result<Choice, String> {
        if name == "auto" {
            return Ok(Choice::Auto);
        }
        if let Some(method) = sparsifiers::METHODS.iter().find(|method| method.name == name) {
            return Ok(Choice::Rewrites(method));
        }
        let direct = bases::METHODS.iter().find(|method| method.name == name && direct::learner_of(name) != "no learner");
        direct.map(|method| Choice::Direct(method.name)).ok_or_else(|| format!("there are {}", names().join(", ")))
    }

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Choice::Auto => "auto",
            Choice::Rewrites(method) => method.name,
            Choice::Direct(name) => name,
        }
    }

    /// The machines of this method.
    pub fn curve(self, material: &Material, session: &Session) -> Result<Curve> {
        let clock = Instant::now();
        let (steps, note) = match self {
            Choice::Auto => best(material, session)?,
            Choice::Rewrites(method) => rewritten(method, material, session)?,
            Choice::Direct(name) => direct_curve::steps(name, material, session)?,
        };
        session.check_cancelled()?;
        if steps.is_empty() {
            return Err(Failure::failed(format!("{} found no machine of at most {} vectors", self.name(), material.largest())));
        }
        Ok(Curve { name: self.name().into(), seconds: clock.elapsed().as_secs_f64(), note, steps })
    }
}

/// All names, those that rewrite a machine first.
fn names() -> Vec<&'static str> {
    let direct = bases::METHODS.iter().map(|method| method.name).filter(|name| direct::learner_of(name) != "no learner");
    std::iter::once("auto").chain(sparsifiers::METHODS.iter().map(|method| method.name)).chain(direct).collect()
}

/// The methods where none are named: the best there is, one that chooses, one that constructs, one that trains.
pub fn usual(machine: &Machine, data: Option<&Dataset>) -> Vec<Choice> {
    let mut usual: Vec<Choice> = vec![];
    let precomputed = matches!(machine.expansion.kernel, Kernel::Precomputed(_));
    for name in ["auto", "pursuit", "fixed-point"] {
        usual.extend(Choice::named(name).ok().filter(|_| name == "pursuit" || !precomputed));
    }
    let direct = direct_curve::method_for(machine).filter(|name| !precomputed && direct_curve::has_targets(name, data));
    usual.extend(direct.map(Choice::Direct));
    usual
}

/// Sizes from 1 to `largest` that grow by a constant factor, and `also` where it is given.
pub fn sizes(largest: usize, also: Option<usize>) -> Vec<usize> {
    let largest = largest.max(1);
    let factor = (largest as f64).powf(1.0 / f64::from(STEPS)).max(std::f64::consts::SQRT_2);
    let grown = (0..).map(|step| factor.powi(step).round() as usize).take_while(|size| *size < largest);
    let mut sizes: Vec<usize> = grown.chain([largest]).chain(also).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

impl Material<'_> {
    /// The largest size that is wanted.
    pub fn largest(&self) -> usize {
        self.sizes.last().copied().unwrap_or(1)
    }
}

/// The best machine of doubling sizes, with little effort for each.
fn best(material: &Material, session: &Session) -> Result<(Vec<Step>, Option<String>)> {
    let auto = Auto { effort: Effort::Quick, curve: true, seed: session.seed, ..Auto::default() };
    let goals = Goals { max_vectors: Some(material.largest()), ..Goals::default() };
    let task = Task { machine: material.machine, data: material.data, candidates: None };
    let found = auto.run(task, &goals, &session.watch())?;
    let step = |(machine, metrics): (Machine, Metrics)| Step { machine, residual: metrics.residual };
    let mut steps: Vec<Step> = found.path.into_iter().map(step).collect();
    // The largest was trained on with all rows.
    if let Some(last) = steps.last_mut() {
        last.machine = found.machine;
    }
    Ok((steps, Some(format!("{} at the largest size", found.strategy))))
}

fn rewritten(method: &'static sparsifiers::Method, material: &Material, session: &Session) -> Result<(Vec<Step>, Option<String>)> {
    let empirical_map = EmpiricalMap::of(material.machine, material.data)?;
    let data = match (&empirical_map, material.data) {
        (Some(empirical_map), Some(data)) => Some(empirical_map.rows(data)?),
        _ => None,
    };
    let machine = empirical_map.as_ref().map_or(material.machine, |empirical_map| &empirical_map.machine);
    let task = Task { machine, data: data.as_ref().or(material.data), candidates: None };
    let budget = Budget { max_vectors: material.largest(), ..Budget::default() };
    let settings = Settings { grid: true, ..Settings::default() };
    let path = method.make(&settings, session.seed)?.sparsify(&task, &budget, &session.watch())?;
    let (mut steps, mut last) = (vec![], None);
    for &size in &material.sizes {
        let levels = path.levels();
        let Some(place) = levels.iter().rposition(|level| level.vectors <= size).filter(|place| last != Some(*place)) else { continue };
        last = Some(place);
        let Some(small) = path.machine(place) else { continue };
        let small = empirical_map.as_ref().map_or(Ok(small.clone()), |empirical_map| empirical_map.back(&small))?;
        steps.push(Step { machine: small, residual: Some(levels[place].relative_residual) });
    }
    Ok((steps, path.note.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_grow_to_the_largest_and_are_few() {
        assert_eq!(sizes(1, None), [1]);
        assert_eq!(sizes(6, Some(5)), [1, 2, 3, 4, 5, 6]);
        assert_eq!(sizes(64, None), [1, 2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64]);
        for largest in [100, 12_295] {
            let sizes = sizes(largest, None);
            assert!(sizes.windows(2).all(|w| w[0] < w[1]) && sizes.len() <= 20 && sizes.last() == Some(&largest));
        }
    }

    #[test]
    fn methods_are_found_by_the_names_of_the_other_commands() {
        for name in names() {
            assert_eq!(Choice::named(name).unwrap().name(), name);
        }
        assert!(Choice::named("auto").is_ok());
        assert!(Choice::named("kmeans").unwrap_err().contains("pursuit"));
    }
}
