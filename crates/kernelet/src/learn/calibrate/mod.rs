//! Probabilities for any classifier, as a step of its own after learning.
//!
//! The outputs of a machine on its own training rows are too good: they must not be calibrated on. So the rows are cut into folds, each
//! fold gets its outputs from a machine learned on the others, and one curve an output (sigmoid or isotonic) is fitted to all
//! outputs so found. The machine itself learns from all rows. For one-vs-one, the curve of the pair (a, b) sees the rows of these two
//! classes; for one-vs-rest each curve sees all rows. Cost: `folds` more runs of the learner.
//!
//! A softmax has one number for all outputs, and keeps the order of the classes; it is the best for several classes that share their vectors.
//! Isotonic curves fit any shape but need rows: below about a thousand the sigmoid is mostly better.
mod isotonic;
mod log_variance;
mod sigmoid;
mod softmax;

pub use isotonic::fit_isotonic;
pub use log_variance::fit_log_variance;
pub use sigmoid::fit_sigmoid;
pub use softmax::fit_softmax;

use crate::parallel::*;

use super::{Fit, Learner};
use crate::{
    Error, Named, Result,
    data::{Classes, Dataset, stratified_folds},
    linalg::Matrix,
    machine::{Calibration, Decision, LogVariance, Machine},
    watch::{Status, Watch},
};

/// The form of the curve from an output to a probability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Shape {
    /// 1 / (1 + exp(a f + b)).
    #[default]
    Sigmoid,
    /// Any curve that never falls.
    Isotonic,
    /// Exponentials of all outputs times one number, over their sum.
    Softmax,
    /// For numbers: a normal distribution around each, whose deviation is a function on the machine's vectors.
    Normal,
}

impl Named for Shape {
    const NAMES: &'static [(&'static str, Self)] =
        &[("sigmoid", Shape::Sigmoid), ("isotonic", Shape::Isotonic), ("softmax", Shape::Softmax), ("normal", Shape::Normal)];
}

/// Learns, then calibrates by cross-validation; the probabilities become part of the machine.
pub struct Calibrated {
    /// The form of the curves.
    pub shape: Shape,
    /// Folds of the cross-validation; at least 2.
    pub folds: usize,
    /// Seed of the folds.
    pub seed: u64,
    /// The estimator.
    pub learner: Box<dyn Learner>,
}

impl Learner for Calibrated {
    fn name(&self) -> &'static str {
        self.learner.name()
    }

    fn check(&self) -> Result<()> {
        if self.folds < 2 {
            return Err(Error::parameter("folds", self.folds, "at least 2"));
        }
        self.learner.check()
    }

    fn learn(&self, data: &Dataset, watch: &Watch) -> Result<Fit> {
        self.run(data, || self.learner.learn(data, watch), watch)
    }

    fn warm_starts(&self) -> bool {
        self.learner.warm_starts()
    }

    fn learn_from(&self, earlier: &Machine, data: &Dataset, watch: &Watch) -> Result<Fit> {
        self.run(data, || self.learner.learn_from(earlier, data, watch), watch)
    }
}

impl Calibrated {
    fn run(&self, data: &Dataset, learn: impl Fn() -> Result<Fit>, watch: &Watch) -> Result<Fit> {
        self.check()?;
        data.check()?;
        let rows: Vec<usize> = (0..data.len()).filter(|&i| data.weight(i) > 0.0).collect();
        let counted = data.select(&rows);
        if self.shape != Shape::Normal {
            check_counts(counted.classes()?)?;
        }
        let mut fit = learn()?;
        check_rule(&fit.machine, self.shape)?;
        if fit.report.status == Status::Cancelled {
            return Ok(fit);
        }
        let before = watch.evaluations();
        let outputs = self.held_out_outputs(&fit.machine, &counted, watch)?;
        fit.report.evaluations += watch.evaluations() - before;
        match outputs {
            None => fit.report.status = Status::Cancelled,
            Some(outputs) if self.shape == Shape::Normal => {
                let heads = residual_heads(&fit.machine, &outputs, &counted, self.seed)?;
                fit.machine.calibration = Some(Calibration::LogVariance { heads });
            }
            Some(outputs) => fit.machine.calibration = Some(calibration(&fit.machine.decision, &outputs, &counted, self.shape)?),
        }
        Ok(fit)
    }

    /// For every row the outputs of a machine that has not seen it; None when cancelled.
    fn held_out_outputs(&self, machine: &Machine, data: &Dataset, watch: &Watch) -> Result<Option<Matrix>> {
        let folds = stratified_folds(&data.target, self.folds.min(data.len()), self.seed)?;
        let done = std::sync::atomic::AtomicU64::new(0);
        let one = |held: &Vec<usize>| {
            let quiet = watch.silent();
            let fit = self.learner.learn(&data.without(held), &quiet)?;
            watch.evaluated(quiet.evaluations());
            if fit.machine.decision != machine.decision || fit.machine.n_outputs() != machine.n_outputs() {
                return Err(Error::data("a machine trained on the rows of a fold has other classes; use fewer folds, or more rows"));
            }
            let finished = done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
            watch.report("calibration folds", finished, Some(folds.len() as u64), None);
            fit.machine.outputs_for(&data.points.select(held))
        };
        let parts: Vec<Matrix> = folds.par_iter().map(one).collect::<Result<_>>()?;
        if watch.cancelled() {
            return Ok(None);
        }
        let mut outputs = Matrix::zeros(data.len(), machine.n_outputs());
        for (held, part) in folds.iter().zip(&parts) {
            held.iter().zip(part.iter()).for_each(|(&i, row)| outputs.row_mut(i).copy_from_slice(row));
        }
        Ok(Some(outputs))
    }
}

