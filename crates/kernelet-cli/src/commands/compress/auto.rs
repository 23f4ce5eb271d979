//! Compression by whatever is best.
use std::time::Instant;

use kernelet::{
    compress::{Auto, Compressed, Effort},
    data::{Dataset, Target},
    machine::Machine,
    model::{self, Kind},
    sparsify::{Task, squared_norm},
    watch::Watch,
};

use super::{
    Compress, LayoutFlag, Rows,
    answer::{Answered, Shown, Tried, error_on},
};
use crate::{
    failure::{Failure, Result},
    layout::count,
    session::Session,
};

impl Compress {
    /// Tries the ways there are and keeps the best.
    pub(super) fn run_auto(&self, machine: Machine, kind: Kind, rows: Rows, session: &Session) -> Result<()> {
        let capped = self.goals.vectors.filter(|wanted| *wanted > machine.vectors());
        let distilled = rows.data.is_some() && !machine.decision.labels().is_empty();
        let c = if distilled { self.cost(&machine, kind, session) } else { self.c };
        let clock = Instant::now();
        let mut found = self.found(&machine, rows.data.as_ref(), c, session.seed, &session.watch())?;
        let seconds = clock.elapsed().as_secs_f64();
        self.say(&machine, &found, capped, session);
        let mut answer = Answered::measured("auto", &machine, &found.machine, (&rows.data, &rows.test), &self.output)?;
        (answer.capped, answer.status, answer.seconds) = (capped.is_some(), found.status, seconds);
        answer.tell(&found);
        if self.path {
            answer.path = Some(levels(&machine, &found, &rows)?);
            found.machine.facts.path = Some(answer.path_facts());
        }
        model::save(&found.machine, &self.output)?;
        session.answer_kept(&answer, found.status, format!("the best machine so far is kept in {}", self.output.display()))
    }

    /// The best machine that is found for a machine and rows; `c` where it is known better than by the machine's facts.
    pub(crate) fn found(&self, machine: &Machine, data: Option<&Dataset>, c: Option<f64>, seed: u64, watch: &Watch) -> Result<Compressed> {
        self.check_labels(data)?;
        let auto = Auto {
            effort: self.effort,
            labels: self.labels,
            keep_pairs: self.layout == LayoutFlag::Pairs,
            c,
            metric: self.goals.metric,
            curve: self.path,
            seed,
        };
        Ok(auto.run(Task { machine, data, candidates: None }, &self.goals.goals(), watch)?)
    }

    fn check_labels(&self, data: Option<&Dataset>) -> Result<()> {
        let unlabelled = data.is_some_and(|data| data.target == Target::None);
        match &self.data {
            Some(path) if self.labels && unlabelled => {
                Err(Failure::usage(format!("--labels needs labels, and {path} has none; leave --labels out, or give labelled rows")))
            }
            Some(path) if self.goals.max_loss.is_some() && unlabelled => Err(Failure::usage(format!(
                "--max-loss compares with the truth, and {path} has no targets; ask for --min-agreement, or give rows with targets"
            ))),
            _ => Ok(()),
        }
    }

    fn say(&self, machine: &Machine, found: &Compressed, capped: Option<usize>, session: &Session) {
        if let Some(wanted) = capped {
            let all = count(machine.vectors());
            session.note(format!("the model has fewer vectors than {}: {all}; there is little to gain", count(wanted)));
        }
        if machine.calibration.is_some() && found.machine.calibration.is_none() {
            session.note("the probabilities of the model belong to its own outputs and are left out; with --data new ones are learned");
        }
        if machine.calibration.is_some() && found.machine.calibration.is_some() {
            session.note("the probabilities are learned again, from those of the model on held-out rows");
        }
        if machine.decision != found.machine.decision {
            session.note("the votes of pairs have become one output for each class, which is smaller; --layout pairs keeps them, --layout libsvm for LIBSVM's files");
        }
        for attempt in found.tried.iter().filter(|attempt| attempt.failed.is_some()) {
            session.detail(format!("{}: {}", attempt.way, attempt.failed.as_deref().unwrap_or_default()));
        }
        found.missing.iter().for_each(|sentence| session.note(format!("not reached: {sentence}")));
        if self.data.is_none() && self.effort != Effort::Quick {
            session.detail("with --data rows are distilled, which mostly gives better machines");
        }
    }
}

/// The best machine of each size tried.
fn levels(machine: &Machine, found: &Compressed, rows: &Rows) -> Result<Vec<Shown>> {
    let start: f64 = squared_norm(&machine.expansion)?.iter().sum();
    let shown = |(small, figures): &(Machine, kernelet::compress::Figures)| {
        Ok(Shown {
            vectors: small.vectors(),
            residual: figures.residual.map(|residual| residual * start),
            train_error: error_on(small, rows.data.as_ref())?,
            test_error: error_on(small, rows.test.as_ref())?,
            agreement: figures.agreement,
        })
    };
    found.path.iter().map(shown).collect()
}

impl Answered {
    /// What was tried, and why this machine.
    fn tell(&mut self, found: &Compressed) {
        (self.way, self.why) = (Some(found.way.clone()), Some(found.why.clone()));
        (self.goals_met, self.missing) = (Some(found.missing.is_empty()), found.missing.clone());
        self.held_out_rows = Some(found.held_out).filter(|rows| *rows > 0);
        (self.held_out_loss, self.held_out_loss_before) = (found.figures.loss, found.loss_before);
        self.held_out_agreement = found.figures.agreement;
        self.tried = found.tried.iter().map(Tried::of).collect();
    }
}
