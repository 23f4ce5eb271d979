//! Probabilities and deviations of a small machine, learned from those of the large one.
//!
//! A curve from outputs to probabilities belongs to the outputs it was fitted to, so that the small machine gets its own. Targets are the probabilities
//! that the large machine gives to rows: no labels are needed, and what cross-validation taught the large machine is kept. One output a class has a softmax
//! with one temperature, which keeps the order of the classes; other rules have sigmoids.
//!
//! Where rows have labels, the temperature is fitted to them too. On rows that the small machine has not seen, and where there are enough of them, the labels
//! alone decide: the probabilities of the large machine need not be calibrated themselves, as those that are coupled of pairs are too unsure. Otherwise the higher temperature is kept, because the labels of rows that it has seen, or
//! the large machine for it, make it too sure.
//!
//! A machine that is trained further on its validation rows has seen them, and before that it was a worse one: fitted to those outputs the temperature is too high, and they
//! are few. So the further training is repeated without a fifth of all rows, five times or until 5,000 rows were left out, and the curves are fitted to what each machine
//! makes of the rows that it was trained without. Its vectors started where some of these had a part in moving them, but a fit to all rows is a steadier one, and closer on new rows than one to the validation rows.
use super::strategy::Strategy;
use crate::{
    Result,
    compress::Task,
    data::{Dataset, stratified_folds},
    learn::{Shape, calibration, fit_log_variance, fit_sigmoid, fit_softmax},
    linalg::Matrix,
    machine::{Calibration, Decision, Machine, Pairwise},
    watch::Watch,
};

/// Labels of unseen rows that are enough to decide alone.
const ENOUGH: usize = 100;
/// Parts of the rows that further training leaves out in turn ..
const FOLDS: usize = 5;
/// .. until there are outputs of so many rows, or of all: a temperature is one number.
pub(super) const LEFT_OUT: usize = 5000;

/// The calibration of `small` on rows as they come from files; none where the large machine has none or the rule has no curves. `unseen` is true where
/// the small machine does not depend on these rows.
pub(crate) fn recalibrated(small: &Machine, large: &Machine, rows: &Dataset, unseen: bool) -> Result<Option<Calibration>> {
    if large.check_probabilities().is_err() {
        return variance_again(small, large, rows);
    }
    fitted(&small.decision, &small.outputs_for(&rows.points)?, large, rows, unseen)
}

/// The softmax of the machine that `small` becomes when it is trained further on the rows of `all`; none for other rules, whose curves follow the large machine's, where that has no
/// probabilities, where the rows have no classes or are too few, or time is over. So many rows are left out once, or all.
pub(super) fn recalibrated_by_folds(
    small: &Machine,
    strategy: &Strategy,
    all: &Task,
    wanted: usize,
    watch: &Watch,
) -> Result<Option<Calibration>> {
    let softmax = matches!(small.decision, Decision::Largest { .. } | Decision::Codes { .. });
    let enough = |data: &&Dataset| softmax && data.classes().is_ok() && data.len() >= ENOUGH && all.machine.check_probabilities().is_ok();
    let Some(rows) = all.data.filter(enough) else { return Ok(None) };
    let mut outputs = Matrix::zeros(rows.len(), small.n_outputs());
    let mut left_out = vec![];
    for fold in stratified_folds(&rows.target, FOLDS, 0)? {
        if left_out.len() >= wanted {
            break;
        }
        let others = rows.without(&fold);
        let again = strategy.again(small.clone(), &Task { data: Some(&others), ..*all }, watch)?;
        if watch.cancelled() || again.decision != small.decision {
            return Ok(None);
        }
        let found = again.outputs_for(&rows.points.select(&fold))?;
        fold.iter().zip(found.iter()).for_each(|(&i, found)| outputs.row_mut(i).copy_from_slice(found));
        left_out.extend(fold);
    }
    left_out.sort_unstable();
    fitted(&small.decision, &outputs.select(&left_out), all.machine, &rows.select(&left_out), true)
}

/// The curves of outputs.
fn fitted(decision: &Decision, outputs: &Matrix, large: &Machine, rows: &Dataset, unseen: bool) -> Result<Option<Calibration>> {
    let wanted = large.probabilities(&large.outputs_for(&rows.points)?)?;
    match decision {
        Decision::Sign { .. } | Decision::Votes { .. } => Ok(Some(sigmoids(decision, outputs, &wanted))),
        Decision::Largest { .. } | Decision::Codes { .. } => softmax(decision, outputs, &wanted, rows, unseen).map(Some),
        _ => Ok(None),
    }
}