/// The calibration of a machine with this rule from `outputs` for the rows of `data`, which the machine must not have learned from.
pub fn calibration(decision: &Decision, outputs: &Matrix, data: &Dataset, shape: Shape) -> Result<Calibration> {
    data.check_lengths()?;
    if outputs.rows() != data.len() {
        return Err(Error::Shape { what: "rows of outputs", expected: data.len(), found: outputs.rows() });
    }
    let classes = data.classes()?;
    let places = classes.places_in(&decision.labels());
    let row_class = |i: usize| places[classes.codes[i] as usize];
    if shape == Shape::Softmax {
        let weights: Vec<f64> = (0..data.len()).map(|i| if row_class(i).is_some() { data.weight(i) } else { 0.0 }).collect();
        let targets = Matrix::from_fn(data.len(), decision.labels().len(), |i, c| f64::from(u8::from(row_class(i) == Some(c))));
        return Ok(Calibration::NormalClasses(fit_softmax(decision, outputs, &targets, &weights)));
    }
    let (mut a, mut b, mut curves) = (vec![], vec![], vec![]);
    for k in 0..outputs.cols() {
        let side = |i: usize| row_class(i).and_then(|class| decision.side(k, class));
        let rows: Vec<(usize, bool)> = (0..data.len()).filter_map(|i| side(i).map(|side| (i, side > 0.0))).collect();
        let values: Vec<f64> = rows.iter().map(|&(i, _)| outputs.at(i, k)).collect();
        let sides: Vec<bool> = rows.iter().map(|&(_, side)| side).collect();
        let weights: Vec<f64> = rows.iter().map(|&(i, _)| data.weight(i)).collect();
        match shape {
            Shape::Sigmoid => {
                let (slope, shift) = fit_sigmoid(&values, &sides, &weights);
                a.push(slope);
                b.push(shift);
            }
            _ => {
                let curve = fit_isotonic(&values, &sides, &weights);
                curves.push(curve.ok_or_else(|| Error::data("an output has no rows to calibrate it on"))?);
            }
        }
    }
    Ok(match shape {
        Shape::Sigmoid => Calibration::Sigmoid { a, b },
        _ => Calibration::Isotonic { curves },
    })
}

/// The deviations of a machine's numbers from `outputs` for the rows of `data`, which the machine must not have learned from.
fn residual_heads(machine: &Machine, outputs: &Matrix, data: &Dataset, seed: u64) -> Result<Vec<LogVariance>> {
    let values = data.values()?;
    let squares = Matrix::from_fn(outputs.rows(), outputs.cols(), |i, k| (values.at(i, k) - outputs.at(i, k)).powi(2));
    let weights: Vec<f64> = (0..data.len()).map(|i| data.weight(i)).collect();
    fit_log_variance(machine, &data.points, &squares, &weights, seed)
}

fn check_rule(machine: &Machine, shape: Shape) -> Result<()> {
    let (with, instead) = match machine.decision {
        Decision::Values if shape == Shape::Normal => return Ok(()),
        _ if shape == Shape::Normal => {
            ("a machine that does not predict numbers by itself", "use sigmoid, isotonic or softmax for classes")
        }
        Decision::Votes { .. } if shape == Shape::Softmax => ("votes of pairs", "use sigmoid, or train shared or one-vs-rest outputs"),
        Decision::Codes { .. } if shape == Shape::Softmax => return Ok(()),
        Decision::Sign { .. } | Decision::Votes { .. } | Decision::Largest { .. } => return Ok(()),
        Decision::Codes { .. } => ("output codes", "use softmax, or train one-vs-one or one-vs-rest"),
        _ => ("a machine that predicts no classes", "leave the probabilities out"),
    };
    Err(Error::Unsupported { method: "calibration", with: with.into(), instead: instead.into() })
}

