//! Probabilities of a small machine, learned from those of the large one.
//!
//! A curve from outputs to probabilities belongs to the outputs it was fitted to. The small machine gets sigmoids of its own whose targets are the
//! probabilities that the large machine gives to rows: no labels are needed, and what cross-validation taught the large machine is kept.
use crate::{
    Result,
    data::Points,
    learn::fit_sigmoid,
    machine::{Calibration, Decision, Machine, Pairwise},
};

/// The calibration of `small` on rows as they come from files; none where the large machine has no probabilities or the rule has no curves.
pub(super) fn recalibrated(small: &Machine, large: &Machine, rows: &Points) -> Result<Option<Calibration>> {
    if large.check_probabilities().is_err() {
        return Ok(None);
    }
    let wanted = large.probabilities(&large.outputs_for(rows)?)?;
    let outputs = small.outputs_for(rows)?;
    // For each output the classes on its positive and its negative side.
    let sides: Vec<(usize, Option<usize>)> = match &small.decision {
        Decision::Sign { .. } => vec![(1, Some(0))],
        Decision::Votes { labels } => Pairwise::pairs(labels.len()).map(|(a, b)| (a, Some(b))).collect(),
        Decision::Largest { labels } => (0..labels.len()).map(|k| (k, None)).collect(),
        _ => return Ok(None),
    };
    let (mut a, mut b) = (vec![], vec![]);
    for (k, (one, other)) in sides.into_iter().enumerate() {
        let values = outputs.col(k);
        // Each row counts on both sides, by how likely either is.
        let (mut twice, mut positive, mut weights) = (vec![], vec![], vec![]);
        for (i, &value) in values.iter().enumerate() {
            let on = wanted.at(i, one);
            let off = other.map_or(1.0 - on, |other| wanted.at(i, other));
            twice.extend([value, value]);
            positive.extend([true, false]);
            weights.extend([on, off.max(0.0)]);
        }
        let (slope, shift) = fit_sigmoid(&twice, &positive, &weights);
        a.push(slope);
        b.push(shift);
    }
    Ok(Some(Calibration::Sigmoid { a, b }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::{banana, waveform3},
        kernel::Kernel,
        learn::{Calibrated, Learner, Multiclass, Shape, Svc},
        watch::Watch,
    };

    #[test]
    fn the_large_machine_gets_its_own_probabilities_back() {
        let cases = [(banana(300, 1), Multiclass::OneVsOne, 1.0), (waveform3(300, 1), Multiclass::OneVsOne, 0.02)];
        for (data, multiclass, gamma) in cases {
            let learner = Box::new(Svc { kernel: Kernel::gaussian(gamma), multiclass, ..Svc::default() });
            let full = Calibrated { shape: Shape::Sigmoid, folds: 3, seed: 0, learner }.learn(&data, &Watch::none()).unwrap().machine;
            let again = Machine { calibration: recalibrated(&full, &full, &data.points).unwrap(), ..full.clone() };
            let outputs = full.outputs_for(&data.points).unwrap();
            let (p, q) = (full.probabilities(&outputs).unwrap(), again.probabilities(&outputs).unwrap());
            let off = p.values().iter().zip(q.values()).map(|(a, b)| (a - b).abs()).sum::<f64>() / p.values().len() as f64;
            assert!(off < 0.03, "{off}");
            let bare = Machine { calibration: None, ..full };
            assert_eq!(recalibrated(&bare, &bare, &data.points).unwrap(), None);
        }
    }
}
