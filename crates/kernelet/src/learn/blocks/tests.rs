//! Training by blocks against training in memory, and engines against one another.
use std::path::PathBuf;

use super::{engine::Tree, *};
use crate::{
    Error, Result,
    data::{Csr, Dataset, Fingerprints, HeldBlocks, Points, RowBlock, RowBlocks, Scaling, Target, banana, waveform3},
    draw::Draw,
    kernel::Kernel,
    learn::{
        ClassWeights, Learner, Logistic, Ridge,
        direct::{DirectLearner, DirectTask, Init, Learned, Margin, Metric, Search},
    },
    linalg::Matrix,
    watch::Watch,
};

/// Passes through the bytes of asks and sums, in any order of blocks, as other processes do them.
struct ByBytes<'a>(&'a dyn RowBlocks);

impl Engine for ByBytes<'_> {
    fn pass(&mut self, ask: &Ask) -> Result<Sums> {
        let bytes = ask.to_bytes()?;
        let of = |index: usize| {
            let sums = block_sums(&Ask::from_bytes(&bytes)?, &*self.0.block(index)?)?;
            Sums::from_bytes(&sums.to_bytes()?)
        };
        let mut answers: Vec<(usize, Sums)> = (0..self.0.n_blocks()).rev().map(|i| Ok((i, of(i)?))).collect::<Result<_>>()?;
        answers.sort_by_key(|(i, _)| *i);
        Sums::merged(answers.into_iter().map(|(_, sums)| sums).collect())
    }
}

fn waves(n: usize) -> Dataset {
    let mut draw = Draw::seeded(1);
    let points = Matrix::from_fn(n, 2, |_, _| 2.0 * draw.normal());
    let values = Matrix::from_fn(n, 2, |i, k| (points.at(i, 0) + k as f64).sin() * points.at(i, 1).cos());
    Dataset::new(points, Target::Values(values))
}

fn weighted(data: Dataset) -> Dataset {
    Dataset { weights: Some((0..data.len()).map(|i| f64::from(i as u32 % 4)).collect()), ..data }
}

/// The estimator by blocks and its value in memory, from the same vectors and with as many steps.
fn twins(data: &Dataset, kernel: &Kernel, estimator: &BlockEstimator, steps: usize) -> (BlockLearner, f64) {
    twins_with(data, kernel, estimator, steps, Metric::default())
}

/// The same with a metric.
fn twins_with(data: &Dataset, kernel: &Kernel, estimator: &BlockEstimator, steps: usize, metric: Metric) -> (BlockLearner, f64) {
    let init = Init::Given(data.points.select(&(0..8).map(|i| 9 * i + 1).collect::<Vec<_>>()).to_dense());
    let search = Search { n_vectors: 8, init, iterations: steps, metric, ..Search::default() };
    let kernel = kernel.clone();
    let memory: Box<dyn Learner> = match estimator.clone() {
        BlockEstimator::Margin { c, class_weights } => {
            Box::new(Margin { kernel, c, class_weights, search: search.clone(), ..Margin::default() })
        }
        BlockEstimator::Logistic { c, class_weights } => {
            let logistic = Logistic { kernel, c, class_weights, ..Logistic::default() };
            Box::new(DirectLearner { task: DirectTask::Logistic(logistic), search: search.clone() })
        }
        BlockEstimator::Ridge { lambda } => {
            Box::new(DirectLearner { task: DirectTask::Ridge(Ridge { kernel, lambda }), search: search.clone() })
        }
    };
    let value = memory.learn(data, &Watch::none()).unwrap().report.objective;
    (BlockLearner { estimator: estimator.clone(), search, ..BlockLearner::default() }, value)
}

fn learned(learner: &BlockLearner, engine: &mut dyn Engine, outline: &crate::data::Outline, kernel: &Kernel) -> BlockFit {
    let scout = learner.scout(engine, outline).unwrap();
    learner.learn(engine, outline, &scout, kernel, None, &Watch::none()).unwrap()
}

fn margin(c: f64) -> BlockEstimator {
    BlockEstimator::Margin { c, class_weights: ClassWeights::Equal }
}

