//! Kernel PCA against scikit-learn (`pca/make.py` made the values), against its definition, and against itself by the other solver.
#![allow(clippy::unwrap_used, clippy::panic)]
use std::{
    path::PathBuf,
    sync::{Arc, atomic::AtomicBool},
};

use kernelet::{
    data::{Dataset, Generator, Points, Target, waveform3},
    evaluate::reconstruction,
    kernel::{Kernel, Precomputed, block},
    learn::{Components, Fit, HowToScale, Learner, Pca, Scaled},
    linalg::{Matrix, dot},
    model::native,
    watch::{Status, Watch},
};
use serde::Deserialize;

#[derive(Deserialize)]
struct Case {
    case: String,
    set: String,
    rows: usize,
    seed: u64,
    test_seed: u64,
    components: usize,
    kernel: Kernel,
    eigenvalues: Vec<f64>,
    features: Vec<Vec<f64>>,
}

fn learn(pca: &Pca, data: &Dataset) -> Fit {
    pca.learn(data, &Watch::none()).unwrap()
}

fn variances(fit: &Fit) -> &[f64] {
    &fit.machine.metadata.features.as_ref().unwrap().variances
}

#[test]
fn scikit_learn_finds_the_same_eigenvalues_and_features_up_to_sign() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/pca");
    for name in ["gaussian", "iterative", "polynomial", "linear"] {
        let text = std::fs::read_to_string(folder.join(format!("{name}.json"))).unwrap();
        let case: Case = serde_json::from_str(&text).unwrap();
        let generator = Generator::named(&case.set).unwrap();
        let (data, test) = (generator.make(case.rows, case.seed), generator.make(case.features.len(), case.test_seed));
        let pca = Pca { kernel: case.kernel.clone(), components: Components::Count(case.components), ..Pca::default() };
        let fit = learn(&pca, &data);
        assert_eq!(fit.report.status, Status::Converged);
        // scikit-learn does not divide by the number of rows.
        for (have, want) in variances(&fit).iter().zip(&case.eigenvalues) {
            assert!((have * case.rows as f64 - want).abs() < 1e-10 * case.eigenvalues[0], "{}: {have} {want}", case.case);
        }
        let features = fit.machine.outputs_for(&test.points).unwrap();
        for k in 0..case.components {
            let (have, want) = (features.col(k), case.features.iter().map(|row| row[k]).collect::<Vec<_>>());
            let sign = dot(&have, &want).signum();
            let size = want.iter().fold(0.0, |most: f64, v| most.max(v.abs()));
            for (have, want) in have.iter().zip(&want) {
                assert!((sign * have - want).abs() < 1e-6 * size, "{}, component {k}: {have} {want}", case.case);
            }
        }
    }
}

/// Weighted rows, by the definition: features are inner products with directions of unit length that do not correlate.
#[test]
fn features_of_training_rows_have_mean_zero_their_variances_and_no_correlation() {
    let mut data = waveform3(90, 4);
    data.weights = Some((0..90).map(|i| (i % 4) as f64).collect());
    let weights = data.weights.clone().unwrap();
    let whole: f64 = weights.iter().sum();
    for whiten in [false, true] {
        let fit = learn(&Pca { kernel: Kernel::gaussian(0.03), components: Components::Count(6), whiten, ..Pca::default() }, &data);
        let features = fit.machine.outputs_for(&data.points).unwrap();
        for a in 0..6 {
            let mean: f64 = (0..90).map(|i| weights[i] * features.at(i, a)).sum::<f64>() / whole;
            assert!(mean.abs() < 1e-11, "{mean}");
            for b in 0..=a {
                let covariance: f64 = (0..90).map(|i| weights[i] * features.at(i, a) * features.at(i, b)).sum::<f64>() / whole;
                let want = f64::from(a == b) * if whiten { 1.0 } else { variances(&fit)[a] };
                assert!((covariance - want).abs() < 1e-10, "{covariance} {want}");
            }
        }
        // Directions have unit length, and the coefficients of each sum to zero.
        let c = fit.machine.expansion.coefficients.to_dense();
        let gram = block::symmetric(&Kernel::gaussian(0.03), &fit.machine.expansion.vectors);
        for k in 0..6 {
            let c = c.col(k);
            let squared: f64 = (0..c.len()).map(|i| c[i] * dot(gram.row(i), &c)).sum();
            assert!((squared - if whiten { 1.0 / variances(&fit)[k] } else { 1.0 }).abs() < 1e-8 * squared);
            assert!(c.iter().sum::<f64>().abs() < 1e-10 * c.len() as f64);
        }
    }
}

