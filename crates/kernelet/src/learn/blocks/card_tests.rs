//! Training on a card beside training on the processor.
use super::{
    ask::{Ask, FitAsk, Problem},
    card_engine::CardEngine,
    engine::{Engine, LocalEngine},
    newton::{Beginning, newton},
    sums::{FitSums, Sums},
};
use crate::{
    Result,
    basis::{Frame, JITTER},
    data::{Dataset, HeldBlocks, RowBlocks, Scale, Target, banana, waveform3},
    device::{CardRows, Gradient, Vectors, paired},
    draw::Draw,
    kernel::Kernel,
    learn::{
        ClassWeights,
        blocks::{BlockEstimator, BlockLearner, Optimum, RowLossName, solver::Solver},
        direct::{Search, Transform},
    },
    linalg::{Matrix, Space, dot},
    watch::Watch,
};

fn close(have: &[f64], want: &[f64], what: &str) {
    let distance = distance(have, want);
    assert!(distance <= 1e-9, "{what}: {distance:e}");
}

/// The largest difference as a fraction of the largest number.
fn distance(have: &[f64], want: &[f64]) -> f64 {
    let size = want.iter().fold(1e-300, |a: f64, v| a.max(v.abs()));
    assert_eq!(have.len(), want.len());
    have.iter().zip(want).map(|(a, b)| (a - b).abs() / size).fold(0.0, |a: f64, b| if a.is_nan() || a >= b { a } else { b })
}

fn numbers(n: usize) -> Dataset {
    let mut draw = Draw::seeded(1);
    let points = Matrix::from_fn(n, 5, |_, _| 100.0 + 2.0 * draw.normal());
    let values = Matrix::from_fn(n, 2, |i, k| (points.at(i, 0) + k as f64).sin() * points.at(i, 1).cos());
    Dataset::new(points, Target::Values(values))
}

/// Outputs to be met, some of which are sides.
fn taught(n: usize) -> Dataset {
    let data = numbers(n);
    let Target::Values(values) = &data.target else { panic!() };
    let targets = values.values().iter().map(|v| (1.5 * v).clamp(-1.0, 1.0)).collect();
    Dataset { target: Target::Values(Matrix::new(targets, n, 2).unwrap()), ..data }
}

/// Rows in blocks, a problem with costs for each class and a scale, and the rows after it.
fn scaled(data: &Dataset, loss: RowLossName, n_outputs: usize) -> (HeldBlocks, Problem, Matrix) {
    let held = HeldBlocks::of(data, 256).unwrap();
    let n_classes = held.outline().labels.len();
    let scale = Scale::standard(&data.points).unwrap();
    let rows = scale.apply(&data.points).unwrap().to_dense();
    let costs = (0..n_classes.max(1)).map(|k| 0.7 + k as f64).collect();
    (held, Problem { loss, n_classes, n_outputs, costs, scale: Some(scale), centre: vec![] }, rows)
}