#[test]
fn w_after_ten_steps_is_that_of_training_in_memory_in_any_number_of_blocks() {
    let (two, three) = (banana(310, 3), waveform3(300, 1));
    let balanced = BlockEstimator::Margin { c: 2.0, class_weights: ClassWeights::Balanced };
    let logistic = BlockEstimator::Logistic { c: 3.0, class_weights: ClassWeights::Equal };
    let matern = Kernel::named("matern52", 0.5, 0, 0.0).unwrap();
    let polynomial = Kernel::named("polynomial", 0.3, 3, 1.0).unwrap();
    let sparse = Dataset { points: Csr::from_dense(&three.points.to_dense()).into(), ..three.clone() };
    let cases = [
        (&two, Kernel::gaussian(0.8), margin(5.0)),
        (&two, matern, margin(5.0)),
        (&three, Kernel::gaussian(0.05), margin(1.0)),
        (&sparse, Kernel::gaussian(0.05), margin(1.0)),
        (&weighted(two.clone()), polynomial, balanced),
        (&weighted(two.clone()), Kernel::gaussian(0.8), logistic.clone()),
        (&three, Kernel::gaussian(0.05), logistic),
        (&weighted(waves(320)), Kernel::gaussian(0.3), BlockEstimator::Ridge { lambda: 0.1 }),
    ];
    for (data, kernel, estimator) in cases {
        let (learner, want) = twins(data, &kernel, &estimator, 10);
        for blocks in [1, 3, 8] {
            let held = HeldBlocks::of(data, data.len().div_ceil(blocks)).unwrap();
            let found = learned(&learner, &mut LocalEngine { blocks: &held }, held.outline(), &kernel);
            let have = found.fit.report.objective;
            assert!((have - want).abs() < 1e-6 * want, "{estimator:?}, {blocks} blocks: {have} {want}");
            let score = found.fit.machine.score(data).unwrap().loss();
            assert!((found.train_error - score).abs() < 1e-9 * (1.0 + score), "{estimator:?}: {} {score}", found.train_error);
        }
    }
}

#[test]
fn a_metric_learned_by_blocks_is_that_of_training_in_memory_whoever_does_the_passes() {
    let (two, three) = (weighted(banana(310, 3)), waveform3(300, 1));
    let logistic = BlockEstimator::Logistic { c: 3.0, class_weights: ClassWeights::Equal };
    let polynomial = Kernel::named("polynomial", 0.3, 3, 1.0).unwrap();
    let sparse = Dataset { points: Csr::from_dense(&three.points.to_dense()).into(), ..three.clone() };
    let cases = [
        (&two, Kernel::gaussian(0.8), margin(5.0), Learned::Width),
        (&three, Kernel::gaussian(0.05), margin(1.0), Learned::Scales),
        (&sparse, Kernel::gaussian(0.05), margin(1.0), Learned::Scales),
        (&three, Kernel::gaussian(0.05), margin(1.0), Learned::Map(2)),
        (&two, Kernel::gaussian(0.8), logistic, Learned::Map(2)),
        (&sparse, Kernel::gaussian(0.05), margin(1.0), Learned::Map(3)),
        (&two, polynomial, margin(5.0), Learned::Map(2)),
        (&weighted(waves(320)), Kernel::gaussian(0.3), BlockEstimator::Ridge { lambda: 0.1 }, Learned::Scales),
    ];
    let mut apart: Vec<String> = vec![];
    for (data, kernel, estimator, learned_metric) in cases {
        let metric = Metric { learned: learned_metric, penalty: 0.3, ..Metric::default() };
        let (learner, want) = twins_with(data, &kernel, &estimator, 10, metric);
        for blocks in [1, 3, 8] {
            let held = HeldBlocks::of(data, data.len().div_ceil(blocks)).unwrap();
            let found = learned(&learner, &mut LocalEngine { blocks: &held }, held.outline(), &kernel);
            let have = found.fit.report.objective;
            if (have - want).abs() >= 1e-6 * want {
                apart.push(format!("{estimator:?} {} {learned_metric:?}, {blocks} blocks: {have} {want}", kernel.name()));
            }
            let score = found.fit.machine.score(data).unwrap().loss();
            assert!((found.train_error - score).abs() < 1e-9 * (1.0 + score), "{estimator:?}: {} {score}", found.train_error);
            let metric = found.fit.machine.metadata.metric.clone().unwrap();
            assert!(metric.used && metric.feature_scales.len() == data.dim() && metric.learned == learned_metric.name());
            let elsewhere = learned(&learner, &mut ByBytes(&held), held.outline(), &kernel);
            assert_eq!(elsewhere.fit.machine, found.fit.machine);
        }
    }
    assert!(apart.is_empty(), "{apart:#?}");
}

