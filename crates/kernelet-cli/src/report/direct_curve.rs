//! Small machines trained on the rows with the settings of the full one.
use kernelet::{
    data::{Dataset, Target},
    learn::{ClassWeights, HowToScale, Learner, Scaled},
    machine::{Decision, Machine, Metadata},
};

use crate::{
    direct,
    failure::{Failure, Result},
    layout::figure,
    session::Session,
    settings::Settings,
};

use super::curves::{Material, Step};

/// The direct method that learns what the machine learned, where there is one.
pub fn method_for(machine: &Machine) -> Option<&'static str> {
    let of_learner = machine.metadata.learner.as_deref().and_then(direct::method_of);
    of_learner.or(match machine.decision {
        Decision::Sign { .. } | Decision::Votes { .. } | Decision::Largest { .. } | Decision::Codes { .. } => Some("margin"),
        Decision::Novelty => Some("one-class"),
        Decision::Values => Some("svr"),
        _ => None,
    })
}

/// Whether the rows have the target that this method learns from.
pub fn has_targets(method: &str, data: Option<&Dataset>) -> bool {
    match (method, data.map(|data| &data.target)) {
        (_, None) => false,
        ("one-class" | "pca", Some(_)) => true,
        ("ridge" | "svr", Some(target)) => matches!(target, Target::Values(_)),
        (_, Some(target)) => matches!(target, Target::Classes(_)),
    }
}

/// A machine for every second size, each trained anew, and what should be known about them.
pub fn steps(method: &'static str, material: &Material, session: &Session) -> Result<(Vec<Step>, Option<String>)> {
    let Some(data) = material.data.filter(|_| has_targets(method, material.data)) else {
        let what = if ["ridge", "svr"].contains(&method) { "numbers to predict" } else { "class labels" };
        return Err(Failure::usage(format!("{method} trains on rows with {what}; give them with --data")));
    };
    let mut settings = settings(&material.machine.metadata, &material.machine.decision, session.seed);
    let mut note = None;
    if settings.c.is_none() && ["margin", "svr", "logistic"].contains(&method) {
        let largest = largest_coefficient(material.machine);
        note = Some(format!("The model does not store C; taken as {}, the largest coefficient", figure(largest)));
        settings.c = Some(largest);
    }
    let mut steps: Vec<Step> = vec![];
    for size in sizes(material, data, settings.components.unwrap_or(1)) {
        session.check_cancelled()?;
        let kernel = material.machine.expansion.kernel.clone();
        let learner = direct::learner(direct::learner_of(method), kernel, &settings, size);
        let learner: Box<dyn Learner> = match &material.machine.scale {
            None => learner,
            Some(scale) => Box::new(Scaled { how: HowToScale::Given(scale.clone()), learner }),
        };
        let machine = learner.learn(data, &session.watch())?.machine;
        // Fewer vectors than asked for come out where rows are few; then larger sizes bring nothing new.
        if steps.last().is_none_or(|last| last.machine.vectors() < machine.vectors()) {
            steps.push(Step { machine, residual: None });
        }
    }
    Ok((steps, note))
}

/// The cost C of machines that have reached it with a coefficient, as in LIBSVM models, which do not store it.
fn largest_coefficient(machine: &Machine) -> f64 {
    machine.expansion.coefficients.stored().values().iter().fold(0.0, |largest: f64, value| largest.max(value.abs()))
}

/// Every second size, counted from the largest, that is neither too small for the components nor too large for the rows.
fn sizes(material: &Material, data: &Dataset, fewest: usize) -> Vec<usize> {
    let able = fewest..=data.len();
    let mut sizes: Vec<usize> = material.sizes.iter().rev().step_by(2).copied().filter(|size| able.contains(size)).collect();
    sizes.reverse();
    sizes
}

/// The settings that the full machine was trained with, as far as they are known.
fn settings(metadata: &Metadata, decision: &Decision, seed: u64) -> Settings {
    let weights = metadata.class_weights.as_ref().filter(|weights| weights.iter().any(|weight| *weight != 1.0));
    let class_weight = weights.map(|weights| ClassWeights::Given(decision.labels().into_iter().zip(weights.iter().copied()).collect()));
    let components = metadata.features.as_ref().map(|features| features.variances.len());
    let known = Settings {
        c: metadata.c,
        nu: metadata.nu,
        epsilon: metadata.epsilon,
        lambda: metadata.lambda,
        class_weight,
        components,
        ..Settings::default()
    };
    known.seeded(seed)
}
