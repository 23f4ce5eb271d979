//! The incremental formulas against their definitions, and whole machines.
use std::sync::{Arc, atomic::AtomicBool};

use super::{
    design::{Design, Stack},
    laplace::{Sides, peak},
    model::{Action, Basis, Model, Problem},
    *,
};
use crate::{
    data::{Generator, Points, sinc, waveform3},
    linalg::dot,
    machine::Prediction,
};

const ROWS: usize = 60;

struct Toy {
    points: Points,
    weights: Vec<f64>,
    t: Vec<f64>,
}

impl Toy {
    fn new() -> Self {
        let x = Matrix::from_fn(ROWS, 2, |i, j| 2.0 * ((3 * i + 5 * j) as f64).sin());
        let t = (0..ROWS).map(|i| x.at(i, 0).sin() + 0.5 * x.at(i, 1) + 0.2 * ((i * 11) as f64).cos()).collect();
        Toy { points: x.into(), weights: (0..ROWS).map(|i| 5.0 + (i % 7) as f64).collect(), t }
    }

    fn with<T>(&self, work: impl FnOnce(&Problem) -> T) -> T {
        let design = Design::new(&Kernel::gaussian(0.5), &self.points, 1 << 30, &Watch::none());
        let mut rows = Stack::new(ROWS);
        rows.push(&self.t.iter().zip(&self.weights).map(|(t, b)| t * b).collect::<Vec<_>>());
        let pass = design.pass(Some(&self.weights), &rows, &Watch::none());
        let logs: f64 = self.weights.iter().map(|b| (2.0 * std::f64::consts::PI / b).ln()).sum();
        let fit: f64 = self.t.iter().zip(&self.weights).map(|(t, b)| b * t * t).sum();
        work(&Problem {
            design: &design,
            weights: &self.weights,
            targets: pass.products.row(0),
            squares: &pass.squares,
            constant: logs + fit,
            open: None,
        })
    }

    /// -1/2 (n log 2 pi + log |C| + t' C^-1 t), C = B^-1 + Phi A^-1 Phi', by the definition.
    fn evidence(&self, basis: &Basis) -> f64 {
        let covariance = Matrix::from_fn(ROWS, ROWS, |i, j| {
            let columns = (0..basis.chosen.len()).map(|m| basis.columns.row(m)[i] * basis.columns.row(m)[j] / basis.alpha[m]);
            columns.sum::<f64>() + if i == j { 1.0 / self.weights[i] } else { 0.0 }
        });
        let factor = Cholesky::new(&covariance).unwrap();
        let mut solved = Matrix::column(self.t.clone());
        factor.solve(&mut solved);
        -0.5 * (ROWS as f64 * (2.0 * std::f64::consts::PI).ln() + factor.log_determinant() + dot(solved.values(), &self.t))
    }
}

fn empty(problem: &Problem) -> Model {
    let mut columns = Stack::new(ROWS);
    columns.push(&[1.0; ROWS]);
    let basis = Basis { chosen: vec![ROWS], alpha: vec![1e-3], columns, mean: vec![0.0] };
    let products = problem.design.pass(None, &super::laplace::weighted(&basis.columns, problem.weights), &Watch::none()).products;
    Model::new(basis, products, problem).unwrap()
}

