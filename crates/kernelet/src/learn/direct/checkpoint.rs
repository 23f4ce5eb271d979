//! A search that can be stopped at any moment and taken up again, with the same result to the last bit.
//!
//! A checkpoint is a model file like any other and predicts. Besides the machine it holds the state of the search: that of the descent, with the
//! steps it looks back on, and the last solution of the estimator, from which the next one starts. It belongs to one problem, by a sum over rows,
//! settings and the version of the program; another problem's is rejected. The file is replaced whole, so that a killed run leaves the last one.
use std::{
    fmt,
    path::Path,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};

use crate::{
    Error, Result,
    data::checksum,
    linalg::Descent,
    machine::{Machine, Metadata},
    model::{self, native::Extra},
    watch::Watch,
};

/// A checkpoint is written when the last one is so many times as old as it took to write, but no older than the last limit.
const TIMES: u32 = 20;
const SOONEST: Duration = Duration::from_millis(100);
const LATEST: Duration = Duration::from_secs(30);

/// Where a search has come to: all that its further steps depend on.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub stage: Stage,
    pub descent: Descent,
    /// What the estimator remembers of its last solution.
    pub memory: Vec<f64>,
}

/// Which part of a search a descent is.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct Stage {
    /// The number of the phase.
    pub phase: usize,
    /// Steps before the phase.
    pub before_phase: usize,
    /// Steps before the descent.
    pub before: usize,
    /// True for the second descent of a phase, which goes on in double precision.
    pub again: bool,
    /// Whether kernel values are in single precision.
    pub single: bool,
}

/// The entry of a checkpoint beside its numbers.
#[derive(Serialize, Deserialize)]
struct Entry {
    problem: String,
    stage: Stage,
    /// How many of the numbers are the descent's.
    descent: usize,
}

impl State {
    /// Steps made in all.
    pub fn steps(&self) -> usize {
        self.stage.before + self.descent.iterations()
    }
}

/// Keeps the state of a search, and writes it to a file from time to time.
pub(super) struct Keeper<'a> {
    file: &'a Path,
    problem: String,
    state: Option<State>,
    written: Instant,
    every: Duration,
}

impl<'a> Keeper<'a> {
    /// For rows of `dim` features; and the state in the file, where there is one.
    pub fn open(file: &'a Path, problem: &dyn fmt::Debug, dim: usize, watch: &Watch) -> Result<(Self, Option<State>)> {
        let problem = checksum::of_debug(&(env!("CARGO_PKG_VERSION"), problem));
        let keeper = Keeper { file, problem, state: None, written: Instant::now(), every: SOONEST };
        if !file.exists() {
            model::check_writable(file)?;
            return Ok((keeper, None));
        }
        let state = keeper.read(dim)?;
        watch.note(format!("resumed after {} steps from {}", state.steps(), file.display()));
        Ok((keeper, Some(state)))
    }

    fn read(&self, dim: usize) -> Result<State> {
        let refused = |reason: &str| {
            let file = self.file.display();
            Error::data(format!("{file} is not a checkpoint of this search: {reason}; give another file, or delete it to start anew"))
        };
        let extra = model::native::load_extra(self.file)?.ok_or_else(|| refused("it is a model without the state of a search"))?;
        let entry: Entry = serde_json::from_slice(extra.text.as_bytes()).map_err(|_| refused("its state is not understood"))?;
        if entry.problem != self.problem {
            return Err(refused("it is of other rows, other settings or another version of kernelet"));
        }
        let parts = extra.numbers.split_at_checked(entry.descent);
        let state = parts.and_then(|(descent, memory)| {
            let descent = Descent::of_numbers(descent)?;
            let whole = !descent.point().is_empty() && descent.point().len().is_multiple_of(dim);
            whole.then(|| State { stage: entry.stage, descent, memory: memory.to_vec() })
        });
        state.ok_or_else(|| refused("its state is damaged"))
    }

    /// Takes note of a state that no cancelled computation is part of.
    pub fn keep(&mut self, state: State) {
        self.state = Some(state);
    }

    /// True when it is time to write.
    pub fn due(&self) -> bool {
        self.written.elapsed() >= self.every
    }