#[test]
#[ignore = "needs an NVIDIA card: make test-gpu"]
fn sums_of_a_card_are_those_of_the_processor_for_every_loss_and_twice_the_same() {
    let weights = |n: usize| Some((0..n).map(|i| f64::from(i as u32 % 3)).collect());
    let cases: [(Dataset, RowLossName, usize, usize); 6] = [
        (taught(900), RowLossName::Taught, 2, 40),
        (Dataset { weights: weights(1000), ..banana(1000, 3) }, RowLossName::SquaredHinge, 1, 40),
        (waveform3(3100, 1), RowLossName::SquaredHinge, 3, 130),
        (banana(700, 3), RowLossName::Logistic, 1, 7),
        (Dataset { weights: weights(900), ..waveform3(900, 1) }, RowLossName::Logistic, 3, 65),
        (numbers(801), RowLossName::Squared, 2, 33),
    ];
    for (data, loss, n_outputs, m) in cases {
        let (held, problem, rows) = scaled(&data, loss, n_outputs);
        let mut draw = Draw::seeded(2);
        let vectors = Matrix::from_fn(m, data.dim(), |j, k| rows.at(j * 5, k) + 0.1 * draw.normal());
        let kernel = Kernel::gaussian(1.0 / data.dim() as f64);
        let frame = Frame::fixed(&kernel, &vectors.clone().into(), JITTER).unwrap();
        let width = m + problem.offset();
        let ask = FitAsk {
            kernel,
            transform: Transform::None,
            vectors,
            factor: frame.lower().matrix().clone(),
            weights: Matrix::from_fn(width, n_outputs, |_, _| 0.3 * draw.normal()),
            systems: true,
            vectors_gradient: true,
            direction: (loss == RowLossName::Logistic && n_outputs > 1).then(|| Matrix::from_fn(width, n_outputs, |_, _| draw.normal())),
            problem,
        };
        let Sums::Fit(want) = (LocalEngine { blocks: &held }).pass(&Ask::Fit(Box::new(ask.clone()))).unwrap() else { panic!() };
        let mut engine = CardEngine::new(0, &held).unwrap();
        let have = fitted(&mut engine, &ask);
        let what = format!("{loss:?} {n_outputs}");
        assert_eq!((have.rows, have.errors.round()), (want.rows, want.errors.round()), "{what}");
        close(&have.losses, &want.losses, &what);
        close(&have.gradient, &want.gradient, &what);
        let lower = |systems: &[f64]| -> Vec<f64> {
            systems.iter().enumerate().filter(|(i, _)| i % width <= i / width % width).map(|(_, v)| *v).collect()
        };
        close(&lower(&have.systems), &lower(&want.systems), &what);
        close(&have.moved, &want.moved, &what);
        close(&have.totals, &want.totals, &what);
        close(&have.curved, &want.curved, &what);
        assert_eq!(fitted(&mut engine, &ask), have, "{what}");
        assert_eq!(fitted(&mut CardEngine::new(0, &held).unwrap(), &ask), have, "{what}");
        // Rows for which there is no space stream: about two blocks at a time.
        let bytes = 600 * CardRows::bytes_a_row(data.dim(), m, n_outputs);
        let mut streaming = CardEngine::within(bytes, 0, &held).unwrap();
        let streamed = fitted(&mut streaming, &ask);
        assert_eq!(streamed.rows, have.rows, "{what}");
        for (streamed, have) in [(&streamed.losses, &have.losses), (&streamed.gradient, &have.gradient), (&streamed.systems, &have.systems)]
        {
            close(streamed, have, &what);
        }
        for (streamed, have) in [(&streamed.moved, &have.moved), (&streamed.totals, &have.totals), (&streamed.curved, &have.curved)] {
            close(streamed, have, &what);
        }
        assert_eq!(fitted(&mut streaming, &ask), streamed, "{what}");
    }
}

fn fitted(engine: &mut CardEngine, ask: &FitAsk) -> FitSums {
    let Sums::Fit(sums) = engine.pass(&Ask::Fit(Box::new(ask.clone()))).unwrap() else { panic!() };
    *sums
}

/// An engine without rounds of its own.
struct PassesOnly<'a>(CardEngine<'a>);

impl Engine for PassesOnly<'_> {
    fn pass(&mut self, ask: &Ask) -> Result<Sums> {
        self.0.pass(ask)
    }
}