/// The deviations of the large machine, and where the small one is off it, are the variance of the small one.
fn variance_again(small: &Machine, large: &Machine, rows: &Dataset) -> Result<Option<Calibration>> {
    if !large.has_deviations() || small.decision != Decision::Values {
        return Ok(None);
    }
    let (wanted, apart, found) = (large.deviations(&rows.points)?, large.outputs_for(&rows.points)?, small.outputs_for(&rows.points)?);
    let square = |i: usize, k: usize| wanted.at(i, k).powi(2) + (apart.at(i, k) - found.at(i, k)).powi(2);
    let squares = Matrix::from_fn(rows.len(), wanted.cols(), square);
    let weights: Vec<f64> = (0..rows.len()).map(|i| rows.weight(i)).collect();
    Ok(Some(Calibration::LogVariance { heads: fit_log_variance(small, &rows.points, &squares, &weights, 0)? }))
}

fn softmax(decision: &Decision, outputs: &Matrix, wanted: &Matrix, rows: &Dataset, unseen: bool) -> Result<Calibration> {
    let weights: Vec<f64> = (0..rows.len()).map(|i| rows.weight(i)).collect();
    let taught = fit_softmax(decision, outputs, wanted, &weights);
    if rows.classes().is_ok()
        && let Calibration::NormalClasses(labelled) = calibration(decision, outputs, rows, Shape::Softmax)?
        && (unseen && rows.len() >= ENOUGH || labelled.precisions < taught.precisions)
    {
        return Ok(Calibration::NormalClasses(labelled));
    }
    Ok(Calibration::NormalClasses(taught))
}

