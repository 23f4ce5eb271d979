//! A cascade made ready to predict.
//!
//! The machines of the stages are prepared once. The full machine is prepared when a row first needs all of it; for rows with few candidate classes the part
//! of a one-vs-one machine that decides among these is made when it is first needed and kept, up to a few times the size of the full machine.
//! Cost a row: that of the stages it meets, and of the pairs of its candidate classes.
use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, OnceLock},
};

use crate::parallel::*;

use super::{
    Coefficients, Decision, Expansion, Machine, Metadata, Pairwise, Prediction, Predictor,
    cascade::{Answers, Cascade, Judged, candidates, vectors_of},
};
use crate::{Result, data::Points, linalg::Matrix};

/// Parts of the full machine are kept until they have so many times its vectors.
const KEPT: usize = 8;

/// A cascade made ready to predict: build it once, use it for many rows, from any thread.
#[derive(Debug)]
pub struct CascadePredictor<'a> {
    cascade: Cow<'a, Cascade>,
    stages: Vec<Predictor>,
    full: OnceLock<Predictor>,
    parts: Mutex<Parts>,
}

/// Parts of a one-vs-one machine by their classes.
#[derive(Debug, Default)]
struct Parts {
    ready: HashMap<Vec<usize>, Arc<Part>>,
    n_vectors: usize,
}

/// What decides among some classes.
#[derive(Debug)]
struct Part {
    predictor: Predictor,
    decision: Decision,
    n_vectors: usize,
}

/// Rows that the same part of the full machine answers, and their classes; all classes where there are no candidates.
type Group = (Option<Vec<usize>>, Vec<usize>);

impl<'a> CascadePredictor<'a> {
    /// Prepares a cascade.
    pub fn new(cascade: Cow<'a, Cascade>) -> Self {
        let stages = cascade.stages.iter().map(|stage| Predictor::new(&stage.evaluated())).collect();
        CascadePredictor { cascade, stages, full: OnceLock::new(), parts: Mutex::default() }
    }

    /// The cascade.
    pub fn cascade(&self) -> &Cascade {
        &self.cascade
    }

    /// Answers rows: each stage sees those that the stages before it did not answer.
    pub fn predict(&self, points: &Points) -> Result<Answers> {
        points.check_finite()?;
        let (n, cascade) = (points.len(), self.cascade());
        let (mut codes, mut stages, mut evaluations) = (vec![0u32; n], vec![cascade.stages.len(); n], 0u64);
        let mut live: Vec<usize> = (0..n).collect();
        let mut last: Vec<Judged> = vec![];
        for (place, (stage, predictor)) in cascade.stages.iter().zip(&self.stages).enumerate() {
            evaluations += (live.len() * stage.machine.n_vectors()) as u64;
            let outputs = predictor.outputs(&rows_of(points, &live))?;
            let judged: Vec<Judged> = outputs.iter().map(|row| stage.judge(row)).collect();
            let mut left = vec![];
            last = vec![];
            for (row, judged) in live.into_iter().zip(judged) {
                if judged.score > stage.threshold {
                    (codes[row], stages[row]) = (judged.class as u32, place);
                } else {
                    left.push(row);
                    last.push(judged);
                }
            }
            live = left;
        }
        let labels = cascade.labels();
        match &cascade.full {
            None => live.iter().for_each(|&row| codes[row] = labels.len().saturating_sub(1) as u32),
            Some(full) => evaluations += self.deferred(full, points, &live, &last, &mut codes)?,
        }
        Ok(Answers { prediction: Prediction::Classes { labels, codes }, stages, evaluations })
    }

    /// Answers the rows that are left by the full machine; gives the kernel evaluations.
    fn deferred(&self, full: &Machine, points: &Points, live: &[usize], judged: &[Judged], codes: &mut [u32]) -> Result<u64> {
        let threshold = self.cascade.stages.last().map_or(0.0, |stage| stage.threshold);
        let pairs = matches!(full.expansion.coefficients, Coefficients::Pairwise(_));
        let mut groups: BTreeMap<Option<Vec<usize>>, Vec<usize>> = BTreeMap::new();
        for (&row, judged) in live.iter().zip(judged) {
            groups.entry(if pairs { candidates(judged, threshold) } else { None }).or_default().push(row);
        }
        let groups: Vec<Group> = groups.into_iter().collect();
        let answered: Vec<(Vec<u32>, usize)> = groups.par_iter().map(|group| self.answers(full, points, group)).collect::<Result<_>>()?;
        let mut evaluations = 0;
        for ((_, rows), (found, n_vectors)) in groups.iter().zip(answered) {
            evaluations += (rows.len() * n_vectors) as u64;
            rows.iter().zip(found).for_each(|(&row, code)| codes[row] = code);
        }
        Ok(evaluations)
    }

    /// The codes of the rows of a group, and the vectors that were evaluated for each.
    fn answers(&self, full: &Machine, points: &Points, (classes, rows): &Group) -> Result<(Vec<u32>, usize)> {
        let rows = rows_of(points, rows);
        if let (Some(classes), Coefficients::Pairwise(pairwise)) = (classes, &full.expansion.coefficients) {
            let part = self.part(full, pairwise, classes);
            let outputs = part.predictor.outputs(&rows)?;
            let codes = outputs.iter().map(|row| classes.get(part.decision.class(row)).map_or(0, |&class| class as u32));
            return Ok((codes.collect(), part.n_vectors));
        }
        let outputs = self.full.get_or_init(|| Predictor::new(full)).outputs(&rows)?;
        Ok((outputs.iter().map(|row| full.decision.class(row) as u32).collect(), full.n_vectors()))
    }

