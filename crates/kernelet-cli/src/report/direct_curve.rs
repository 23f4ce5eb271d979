//! Small machines trained on the rows with the settings of the full one.
use kernelet::{
    Named,
    data::{Dataset, Target, read::Wanted},
    request::{Given, LearnerName, Method, Train, Vectors},
};

use super::curves::{Material, Step};
use crate::{
    failure::{Failure, Result},
    session::Session,
};

/// Whether the rows have the target that a request learns from.
pub fn has_targets(train: &Train, data: Option<&Dataset>) -> bool {
    match (train.wanted(), data.map(|data| &data.target)) {
        (_, None) => false,
        (Wanted::Nothing, Some(_)) => true,
        (Wanted::Values, Some(target)) => matches!(target, Target::Values(_)),
        (Wanted::Classes, Some(target)) => matches!(target, Target::Classes(_)),
    }
}

/// A machine for every second size, each trained anew, and what should be known about them.
pub fn steps(learner: LearnerName, material: &Material, session: &Session) -> Result<(Vec<Step>, Option<String>)> {
    let machine = material.machine;
    let like = Train::like(machine, 1, session.seed).filter(|train| train.learner() == learner);
    let train = like.unwrap_or_else(|| Train { learner: Some(learner), ..Train::like(machine, 1, session.seed).unwrap_or_default() });
    let Some(data) = material.data.filter(|_| has_targets(&train, material.data)) else {
        let what = if train.wanted() == Wanted::Values { "numbers to predict" } else { "class labels" };
        return Err(Failure::usage(format!("{} trains on rows with {what}; give them with --data", Method::Direct(learner).name())));
    };
    let taken = machine.metadata.c.is_none().then_some(train.settings.c).flatten();
    let note = taken.map(|c| format!("The model does not store C; taken as {c}, the largest coefficient"));
    let given = Given { scale: machine.scale.clone(), ..Given::default() };
    let mut steps: Vec<Step> = vec![];
    for size in sizes(material, data, train.settings.components.unwrap_or(1)) {
        session.check_cancelled()?;
        let train = Train { vectors: Vectors { count: Some(size), ..Vectors::default() }, ..train.clone() };
        let machine = train.run(data, &given, &session.watch())?.fit.machine;
        // Fewer vectors than asked for come out where rows are few; then larger sizes bring nothing new.
        if steps.last().is_none_or(|last| last.machine.n_vectors() < machine.n_vectors()) {
            steps.push(Step { machine, residual: None });
        }
    }
    Ok((steps, note))
}

/// Every second size, counted from the largest, that is neither too small for the components nor too large for the rows.
fn sizes(material: &Material, data: &Dataset, fewest: usize) -> Vec<usize> {
    let able = fewest..=data.len();
    let mut sizes: Vec<usize> = material.sizes.iter().rev().step_by(2).copied().filter(|size| able.contains(size)).collect();
    sizes.reverse();
    sizes
}