#[test]
fn engines_and_threads_give_the_same_bits() {
    let data = weighted(waveform3(2100, 2));
    let held = HeldBlocks::of(&data, 256).unwrap();
    let kernel = Kernel::gaussian(0.05);
    for estimator in [margin(2.0), BlockEstimator::Logistic { c: 1.0, class_weights: ClassWeights::Equal }] {
        let search = Search { n_vectors: 10, iterations: 6, ..Search::default() };
        let learner = BlockLearner { estimator, search, ..BlockLearner::default() };
        let run = |threads: usize, bytes: bool| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| match bytes {
                true => learned(&learner, &mut ByBytes(&held), held.outline(), &kernel),
                false => learned(&learner, &mut LocalEngine { blocks: &held }, held.outline(), &kernel),
            })
        };
        let one = run(1, false);
        for other in [run(3, false), run(2, true)] {
            assert_eq!(one.fit.machine, other.fit.machine);
            assert_eq!((one.train_error, one.passes), (other.train_error, other.passes));
        }
    }
}

#[test]
fn inexact_rounds_save_passes_and_end_near_the_exact_value() {
    let (data, kernel) = (waveform3(1200, 3), Kernel::gaussian(0.05));
    let held = HeldBlocks::of(&data, 512).unwrap();
    let run = |inexact: f64| {
        let search = Search { n_vectors: 12, iterations: 60, ..Search::default() };
        let learner = BlockLearner { estimator: margin(10.0), search, inexact, ..BlockLearner::default() };
        learned(&learner, &mut LocalEngine { blocks: &held }, held.outline(), &kernel)
    };
    let (exact, fast) = (run(1e-12), run(1e-4));
    let (a, b) = (exact.fit.report.objective, fast.fit.report.objective);
    assert!(b < 1.005 * a, "{a} {b}");
    assert!(10 * fast.passes < 8 * exact.passes, "{} {}", fast.passes, exact.passes);
}

#[test]
fn sums_arriving_one_by_one_are_added_in_the_tree_of_all_at_once() {
    let data = waveform3(630, 2);
    let ask = Ask::Scout { seed: 1, sample: 50, fingerprints: 30, n_classes: 3 };
    for count in 1..22 {
        let held = HeldBlocks::of(&data, 630usize.div_ceil(count)).unwrap();
        let all: Vec<Sums> = (0..held.n_blocks()).map(|i| block_sums(&ask, &held.block(i).unwrap()).unwrap()).collect();
        let mut tree = Tree::default();
        all.iter().for_each(|sums| tree.push(sums.clone()).unwrap());
        assert_eq!(tree.finish().unwrap(), Sums::merged(all).unwrap(), "{count}");
    }
    assert!(Sums::merged(vec![]).is_err());
}

#[test]
fn a_sample_is_the_same_however_rows_are_cut_and_comes_back_from_bytes() {
    let dense = weighted(waveform3(500, 2));
    let sparse = Dataset { points: Csr::from_dense(&dense.points.to_dense()).into(), ..dense.clone() };
    for data in [&dense, &sparse] {
        let sums = |rows: usize, seed: u64| {
            let held = HeldBlocks::of(data, rows).unwrap();
            ByBytes(&held).pass(&Ask::Scout { seed, sample: 40, fingerprints: 30, n_classes: 3 }).unwrap()
        };
        let (Sums::Scout(one), Sums::Scout(many), Sums::Scout(other)) = (sums(500, 3), sums(37, 3), sums(37, 4)) else { panic!() };
        assert_eq!(one.sample, many.sample);
        assert_eq!((&one.seen, &many.seen), (&Fingerprints::of(&data.points, 30), &other.seen));
        assert_ne!(one.sample.keys, other.sample.keys);
        assert_eq!((one.counts.iter().sum::<f64>(), one.weighty.iter().sum::<f64>(), one.sample.keys.len()), (500.0, 375.0, 40));
        // Each row of the sample is one of the rows, with its own target.
        let rows = data.points.to_dense();
        for (i, row) in one.sample.points.to_dense().iter().enumerate() {
            let at = rows.iter().position(|other| other == row).unwrap();
            assert_eq!(one.sample.targets.at(i, 0), f64::from(data.classes().unwrap().codes[at]));
            assert_eq!(one.sample.weights[i], data.weight(at));
        }
    }
}