    /// The part for some classes, kept where there is space. A lock that a panic left behind still has whole parts.
    fn part(&self, full: &Machine, pairwise: &Pairwise, classes: &[usize]) -> Arc<Part> {
        let parts = || self.parts.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(part) = parts().ready.get(classes) {
            return part.clone();
        }
        let machine = part_for(full, pairwise, classes);
        let n_vectors = machine.n_vectors();
        let part = Arc::new(Part { predictor: Predictor::new(&machine), decision: machine.decision, n_vectors });
        let mut parts = parts();
        if parts.n_vectors + n_vectors <= KEPT * full.n_vectors() && parts.ready.insert(classes.to_vec(), part.clone()).is_none() {
            parts.n_vectors += n_vectors;
        }
        part
    }
}

/// Some rows in ascending order; all of them are not copied.
fn rows_of<'a>(points: &'a Points, rows: &[usize]) -> Cow<'a, Points> {
    if rows.len() == points.len() { Cow::Borrowed(points) } else { Cow::Owned(points.select(rows)) }
}

/// The part of a one-vs-one machine that decides among some classes, which ascend.
fn part_for(machine: &Machine, pairwise: &Pairwise, classes: &[usize]) -> Machine {
    let chosen = vectors_of(pairwise, classes);
    let pairs: Vec<(usize, (usize, usize))> =
        Pairwise::pairs(pairwise.n_classes()).enumerate().filter(|(_, (a, b))| classes.contains(a) && classes.contains(b)).collect();
    let coefficient = |j: usize, (a, b): (usize, usize)| match pairwise.starts.partition_point(|start| *start <= j).saturating_sub(1) {
        own if own == a => pairwise.values.at(j, b - 1),
        own if own == b => pairwise.values.at(j, a),
        _ => 0.0,
    };
    let coefficients = Matrix::from_fn(chosen.len(), pairs.len(), |j, k| coefficient(chosen[j], pairs[k].1));
    let labels = machine.decision.labels();
    let expansion = Expansion {
        kernel: machine.expansion.kernel.clone(),
        vectors: machine.expansion.vectors.select(&chosen),
        coefficients: Coefficients::Dense(coefficients),
    };
    let offsets = pairs.iter().map(|(k, _)| machine.offsets[*k]).collect();
    let decision = Decision::Votes { labels: classes.iter().map(|&c| labels[c].clone()).collect() };
    Machine { expansion, offsets, decision, scale: machine.scale.clone(), names: None, calibration: None, metadata: Metadata::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::waveform3,
        kernel::Kernel,
        learn::{Learner, Svc},
        machine::cascade::vote_among,
        watch::Watch,
    };

    #[test]
    fn parts_for_candidates_vote_as_the_whole_machine_does_among_them() {
        let data = waveform3(200, 1);
        let full = Svc { kernel: Kernel::gaussian(0.05), ..Svc::default() }.learn(&data, &Watch::none()).unwrap().machine;
        let Coefficients::Pairwise(pairwise) = &full.expansion.coefficients else { panic!() };
        let whole = full.outputs_for(&data.points).unwrap();
        for classes in [vec![0, 1], vec![0, 2], vec![1, 2]] {
            let part = part_for(&full, pairwise, &classes);
            assert!(part.n_vectors() < full.n_vectors());
            let outputs = part.outputs_for(&data.points).unwrap();
            for i in 0..200 {
                assert_eq!(classes[part.decision.class(outputs.row(i))], vote_among(&classes, 3, whole.row(i)));
            }
        }
        assert_eq!(
            (0..50).map(|i| vote_among(&[0, 1, 2], 3, whole.row(i))).collect::<Vec<_>>(),
            (0..50).map(|i| full.decision.class(whole.row(i))).collect::<Vec<_>>()
        );
    }

    #[test]
    fn parts_are_made_once_and_kept_within_bounds() {
        let data = waveform3(200, 1);
        let full = Svc { kernel: Kernel::gaussian(0.05), ..Svc::default() }.learn(&data, &Watch::none()).unwrap().machine;
        let Coefficients::Pairwise(pairwise) = &full.expansion.coefficients else { panic!() };
        let promise = crate::machine::cascade::Promise {
            max_disagreement: 0.1,
            confidence: 0.9,
            by_class: false,
            bound: 0.1,
            calibration_rows: 1,
            disagreements: 0,
            cost: 1.0,
            full_vectors: full.n_vectors(),
        };
        let ready = CascadePredictor::new(Cow::Owned(Cascade { stages: vec![], full: Some(full.clone()), promise }));
        let first = ready.part(&full, pairwise, &[0, 2]);
        assert!(Arc::ptr_eq(&first, &ready.part(&full, pairwise, &[0, 2])));
        assert!(!Arc::ptr_eq(&first, &ready.part(&full, pairwise, &[0, 1])));
        assert_eq!(ready.parts.lock().unwrap().ready.len(), 2);
        ready.parts.lock().unwrap().n_vectors = KEPT * full.n_vectors();
        ready.part(&full, pairwise, &[1, 2]);
        assert_eq!(ready.parts.lock().unwrap().ready.len(), 2, "no more than fits is kept");
    }
}
