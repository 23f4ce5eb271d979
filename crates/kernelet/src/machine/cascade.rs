//! Small machines before a large one: each row leaves at the first that is sure enough.
//!
//! A stage is a machine with a threshold. Its score of a row is the difference of the two largest outputs, for two classes |f|, or |f| over a learned size of
//! its error where the stage has an error head; above the threshold the stage answers. Rows that no stage answers go to the full machine. Of a one-vs-one
//! machine they need the pairs of their candidate classes alone: those whose outputs at the last stage are within the threshold of the largest.
//! Without a full machine the cascade abstains and answers `?`.
use std::borrow::Cow;

use serde::{Deserialize, Serialize};

pub use super::cascade_predict::CascadePredictor;
use super::{Coefficients, Decision, Expansion, Machine, Pairwise, Prediction};
use crate::{
    Error, Result,
    data::{Label, Points},
    linalg::Matrix,
};

/// The label of rows that are not answered.
pub const ABSTAINED: &str = "?";

/// The most candidate classes whose pairs decide; with more the whole machine does.
pub const MOST_CANDIDATES: usize = 6;

/// Machines in order, and what is promised of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Cascade {
    /// The small machines, in the order in which rows meet them.
    pub stages: Vec<Stage>,
    /// The machine that answers the rest; none where the cascade abstains.
    pub full: Option<Machine>,
    /// What holds on rows like those of calibration.
    pub promise: Promise,
}

/// A small machine that answers rows of which it is sure.
#[derive(Clone, Debug, PartialEq)]
pub struct Stage {
    /// The machine.
    pub machine: Machine,
    /// The size of its error, for two classes.
    pub head: Option<Head>,
    /// It answers rows whose score is above this.
    pub threshold: f64,
    /// The fraction of the calibration rows that it answered.
    pub exits: f64,
}

/// One more output on the vectors of a stage: the expected size of the difference to the full machine's output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// One for each vector.
    pub coefficients: Vec<f64>,
    /// Added to the sum.
    pub offset: f64,
    /// The output is at least this, which is above 0.
    pub floor: f64,
}

/// With which confidence the answers are those of the full machine, and what they cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Promise {
    /// The fraction of rows whose answer may differ.
    pub max_disagreement: f64,
    /// The probability with which no more than that differ.
    pub confidence: f64,
    /// Whether this holds for the rows of each class of the full machine.
    pub by_class: bool,
    /// The upper bound of the fraction that differ, from the calibration rows; of the worst class where it is for each.
    pub bound: f64,
    /// The rows on which the thresholds were tested.
    pub calibration_rows: usize,
    /// Those whose answer differed.
    pub disagreements: usize,
    /// The mean number of kernel evaluations of a row there, as a fraction of the full machine's.
    pub cost: f64,
    /// Vectors of the full machine.
    pub full_vectors: usize,
}

/// What a cascade answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Answers {
    /// The classes, and for each row the place of its class; [`ABSTAINED`] is the last class of a cascade that abstains.
    pub prediction: Prediction,
    /// For each row the stage that answered, counted from 0; the number of stages for the full machine or no answer.
    pub stages: Vec<usize>,
    /// Kernel evaluations of all rows.
    pub evaluations: u64,
}

impl Answers {
    /// The rows that have an answer: all where there is a full machine.
    pub fn answered(&self) -> Vec<usize> {
        let abstained = |row: &usize| self.prediction.label(*row).is_some_and(|label| label.text() == ABSTAINED);
        (0..self.stages.len()).filter(|row| !abstained(row)).collect()
    }
}

/// One row at a stage.
#[derive(Clone)]
pub(crate) struct Judged {
    /// Its class.
    pub class: usize,
    /// How sure the stage is.
    pub score: f64,
    /// The classes by their outputs, the largest first, with their distance from it.
    pub ranks: Vec<(usize, f64)>,
}

/// What a kernel value costs beside its features, in multiply-adds.
pub(super) const EXPONENTIAL: usize = 10;

/// A row that a stage does not answer.
#[derive(Clone, Debug)]
pub(super) struct Left {
    pub row: usize,
    /// What the stage would answer.
    pub class: u32,
    /// The classes whose pairs decide; none where the whole machine does.
    pub candidates: Candidates,
}

/// A few classes, ascending.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Candidates {
    classes: [u16; MOST_CANDIDATES],
    count: u16,
}