    /// Writes the last state with the machine that `machine` makes of it. A file that cannot be written does not end the search; a note reports it.
    pub fn write(&mut self, machine: impl FnOnce() -> Result<Machine>, watch: &Watch) {
        let Some(state) = &self.state else { return };
        let begun = Instant::now();
        let written = machine().and_then(|machine| {
            let metadata = Metadata { steps: Some(state.steps() as u64), ..machine.metadata };
            let descent = state.descent.numbers();
            let entry = Entry { problem: self.problem.clone(), stage: state.stage, descent: descent.len() };
            let text = serde_json::to_string(&entry).map_err(|error| Error::data(error.to_string()))?;
            let extra = Extra { text, numbers: [descent, state.memory.clone()].concat() };
            model::native::save_with(&Machine { metadata, ..machine }, &extra, self.file)
        });
        if let Err(error) = written {
            watch.note(format!("no checkpoint after {} steps: {error}", state.steps()));
        }
        (self.written, self.every) = (Instant::now(), (TIMES * begun.elapsed()).clamp(SOONEST, LATEST));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    };

    use super::super::{DirectLearner, DirectLoss, DirectTask, Margin, Search};
    use crate::{
        Result,
        data::{Dataset, banana, sinc, waveform3},
        draw::Draw,
        kernel::Kernel,
        learn::{Fit, Learner, Logistic, Ridge},
        linalg::Matrix,
        model,
        watch::{Status, Watch},
    };

    /// Learns until so many steps are made in this run.
    fn learn(learner: &dyn Learner, data: &Dataset, steps: usize) -> Result<(Fit, Vec<String>)> {
        let (flag, made) = (Arc::new(AtomicBool::new(false)), AtomicUsize::new(0));
        let stop = flag.clone();
        let watch = Watch::none().with_cancel(flag).with_reporter(move |p| {
            if p.stage.starts_with("steps") && made.fetch_add(1, Ordering::Relaxed) + 1 == steps {
                stop.store(true, Ordering::Relaxed);
            }
        });
        Ok((learner.learn(data, &watch)?, watch.take_notes()))
    }

    fn file(name: &str) -> std::path::PathBuf {
        let path = std::env::temp_dir().join(format!("kernelet-{}-{name}.model", std::process::id()));
        let _ = std::fs::remove_file(&path);
        path
    }

    /// Sixty-four features, where a search begins in single precision.
    fn wide(n: usize) -> Dataset {
        let mut draw = Draw::seeded(3);
        let rows = waveform3(n, 1);
        let points = rows.points.to_dense();
        Dataset { points: Matrix::from_fn(n, 70, |i, j| points.at(i, j % 21) + 0.1 * draw.normal()).into(), ..rows }
    }

    #[test]
    fn a_search_stopped_anywhere_and_taken_up_again_ends_with_the_same_bits() {
        let margin = |gamma, loss| Margin { kernel: Kernel::gaussian(gamma), c: 10.0, loss, hinge_iterations: 8, ..Margin::default() };
        let direct = |task| DirectLearner { task, search: Search::default() };
        type Searching = Box<dyn Fn(Search) -> Box<dyn Learner>>;
        let cases: Vec<(Searching, Dataset)> = vec![
            (Box::new(move |search| Box::new(Margin { search, ..margin(1.0, DirectLoss::SquaredHinge) })), banana(200, 1)),
            (Box::new(move |search| Box::new(Margin { search, ..margin(1.0, DirectLoss::Hinge) })), banana(100, 1)),
            (Box::new(move |search| Box::new(Margin { search, ..margin(0.01, DirectLoss::SquaredHinge) })), wide(150)),
            (
                Box::new(move |search| {
                    let logistic = Logistic { kernel: Kernel::gaussian(0.02), ..Logistic::default() };
                    Box::new(DirectLearner { search, ..direct(DirectTask::Logistic(logistic)) })
                }),
                waveform3(120, 1),
            ),
            (
                Box::new(move |search| {
                    let ridge = Ridge { kernel: Kernel::gaussian(0.3), lambda: 1e-3 };
                    Box::new(DirectLearner { search, ..direct(DirectTask::Ridge(ridge)) })
                }),
                sinc(100, 0.1, 1).unwrap(),
            ),
        ];
        for (number, (learner, data)) in cases.iter().enumerate() {
            let file = file(&format!("resumed-{number}"));
            let plain = Search { n_vectors: 5, iterations: 30, ..Search::default() };
            let whole = learner(plain.clone()).learn(data, &Watch::none()).unwrap();
            let learner = learner(Search { checkpoint: Some(file.clone()), ..plain });
            let (mut runs, mut notes) = (0, vec![]);
            let last = loop {
                runs += 1;
                let (fit, said) = learn(learner.as_ref(), data, 2 + runs % 5).unwrap();
                notes.extend(said);
                assert!(model::load(&file).is_ok() && runs < 50);
                if fit.report.status != Status::Cancelled {
                    break fit;
                }
            };
            assert!(runs > 4 && notes.len() == runs - 1 && notes[0].contains("resumed after 3 steps from "), "{number}: {notes:?}");
            // A run that is done is done with the same bits once more.
            for fit in [last, learner.learn(data, &Watch::none()).unwrap()] {
                assert_eq!((fit.machine, fit.report.iterations), (whole.machine.clone(), whole.report.iterations), "{number}");
                assert_eq!((fit.report.objective, fit.report.status), (whole.report.objective, whole.report.status), "{number}");
            }
            std::fs::remove_file(&file).unwrap();
        }
    }

