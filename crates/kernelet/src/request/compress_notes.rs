//! What the user is told of a compression: notes, and why nothing was found.
use super::{calibrate::SETS_LEFT_OUT, compress::Compress, compressed::Compressed};
use crate::{
    Error,
    compress::{Refit, Verdict, cost_of},
    machine::Machine,
    text::exact,
    watch::Watch,
};

impl Compress {
    /// Why a method has returned no vector at all.
    pub(super) fn nothing_found(&self, watch: &Watch) -> Error {
        match self.goals.max_residual {
            _ if watch.cancelled() => Error::Cancelled,
            Some(residual) if residual >= 1.0 => {
                Error::request(format!("`max-residual` {} is met without any vector; give a number below 1", exact(residual)))
            }
            _ => Error::data(
                "no vector brings a smaller machine nearer to this one: its outputs are constant, or its terms cancel one another",
            ),
        }
    }

    /// What the user should know.
    pub(super) fn notes(&self, machine: &Machine, small: &Compressed) -> Vec<String> {
        let unknown = small.goals_met() == Some(Verdict::Unknown);
        let state = if unknown { "not known to be reached" } else { "not reached" };
        let mut notes: Vec<String> = small.missing.iter().map(|sentence| format!("{state}: {sentence}")).collect();
        if let Some(doubt) = small.validation.as_ref().and_then(|validation| validation.doubt.as_ref()) {
            notes.push(format!("{doubt}; if they are new to it, say so with `rows` fresh"));
        }
        if let Some(wanted) = self.goals.max_vectors.filter(|_| small.capped) {
            notes.push(format!("there are fewer vectors than {wanted}; the machine has {}", small.machine.n_vectors()));
        }
        let needs_cost = matches!(self.refit, Some(Refit::Margin | Refit::Rsvm | Refit::RsvmSquared))
            || ["distil", "margin"].contains(&small.strategy.as_str());
        if self.c.is_none() && machine.metadata.c.is_none() && needs_cost {
            notes.push(format!("the model does not store C; it is taken as {}", cost_of(machine)));
        }
        match (machine.calibration.is_some(), small.machine.calibration.is_some()) {
            (true, false) => notes.push(
                "the probabilities of the model belong to its own outputs and are left out; new ones are learned from rows, given as data, where bytes are not bounded".into(),
            ),
            (true, true) => notes.push("the probabilities are learned again, from those of the model on rows of the data".into()),
            _ => {}
        }
        if machine.metadata.sets.is_some() && small.machine.metadata.sets.is_none() {
            notes.push(SETS_LEFT_OUT.into());
        }
        if machine.decision != small.machine.decision {
            notes.push("the votes of pairs have become one output for each class, which is smaller; the layout pairs keeps them, libsvm is for LIBSVM's files".into());
        }
        notes
    }
}