impl Candidates {
    /// None where they are too many or all.
    pub fn of(classes: impl Iterator<Item = usize>, n_classes: usize) -> Self {
        let mut few = Candidates::default();
        for class in classes {
            let (Some(place), Ok(class)) = (few.classes.get_mut(usize::from(few.count)), u16::try_from(class)) else {
                return Candidates::default();
            };
            *place = class;
            few.count += 1;
        }
        few.classes[..usize::from(few.count)].sort_unstable();
        if are_few(few.count.into(), n_classes) { few } else { Candidates::default() }
    }

    /// The classes.
    pub fn classes(&self) -> &[u16] {
        &self.classes[..usize::from(self.count)]
    }
}

impl Stage {
    /// The machine with the error head as its last output.
    pub(crate) fn evaluated(&self) -> Machine {
        let Some(head) = &self.head else { return self.machine.clone() };
        let own = self.machine.expansion.coefficients.to_dense();
        let (m, q) = (own.rows(), own.cols());
        let joined = Matrix::from_fn(m, q + 1, |j, k| if k < q { own.at(j, k) } else { head.coefficients[j] });
        let expansion = Expansion { coefficients: Coefficients::Dense(joined), ..self.machine.expansion.clone() };
        let offsets = self.machine.offsets.iter().copied().chain([head.offset]).collect();
        Machine { expansion, offsets, decision: Decision::Features, calibration: None, ..self.machine.clone() }
    }

    /// The class of a row, and how sure the stage is, by the outputs of [`Stage::evaluated`].
    #[inline]
    pub(crate) fn answer(&self, outputs: &[f64]) -> (usize, f64) {
        let (own, rest) = outputs.split_at(self.machine.n_outputs().min(outputs.len()));
        match &self.machine.decision {
            Decision::Largest { .. } => top_two(own),
            Decision::Sign { .. } => {
                let output = own.first().map_or(0.0, |f| *f);
                let error = self.head.as_ref().zip(rest.first()).map_or(1.0, |(head, output)| output.max(head.floor));
                (usize::from(output > 0.0), output.abs() / error)
            }
            decision => {
                let class = decision.class(own);
                (class, decision.distances(own, class).map(|(_, distance)| distance).fold(f64::INFINITY, f64::min))
            }
        }
    }

    /// The class of a row. One that is not answered is also left, with the candidate classes where they are asked for.
    #[inline]
    pub(super) fn see(&self, row: usize, outputs: &[f64], ask: bool, left: &mut Vec<Left>) -> u32 {
        let (class, score) = self.answer(outputs);
        let own = &outputs[..self.machine.n_outputs().min(outputs.len())];
        let ask = ask && !matches!(self.machine.decision, Decision::Sign { .. });
        self.leave(row, (class, score), ask.then(|| self.machine.decision.distances(own, class)), left)
    }

    /// The same by the class, how sure the stage is, and the distances of the other classes.
    #[inline]
    pub(super) fn leave(
        &self,
        row: usize,
        (class, score): (usize, f64),
        others: Option<impl Iterator<Item = (usize, f64)>>,
        left: &mut Vec<Left>,
    ) -> u32 {
        if score <= self.threshold || score.is_nan() {
            let candidates = others.map_or(Candidates::default(), |others| {
                let near = others.filter(|(_, distance)| *distance <= self.threshold).map(|(other, _)| other);
                Candidates::of(near.chain([class]), self.machine.decision.n_classes())
            });
            left.push(Left { row, class: class as u32, candidates });
        }
        class as u32
    }

    /// The same with the order of the classes.
    pub(crate) fn judge(&self, outputs: &[f64]) -> Judged {
        let (class, score) = self.answer(outputs);
        let own = &outputs[..self.machine.n_outputs().min(outputs.len())];
        if matches!(self.machine.decision, Decision::Sign { .. }) {
            return Judged { class, score, ranks: vec![] };
        }
        let mut ranks: Vec<(usize, f64)> = self.machine.decision.distances(own, class).chain([(class, 0.0)]).collect();
        // The class itself comes first, also where another has the same output; of others with the same output the lower one does.
        let order = |a: &(usize, f64)| (a.0 != class, a.1, a.0);
        ranks.sort_by(|a, b| order(a).partial_cmp(&order(b)).unwrap_or(std::cmp::Ordering::Equal));
        Judged { class, score, ranks }
    }

