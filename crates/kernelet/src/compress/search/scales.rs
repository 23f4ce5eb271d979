//! Feature scales that a small machine learns beside its vectors, where that is asked for: training goes on from the trained vectors, in the metric of the
//! large machine with a factor for each feature, see [`Learned::Scales`].
//!
//! The kernel of the small machine is then another one, so that the distance of the weight vectors has no meaning; validation rows say whether the machine is
//! better than the one without.
use crate::{
    Error, Result,
    compress::Task,
    learn::{
        Fit,
        direct::{Init, Learned, Metric, Search},
    },
    machine::{Machine, MetricMetadata},
};

/// The penalties that are tried, in units of the objective before divided by the number of features.
pub(super) const PENALTIES: [f64; 2] = [1e-2, 1e-3];

/// The vectors are trained for this fraction of the steps before scales join.
const STEPS_BEFORE: usize = 4;

/// The machine that training goes on to from a start, or from where the search begins.
pub(super) fn with_scales(penalty: f64, search: Search, start: Option<&Machine>, learn: impl Fn(Search) -> Result<Fit>) -> Result<Machine> {
    let vectors = |machine: &Machine| Init::Given(machine.expansion.vectors.to_dense());
    let init = start.map_or(search.init.clone(), vectors);
    let before = learn(Search { init, starts: 1, iterations: search.iterations.div_ceil(STEPS_BEFORE), ..search.clone() })?;
    let unit = before.report.objective.abs() / before.machine.expansion.vectors.dim().max(1) as f64;
    let metric = Metric { learned: Learned::Scales, penalty: penalty * unit, ..Metric::default() };
    Ok(learn(Search { init: vectors(&before.machine), starts: 1, metric, ..search })?.machine)
}

/// A machine that was trained on the rows of the task as the large machine's kernel sees them, for rows as they are: its scaling, which is what it has learned, if
/// anything, follows that of the large machine.
pub(super) fn behind_scaling(found: Machine, task: &Task) -> Result<Machine> {
    let (before, learned) = (&task.machine.scale, found.scale.clone());
    let mut machine = Machine { scale: before.clone(), names: task.machine.names.clone(), ..found };
    if let Some(learned) = learned {
        let earlier = task.machine.metadata.metric.as_ref().map(|metric| metric.feature_scales.clone()).unwrap_or_default();
        let feature_scales = match earlier.len() == learned.factor.len() {
            true => earlier.iter().zip(&learned.factor).map(|(first, then)| first * then).collect(),
            false => learned.factor.clone(),
        };
        machine.metadata.metric =
            Some(MetricMetadata { learned: "scales".into(), used: true, feature_scales, ..MetricMetadata::default() });
        machine.scale = Some(before.as_ref().map_or(Ok(learned.clone()), |before| before.then(&learned))?);
    }
    Ok(machine)
}

/// An error for a machine that no scales can be learned for.
pub(super) fn check_scales(machine: &Machine, trained: bool) -> Result<()> {
    let unsupported = |with: &str, instead: &str| Err(Error::Unsupported { method: "ard", with: with.into(), instead: instead.into() });
    match (machine.map().is_some(), trained) {
        (true, _) => unsupported("a model that ends in a linear map", "leave `ard` out; the map is already learned"),
        (false, false) => unsupported(
            "a compression that trains no machine",
            "give rows with `data`, a kernel that is differentiable, and neither `layout`, `refit`, `threshold` nor a residual; or leave `ard` out",
        ),
        (false, true) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Auto, Effort, Goals};
    use super::*;
    use crate::{
        compress::Comparison,
        data::{Dataset, Points, Scale, banana},
        draw::Draw,
        kernel::Kernel,
        learn::{Learner, Svc},
        linalg::Matrix,
        watch::Watch,
    };

    /// Two bananas in features 2 and 5 of six; the others are noise, which one width weighs as much.
    fn with_noise(rows: usize, seed: u64) -> Dataset {
        let data = banana(rows, seed);
        let (points, mut draw) = (data.points.to_dense(), Draw::seeded(seed));
        let noisy = Matrix::from_fn(rows, 6, |i, j| match j {
            2 => points.at(i, 0),
            5 => points.at(i, 1),
            _ => draw.normal(),
        });
        Dataset { points: noisy.into(), ..data }
    }

    #[test]
    fn scales_are_learned_behind_the_scaling_of_the_model_and_kept_where_rows_prefer_them() {
        let (data, new) = (with_noise(500, 1), with_noise(4000, 2));
        let scale = Scale::standard(&data.points).unwrap();
        let scaled = Dataset { points: scale.apply(&data.points).unwrap(), ..data.clone() };
        let svc = Svc { kernel: Kernel::gaussian(0.3), c: 5.0, ..Svc::default() };
        let full = Machine { scale: Some(scale.clone()), ..svc.learn(&scaled, &Watch::none()).unwrap().machine };
        let task = Task { machine: &full, data: Some(&data), candidates: None };
        let goals = Goals { max_vectors: Some(10), ..Goals::default() };
        let compress = |ard, labels| {
            let auto = Auto { ard, labels, effort: Effort::Quick, ..Auto::default() };
            auto.run(task, &goals, &Watch::none()).unwrap()
        };
        let taught = compress(false, false);
        assert!(taught.machine.scale == full.scale && taught.tried.iter().any(|one| one.strategy == "distil" && one.failed.is_none()));
        let (plain, learned) = (compress(false, true), compress(true, true));
        assert!(learned.strategy.starts_with("margin + scales"), "{}", learned.strategy);
        let error = |machine: &Machine| machine.score(&new).unwrap().loss();
        assert!(error(&learned.machine) < error(&plain.machine) - 0.02, "{} {}", error(&learned.machine), error(&plain.machine));
        let factors = &learned.machine.metadata.metric.as_ref().unwrap().feature_scales;
        for j in 0..6 {
            let whole = learned.machine.scale.as_ref().unwrap().factor[j];
            assert!(
                (whole - scale.factor[j] * factors[j]).abs() <= 1e-12 * whole && (factors[j] > 0.8) == [2, 5].contains(&j),
                "{factors:?}"
            );
        }
        let metrics = Comparison::new(&full, Some(&data), None).metrics(&learned.machine).unwrap();
        assert!(metrics.residual.is_none() && metrics.agreement.is_some(), "weights in two metrics have no distance");
    }

    #[test]
    fn machines_that_no_scales_can_be_learned_for_are_rejected() {
        let data = banana(100, 1);
        let full =
            Svc { kernel: Kernel::named("exponential", 1.0, 0, 0.0).unwrap(), ..Svc::default() }.learn(&data, &Watch::none()).unwrap();
        let goals = Goals { max_vectors: Some(5), ..Goals::default() };
        let auto = Auto { ard: true, ..Auto::default() };
        let failed =
            |machine: &Machine| auto.run(Task { machine, data: Some(&data), candidates: None }, &goals, &Watch::none()).unwrap_err();
        assert!(failed(&full.machine).to_string().contains("differentiable"), "{}", failed(&full.machine));
        let map = Some(Matrix::from_fn(2, 2, |i, j| f64::from(u8::from(i == j))));
        let points = Points::from(data.points.to_dense());
        let mapped = Machine { scale: Some(Scale { map, ..Scale::standard(&points).unwrap() }), ..full.machine };
        assert!(failed(&mapped).to_string().contains("linear map"), "{}", failed(&mapped));
    }
}