    #[test]
    fn a_changed_byte_of_a_checkpoint_is_an_error_or_changes_no_bit() {
        let (file, data) = (file("damaged"), banana(100, 1));
        let search = Search { n_vectors: 4, iterations: 8, ..Search::default() };
        let learner = Margin { kernel: Kernel::gaussian(1.0), search, ..Margin::default() };
        let whole = learner.learn(&data, &Watch::none()).unwrap();
        let learner = Margin { search: Search { checkpoint: Some(file.clone()), ..learner.search.clone() }, ..learner };
        learn(&learner, &data, 3).unwrap();
        let good = std::fs::read(&file).unwrap();
        let (mut damaged, mut same) = (0, 0);
        for place in (0..good.len()).step_by(good.len() / 40) {
            let mut bytes = good.clone();
            bytes[place] ^= 1;
            std::fs::write(&file, bytes).unwrap();
            match learner.learn(&data, &Watch::none()) {
                Ok(fit) => (same, ()) = (same + 1, assert_eq!(fit.machine, whole.machine, "{place}")),
                Err(_) => damaged += 1,
            }
        }
        assert!(damaged > 10 && same > 0, "{damaged} {same}");
        std::fs::remove_file(&file).unwrap();
    }

    #[test]
    fn a_checkpoint_of_another_problem_is_rejected_and_kept() {
        let (file, data) = (file("other"), banana(100, 1));
        let search = Search { n_vectors: 4, iterations: 10, checkpoint: Some(file.clone()), ..Search::default() };
        let learner = Margin { kernel: Kernel::gaussian(1.0), search, ..Margin::default() };
        learn(&learner, &data, 3).unwrap();
        let kept = std::fs::read(&file).unwrap();
        let mut moved = data.points.to_dense();
        moved.values_mut()[7] *= 1.0 + f64::EPSILON;
        let other = |search: Search| Margin { search, ..learner.clone() };
        let same = || learner.search.clone();
        let others = [
            (learner.clone(), Dataset { points: moved.into(), ..data.clone() }),
            (learner.clone(), Dataset { weights: Some(vec![2.0; 100]), ..data.clone() }),
            (Margin { c: 2.0, ..learner.clone() }, data.clone()),
            (Margin { kernel: Kernel::gaussian(1.1), ..learner.clone() }, data.clone()),
            (Margin { loss: DirectLoss::Hinge, ..learner.clone() }, data.clone()),
            (other(Search { n_vectors: 5, ..same() }), data.clone()),
            (other(Search { iterations: 11, ..same() }), data.clone()),
            (other(Search { seed: 1, ..same() }), data.clone()),
        ];
        for (learner, data) in others {
            let error = learner.learn(&data, &Watch::none()).unwrap_err().to_string();
            assert!(
                error.contains("is not a checkpoint of this search: it is of other rows, other settings or another version"),
                "{error}"
            );
        }
        assert_eq!(std::fs::read(&file).unwrap(), kept);
        // Memory changes no bit and may be another; several starts have no checkpoint.
        assert!(other(Search { memory_bytes: 1 << 20, ..same() }).learn(&data, &Watch::none()).is_ok());
        assert!(other(Search { starts: 2, ..same() }).check().is_err());
        // A plain model is none.
        model::save(&model::load(&file).unwrap(), &file).unwrap();
        let error = learner.learn(&data, &Watch::none()).unwrap_err().to_string();
        assert!(error.contains("it is a model without the state of a search"), "{error}");
        std::fs::remove_file(&file).unwrap();
    }
}