    fn check(&self, labels: &[Label], dim: usize) -> Result<()> {
        self.machine.check()?;
        if self.machine.decision.labels() != labels || self.machine.dim() != dim || !can_be_stage(&self.machine.decision) {
            return Err(Error::data("the machines of a cascade have other classes or features, or predict no classes by their outputs"));
        }
        if !self.threshold.is_finite() || !(0.0..=1.0).contains(&self.exits) {
            return Err(Error::data("a stage of the cascade has a threshold or a fraction of exits that is no number"));
        }
        let Some(head) = &self.head else { return Ok(()) };
        let numbers = head.coefficients.iter().chain([&head.offset, &head.floor]);
        let two = matches!(self.machine.decision, Decision::Sign { .. });
        if !two || head.coefficients.len() != self.machine.n_vectors() || head.floor <= 0.0 || numbers.into_iter().any(|v| !v.is_finite()) {
            return Err(Error::data("the error head of a stage does not fit its machine"));
        }
        Ok(())
    }
}

/// The place of the largest value, the first of several, and how far it is above the others. Without branches, which no processor could predict.
fn top_two(values: &[f64]) -> (usize, f64) {
    let (mut at, mut largest, mut second) = (0, f64::NEG_INFINITY, f64::NEG_INFINITY);
    for (k, &value) in values.iter().enumerate() {
        let above = value > largest;
        let lower = if above { largest } else { value };
        second = if lower > second { lower } else { second };
        largest = if above { value } else { largest };
        at = if above { k } else { at };
    }
    (at, if values.len() < 2 { f64::INFINITY } else { largest - second })
}

/// True for rules whose outputs say how sure they are.
pub(crate) fn can_be_stage(decision: &Decision) -> bool {
    matches!(decision, Decision::Sign { .. } | Decision::Votes { .. } | Decision::Largest { .. })
}

impl Decision {
    /// How far each other class is from the one that is answered: by the pair of both, or by their outputs.
    fn distances(&self, outputs: &[f64], class: usize) -> impl Iterator<Item = (usize, f64)> {
        let (votes, n) = match self {
            Decision::Votes { labels } => (true, labels.len()),
            _ => (false, outputs.len()),
        };
        let output = move |k: usize| outputs.get(k).copied().unwrap_or(0.0);
        (0..n).filter(move |other| *other != class).map(move |other| match (votes, class < other) {
            (true, true) => (other, output(Pairwise::place(n, class, other)).max(0.0)),
            (true, false) => (other, (-output(Pairwise::place(n, other, class))).max(0.0)),
            (false, _) => (other, output(class) - output(other)),
        })
    }
}

/// The vote among some classes by the outputs of all pairs; the classes ascend, and ties go to the lower one.
pub(crate) fn vote_among(classes: &[usize], n_classes: usize, outputs: &[f64]) -> usize {
    let mut votes = vec![0usize; classes.len()];
    for i in 0..classes.len() {
        for j in i + 1..classes.len() {
            let first = outputs.get(Pairwise::place(n_classes, classes[i], classes[j])).is_some_and(|f| *f > 0.0);
            votes[if first { i } else { j }] += 1;
        }
    }
    let best = (1..votes.len()).fold(0, |best, i| if votes[i] > votes[best] { i } else { best });
    classes.get(best).copied().unwrap_or(0)
}

/// Whether so many candidate classes are few enough for their pairs to decide.
pub(crate) fn are_few(candidates: usize, n_classes: usize) -> bool {
    (2..=MOST_CANDIDATES).contains(&candidates) && candidates < n_classes
}

/// The coefficients of a machine that decides by votes of pairs.
pub(crate) fn pairwise_of(machine: &Machine) -> Option<&Pairwise> {
    match (&machine.expansion.coefficients, &machine.decision) {
        (Coefficients::Pairwise(pairwise), Decision::Votes { .. }) => Some(pairwise),
        _ => None,
    }
}

/// The vectors of a one-vs-one machine that take part in the pairs of some classes.
pub(crate) fn vectors_of(pairwise: &Pairwise, classes: &[usize]) -> Vec<usize> {
    let mut chosen = vec![];
    for &own in classes {
        let columns: Vec<usize> =
            classes.iter().filter(|&&other| other != own).map(|&other| if other > own { other - 1 } else { other }).collect();
        let (Some(&start), Some(&end)) = (pairwise.starts.get(own), pairwise.starts.get(own + 1)) else { continue };
        chosen.extend((start..end).filter(|&j| columns.iter().any(|&column| pairwise.values.at(j, column) != 0.0)));
    }
    chosen
}

impl Cascade {
    /// The classes in order; the last is [`ABSTAINED`] where the cascade abstains.
    pub fn labels(&self) -> Vec<Label> {
        let own = self.stages.first().map_or(vec![], |stage| stage.machine.decision.labels());
        own.into_iter().chain(self.full.is_none().then(|| Label::new(ABSTAINED))).collect()
    }