fn sigmoids(decision: &Decision, outputs: &Matrix, wanted: &Matrix) -> Calibration {
    // For each output the classes on its positive and its negative side.
    let sides: Vec<(usize, usize)> = match decision {
        Decision::Votes { labels } => Pairwise::pairs(labels.len()).collect(),
        _ => vec![(1, 0)],
    };
    let (mut a, mut b) = (vec![], vec![]);
    for (k, (one, other)) in sides.into_iter().enumerate() {
        // Each row counts on both sides, by how likely either is.
        let (mut twice, mut positive, mut weights) = (vec![], vec![], vec![]);
        for (i, &value) in outputs.col(k).iter().enumerate() {
            twice.extend([value, value]);
            positive.extend([true, false]);
            weights.extend([wanted.at(i, one), wanted.at(i, other).max(0.0)]);
        }
        let (slope, shift) = fit_sigmoid(&twice, &positive, &weights);
        a.push(slope);
        b.push(shift);
    }
    Calibration::Sigmoid { a, b }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{strategy::Steps, validation::Parts},
        *,
    };
    use crate::{
        data::{Target, banana, waveform3},
        evaluate::score_probabilities,
        kernel::Kernel,
        learn::{
            Calibrated, Fisher, Learner, Logistic, Multiclass, Shape, Svc,
            direct::{Margin, Search},
        },
        watch::Watch,
    };

    #[test]
    fn the_large_machine_gets_its_own_probabilities_back() {
        let cases = [(banana(300, 1), Multiclass::OneVsOne, 1.0), (waveform3(300, 1), Multiclass::OneVsOne, 0.02)];
        for (data, multiclass, gamma) in cases {
            let learner = Box::new(Svc { kernel: Kernel::gaussian(gamma), multiclass, ..Svc::default() });
            let full = Calibrated { shape: Shape::Sigmoid, folds: 3, seed: 0, learner }.learn(&data, &Watch::none()).unwrap().machine;
            let again = Machine { calibration: recalibrated(&full, &full, &data, false).unwrap(), ..full.clone() };
            let outputs = full.outputs_for(&data.points).unwrap();
            let (p, q) = (full.probabilities(&outputs).unwrap(), again.probabilities(&outputs).unwrap());
            let off = p.values().iter().zip(q.values()).map(|(a, b)| (a - b).abs()).sum::<f64>() / p.values().len() as f64;
            assert!(off < 0.03, "{off}");
            let bare = Machine { calibration: None, ..full };
            assert_eq!(recalibrated(&bare, &bare, &data, false).unwrap(), None);
        }
    }

    #[test]
    fn one_output_for_each_class_keeps_its_labels_and_most_of_its_likelihood() {
        let (data, new) = (waveform3(300, 1), waveform3(2000, 2));
        let kernel = Kernel::gaussian(0.02);
        let learners: [Box<dyn Learner>; 2] = [
            Box::new(Fisher { kernel: kernel.clone(), lambda: 0.1, ..Fisher::default() }),
            Box::new(Logistic { kernel, ..Logistic::default() }),
        ];
        for learner in learners {
            let large = learner.learn(&data, &Watch::none()).unwrap().machine;
            let blind = Dataset { target: Target::None, ..data.clone() };
            for rows in [&data, &blind] {
                let again = Machine { calibration: recalibrated(&large, &large, rows, false).unwrap(), ..large.clone() };
                again.check().unwrap();
                let outputs = large.outputs_for(&new.points).unwrap();
                let loss = |machine: &Machine| {
                    let p = machine.probabilities(&outputs).unwrap();
                    for (row, f) in p.iter().zip(outputs.iter()) {
                        let top = (1..3).fold(0, |best, c| if row[c] > row[best] { c } else { best });
                        // Normal classes of a discriminant may differ from its labels, a softmax never does.
                        assert!(machine == &large || top == machine.decision.class(f));
                    }
                    score_probabilities(&p, &large.decision.labels(), &new).unwrap().log_loss
                };
                let (before, after) = (loss(&large), loss(&again));
                assert!(after < before + 0.1, "{}: {before} {after}", learner.name());
            }
        }
    }

    #[test]
    fn folds_of_the_further_training_calibrate_the_machine_that_it_gives() {
        let (data, new) = (waveform3(440, 1), waveform3(4000, 2));
        let kernel = Kernel::gaussian(0.05);
        let learner = Box::new(Svc { kernel: kernel.clone(), c: 5.0, ..Svc::default() });
        let large = Calibrated { shape: Shape::Sigmoid, folds: 3, seed: 0, learner }.learn(&data, &Watch::none()).unwrap().machine;
        let search = Search { iterations: 20, ..Search::default() };
        let steps = Steps::Margin { taught: Margin { kernel, c: 5.0, search, ..Margin::default() }, own: true };
        let strategy = Strategy { name: "margin".into(), steps, from: vec![], candidate: true, scales: None };
        let task = |data| Task { machine: &large, data: Some(data), candidates: None };
        let Parts { rows, held_out } = Parts::of(&data, 0).unwrap();
        let small = strategy.machine(&task(&rows), 30, &[], &Watch::none()).unwrap();
        let further = strategy.again(small.clone(), &task(&data), &Watch::none()).unwrap();
        let loss = |calibration: Option<Calibration>| {
            let machine = Machine { calibration, ..further.clone() };
            let p = machine.probabilities(&machine.outputs_for(&new.points).unwrap()).unwrap();
            score_probabilities(&p, &large.decision.labels(), &new).unwrap().log_loss
        };
        let until = |wanted: usize, data: &Dataset| {
            let task = Task { machine: &large, data: Some(data), candidates: None };
            recalibrated_by_folds(&small, &strategy, &task, wanted, &Watch::none()).unwrap()
        };
        let by_folds = |data: &Dataset| until(LEFT_OUT, data);
        // Beside the best temperature on new rows, and that of rows which the machine has seen.
        let [folded, fewer, best, seen] = [
            loss(by_folds(&data)),
            loss(until(150, &data)),
            loss(recalibrated(&further, &large, &new, true).unwrap()),
            loss(recalibrated(&further, &large, &held_out, true).unwrap()),
        ];
        assert!(folded < best + 0.01 && seen > best + 0.1, "{folded} {best} {seen}");
        assert!(fewer != folded && fewer < best + 0.03, "two of the five parts: {fewer} {folded}");
        assert_eq!(by_folds(&data.select(&(0..ENOUGH - 1).collect::<Vec<_>>())), None);
        let Target::Classes(classes) = &data.target else { panic!() };
        let rare: Vec<usize> =
            (0..data.len()).filter(|&i| classes.codes[i] != 2).chain(classes.codes.iter().position(|code| *code == 2)).collect();
        assert!(by_folds(&data.select(&rare)).is_some(), "the one row of a class is in one part");
        assert_eq!(by_folds(&Dataset { target: Target::None, ..data.clone() }), None);
    }

    #[test]
    fn labels_of_enough_unseen_rows_decide_alone() {
        let (data, new) = (waveform3(300, 1), waveform3(400, 2));
        let learner = Logistic { kernel: Kernel::gaussian(0.02), ..Logistic::default() };
        let large = learner.learn(&data, &Watch::none()).unwrap().machine;
        // Probabilities that are far too even.
        let Some(Calibration::NormalClasses(own)) = recalibrated(&large, &large, &new, true).unwrap() else { panic!() };
        let even = |by: f64| {
            let precisions = own.precisions.iter().map(|matrix| matrix.iter().map(|v| v * by).collect()).collect();
            Machine {
                calibration: Some(Calibration::NormalClasses(crate::machine::NormalClasses { precisions, ..own.clone() })),
                ..large.clone()
            }
        };
        let slope = |teacher: &Machine, rows: &Dataset, unseen: bool| match recalibrated(&large, teacher, rows, unseen).unwrap() {
            Some(Calibration::NormalClasses(normal)) => normal.precisions[0][0],
            _ => panic!(),
        };
        let teacher = even(0.1);
        assert!((slope(&teacher, &new, true) - own.precisions[0][0]).abs() < 1e-9);
        assert!(slope(&teacher, &new, false) < 0.2 * own.precisions[0][0]);
        let few = new.select(&(0..ENOUGH - 1).collect::<Vec<_>>());
        assert!(slope(&teacher, &few, true) < 0.2 * own.precisions[0][0]);
    }
}
