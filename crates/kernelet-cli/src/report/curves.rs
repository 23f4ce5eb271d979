//! Machines of many sizes: a curve for each method.
//!
//! Sizes grow by a constant factor, because the gain of one more vector falls with their number. Methods that rewrite the machine give all
//! sizes in one run; direct training is run again for every second size.
use std::time::Instant;

use kernelet::{
    Named,
    compress::{Effort, Goals},
    data::Dataset,
    kernel::Kernel,
    machine::{Machine, SizeMetrics},
    request::{Compress, CompressMethod, Compressed, LearnerName, Method, Train},
};

use super::direct_curve;
use crate::{
    failure::{Failure, Result},
    session::Session,
};

/// The most sizes below the largest.
const STEPS: i32 = 19;

/// The largest size, where none is given.
pub const USUAL_LARGEST: usize = 128;

/// A method of the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// It rewrites the machine.
    Compress(CompressMethod),
    /// It trains a small machine on the rows.
    Direct(LearnerName),
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

/// One machine, and the relative squared distance of its weight vector from the full machine's; none where that is not known.
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
        all()
            .find(|choice| choice.name() == name)
            .ok_or_else(|| format!("there are {}", all().map(Choice::name).collect::<Vec<_>>().join(", ")))
    }

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Choice::Compress(method) => method.name(),
            Choice::Direct(learner) => Method::Direct(learner).name(),
        }
    }

    /// The machines of this method.
    pub fn curve(self, material: &Material, session: &Session) -> Result<Curve> {
        let clock = Instant::now();
        let (steps, note) = match self {
            Choice::Compress(method) => compressed(method, material, session)?,
            Choice::Direct(learner) => direct_curve::steps(learner, material, session)?,
        };
        session.check_cancelled()?;
        if steps.is_empty() {
            return Err(Failure::failed(format!("{} found no machine of at most {} vectors", self.name(), material.largest())));
        }
        Ok(Curve { name: self.name().into(), seconds: clock.elapsed().as_secs_f64(), note, steps })
    }
}

/// All choices, those that rewrite a machine first.
fn all() -> impl Iterator<Item = Choice> {
    let direct = Method::all().filter_map(|method| match method {
        Method::Direct(learner) => Some(Choice::Direct(learner)),
        _ => None,
    });
    CompressMethod::all().map(Choice::Compress).chain(direct)
}

/// The methods where none are named: the best there is, one that chooses, one that constructs, one that trains.
pub fn usual(machine: &Machine, data: Option<&Dataset>) -> Vec<Choice> {
    let precomputed = matches!(machine.expansion.kernel, Kernel::Precomputed(_));
    if precomputed {
        return vec![Choice::Compress(CompressMethod::Pursuit)];
    }
    let methods = [CompressMethod::Auto, CompressMethod::Pursuit, CompressMethod::FixedPoint].map(Choice::Compress);
    let trained =
        Train::like(machine, 1, 0).filter(|train| direct_curve::has_targets(train, data)).map(|train| Choice::Direct(train.learner()));
    methods.into_iter().chain(trained).collect()
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

/// Machines by a method of compression; auto has little effort for each size.
fn compressed(method: CompressMethod, material: &Material, session: &Session) -> Result<(Vec<Step>, Option<String>)> {
    let auto = method == CompressMethod::Auto;
    let request = Compress {
        method: Some(method),
        effort: auto.then_some(Effort::Quick),
        goals: Goals { max_vectors: Some(material.largest()), ..Goals::default() },
        path: auto || method == CompressMethod::Refine,
        seed: session.seed,
        ..Compress::default()
    };
    let found = request.run(material.machine, material.data, None, &session.watch())?;
    match &found.path {
        Some(path) => {
            let note = path.note.clone();
            Ok((steps_of(&found, material), note))
        }
        None => {
            let note = format!("{} at the largest size", found.strategy);
            let step = |(metrics, machine): (_, Machine)| step(&metrics, machine);
            Ok((found.sizes.into_iter().map(step).collect(), Some(note)))
        }
    }
}

fn step(metrics: &SizeMetrics, machine: Machine) -> Step {
    Step { machine, residual: metrics.relative_residual }
}

/// Of every size that is wanted the largest machine that is not larger.
fn steps_of(found: &Compressed, material: &Material) -> Vec<Step> {
    let (mut steps, mut last) = (vec![], None);
    let Some(path) = &found.path else { return steps };
    let levels = path.levels();
    for &size in &material.sizes {
        let Some(place) = levels.iter().rposition(|level| level.n_vectors <= size).filter(|place| last != Some(*place)) else { continue };
        last = Some(place);
        steps.extend(path.machine(place).map(|machine| Step { machine, residual: Some(levels[place].relative_residual) }));
    }
    steps
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
        for name in all().map(Choice::name) {
            assert_eq!(Choice::named(name).unwrap().name(), name);
        }
        assert!(Choice::named("auto").is_ok());
        assert!(Choice::named("kmeans").unwrap_err().contains("pursuit"));
    }
}