    /// Number of features of a row.
    pub fn dim(&self) -> usize {
        self.stages.first().map_or(0, |stage| stage.machine.dim())
    }

    /// Checks that the machines fit together.
    pub fn check(&self) -> Result<()> {
        let Some(first) = self.stages.first() else { return Err(Error::data("the cascade has no stage")) };
        let (labels, dim) = (first.machine.decision.labels(), first.machine.dim());
        self.stages.iter().try_for_each(|stage| stage.check(&labels, dim))?;
        match &self.full {
            Some(full) => {
                full.check()?;
                let fits = full.decision.labels() == labels && full.dim() == dim;
                if fits {
                    Ok(())
                } else {
                    Err(Error::data("the full machine of the cascade has other classes or features than its stages"))
                }
            }
            None if labels.iter().any(|label| label.text() == ABSTAINED) => {
                Err(Error::data(format!("a class has the label {ABSTAINED:?}, with which a cascade abstains")))
            }
            None => Ok(()),
        }
    }

    /// Answers rows: each stage sees those that the stages before it did not answer. For many calls make a [`CascadePredictor`] once.
    pub fn predict(&self, points: &Points) -> Result<Answers> {
        self.ready().predict(points)
    }

    /// The cascade made ready to predict.
    pub fn ready(&self) -> CascadePredictor<'_> {
        CascadePredictor::new(Cow::Borrowed(self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        compress::part_of,
        data::{banana, waveform3},
        kernel::Kernel,
        learn::{Learner, Svc},
        watch::Watch,
    };

    fn promise(full: &Machine) -> Promise {
        Promise {
            max_disagreement: 0.01,
            confidence: 0.95,
            by_class: false,
            bound: 0.01,
            calibration_rows: 0,
            disagreements: 0,
            cost: 1.0,
            full_vectors: full.n_vectors(),
        }
    }

    fn cascade(full: &Machine, threshold: f64) -> Cascade {
        let some: Vec<usize> = (0..full.n_vectors()).step_by(3).collect();
        let stage = |machine, threshold| Stage { machine, head: None, threshold, exits: 0.5 };
        let stages = vec![stage(part_of(full, &some[..4]), 2.0 * threshold), stage(part_of(full, &some), threshold)];
        Cascade { stages, full: Some(full.clone()), promise: promise(full) }
    }

    /// The candidate classes of a row at a threshold, ascending; none where the whole machine decides.
    fn candidates(judged: &Judged, threshold: f64) -> Option<Vec<usize>> {
        let mut classes: Vec<usize> = judged.ranks.iter().take_while(|rank| rank.1 <= threshold).map(|rank| rank.0).collect();
        classes.sort_unstable();
        are_few(classes.len(), judged.ranks.len()).then_some(classes)
    }

    /// The definition, one row at a time.
    fn naive(cascade: &Cascade, points: &Points) -> Vec<(u32, usize)> {
        (0..points.len())
            .map(|i| {
                let row = points.select(&[i]);
                let mut last = None;
                for (place, stage) in cascade.stages.iter().enumerate() {
                    let judged = stage.judge(stage.evaluated().outputs_for(&row).unwrap().row(0));
                    if judged.score > stage.threshold {
                        return (judged.class as u32, place);
                    }
                    last = Some(judged);
                }
                let full = cascade.full.as_ref().unwrap();
                let outputs = full.outputs_for(&row).unwrap();
                let classes = last.and_then(|judged| candidates(&judged, cascade.stages.last().unwrap().threshold));
                let class = match (&classes, &full.decision) {
                    (Some(classes), Decision::Votes { labels }) => vote_among(classes, labels.len(), outputs.row(0)),
                    _ => full.decision.class(outputs.row(0)),
                };
                (class as u32, cascade.stages.len())
            })
            .collect()
    }

    #[test]
    fn batches_answer_as_the_definition_row_by_row() {
        for (data, gamma) in [(banana(300, 1), 1.0), (waveform3(300, 1), 0.05)] {
            let full = Svc { kernel: Kernel::gaussian(gamma), c: 5.0, ..Svc::default() }.learn(&data, &Watch::none()).unwrap().machine;
            for threshold in [0.0, 0.3, 1.0, 1e300] {
                let cascade = cascade(&full, threshold);
                cascade.check().unwrap();
                let answers = cascade.predict(&data.points).unwrap();
                let Prediction::Classes { codes, .. } = &answers.prediction else { panic!() };
                let have: Vec<(u32, usize)> = codes.iter().copied().zip(answers.stages.iter().copied()).collect();
                assert_eq!(have, naive(&cascade, &data.points), "{threshold}");
                let ready = cascade.ready();
                for (i, want) in have.iter().enumerate().step_by(7) {
                    let alone = ready.predict(&data.points.select(&[i])).unwrap();
                    let Prediction::Classes { codes, .. } = &alone.prediction else { panic!() };
                    assert_eq!((codes[0], alone.stages[0]), *want, "row {i} alone, at {threshold}");
                }
                if threshold == 1e300 {
                    assert_eq!(answers.prediction, full.predict(&data.points).unwrap());
                }
            }
        }
    }

    #[test]
    fn bad_numbers_are_named_and_any_number_of_threads_gives_the_same_answers() {
        let data = waveform3(500, 1);
        let full = Svc { kernel: Kernel::gaussian(0.05), ..Svc::default() }.learn(&data, &Watch::none()).unwrap().machine;
        let cascade = cascade(&full, 0.3);
        let run = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| cascade.predict(&data.points));
        assert_eq!(run(1).unwrap(), run(8).unwrap());
        for (row, value) in [(0, f64::NAN), (250, f64::INFINITY), (499, f64::NEG_INFINITY)] {
            let mut rows = data.points.to_dense();
            rows.row_mut(row)[3] = value;
            let error = cascade.predict(&rows.into()).unwrap_err().to_string();
            assert!(error.contains(&format!("row {}, column 4", row + 1)), "{error}");
        }
        let narrow = cascade.predict(&Matrix::<f64>::zeros(1, 2).into()).unwrap_err();
        assert!(narrow.to_string().contains("features of a row"), "{narrow}");
        assert!(cascade.predict(&Matrix::<f64>::zeros(0, 21).into()).unwrap().stages.is_empty());
    }

