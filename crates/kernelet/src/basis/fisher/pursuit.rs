//! Greedy kernel Fisher discriminants (Diethe2015): vectors whose kernel columns separate the classes, each beyond what the earlier ones do.
//!
//! The column of every row is scored ([`FisherCriterion`]); the best is chosen, taken off the kernel matrix ([`Deflation`]), and so on. With S
//! stages the S best are taken before columns are scored anew, each from the matrix that the one before has left. What comes out is a basis; the
//! discriminant is learned in its frame with the kernel as it was. [Diethe2015 (Algorithm 1)]
//!
//! Cost for n rows of d features and k vectors: K once, n^2 d; for each vector one product with K, two for quotients; n k^2. With samples of c rows
//! in place of all and `projection` or `none` no product with K is left: n k c (d + k). Memory: n^2 / 2 numbers where K fits, and n k.
use super::super::kernel_rows::KernelRows;
use super::{
    criterion::{FisherCriterion, Groups, Numerator, Scores},
    deflation::{Deflated, Deflation},
};
use crate::{
    Error, Named, Result,
    basis::{Basis, BasisBudget, BasisMethod, JITTER},
    data::{Dataset, Points, check_classes},
    draw::Draw,
    kernel::Kernel,
    linalg::Matrix,
    watch::{Status, Watch},
};

/// Bytes that a kernel matrix may take by default: 23,170 rows.
const USUAL_BYTES: usize = 2 << 30;

/// How many columns are chosen before all are scored anew.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stage {
    /// So many.
    Count(usize),
    /// All with a score beyond this: above it, or below it for the reverse criteria. The run ends when there is none. (3.3.3 of the paper)
    Beyond(f64),
}

/// Greedy choice by Fisher's quotient.
#[derive(Clone, Debug)]
pub struct FisherPursuit {
    /// Which column is chosen next.
    pub criterion: FisherCriterion,
    /// How it is taken off the matrix. The choice at random does not depend on it.
    pub deflation: Deflation,
    /// How many at a time.
    pub stage: Stage,
    /// What is above the line of the quotient.
    pub numerator: Numerator,
    /// Score a random sample of this many rows each time instead of all: the best of 59 is among the best 5 % with probability 0.95.
    pub sample: Option<usize>,
    /// Most bytes for the kernel matrix; beyond that its rows are computed whenever they are needed.
    pub cache_bytes: usize,
    /// Seed of what is drawn.
    pub seed: u64,
}

impl Default for FisherPursuit {
    fn default() -> Self {
        FisherPursuit {
            criterion: FisherCriterion::Pseudo,
            deflation: Deflation::Projection,
            stage: Stage::Count(1),
            numerator: Numerator::ClassMeans,
            sample: None,
            cache_bytes: USUAL_BYTES,
            seed: 0,
        }
    }
}

impl BasisMethod for FisherPursuit {
    fn name(&self) -> &'static str {
        "fisher-pursuit"
    }

    fn variant(&self) -> Option<String> {
        let stage = match self.stage {
            Stage::Count(1) => String::new(),
            Stage::Count(count) => format!(", {count} at a time"),
            Stage::Beyond(bound) => format!(", all beyond {bound} at a time"),
        };
        let numerator = if self.numerator == Numerator::Printed { ", printed numerator" } else { "" };
        let sample = self.sample.map_or(String::new(), |count| format!(", {count} rows sampled"));
        Some(format!("{} + {}{stage}{numerator}{sample}", self.criterion.name(), self.deflation.name()))
    }

    fn check(&self) -> Result<()> {
        match (self.stage, self.sample) {
            (Stage::Count(0), _) => Err(Error::parameter("stages", 0, "at least 1")),
            (Stage::Beyond(bound), _) if !bound.is_finite() => Err(Error::parameter("threshold", bound, "a finite number")),
            (Stage::Beyond(_), _) if self.criterion == FisherCriterion::Random => Err(Error::Unsupported {
                method: "a threshold",
                with: "the criterion random, which has no scores".into(),
                instead: "use another criterion, or stages".into(),
            }),
            (_, Some(0)) => Err(Error::parameter("sample", 0, "at least 1")),
            _ => Ok(()),
        }
    }

    fn choose(&self, _: &Kernel, _: &Points, _: &BasisBudget, _: &Watch) -> Result<Basis> {
        Err(Error::data("fisher-pursuit chooses vectors by the classes of the rows, but there are points alone"))
    }

    fn choose_for(&self, kernel: &Kernel, data: &Dataset, budget: &BasisBudget, watch: &Watch) -> Result<Basis> {
        self.check()?;
        budget.check(kernel, &data.points)?;
        let before = watch.evaluations();
        let (chosen, status) = self.vectors(kernel, data, budget.max_vectors, watch)?;
        let basis = Basis::of_vectors(kernel, &data.points, &data.points.select(&chosen), chosen, JITTER)?;
        watch.evaluated(basis.evaluations);
        Ok(Basis { status, evaluations: watch.evaluations() - before, ..basis })
    }
}