#[test]
fn few_components_of_many_rows_agree_with_the_whole_decomposition() {
    let data = Generator::Banana.make(620, 1);
    let pca = Pca { kernel: Kernel::gaussian(2.0), components: Components::Count(20), ..Pca::default() };
    let few = learn(&pca, &data);
    let all = learn(&Pca { components: Components::Count(100), ..pca.clone() }, &data);
    assert!(few.report.iterations < 300, "{} products", few.report.iterations);
    let (one, other) = (few.machine.outputs_for(&data.points).unwrap(), all.machine.outputs_for(&data.points).unwrap());
    for k in 0..20 {
        assert!((variances(&few)[k] - variances(&all)[k]).abs() < 1e-12);
        // The sign is the same too.
        assert!((0..620).all(|i| (one.at(i, k) - other.at(i, k)).abs() < 1e-6));
    }
    let explained: Vec<f64> =
        [&few, &all].map(|fit| fit.machine.metadata.features.as_ref().unwrap().explained().iter().sum::<f64>()).to_vec();
    assert!(explained[0] < explained[1] && explained[1] <= 1.0 + 1e-12);
}

#[test]
fn a_part_of_the_variance_asks_for_as_many_components_as_have_it() {
    for (rows, part) in [(150, 0.5), (150, 1.0), (700, 0.8), (700, 0.97)] {
        let data = Generator::Banana.make(rows, 1);
        let pca = Pca { kernel: Kernel::gaussian(0.5), components: Components::Explained(part), ..Pca::default() };
        let fit = learn(&pca, &data);
        let explained = fit.machine.metadata.features.as_ref().unwrap().explained();
        let sum: f64 = explained.iter().sum();
        assert!(sum >= part * (1.0 - 1e-9), "{sum}");
        if part < 1.0 {
            assert!(sum - explained.last().unwrap() < part);
        }
        assert_eq!(fit.report.status, Status::Converged);
        assert!((fit.report.objective - (1.0 - sum) * fit.machine.metadata.features.as_ref().unwrap().total_variance).abs() < 1e-10);
    }
}

#[test]
fn more_components_than_there_are_is_capped() {
    let linear = Kernel::named("linear", 1.0, 0, 0.0).unwrap();
    for rows in [50, 600] {
        let data = Generator::Banana.make(rows, 1);
        let fit = learn(&Pca { kernel: linear.clone(), components: Components::Count(7), ..Pca::default() }, &data);
        assert_eq!((fit.report.status, fit.machine.n_outputs()), (Status::Capped, 2));
        assert!(fit.machine.metadata.features.unwrap().explained().iter().sum::<f64>() > 1.0 - 1e-10);
    }
    let data = Generator::Banana.make(5, 1);
    let fit = learn(&Pca { components: Components::Count(usize::MAX), ..Pca::default() }, &data);
    assert_eq!((fit.report.status, fit.machine.n_outputs()), (Status::Capped, 4));
}

