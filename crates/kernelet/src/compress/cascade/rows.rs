//! What the machines of a cascade make of rows: labels, scores, and the cost of deciding among some classes.
use std::collections::HashMap;

use crate::{
    Result,
    data::Points,
    linalg::Matrix,
    machine::{
        Coefficients, Decision, Machine,
        cascade::{Judged, MOST_CANDIDATES, Stage, vectors_of, vote_among},
    },
};

/// What the full machine makes of rows.
#[derive(Clone)]
pub(super) struct Reference {
    pub labels: Vec<usize>,
    pub n_vectors: usize,
}

impl Reference {
    /// The labels, and the outputs that they follow from.
    pub fn of(full: &Machine, rows: &Points) -> Result<(Self, Matrix)> {
        let outputs = full.outputs_for(rows)?;
        let labels = outputs.iter().map(|row| full.decision.class(row)).collect();
        Ok((Reference { labels, n_vectors: full.n_vectors() }, outputs))
    }

    pub fn select(&self, rows: &[usize]) -> Self {
        Reference { labels: rows.iter().map(|&row| self.labels[row]).collect(), n_vectors: self.n_vectors }
    }

    /// All rows, or those of each class that has any.
    pub fn groups(&self, by_class: bool) -> Vec<Vec<usize>> {
        if !by_class {
            return vec![(0..self.labels.len()).collect()];
        }
        let classes = self.labels.iter().max().map_or(0, |last| last + 1);
        let of = |class: usize| (0..self.labels.len()).filter(|&i| self.labels[i] == class).collect::<Vec<_>>();
        (0..classes).map(of).filter(|group| !group.is_empty()).collect()
    }
}

/// A stage on rows.
pub(super) struct Table {
    pub n_vectors: usize,
    pub rows: Vec<Judged>,
    /// For each row the label and the cost of deciding among its first 2, 3, .. classes; empty where the whole machine decides.
    among: Vec<Vec<(usize, usize)>>,
}

impl Table {
    /// `outputs` are those of the full machine.
    pub fn of(stage: &Stage, full: &Machine, outputs: &Matrix, points: &Points) -> Result<Self> {
        let rows: Vec<Judged> = stage.evaluated().outputs_for(points)?.iter().map(|row| stage.judge(row)).collect();
        let mut among = vec![vec![]; rows.len()];
        if let (Coefficients::Pairwise(pairwise), Decision::Votes { labels }) = (&full.expansion.coefficients, &full.decision) {
            let mut costs: HashMap<Vec<usize>, usize> = HashMap::new();
            for (i, judged) in rows.iter().enumerate() {
                for size in 2..=MOST_CANDIDATES.min(labels.len().saturating_sub(1)) {
                    let mut classes: Vec<usize> = judged.ranks.iter().take(size).map(|rank| rank.0).collect();
                    classes.sort_unstable();
                    let label = vote_among(&classes, labels.len(), outputs.row(i));
                    let cost = *costs.entry(classes).or_insert_with_key(|classes| vectors_of(pairwise, classes).len());
                    among[i].push((label, cost));
                }
            }
        }
        Ok(Table { n_vectors: stage.machine.n_vectors(), rows, among })
    }

    pub fn select(&self, rows: &[usize]) -> Self {
        let among = rows.iter().map(|&row| self.among[row].clone()).collect();
        Table { n_vectors: self.n_vectors, rows: rows.iter().map(|&row| self.rows[row].clone()).collect(), among }
    }

    /// The label and the cost of a row that the last stage does not answer.
    fn deferred(&self, row: usize, threshold: f64, reference: &Reference) -> (usize, usize) {
        let size = self.rows[row].ranks.iter().take_while(|rank| rank.1 <= threshold).count();
        let part = size.checked_sub(2).and_then(|place| self.among[row].get(place));
        part.copied().unwrap_or((reference.labels[row], reference.n_vectors))
    }

    /// The score of a row whose class differs; 0 where it does not.
    pub fn wrong(&self, row: usize, reference: &Reference) -> f64 {
        let judged = &self.rows[row];
        if judged.class == reference.labels[row] { 0.0 } else { judged.score }
    }

    /// The largest threshold at which the answer of a row still differs where candidate classes decide; 0 where it never does.
    pub fn last_wrong(&self, row: usize, reference: &Reference) -> f64 {
        let (judged, label) = (&self.rows[row], reference.labels[row]);
        let mut last = self.wrong(row, reference);
        for (place, (other, _)) in self.among[row].iter().enumerate() {
            if *other != label {
                last = judged.ranks.get(place + 2).map_or(last, |rank| rank.1);
            }
        }
        last
    }
}

/// A cascade on rows.
pub(super) struct Outcome {
    /// For each row the class that is answered; that of the full machine where nothing is.
    pub classes: Vec<usize>,
    pub wrong: Vec<bool>,
    pub stages: Vec<usize>,
    pub evaluations: u64,
}

impl Outcome {
    pub fn of(tables: &[&Table], thresholds: &[f64], reference: &Reference, abstain: bool) -> Self {
        let n = reference.labels.len();
        let mut outcome = Outcome { classes: vec![0; n], wrong: vec![false; n], stages: vec![tables.len(); n], evaluations: 0 };
        for row in 0..n {
            let mut answer = None;
            for (place, (table, threshold)) in tables.iter().zip(thresholds).enumerate() {
                outcome.evaluations += table.n_vectors as u64;
                if table.rows[row].score > *threshold {
                    answer = Some(table.rows[row].class);
                    outcome.stages[row] = place;
                    break;
                }
            }
            let label = match (answer, tables.last().zip(thresholds.last())) {
                (Some(class), _) => class,
                // What is not answered does not differ.
                (None, Some((table, threshold))) if !abstain => {
                    let (label, cost) = table.deferred(row, *threshold, reference);
                    outcome.evaluations += cost as u64;
                    label
                }
                _ => reference.labels[row],
            };
            (outcome.classes[row], outcome.wrong[row]) = (label, label != reference.labels[row]);
        }
        outcome
    }

    pub fn n_wrong(&self) -> usize {
        self.wrong.iter().filter(|wrong| **wrong).count()
    }

    /// Kernel evaluations as a fraction of the full machine's.
    pub fn cost(&self, reference: &Reference) -> f64 {
        self.evaluations as f64 / (reference.labels.len().max(1) * reference.n_vectors.max(1)) as f64
    }

    pub fn wrong_among(&self, rows: &[usize]) -> usize {
        rows.iter().filter(|&&row| self.wrong[row]).count()
    }
}