#[test]
#[ignore = "needs an NVIDIA card: make test-gpu"]
fn newtons_method_on_a_card_ends_where_that_by_passes_does_for_every_loss_and_size() {
    let cases = [
        (banana(1000, 3), RowLossName::SquaredHinge, 1, 40),
        (waveform3(3100, 1), RowLossName::SquaredHinge, 3, 130),
        (waveform3(3100, 1), RowLossName::SquaredHinge, 3, 16),
        (waveform3(2100, 1), RowLossName::SquaredHinge, 3, 600),
        (banana(700, 3), RowLossName::Logistic, 1, 7),
        (numbers(801), RowLossName::Squared, 2, 33),
        (taught(801), RowLossName::Taught, 2, 33),
    ];
    let mut apart = vec![];
    for (data, loss, n_outputs, m) in cases {
        let (held, problem, rows) = scaled(&data, loss, n_outputs);
        let vectors = Matrix::from_fn(m, data.dim(), |j, k| rows.at(j, k));
        let kernel = Kernel::gaussian(1.0 / data.dim() as f64);
        let solved = |engine: &mut dyn Engine| {
            let mut solver = Solver { engine, problem: &problem, last: None, passes: 0, engine_failed: false };
            let mut gradient = vec![0.0; m * data.dim()];
            // Rounds that promise 1e-15 of the value leave its root in outputs and gradient.
            let by_vectors = Gradient::Held(&mut gradient);
            let optimum = solver.solve(&kernel, &Transform::None, Vectors::Held(&vectors), 1e-15, by_vectors).unwrap().0;
            assert!(solver.passes > 1, "{}", solver.passes);
            (optimum, gradient)
        };
        let what = format!("{loss:?} {n_outputs} {m}");
        let (want, by_vectors) = solved(&mut PassesOnly(CardEngine::new(0, &held).unwrap()));
        let (have, gradient) = solved(&mut CardEngine::new(0, &held).unwrap());
        assert!((have.value / want.value - 1.0).abs() < 1e-9, "{what}: {} {}", have.value, want.value);
        // Each has a frame of its own, so that weights differ where the vectors are nearly dependent; the outputs do not.
        let values = crate::kernel::block::block(&kernel, &rows.clone().into(), &vectors.clone().into());
        let outputs = |optimum: &Optimum| -> Vec<f64> {
            let (coefficients, offset) = (optimum.coefficients.transposed(), problem.offset() == 1);
            let of = |row: &[f64], k: usize| dot(row, coefficients.row(k)) + if offset { optimum.x.at(m, k) } else { 0.0 };
            values.iter().flat_map(|row| (0..n_outputs).map(move |k| (row, k))).map(|(row, k)| of(row, k)).collect()
        };
        let (of_outputs, of_gradient) = (distance(&outputs(&have), &outputs(&want)), distance(&gradient, &by_vectors));
        let close = of_outputs <= 1e-6 && of_gradient <= 1e-6;
        if !close {
            apart.push(format!("{what}: outputs {of_outputs:e}, gradient {of_gradient:e}"));
        }
        assert_eq!((have.errors.round(), have.rows), (want.errors.round(), want.rows), "{what}");
        assert!(solved(&mut CardEngine::new(0, &held).unwrap()) == (have, gradient), "{what}");
    }
    assert!(apart.is_empty(), "{apart:#?}");
}

#[test]
#[ignore = "needs an NVIDIA card: make test-gpu"]
fn vectors_that_coincide_are_no_trouble_on_a_card() {
    let data = waveform3(900, 1);
    let (held, problem, rows) = scaled(&data, RowLossName::SquaredHinge, 3);
    let vectors = Matrix::from_fn(40, data.dim(), |j, k| rows.at(j / 4, k));
    let kernel = Kernel::gaussian(1.0 / data.dim() as f64);
    let value = |engine: &mut dyn Engine| {
        let mut solver = Solver { engine, problem: &problem, last: None, passes: 0, engine_failed: false };
        solver.solve(&kernel, &Transform::None, Vectors::Held(&vectors), 1e-11, Gradient::Held(&mut [])).unwrap().0.value
    };
    let (have, want) = (value(&mut CardEngine::new(0, &held).unwrap()), value(&mut LocalEngine { blocks: &held }));
    assert!((have / want - 1.0).abs() < 1e-4, "{have} {want}");
}

