//! How much would a compression lose on new rows, where there are training rows alone? Machines trained again without some of them give an estimate.
//!
//! The rows are cut into folds. For each fold the machine is trained again on the others with its own settings, made as small by the same request, and both
//! are compared on the rows of the fold, which neither has seen. That is an estimate for machines of this kind and size, not a promise about this one.
use super::{
    compress::Compress,
    compressed::Compressed,
    train::{Given, Train},
};
use crate::{
    Result,
    compress::{Certificate, Goals, Metric, RowKind, Tally, Trust},
    data::{Dataset, Target, stratified_folds},
    kernel::Kernel,
    machine::Machine,
    watch::Watch,
};

/// Folds: each costs a training, and a compression for every size.
const FOLDS: usize = 3;

/// The sizes that are tried above the first, as multiples of it.
const LARGER: [f64; 4] = [1.0, 1.6, 2.5, 4.0];

/// With fewer rows than this nothing is estimated.
const FEWEST: usize = 100;

/// A machine trained without some rows, the rows it was trained on, and the others.
struct Refit {
    machine: Machine,
    rows: Dataset,
    left_out: Dataset,
}

impl Compress {
    /// What is promised of new rows.
    pub(super) fn trust(&self) -> Trust {
        let usual = Trust::default();
        Trust { confidence: self.confidence.unwrap_or(usual.confidence), origin: self.rows.unwrap_or_default() }
    }

    /// The small machine of the least size whose estimated loss meets the goals, with that estimate; the machine as it is where nothing can be estimated.
    pub(super) fn estimated(&self, machine: &Machine, data: &Dataset, mut small: Compressed, watch: &Watch) -> Result<Compressed> {
        let silent = |small: &Compressed| {
            small.validation.as_ref().and_then(|validation| validation.certificate.as_ref()).is_some_and(|c| c.kind == RowKind::Training)
        };
        if !silent(&small) || watch.cancelled() {
            return Ok(small);
        }
        let Some(train) = Train::again(machine).filter(|_| can_estimate(machine, data)) else {
            small.notes.push(
                "the loss on new rows cannot be estimated: the settings of the model are not known, or there are too few rows with targets"
                    .into(),
            );
            return Ok(small);
        };
        let Some(refits) = refits(&train, machine, data, self.seed, watch)? else { return Ok(small) };
        let metric = self.metric.unwrap_or(Metric::of(machine));
        let (first, most) = (small.machine.n_vectors(), self.goals.most_vectors(machine)?);
        let mut sizes: Vec<usize> = LARGER.iter().map(|factor| ((first as f64 * factor).round() as usize).min(most)).collect();
        sizes.dedup();
        let mut estimate = None;
        for size in sizes {
            let Some(certificate) = self.estimate(size, &refits, metric, watch)? else { break };
            let enough = certificate.seems_to_meet(&self.goals);
            estimate = Some((size, certificate));
            if enough {
                break;
            }
        }
        let Some((size, certificate)) = estimate else { return Ok(small) };
        if size != first {
            small = self.larger(size, machine, data, small, watch)?;
        }
        self.with_estimate(&mut small, certificate, metric);
        Ok(small)
    }

    /// The loss at a size over all folds; none after cancelling.
    fn estimate(&self, size: usize, refits: &[Refit], metric: Metric, watch: &Watch) -> Result<Option<Certificate>> {
        let asked = self.of_size(size);
        let mut tally = Tally::default();
        for Refit { machine, rows, left_out } in refits {
            let small = asked.run(machine, Some(rows), None, watch)?.machine;
            if watch.cancelled() {
                return Ok(None);
            }
            tally.add(&machine.predict(&left_out.points)?, &small.predict(&left_out.points)?, left_out, metric)?;
        }
        Ok(Some(tally.certificate(RowKind::Training, self.trust().confidence, self.seed)))
    }

    fn of_size(&self, size: usize) -> Compress {
        let goals = Goals { max_vectors: Some(size), ..Goals::default() };
        Compress { goals, path: false, confidence: None, rows: None, time: None, ..self.clone() }
    }

    /// A larger machine than was found, with what is known of the search.
    fn larger(&self, size: usize, machine: &Machine, data: &Dataset, small: Compressed, watch: &Watch) -> Result<Compressed> {
        let mut larger = self.of_size(size).run(machine, Some(data), None, watch)?;
        if watch.cancelled() {
            return Ok(small);
        }
        let validation = small.validation.map(|mut validation| {
            if let Some(own) = larger.validation.take() {
                (validation.metrics, validation.trained_further) = (own.metrics, own.trained_further);
                (validation.loss_before, validation.n_rows) = (own.loss_before, own.n_rows);
                validation.tried.extend(own.tried);
            }
            validation.why = "the smallest size whose estimated loss on new rows is small enough, or the largest that was tried".into();
            validation
        });
        let mut sizes = small.sizes;
        sizes.retain(|(metrics, _)| metrics.n_vectors < size);
        sizes.extend(larger.sizes.pop());
        Ok(Compressed { validation, sizes, notes: vec![], ..larger })
    }

    fn with_estimate(&self, small: &mut Compressed, certificate: Certificate, metric: Metric) {
        let Some(validation) = &mut small.validation else { return };
        small.missing = self.goals.residual_shortfall(&validation.metrics).into_iter().collect();
        small.missing.extend(certificate.shortfalls(&self.goals, metric));
        validation.verdict = Some(certificate.verdict(&self.goals, &validation.metrics));
        validation.certificate = Some(certificate);
    }
}

/// True when machines can be trained again on these rows.
fn can_estimate(machine: &Machine, data: &Dataset) -> bool {
    data.len() >= FEWEST && data.target != Target::None && !matches!(machine.expansion.kernel, Kernel::Precomputed(_))
}

/// The machine trained again for each fold; none where that fails for want of rows, or after cancelling.
fn refits(train: &Train, machine: &Machine, data: &Dataset, seed: u64, watch: &Watch) -> Result<Option<Vec<Refit>>> {
    let scale = machine.scale.clone().filter(|_| train.scale.is_none() && machine.metadata.metric.is_none());
    let given = Given { scale, ..Given::default() };
    let mut refits = vec![];
    for fold in stratified_folds(&data.target, FOLDS, seed)? {
        let (rows, left_out) = (data.without(&fold), data.select(&fold));
        let Ok(trained) = train.run(&rows, &given, watch) else { return Ok(None) };
        if watch.cancelled() {
            return Ok(None);
        }
        refits.push(Refit { machine: trained.fit.machine, rows, left_out });
    }
    Ok(Some(refits))
}