#[test]
fn every_action_changes_the_evidence_by_its_gain_and_the_evidence_is_that_of_the_definition() {
    let toy = Toy::new();
    toy.with(|problem| {
        let (mut model, barred) = (empty(problem), [false; ROWS]);
        let mut kinds = [0; 3];
        for step in 0..60 {
            let Some((action, gain)) = model.best(problem, &barred).filter(|best| best.1 > 1e-9) else { break };
            let before = toy.evidence(&model.basis);
            assert!((model.evidence - before).abs() < 1e-8 * before.abs().max(1.0), "{step}: {} {before}", model.evidence);
            kinds[match action {
                Action::Add { .. } => 0,
                Action::Estimate { .. } => 1,
                Action::Delete { .. } => 2,
            }] += 1;
            model.apply(action, gain, problem, &Watch::none());
            let rise = toy.evidence(&model.basis) - before;
            assert!(gain > 0.0 && (rise - gain).abs() < 1e-8 * before.abs().max(1.0), "{step} {action:?}: {rise} {gain}");
        }
        assert!(kinds.iter().all(|&count| count > 0), "{kinds:?}");
        // All that was updated step by step is what it would be afresh.
        let fresh = Model::new(model.basis.clone(), model.products.clone(), problem).unwrap();
        let close = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-7 * (1.0 + b.abs()));
        assert!(close(model.sigma.values(), fresh.sigma.values()) && close(&model.basis.mean, &fresh.basis.mean));
        assert_eq!(model.best(problem, &barred).map(|b| b.1 > 1e-6), fresh.best(problem, &barred).map(|b| b.1 > 1e-6));
    });
}

#[test]
fn an_exchange_gains_what_its_two_actions_say() {
    let toy = Toy::new();
    toy.with(|problem| {
        let mut model = empty(problem);
        for column in [3, 40] {
            model.apply(Action::Add { column, alpha: 0.5 }, 0.0, problem, &Watch::none());
        }
        let before = toy.evidence(&model.basis);
        let pair = model.best_exchange(problem, &[false; ROWS], &Watch::none()).unwrap();
        pair.into_iter().for_each(|(action, gain)| model.apply(action, gain, problem, &Watch::none()));
        let rise = toy.evidence(&model.basis) - before;
        assert!((rise - pair[0].1 - pair[1].1).abs() < 1e-8 * before.abs(), "{rise} {pair:?}");
    });
}

#[test]
fn the_slope_of_the_evidence_in_log_alpha_agrees_with_differences() {
    let toy = Toy::new();
    toy.with(|problem| {
        let mut model = empty(problem);
        for column in [3, 17, 40] {
            model.apply(Action::Add { column, alpha: 0.7 }, 0.0, problem, &Watch::none());
        }
        for place in 0..4 {
            let alpha = model.basis.alpha[place];
            let slope = 0.5 * (1.0 - alpha * model.sigma.at(place, place) - alpha * model.basis.mean[place].powi(2));
            let at = |factor: f64| {
                let mut basis = model.basis.clone();
                basis.alpha[place] *= factor;
                toy.evidence(&basis)
            };
            let difference = (at(1e-5f64.exp()) - at((-1e-5f64).exp())) / 2e-5;
            assert!((slope - difference).abs() < 1e-5 * (1.0 + slope.abs()), "{slope} {difference}");
        }
    });
}

#[test]
fn the_peak_is_one_and_its_evidence_is_that_of_the_definition() {
    let toy = Toy::new();
    let y: Vec<f64> = toy.t.iter().map(|&t| f64::from(u8::from(t > 0.1))).collect();
    toy.with(|problem| {
        let mut model = empty(problem);
        [3, 17, 40].into_iter().for_each(|column| model.apply(Action::Add { column, alpha: 0.7 }, 0.0, problem, &Watch::none()));
        let (basis, weights) = (&model.basis, vec![1.5; ROWS]);
        let peak = peak(basis, &Sides { targets: &y, weights: &weights }).unwrap();
        let value = |w: &[f64]| -> f64 {
            let f = |i: usize| (0..4).map(|m| w[m] * basis.columns.row(m)[i]).sum::<f64>();
            let one = |i: usize| 1.5 * (if y[i] > 0.5 { 1.0 / (1.0 + (-f(i)).exp()) } else { 1.0 / (1.0 + f(i).exp()) }).ln();
            (0..ROWS).map(one).sum::<f64>() - 0.5 * (0..4).map(|m| basis.alpha[m] * w[m] * w[m]).sum::<f64>()
        };
        let w = &peak.coefficients;
        let moved = |a: usize, da: f64, b: usize, db: f64| {
            let mut other = w.clone();
            other[a] += da;
            other[b] += db;
            value(&other)
        };
        // The curvature by differences.
        let h = 1e-3;
        let hessian = Matrix::from_fn(4, 4, |a, b| {
            -(moved(a, h, b, h) - moved(a, h, b, -h) - moved(a, -h, b, h) + moved(a, -h, b, -h)) / (4.0 * h * h)
        });
        let priors: f64 = basis.alpha.iter().map(|alpha| alpha.ln()).sum();
        let want = value(w) + 0.5 * priors - 0.5 * Cholesky::new(&hessian).unwrap().log_determinant();
        assert!((0..4).all(|a| moved(a, 1e-3, a, 0.0) < value(w) && moved(a, -1e-3, a, 0.0) < value(w)));
        assert!((peak.evidence - want).abs() < 1e-4, "{} {want}", peak.evidence);
    });
}