    #[test]
    fn the_score_of_one_output_a_class_is_the_gap_of_the_two_largest() {
        for (values, want) in [(vec![1.0, 4.0, 3.5], (1, 0.5)), (vec![2.0, 2.0], (0, 0.0)), (vec![-1.0], (0, f64::INFINITY))] {
            assert_eq!(top_two(&values), want);
        }
    }

    #[test]
    fn a_cascade_without_a_full_machine_abstains() {
        let data = banana(200, 1);
        let full = Svc { kernel: Kernel::gaussian(1.0), ..Svc::default() }.learn(&data, &Watch::none()).unwrap().machine;
        let whole = cascade(&full, 0.5);
        let alone = Cascade { full: None, ..whole.clone() };
        let (a, b) = (whole.predict(&data.points).unwrap(), alone.predict(&data.points).unwrap());
        assert_eq!(a.stages, b.stages);
        for row in 0..200 {
            let label = b.prediction.label(row).unwrap().text();
            let want = if b.stages[row] == 2 { ABSTAINED } else { a.prediction.label(row).unwrap().text() };
            assert_eq!(label, want);
        }
        assert!(b.evaluations < a.evaluations);
        assert_eq!((a.answered().len(), b.answered().len()), (200, b.stages.iter().filter(|stage| **stage < 2).count()));
    }

    #[test]
    fn an_error_head_divides_the_margin_and_machines_that_do_not_fit_are_rejected() {
        let data = banana(200, 1);
        let full = Svc { kernel: Kernel::gaussian(1.0), ..Svc::default() }.learn(&data, &Watch::none()).unwrap().machine;
        let mut cascade = cascade(&full, 0.5);
        let m = cascade.stages[0].machine.n_vectors();
        cascade.stages[0].head = Some(Head { coefficients: vec![0.0; m], offset: 2.0, floor: 0.1 });
        let stage = &cascade.stages[0];
        let outputs = stage.evaluated().outputs_for(&data.points).unwrap();
        let plain = stage.machine.outputs_for(&data.points).unwrap();
        for i in 0..200 {
            assert!((stage.judge(outputs.row(i)).score - plain.at(i, 0).abs() / 2.0).abs() < 1e-12);
        }
        cascade.check().unwrap();
        cascade.stages[0].head = Some(Head { coefficients: vec![0.0; m + 1], offset: 2.0, floor: 0.1 });
        assert!(cascade.check().unwrap_err().to_string().contains("head"));
        cascade.stages[0].head = None;
        cascade.stages[0].threshold = f64::NAN;
        assert!(cascade.check().is_err());
        cascade.stages.clear();
        assert!(cascade.check().unwrap_err().to_string().contains("no stage"));
    }
}