/// Every class needs a row to learn from and a row to calibrate on.
fn check_counts(classes: &Classes) -> Result<()> {
    match classes.counts().iter().position(|&count| count == 1) {
        None => Ok(()),
        Some(class) => Err(Error::data(format!(
            "the class {} has only one row, so that a fold would be without it; probabilities need at least two rows of each class",
            classes.labels[class]
        ))),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, atomic::AtomicBool};

    use super::*;
    use crate::{
        data::{Generator, Target, waveform3},
        kernel::Kernel,
        learn::{Multiclass, Ridge, Svc},
    };

    fn calibrated(shape: Shape, multiclass: Multiclass) -> Calibrated {
        let learner = Box::new(Svc { kernel: Kernel::gaussian(0.05), multiclass, ..Svc::default() });
        Calibrated { shape, folds: 3, seed: 1, learner }
    }

    #[test]
    fn probabilities_beat_the_shares_of_the_classes_on_other_rows() {
        let (train, test) = (waveform3(240, 1), waveform3(500, 2));
        for shape in Shape::all().filter(|shape| *shape != Shape::Normal) {
            for multiclass in [Multiclass::OneVsOne, Multiclass::OneVsRest] {
                let learned = calibrated(shape, multiclass).learn(&train, &Watch::none());
                if (shape, multiclass) == (Shape::Softmax, Multiclass::OneVsOne) {
                    assert!(learned.unwrap_err().to_string().contains("votes of pairs"));
                    continue;
                }
                let machine = learned.unwrap().machine;
                assert!(machine.check().is_ok());
                let p = machine.probabilities(&machine.outputs_for(&test.points).unwrap()).unwrap();
                let codes = &test.classes().unwrap().codes;
                let loss = p.iter().zip(codes).map(|(p, &c)| -p[c as usize].ln()).sum::<f64>() / 500.0;
                // Measured: 0.34 and 0.35 for sigmoids, 0.75 and 0.49 for isotonic curves.
                let most = match (shape, multiclass) {
                    (Shape::Isotonic, Multiclass::OneVsOne) => 0.8,
                    (Shape::Isotonic, _) => 0.53,
                    _ => 0.38,
                };
                assert!(loss < most, "{shape:?} {multiclass:?}: {loss}, and equal shares have 1.1");
                assert!(p.iter().all(|row| (row.iter().sum::<f64>() - 1.0).abs() < 1e-9));
            }
        }
    }

    #[test]
    fn deviations_of_numbers_cover_other_rows() {
        let noisy = |n: usize, seed: u64| Generator::Sinc.make(n, seed);
        let learner =
            Calibrated { shape: Shape::Normal, learner: Box::new(Ridge::default()), ..calibrated(Shape::Normal, Multiclass::OneVsOne) };
        let machine = learner.learn(&noisy(200, 1), &Watch::none()).unwrap().machine;
        machine.check().unwrap();
        let new = noisy(2000, 2);
        let (means, deviations) = (machine.outputs_for(&new.points).unwrap(), machine.deviations(&new.points).unwrap());
        let cover = crate::evaluate::score_distribution(&means, &deviations, &new).unwrap().cover;
        assert!((0.9..=0.99).contains(&cover), "{cover}");
        let classes = learner.learn(&Generator::Banana.make(60, 1), &Watch::none());
        assert!(classes.is_err());
    }

    #[test]
    fn the_machine_is_the_one_without_probabilities() {
        let data = Generator::Banana.make(120, 1);
        let learner = calibrated(Shape::Sigmoid, Multiclass::OneVsOne);
        let mut with = learner.learn(&data, &Watch::none()).unwrap().machine;
        assert_eq!(with.calibration.take().map(|c| c.name()), Some("sigmoid"));
        assert_eq!(with, learner.learner.learn(&data, &Watch::none()).unwrap().machine);
    }

    #[test]
    fn rows_that_count_nothing_change_nothing() {
        let data = Generator::Banana.make(90, 1);
        let zero = |i: usize| if i >= 80 { 0.0 } else { 1.0 };
        let weighted = Dataset { weights: Some((0..90).map(zero).collect()), ..data.clone() };
        let learner = calibrated(Shape::Isotonic, Multiclass::OneVsOne);
        let with = learner.learn(&weighted, &Watch::none()).unwrap().machine;
        let without = learner.learn(&data.select(&(0..80).collect::<Vec<_>>()), &Watch::none()).unwrap().machine;
        assert_eq!(with.calibration, without.calibration);
    }

    #[test]
    fn what_cannot_be_calibrated_is_reported() {
        let data = Generator::Banana.make(60, 1);
        let one = Dataset {
            target: Target::Classes(Classes::new(data.classes().unwrap().labels.clone(), &[vec![1], vec![0; 59]].concat())),
            ..data.clone()
        };
        let learner = calibrated(Shape::Sigmoid, Multiclass::OneVsOne);
        let error = learner.learn(&one, &Watch::none()).unwrap_err().to_string();
        assert!(error.contains("has only one row") && error.contains("at least two rows of each class"), "{error}");
        let ridge = Calibrated { learner: Box::new(Ridge::default()), ..calibrated(Shape::Sigmoid, Multiclass::OneVsOne) };
        assert!(ridge.learn(&Generator::Sinc.make(30, 1), &Watch::none()).is_err());
        let folds = Calibrated { folds: 1, ..calibrated(Shape::Sigmoid, Multiclass::OneVsOne) };
        assert_eq!(folds.check().unwrap_err().to_string(), "folds is 1, but must be at least 2");
        let watch = Watch::none().with_cancel(Arc::new(AtomicBool::new(true)));
        let fit = learner.learn(&data, &watch).unwrap();
        assert_eq!((fit.report.status, fit.machine.calibration), (Status::Cancelled, None));
    }
}