#[test]
fn a_search_on_a_sample_first_reaches_about_the_same_value() {
    let (data, kernel) = (banana(3000, 3), Kernel::gaussian(0.8));
    let held = HeldBlocks::of(&data, 1000).unwrap();
    let run = |sample_first| {
        let search = Search { n_vectors: 10, iterations: 60, ..Search::default() };
        let learner = BlockLearner { estimator: margin(5.0), search, sample_first, ..BlockLearner::default() };
        learned(&learner, &mut LocalEngine { blocks: &held }, held.outline(), &kernel)
    };
    let (all, sampled) = (run(None), run(Some(500)));
    let (a, b) = (all.fit.report.objective, sampled.fit.report.objective);
    assert!((a - b).abs() < 0.03 * a, "{a} {b}");
    assert!(2 * sampled.passes < all.passes, "{} {}", sampled.passes, all.passes);
}

#[test]
fn scaled_blocks_make_the_machine_of_scaled_rows() {
    let mut data = banana(300, 3);
    data.points = Matrix::from_fn(300, 2, |i, j| 50.0 + (1.0 + 99.0 * j as f64) * data.points.to_dense().at(i, j)).into();
    let held = HeldBlocks::of(&data, 128).unwrap();
    let kernel = Kernel::gaussian(0.8);
    let scale = Scaling::Standard.fit(&data.points).unwrap().unwrap();
    let scaled = Dataset { points: scale.apply(&data.points).unwrap(), ..data.clone() };
    let (learner, want) = twins(&scaled, &kernel, &margin(5.0), 10);
    let mut engine = LocalEngine { blocks: &held };
    let scout = learner.scout(&mut engine, held.outline()).unwrap();
    let own = scout.summary.scale(Scaling::Standard).unwrap().unwrap();
    let found = learner.learn(&mut engine, held.outline(), &scout, &kernel, Some(&own), &Watch::none()).unwrap();
    assert!((found.fit.report.objective - want).abs() < 1e-6 * want);
    assert_eq!(found.fit.machine.score(&data).unwrap().loss(), found.train_error);
}

/// Works so many times.
struct Breaking<'a>(LocalEngine<'a>, usize);

impl Engine for Breaking<'_> {
    fn pass(&mut self, ask: &Ask) -> Result<Sums> {
        self.1 = self.1.checked_sub(1).ok_or_else(|| Error::data("the worker is gone"))?;
        self.0.pass(ask)
    }
}

#[test]
fn an_engine_that_fails_ends_the_search_with_its_error_and_a_checkpoint_from_which_it_goes_on() {
    let (data, kernel) = (banana(300, 3), Kernel::gaussian(0.8));
    let held = HeldBlocks::of(&data, 128).unwrap();
    let file: PathBuf = std::env::temp_dir().join(format!("kernelet-blocks-{}.model", std::process::id()));
    let search = Search { n_vectors: 6, iterations: 30, checkpoint: Some(file.clone()), ..Search::default() };
    let learner = BlockLearner { estimator: margin(5.0), search, ..BlockLearner::default() };
    let mut engine = Breaking(LocalEngine { blocks: &held }, 25);
    let scout = learner.scout(&mut engine, held.outline()).unwrap();
    let error = learner.learn(&mut engine, held.outline(), &scout, &kernel, None, &Watch::none()).unwrap_err();
    assert_eq!(error.to_string(), "the worker is gone");
    let kept = crate::model::load(&file).unwrap();
    let steps = kept.metadata.steps.unwrap();
    assert!(steps > 0 && steps < 30 && kept.n_vectors() == 6);
    let again = learned(&learner, &mut LocalEngine { blocks: &held }, held.outline(), &kernel);
    assert!(again.fit.report.iterations > steps && again.fit.report.objective < kept.metadata.objective.unwrap_or(f64::INFINITY));
    std::fs::remove_file(file).unwrap();
}