#[test]
fn sinc_needs_few_vectors_and_its_noise_is_found() {
    let data = sinc(100, 0.1, 3).unwrap();
    let far: Vec<f64> = data.values().unwrap().values().iter().map(|y| 400.0 + 50.0 * y).collect();
    let data = Dataset { target: Target::Values(Matrix::column(far)), ..data };
    let learner = Rvm { kernel: Kernel::gaussian(1.0 / 9.0), ..Rvm::default() };
    let Fit { machine, report } = learner.learn(&data, &Watch::none()).unwrap();
    assert_eq!(report.status, Status::Converged);
    assert!((3..=12).contains(&machine.n_vectors()), "{}", machine.n_vectors());
    let Some(Calibration::Normal { posteriors }) = &machine.calibration else { panic!() };
    // Measured: 4.75.
    assert!((posteriors[0].noise.sqrt() - 5.0).abs() < 0.4, "{}", posteriors[0].noise.sqrt());
    let outputs = machine.outputs_for(&data.points).unwrap();
    let deviations = machine.deviations(&data.points).unwrap();
    let dense = data.points.to_dense();
    for i in 0..100 {
        let x = dense.at(i, 0);
        assert!((outputs.at(i, 0) - 400.0 - 50.0 * x.sin() / x).abs() < 8.0);
        assert!(deviations.at(i, 0) > 4.0 && deviations.at(i, 0) < 8.0);
    }
    // The evidence is that of the targets as they are.
    let (weights, m) = (&posteriors[0], machine.n_vectors());
    assert!(weights.offset && weights.factor.len() == (m + 1) * (m + 2) / 2 && report.objective > 200.0 && report.objective < 500.0);
}

#[test]
fn classes_are_learned_with_few_vectors() {
    let (train, test) = (Generator::Banana.make(300, 1), Generator::Banana.make(1000, 2));
    let learner = Rvm { kernel: Kernel::gaussian(1.0), ..Rvm::default() };
    let one = learner.learn(&train, &Watch::none()).unwrap();
    assert!(one.machine.n_vectors() <= 30, "{}", one.machine.n_vectors());
    let svc = super::super::Svc { kernel: Kernel::gaussian(1.0), c: 10.0, ..Default::default() };
    let svc = svc.learn(&train, &Watch::none()).unwrap().machine.score(&test).unwrap().loss();
    assert!(one.machine.score(&test).unwrap().loss() < svc + 0.03, "{}", one.machine.score(&test).unwrap().loss());
    let p = one.machine.probabilities(&one.machine.outputs_for(&test.points).unwrap()).unwrap();
    assert!(p.iter().all(|row| (row[0] + row[1] - 1.0).abs() < 1e-12));
    // Restarts only ever help, and memory changes nothing but the work.
    let plain = Rvm { restarts: 0, ..learner.clone() }.learn(&train, &Watch::none()).unwrap();
    assert!(one.report.objective <= plain.report.objective);
    let small = Rvm { cache_bytes: 0, ..learner }.learn(&train, &Watch::none()).unwrap();
    assert!((small.report.objective - one.report.objective).abs() < 1e-6 * one.report.objective);
    assert!(small.report.evaluations > one.report.evaluations);
}