#[test]
#[ignore = "needs an NVIDIA card: make test-gpu"]
fn training_on_a_card_ends_where_training_on_the_processor_does() {
    let data = waveform3(2000, 1);
    let held = HeldBlocks::of(&data, 256).unwrap();
    for estimator in [
        BlockEstimator::Margin { c: 2.0, class_weights: ClassWeights::Equal },
        BlockEstimator::Logistic { c: 2.0, class_weights: ClassWeights::Balanced },
    ] {
        let learner = BlockLearner {
            estimator,
            search: Search { n_vectors: 20, iterations: 15, ..Search::default() },
            // The card's rounds are more exact early in the search; here both are.
            inexact: 1e-11,
            ..BlockLearner::default()
        };
        let run = |engine: &mut dyn Engine| {
            let scout = learner.scout(engine, held.outline()).unwrap();
            learner.learn(engine, held.outline(), &scout, &Kernel::gaussian(0.05), None, &Watch::none()).unwrap().fit
        };
        let (card, processor) = (run(&mut CardEngine::new(0, &held).unwrap()), run(&mut LocalEngine { blocks: &held }));
        assert!(
            (card.report.objective / processor.report.objective - 1.0).abs() < 1e-6,
            "{} {}",
            card.report.objective,
            processor.report.objective
        );
        assert_eq!(run(&mut CardEngine::new(0, &held).unwrap()).machine, card.machine);
    }
}

/// What racecheck runs: a round of Newton's method, and what follows it, for every path of its kernels: one panel, some, and more tiles than a block has warps.
#[test]
#[ignore = "needs an NVIDIA card: make test-gpu"]
fn a_round_on_a_card_lowers_the_value_for_every_size_and_twice_to_the_same_bits() {
    let cases = [
        (banana(400, 3), RowLossName::SquaredHinge, 1, 7),
        (waveform3(500, 1), RowLossName::SquaredHinge, 3, 65),
        (waveform3(500, 1), RowLossName::SquaredHinge, 3, 130),
        (waveform3(500, 1), RowLossName::SquaredHinge, 3, 225),
        (banana(400, 3), RowLossName::Logistic, 1, 33),
        (numbers(401), RowLossName::Squared, 2, 40),
        (taught(401), RowLossName::Taught, 2, 40),
    ];
    for (data, loss, n_outputs, m) in cases {
        let (held, problem, rows) = scaled(&data, loss, n_outputs);
        let vectors = Matrix::from_fn(m, data.dim(), |j, k| rows.at(j, k) + 0.01 * (j + k) as f64);
        let (kernel, weights) = (Kernel::gaussian(1.0 / data.dim() as f64), Matrix::zeros(m + problem.offset(), n_outputs));
        let run = || {
            let mut engine = CardEngine::new(0, &held).unwrap();
            let (transform, vectors) = (&Transform::None, Vectors::Held(&vectors));
            let from = Beginning { problem: &problem, kernel: &kernel, transform, vectors, weights: &weights };
            let mut rounds = engine.rounds(&from).unwrap().unwrap();
            let before: f64 = rounds.begin().unwrap().iter().sum();
            let after = newton(&mut *rounds, false, 1e300, 0).unwrap();
            let mut gradient = vec![0.0; m * data.dim()];
            let optimum = rounds.finish(after, Gradient::Held(&mut gradient)).unwrap();
            assert!(after < 0.9 * before, "{loss:?} {m}: {before} {after}");
            (after.to_bits(), optimum, gradient)
        };
        let first = run();
        assert!(first.2.iter().all(|g| g.is_finite()) && first.2.iter().any(|g| *g != 0.0), "{m}");
        assert!(run() == first, "{m}");
    }
}