#[test]
fn what_cannot_be_learned_is_rejected_in_a_sentence() {
    let data = banana(60, 1);
    let held = HeldBlocks::of(&data, 20).unwrap();
    let mut engine = LocalEngine { blocks: &held };
    let learner = BlockLearner::default();
    let ridge = BlockLearner { estimator: BlockEstimator::Ridge { lambda: 1.0 }, ..learner.clone() };
    assert!(ridge.scout(&mut engine, held.outline()).unwrap_err().to_string().contains("a number to predict"));
    let one = Dataset { weights: Some(data.classes().unwrap().codes.iter().map(|&code| f64::from(code)).collect()), ..data.clone() };
    let held = HeldBlocks::of(&one, 20).unwrap();
    assert!(matches!(learner.scout(&mut LocalEngine { blocks: &held }, held.outline()), Err(Error::OneClass { .. })));
    let mut bad = HeldBlocks::of(&data, 20).unwrap().block(1).unwrap().into_owned();
    let mut points = bad.points.to_dense();
    points.row_mut(3)[1] = f64::NAN;
    bad.points = Points::F64(points);
    let ask = Ask::Scout { seed: 0, sample: 5, fingerprints: 5, n_classes: 2 };
    let text = block_sums(&ask, &bad).unwrap_err().to_string();
    assert_eq!(text, "a value in row 24, column 2 is NaN; every number must be finite");
    let short = RowBlock { targets: Matrix::zeros(3, 1), ..bad };
    assert!(block_sums(&ask, &short).is_err());
    let exponential = Kernel::named("exponential", 1.0, 0, 0.0).unwrap();
    assert!(learner.check(&exponential).is_err() && learner.check(&Kernel::gaussian(1.0)).is_ok());
}

#[test]
fn sums_of_ridge_on_fixed_vectors_give_the_machine_of_all_rows_at_once() {
    let (data, kernel) = (weighted(waves(400)), Kernel::gaussian(0.3));
    let held = |rows| HeldBlocks::of(&data, rows).unwrap();
    let estimator = BlockEstimator::Ridge { lambda: 0.1 };
    let learner =
        BlockLearner { estimator, search: Search { n_vectors: 20, iterations: 5, ..Search::default() }, ..BlockLearner::default() };
    let whole = learned(&learner, &mut LocalEngine { blocks: &held(400) }, held(400).outline(), &kernel).fit.machine;
    let (mut one, mut parts) = (RidgeSums::new(&whole, 0.1, 2).unwrap(), RidgeSums::new(&whole, 0.1, 2).unwrap());
    one.add_rows(&held(400).block(0).unwrap()).unwrap();
    for index in 0..5 {
        let mut part = RidgeSums::new(&whole, 0.1, 2).unwrap();
        part.add_rows(&held(80).block(index).unwrap()).unwrap();
        parts.add(&RidgeSums::from_bytes(&part.to_bytes().unwrap(), &whole).unwrap()).unwrap();
    }
    assert_eq!(parts.n_rows(), 400.0);
    let known = |machine: &crate::machine::Machine| machine.metadata.seen.clone().unwrap().known(&data.points);
    assert_eq!(known(&whole), known(&parts.machine().unwrap()));
    assert!(!known(&whole).contains(&Some(false)));
    for (a, b) in one.sums().iter().zip(parts.sums()) {
        assert!((a - b).abs() <= 1e-10 * a.abs().max(1.0), "{a} {b}");
    }
    let outputs = |machine: &crate::machine::Machine| machine.outputs_for(&data.points).unwrap();
    let apart = |a: &Matrix, b: &Matrix| a.values().iter().zip(b.values()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(apart(&outputs(&whole), &outputs(&parts.machine().unwrap())) < 1e-6);
    assert!(apart(&outputs(&one.machine().unwrap()), &outputs(&parts.machine().unwrap())) < 1e-8);
    assert!(RidgeSums::from_bytes(b"KRNLSUM2", &whole).is_err());
    let other = RidgeSums::new(&whole, 0.2, 2).unwrap();
    assert!(one.add(&other).is_err());
}