#[test]
fn several_classes_share_their_vectors_and_threads_change_nothing() {
    let data = waveform3(150, 1);
    let learner = Rvm { kernel: Kernel::gaussian(0.02), ..Rvm::default() };
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| learner.learn(&data, &Watch::none()).unwrap().machine)
    };
    let machine = on(1);
    assert_eq!(machine, on(4));
    assert_eq!((machine.n_outputs(), matches!(machine.decision, Decision::Largest { .. })), (3, true));
    // Measured: 0.053.
    assert!(machine.score(&data).unwrap().loss() < 0.07);
}

#[test]
fn odd_input_has_a_sensible_result_or_an_error() {
    let learner = Rvm { kernel: Kernel::gaussian(0.5), ..Rvm::default() };
    let learn = |data: &Dataset| learner.learn(data, &Watch::none());
    let column = |values: Vec<f64>| Target::Values(Matrix::column(values));
    // One row, a constant target, duplicates, no noise at all, huge numbers.
    let constant = learn(&Dataset::new(Matrix::from_fn(9, 1, |i, _| i as f64), column(vec![2.5; 9]))).unwrap().machine;
    assert_eq!((constant.n_vectors(), constant.offsets[0]), (0, 2.5));
    assert_eq!(constant.deviations(&Matrix::<f64>::zeros(1, 1).into()).unwrap().values(), [0.0]);
    let one = learn(&Dataset::new(Matrix::<f64>::zeros(1, 2), column(vec![7.0]))).unwrap().machine;
    let Prediction::Values(value) = one.predict(&Matrix::<f64>::zeros(1, 2).into()).unwrap() else { panic!() };
    assert!((value.at(0, 0) - 7.0).abs() < 1e-6);
    let twice = learn(&Dataset::new(
        Matrix::from_fn(40, 1, |i, _| (i / 2) as f64 * 0.3),
        column((0..40).map(|i| ((i / 2) as f64 * 0.3).sin()).collect()),
    ));
    assert!(twice.unwrap().machine.n_vectors() <= 20);
    let huge = learn(&Dataset::new(Matrix::from_fn(20, 1, |i, _| i as f64), column((0..20).map(|i| 1e300 * i as f64).collect())));
    assert!(huge.unwrap_err().to_string().contains("too large to square"));
    // Classes that a single column separates, and data of one class.
    let separable = Generator::Clouds.make(40, 1);
    assert_eq!(learn(&separable).unwrap().machine.score(&separable).unwrap().loss(), 0.0);
    let single = Dataset::new(Matrix::<f64>::zeros(3, 1), Target::Classes(Classes::from_texts(&["a", "a", "a"])));
    assert!(learn(&single).unwrap_err().to_string().contains("at least two classes"));
    assert!(learn(&Dataset::new(Matrix::<f64>::zeros(3, 1), Target::None)).is_err());
    let same = Dataset::new(Matrix::<f64>::zeros(4, 1), Target::Classes(Classes::from_texts(&["a", "b", "a", "b"])));
    assert_eq!(learn(&same).unwrap().machine.outputs_for(&same.points).unwrap().values(), [0.0; 4]);
}

#[test]
fn limits_and_cancelling_are_statuses() {
    for data in [Generator::Banana.make(100, 1), Generator::Sinc.make(100, 1)] {
        let learner = Rvm { kernel: Kernel::gaussian(0.5), max_iterations: 2, ..Rvm::default() };
        assert_eq!(learner.learn(&data, &Watch::none()).unwrap().report.status, Status::IterationLimit);
        let watch = Watch::none().with_cancel(Arc::new(AtomicBool::new(true)));
        let fit = learner.learn(&data, &watch).unwrap();
        assert_eq!((fit.report.status, fit.machine.check().is_ok()), (Status::Cancelled, true));
    }
    assert!(Rvm { tolerance: 0.0, ..Rvm::default() }.check().is_err());
    let precomputed = Kernel::named("precomputed", 1.0, 1, 0.0).unwrap();
    assert!(Rvm { kernel: precomputed, ..Rvm::default() }.check().is_err());
}