#[test]
fn reconstruction_follows_its_definition_and_loses_nothing_with_all_components() {
    let (data, test) = (Generator::Banana.make(60, 1), Generator::Banana.make(40, 2).points);
    let kernel = Kernel::named("polynomial", 0.5, 2, 1.0).unwrap();
    for whiten in [false, true] {
        let how = HowToScale::Fitted(kernelet::data::Scaling::Standard);
        let pca = Pca { kernel: kernel.clone(), components: Components::Count(3), whiten, ..Pca::default() };
        let learner = Scaled { how, learner: Box::new(pca.clone()) };
        let machine = learner.learn(&data, &Watch::none()).unwrap().machine;
        let have = reconstruction(&machine, &test).unwrap();
        let scale = machine.scale.as_ref().unwrap();
        let (x, z) = (scale.apply(&data.points).unwrap().to_dense(), scale.apply(&test).unwrap().to_dense());
        let mean = |row: &[f64]| x.iter().map(|x| kernel.eval(x, row)).sum::<f64>() / 60.0;
        let squared = x.iter().map(mean).sum::<f64>() / 60.0;
        let variance = z.iter().map(|z| kernel.eval(z, z) - 2.0 * mean(z) + squared).sum::<f64>() / 40.0;
        assert!((have.variance - variance).abs() < 1e-10 * variance);
        let plain =
            reconstruction(&learn(&Pca { whiten: false, ..pca.clone() }, &Dataset::new(x.clone(), Target::None)).machine, &z.into())
                .unwrap();
        assert!((have.residual - plain.residual).abs() < 1e-9 && have.residual > 1e-3 && have.explained() < 1.0);
        let all = Scaled {
            how: HowToScale::Fitted(kernelet::data::Scaling::Standard),
            learner: Box::new(Pca { components: Components::Count(5), ..pca }),
        };
        let all = reconstruction(&all.learn(&data, &Watch::none()).unwrap().machine, &test).unwrap();
        assert!(all.residual < 1e-9 * all.variance && all.explained() > 1.0 - 1e-9, "{all:?}");
    }
    let weighted = Dataset { weights: Some((0..60).map(|i| 1.0 + i as f64).collect()), ..data };
    assert!(reconstruction(&learn(&Pca::default(), &weighted).machine, &test).is_err());
}

#[test]
fn a_given_kernel_matrix_a_saved_file_and_threads_change_nothing() {
    let data = Generator::Banana.make(600, 1);
    let kernel = Kernel::gaussian(0.7);
    let pca = Pca { kernel: kernel.clone(), ..Pca::default() };
    let machine = learn(&pca, &data).machine;
    let gram = block::symmetric(&kernel, &data.points);
    let given = Dataset::new(Points::from(gram.clone()), Target::None);
    let from_gram = learn(&Pca { kernel: Kernel::Precomputed(Precomputed {}), ..Pca::default() }, &given).machine;
    let (a, b) = (machine.outputs_for(&data.points).unwrap(), from_gram.outputs_for(&gram.into()).unwrap());
    assert!(a.values().iter().zip(b.values()).all(|(a, b)| (a - b).abs() < 1e-9));
    assert_eq!(native::from_bytes(&native::to_bytes(&machine).unwrap(), "m").unwrap(), machine);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    assert_eq!(pool.install(|| learn(&pca, &data)).machine, machine);
}

#[test]
fn cancelling_keeps_the_components_so_far() {
    let data = waveform3(800, 1);
    let watch = Watch::none().with_cancel(Arc::new(AtomicBool::new(true)));
    let fit = Pca { kernel: Kernel::gaussian(0.2), components: Components::Count(8), ..Pca::default() }.learn(&data, &watch).unwrap();
    assert_eq!((fit.report.status, fit.machine.n_outputs()), (Status::Cancelled, 8));
    assert!(fit.machine.outputs_for(&data.points).unwrap().values().iter().all(|v| v.is_finite()));
}

#[test]
fn what_cannot_be_learned_is_rejected_with_an_error() {
    let error = |pca: &Pca, data: &Dataset| pca.learn(data, &Watch::none()).unwrap_err().to_string();
    let same = Dataset::new(Points::from(Matrix::from_fn(5, 2, |_, j| j as f64 + 0.1)), Target::None);
    assert!(error(&Pca::default(), &same).contains("all rows are the same point"));
    assert!(error(&Pca::default(), &same.select(&[0])).contains("all rows are the same point"));
    assert!(error(&Pca::default(), &same.select(&[])).contains("no rows"));
    let bad = [Components::Count(0), Components::Explained(0.0), Components::Explained(1.1), Components::Explained(f64::NAN)];
    for components in bad {
        assert!(Pca { components, ..Pca::default() }.check().is_err());
    }
    assert!(Pca { kernel: Kernel::named("sigmoid", 0.1, 1, 0.0).unwrap(), ..Pca::default() }.check().is_err());
    let huge = Dataset::new(Points::from(Matrix::from_fn(30, 2, |i, j| 1e150 * ((i + j) as f64).sin())), Target::None);
    for kernel in Kernel::examples() {
        if let Ok(fit) = (Pca { kernel, ..Pca::default() }).learn(&huge, &Watch::none()) {
            assert!(fit.machine.check().is_ok());
        }
    }
}