#[test]
#[ignore = "needs an NVIDIA card: make test-gpu"]
fn vectors_of_a_descent_on_a_card_are_combined_as_in_memory() {
    let data = waveform3(300, 1);
    let (held, problem, rows) = scaled(&data, RowLossName::SquaredHinge, 3);
    let (m, dim) = (230, data.dim());
    let kernel = Kernel::gaussian(0.05);
    let mut engine = CardEngine::new(0, &held).unwrap();
    let mut space = engine.space(&problem, &kernel, (m, dim)).unwrap().unwrap();
    let wave = |seed: usize| -> Vec<f64> { (0..m * dim).map(|i| ((i * (seed + 3)) as f64 * 0.37).sin()).collect() };
    assert_eq!(rows.cols(), dim);
    // More terms than a launch takes.
    let waves: Vec<Vec<f64>> = (0..150).map(wave).collect();
    let sent: Vec<_> = waves.iter().map(|wave| space.upload(wave).unwrap()).collect();
    let terms: Vec<_> = sent.iter().enumerate().map(|(t, vector)| (0.1 * t as f64 - 3.0, vector)).collect();
    let sum = space.combined(&terms, None);
    let want: Vec<f64> = (0..m * dim).map(|i| waves.iter().enumerate().map(|(t, wave)| (0.1 * t as f64 - 3.0) * wave[i]).sum()).collect();
    close(&space.download(&sum).unwrap(), &want, "sum");
    let each: Vec<f64> = (0..m).map(|j| 1.0 + j as f64).collect();
    let mut divisor = space.zeros(0);
    let undivided = space.combined(&[(2.0, &sent[1])], Some(&divisor));
    close(&space.download(&undivided).unwrap(), &waves[1].iter().map(|v| 2.0 * v).collect::<Vec<_>>(), "no divisor");
    space.repeat(&each, &mut divisor).unwrap();
    let divided = space.combined(&[(2.0, &sent[1])], Some(&divisor));
    let want: Vec<f64> = (0..m * dim).map(|i| 2.0 * waves[1][i] / each[i / dim]).collect();
    close(&space.download(&divided).unwrap(), &want, "divisor");
    let pairs: Vec<_> = (0..149).map(|p| (&sent[p], &sent[p + 1])).collect();
    let want: Vec<f64> = (0..149).map(|p| paired(&waves[p], &waves[p + 1])).collect();
    close(&space.products(&pairs), &want, "products");
    assert_eq!(space.products(&pairs), space.products(&pairs));
    let mut most = waves[0].clone();
    most[m * dim - 1] = -7.0;
    let most = space.upload(&most).unwrap();
    assert_eq!(space.largest(&most), 7.0);
    space.keep(most);
    let cleared = space.zeros(m * dim);
    assert!(space.download(&cleared).unwrap().iter().all(|v| *v == 0.0));
    assert!(space.failure().is_none());
}

#[test]
#[ignore = "needs an NVIDIA card: make test-gpu"]
fn distillation_on_a_card_ends_near_that_of_the_processor_and_twice_at_the_same_machine() {
    use crate::{
        compress::{Distil, Task},
        device::Device,
        learn::{Learner, Svc},
    };
    let data = waveform3(1500, 1);
    let full = Svc { kernel: Kernel::gaussian(0.02), c: 2.0, ..Svc::default() }.learn(&data, &Watch::none()).unwrap().machine;
    let task = Task { machine: &full, data: Some(&data), candidates: None };
    let small = |device: Device| {
        let search = Search { n_vectors: 12, iterations: 40, device, ..Search::default() };
        Distil { search, ..Distil::default() }.learn(&task, &Watch::none()).unwrap()
    };
    let (card, processor) = (small(Device::Cuda(0)), small(Device::Cpu));
    let ratio = card.report.objective / processor.report.objective;
    assert!((ratio - 1.0).abs() < 0.02, "{ratio}");
    assert_eq!(small(Device::Cuda(0)).machine, card.machine);
    assert_ne!(card.machine, processor.machine, "the card was not used");
}