impl FisherPursuit {
    /// The rows chosen, in order, and how the run ended.
    pub(super) fn vectors(&self, kernel: &Kernel, data: &Dataset, most: usize, watch: &Watch) -> Result<(Vec<usize>, Status)> {
        let classes = check_classes(data)?;
        let deflation = match (self.criterion, self.deflation) {
            (FisherCriterion::Random, Deflation::None) => Deflation::None,
            // Which columns count as exhausted is all that a deflation can say here, and projections say it without products with K.
            (FisherCriterion::Random, _) => Deflation::Projection,
            (_, deflation) => deflation,
        };
        let scores_all = self.criterion != FisherCriterion::Random && self.sample.is_none();
        let rows = match scores_all || !(deflation.is_projection() || deflation == Deflation::None) {
            true => KernelRows::kept(kernel, &data.points, self.cache_bytes, watch),
            false => KernelRows::passing(kernel, &data.points),
        };
        let mut draw = Draw::seeded(self.seed);
        let groups = Groups::new(data, &classes.codes, self.criterion, self.numerator, rows.unit());
        let scores = match self.criterion {
            FisherCriterion::Random => Some(Scores::drawn(data.len(), &mut draw)),
            _ if scores_all => Some(Scores::new(&rows, &groups, watch)),
            _ => None,
        };
        let free = (0..data.len()).collect();
        let deflated = Deflated::new(&rows, deflation);
        let mut run = Run { method: self, deflation, deflated, groups, scores, free, chosen: vec![], draw };
        let status = run.all(most.min(data.len()), watch)?;
        Ok((run.chosen, status))
    }
}

/// A run.
struct Run<'a> {
    method: &'a FisherPursuit,
    deflation: Deflation,
    deflated: Deflated<'a>,
    groups: Groups,
    /// The scores of all columns; None where they are computed for a sample each time.
    scores: Option<Scores>,
    /// Rows that are neither chosen nor exhausted.
    free: Vec<usize>,
    chosen: Vec<usize>,
    draw: Draw,
}

impl Run<'_> {
    fn all(&mut self, most: usize, watch: &Watch) -> Result<Status> {
        while self.chosen.len() < most && !self.free.is_empty() {
            if watch.cancelled() && !self.chosen.is_empty() {
                return Ok(Status::Cancelled);
            }
            let ranking = self.ranking(watch);
            let wanted: Vec<usize> = match self.method.stage {
                Stage::Count(_) => ranking.iter().map(|(i, _)| *i).collect(),
                Stage::Beyond(bound) => ranking.iter().filter(|(_, score)| *score > self.signed(bound)).map(|(i, _)| *i).collect(),
            };
            if wanted.is_empty() {
                break;
            }
            let left = most - self.chosen.len();
            let count = if let Stage::Count(count) = self.method.stage { count.min(left) } else { left };
            self.stage(&wanted, count, watch);
            watch.report("vectors", self.chosen.len() as u64, Some(most as u64), None);
        }
        match self.chosen.is_empty() {
            false => Ok(Status::Converged),
            true => Err(Error::data("no row has a score beyond the threshold; take a lower one, or stages")),
        }
    }

    /// Scores of which large ones are good.
    fn signed(&self, score: f64) -> f64 {
        if self.method.criterion.is_reverse() { -score } else { score }
    }

    /// Rows with their scores, the best first; on a tie the lower row.
    fn ranking(&mut self, watch: &Watch) -> Vec<(usize, f64)> {
        let (which, scores) = match &self.scores {
            Some(scores) => (self.free.clone(), scores.of(&self.free, &self.groups)),
            None => {
                let which = self.sampled();
                let scores = self.sample_scores(&which, watch);
                (which, scores)
            }
        };
        let mut ranking: Vec<(usize, f64)> = which.into_iter().zip(scores.into_iter().map(|score| self.signed(score))).collect();
        ranking.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        ranking
    }

    /// Some of the free rows, drawn without repetition, in ascending order.
    fn sampled(&mut self) -> Vec<usize> {
        let count = self.method.sample.unwrap_or(usize::MAX).min(self.free.len());
        for place in 0..count {
            let other = place + self.draw.below(self.free.len() - place);
            self.free.swap(place, other);
        }
        let mut sampled = self.free[..count].to_vec();
        sampled.sort_unstable();
        sampled
    }

    fn sample_scores(&self, which: &[usize], watch: &Watch) -> Vec<f64> {
        let mut columns: Matrix = self.deflated.originals(which, watch);
        let originals: Vec<f64> = columns.iter().map(|column| self.groups.square(column)).collect();
        self.deflated.deflate(which, &mut columns);
        columns.iter().zip(originals).map(|(column, original)| self.groups.score_of(column, original)).collect()
    }

    /// Takes up to `count` of the rows in `ranking`, each off the matrix that the one before has left; those whose columns are exhausted are passed
    /// over for good.
    fn stage(&mut self, ranking: &[usize], count: usize, watch: &Watch) {
        let (mut seen, mut taken) = (vec![], 0);
        for &i in ranking {
            if taken == count || (watch.cancelled() && !self.chosen.is_empty()) {
                break;
            }
            seen.push(i);
            if self.take(i, watch) {
                self.chosen.push(i);
                taken += 1;
            }
        }
        seen.sort_unstable();
        self.free.retain(|i| seen.binary_search(i).is_err());
    }

    /// Takes row i off the matrix; false where its column is exhausted.
    fn take(&mut self, i: usize, watch: &Watch) -> bool {
        let Some(direction) = self.deflated.direction(i, watch) else { return false };
        if self.deflation == Deflation::None {
            return true;
        }
        let follows = matches!(self.scores, Some(Scores::Sums { .. }));
        let Some(step) = self.deflated.step(&direction, !follows, watch) else { return false };
        if let Some(scores) = &mut self.scores {
            scores.follow(&self.deflated, &step, &self.groups, watch);
        }
        self.deflated.take(&direction, step);
        true
    }
}
