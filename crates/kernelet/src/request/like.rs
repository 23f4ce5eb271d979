//! The request that a machine could have come from.
use super::{
    kernel::KernelChoice,
    learner::{LearnerName, Settings},
    train::Train,
    vectors::{Method, Vectors},
};
use crate::{
    Named,
    compress::cost_of,
    learn::{ClassWeights, Multiclass},
    machine::{Decision, Machine},
};

impl Train {
    /// A request that learns what a machine learned, with as many vectors, found with the machine: its kernel and its settings as far as they are
    /// known. None where no estimator can be trained directly to do that. The scale of the machine goes into [`Given`](super::Given).
    pub fn like(machine: &Machine, vectors: usize, seed: u64) -> Option<Train> {
        let metadata = &machine.metadata;
        let known = metadata.learner.as_deref().and_then(LearnerName::named).filter(|learner| Method::direct_for(*learner).is_some());
        let learner = known.or(match machine.decision {
            Decision::Sign { .. } | Decision::Votes { .. } | Decision::Largest { .. } | Decision::Codes { .. } => Some(LearnerName::Svc),
            Decision::Novelty => Some(LearnerName::OneClass),
            Decision::Values => Some(LearnerName::Svr),
            _ => None,
        })?;
        let weights = metadata.class_weights.as_ref().filter(|weights| weights.iter().any(|weight| *weight != 1.0));
        let labelled =
            |weights: &Vec<f64>| ClassWeights::Given(machine.decision.labels().into_iter().zip(weights.iter().copied()).collect());
        let uses = |setting: &str| learner.uses().contains(&setting);
        let settings = Settings {
            c: uses("c").then(|| cost_of(machine)).filter(|_| learner != LearnerName::Fisher),
            nu: metadata.nu.filter(|_| uses("nu")),
            epsilon: metadata.epsilon.filter(|_| uses("epsilon")),
            centre: learner == LearnerName::Ridge && machine.offsets.iter().any(|offset| *offset != 0.0),
            lambda: metadata.lambda.filter(|_| uses("lambda")),
            class_weight: weights.filter(|_| uses("class-weight")).map(labelled),
            components: metadata.features.as_ref().map(|features| features.variances.len()).filter(|_| uses("components")),
            ..Settings::default()
        };
        Some(Train {
            learner: Some(learner),
            kernel: KernelChoice::of(&machine.expansion.kernel),
            settings,
            vectors: Vectors { count: Some(vectors), ..Vectors::default() },
            seed,
            ..Train::default()
        })
    }

    /// The request that trains a machine of the same settings on other rows; none where they are not known. A scale that the request does not fit goes
    /// into [`Given`](super::Given).
    pub(super) fn again(machine: &Machine) -> Option<Train> {
        let metadata = &machine.metadata;
        // Requests to compress are no requests to train; machines that were trained know their rows.
        let request = metadata.request.as_ref().filter(|_| metadata.seen.is_some()).and_then(|request| request.as_object());
        let asked = request.and_then(|request| Train::read(request.clone()).ok());
        if let Some(asked) = asked.as_ref().filter(|asked| !asked.tune) {
            return Some(Train { probability: None, folds: asked.folds.filter(|_| asked.probability.is_none()), ..asked.clone() });
        }
        let classes = matches!(machine.decision, Decision::Sign { .. } | Decision::Votes { .. } | Decision::Largest { .. });
        let mut train = Train::like(machine, 1, 0).filter(|_| classes || asked.is_some())?;
        train.vectors = Vectors::default();
        if let Some(asked) = asked {
            (train.scale, train.vectors, train.search, train.metric) = (asked.scale, asked.vectors, asked.search, asked.metric);
            train.settings.multiclass = asked.settings.multiclass;
        } else if matches!(machine.decision, Decision::Largest { .. }) {
            train.settings.multiclass = Some(Multiclass::OneVsRest);
        }
        train.check().ok().map(|()| train)
    }
}
