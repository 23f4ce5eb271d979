use super::*;
use crate::{
    basis::{GreedyBasis, KMeans, RandomBasis, RpCholesky},
    compress::{Refit, Task, refit},
    data::{Classes, Generator, Label, Target, banana, waveform3},
    draw::Draw,
    kernel::block::symmetric,
    learn::{Calibrated, ClassWeights, HowToScale, Multiclass, NuSvc, NuSvr, OneClass, Ridge, Scaled, Shape, Svc, Svr},
    linalg::{Cholesky, dot},
};

fn methods() -> Vec<fn() -> Box<dyn BasisMethod>> {
    vec![|| Box::new(GreedyBasis::default()), || Box::new(RpCholesky::default()), || Box::new(KMeans::default()), || {
        Box::new(RandomBasis::default())
    }]
}

fn on(basis: Box<dyn BasisMethod>, vectors: usize, learner: impl FrameLearner + 'static) -> OnBasis {
    OnBasis { basis, budget: BasisBudget::vectors(vectors), learner: Box::new(learner), shrink: Shrink::Never }
}

fn learn(learner: &OnBasis, data: &Dataset) -> Fit {
    learner.learn(data, &Watch::none()).unwrap()
}

fn largest_difference(a: &Matrix, b: &Matrix) -> f64 {
    a.values().iter().zip(b.values()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// Rows that count 1, 2 and, every seventh, nothing.
fn weighted(data: Dataset) -> Dataset {
    let weights = (0..data.len()).map(|i| if i % 7 == 0 { 0.0 } else { 1.0 + (i % 2) as f64 }).collect();
    Dataset { weights: Some(weights), ..data }
}

/// The kernel of the projections, `k_z(x)' (K^z)^-1 k_z(x')`, from its definition.
fn projected_kernel(kernel: &Kernel, points: &crate::data::Points, vectors: &crate::data::Points) -> Matrix {
    let columns = crate::kernel::block::block(kernel, points, vectors);
    let mut solved = columns.transposed();
    Cholesky::new(&symmetric(kernel, vectors)).unwrap().solve(&mut solved);
    let solved = solved.transposed();
    Matrix::from_fn(points.len(), points.len(), |i, j| dot(columns.row(i), solved.row(j)))
}

#[test]
fn svm_approx_is_the_margin_refit_on_the_same_vectors() {
    let data = weighted(waveform3(150, 2));
    for (multiclass, outputs) in
        [(Multiclass::OneVsOne, 3), (Multiclass::OneVsRest, 3), (Multiclass::Shared, 3), (Multiclass::OutputCodes { seed: 1 }, 3)]
    {
        let class_weights = ClassWeights::Given(vec![(Label::new("1"), 3.0)]);
        let svc = Svc { kernel: Kernel::gaussian(0.05), c: 2.0, multiclass, class_weights, ..Svc::default() };
        for method in methods() {
            let fit = learn(&on(method(), 20, svc.clone()), &data);
            assert_eq!((fit.machine.n_vectors(), fit.machine.n_outputs(), fit.report.status), (20, outputs, Status::Converged));
            let task = Task { data: Some(&data), ..Task::of(&fit.machine) };
            let again = refit(&fit.machine, Refit::Margin, &task, None, &Watch::none()).unwrap();
            let (have, want) = (fit.machine.outputs_for(&data.points).unwrap(), again.outputs_for(&data.points).unwrap());
            assert!(largest_difference(&have, &want) < 1e-3, "{}", largest_difference(&have, &want));
        }
    }
}

#[test]
fn franc_eq_3_the_machine_is_that_of_the_projected_kernel() {
    let data = banana(120, 4);
    let kernel = Kernel::gaussian(0.8);
    for method in methods() {
        let fit = learn(&on(method(), 12, Svc { kernel: kernel.clone(), c: 5.0, ..Svc::default() }), &data);
        let matrix = projected_kernel(&kernel, &data.points, &fit.machine.expansion.vectors);
        let rows = Dataset { points: matrix.into(), ..data.clone() };
        let precomputed = Kernel::Precomputed(crate::kernel::Precomputed {});
        let naive = Svc { kernel: precomputed, c: 5.0, tolerance: 1e-7, ..Svc::default() }.learn(&rows, &Watch::none()).unwrap();
        assert!((fit.report.objective / naive.report.objective - 1.0).abs() < 1e-5);
        assert!((fit.report.dual_objective.unwrap() / naive.report.dual_objective.unwrap() - 1.0).abs() < 1e-5);
        let (have, want) = (fit.machine.outputs_for(&data.points).unwrap(), naive.machine.outputs_for(&rows.points).unwrap());
        assert!(largest_difference(&have, &want) < 1e-3, "{}", largest_difference(&have, &want));
    }
}

#[test]
fn ridge_is_ridge_with_the_projected_kernel_and_on_all_points_the_full_machine() {
    let data = weighted(Generator::Sinc.make(70, 3));
    let ridge = Ridge { kernel: Kernel::gaussian(0.5), lambda: 0.1 };
    for method in methods() {
        let fit = learn(&on(method(), 8, ridge.clone()), &data);
        let used = data.select(&(0..70).filter(|i| i % 7 != 0).collect::<Vec<_>>());
        let matrix = projected_kernel(&ridge.kernel, &used.points, &fit.machine.expansion.vectors);
        // (K + lambda / weight) a = y, f = K a.
        let mut raised = matrix.clone();
        (0..used.len()).for_each(|i| raised.row_mut(i)[i] += 0.1 / used.weight(i));
        let mut a = used.values().unwrap().clone();
        Cholesky::new(&raised).unwrap().solve(&mut a);
        let want = Matrix::from_fn(used.len(), 1, |i, _| dot(matrix.row(i), a.values()));
        let have = fit.machine.outputs_for(&used.points).unwrap();
        assert!(largest_difference(&have, &want) < 1e-6, "{}", largest_difference(&have, &want));
        let objective = 0.1 * dot(a.values(), used.values().unwrap().values());
        assert!((fit.report.objective / objective - 1.0).abs() < 1e-6);
    }
    let (full, all) = (ridge.learn(&data, &Watch::none()).unwrap(), learn(&on(Box::new(GreedyBasis::default()), 70, ridge.clone()), &data));
    assert!((all.report.objective / full.report.objective - 1.0).abs() < 1e-6);
    let (have, want) = (all.machine.outputs_for(&data.points).unwrap(), full.machine.outputs_for(&data.points).unwrap());
    assert!(largest_difference(&have, &want) < 1e-5);
}

#[test]
fn on_all_points_the_family_is_what_the_full_learners_are() {
    let (two, numbers) = (banana(60, 1), Generator::Sinc.make(60, 1));
    let kernel = Kernel::gaussian(2.0);
    let pairs: Vec<(Box<dyn FrameLearner>, &Dataset)> = vec![
        (Box::new(Svc { kernel: kernel.clone(), tolerance: 1e-6, ..Svc::default() }), &two),
        (Box::new(OneClass { kernel: kernel.clone(), nu: 0.3, tolerance: 1e-6, ..OneClass::default() }), &two),
        (Box::new(NuSvc { kernel: kernel.clone(), nu: 0.3, tolerance: 1e-6, ..NuSvc::default() }), &two),
        (Box::new(Svr { kernel: kernel.clone(), tolerance: 1e-6, ..Svr::default() }), &numbers),
        (Box::new(NuSvr { kernel: kernel.clone(), tolerance: 1e-6, ..NuSvr::default() }), &numbers),
    ];
    for (learner, data) in pairs {
        let full = learner.learn(data, &Watch::none()).unwrap();
        let learner = OnBasis { basis: Box::new(GreedyBasis::default()), budget: BasisBudget::vectors(60), learner, shrink: Shrink::Never };
        let fit = learn(&learner, data);
        let (have, want) = (fit.machine.outputs_for(&data.points).unwrap(), full.machine.outputs_for(&data.points).unwrap());
        let size = want.values().iter().fold(0.0, |most: f64, f| most.max(f.abs()));
        assert!(largest_difference(&have, &want) < 1e-3 * size, "{}: {}", learner.name(), largest_difference(&have, &want));
        assert_eq!(fit.machine.decision, full.machine.decision);
        assert!((fit.report.objective - full.report.objective).abs() < 1e-3 * full.report.objective.abs(), "{}", learner.name());
    }
}

#[test]
fn metadata_and_report_have_the_basis_and_both_counts() {
    let data = banana(200, 1);
    let fit = learn(&on(Box::new(GreedyBasis::default()), 10, Svc { c: 3.0, ..Svc::default() }), &data);
    let metadata = &fit.machine.metadata;
    let basis = metadata.basis.as_ref().unwrap();
    assert_eq!(
        (metadata.learner.as_deref(), metadata.c, metadata.n_rows, basis.method.as_str()),
        (Some("svc"), Some(3.0), Some(200), "greedy-basis")
    );
    assert_eq!((basis.asked, basis.capped, basis.evaluations, basis.evaluations_of_the_paper), (10, false, 2000, 4000 - 45));
    assert!(fit.report.evaluations == 2000 && basis.mean_error < basis.largest_error && fit.report.iterations > 3);
    assert_eq!(metadata.objective, Some(fit.report.objective));
    // A bound on the error ends sooner, and that is not a lack of vectors.
    let budget = BasisBudget { max_error: 0.3, ..BasisBudget::vectors(150) };
    let bounded = learn(&OnBasis { budget, ..on(Box::new(GreedyBasis::default()), 1, Svc::default()) }, &data);
    let basis = bounded.machine.metadata.basis.unwrap();
    assert!(bounded.machine.expansion.vectors.len() < 150 && !basis.capped && basis.largest_error <= 0.3);
    assert_eq!(bounded.report.status, Status::Converged);
}

#[test]
fn more_vectors_than_there_are_is_capped_and_reported() {
    let few = Dataset::new(Matrix::from_fn(40, 1, |i, _| (i % 4) as f64), Target::Classes(Classes::from_texts(&["a", "b"].repeat(20))));
    for method in methods() {
        let fit = learn(&on(method(), 30, Svc::default()), &few);
        let basis = fit.machine.metadata.basis.as_ref().unwrap();
        assert_eq!((fit.machine.n_vectors(), fit.report.status, basis.capped), (4, Status::Capped, true), "{}", basis.method);
        assert_eq!(fit.machine.score(&few).unwrap().loss(), 0.0);
    }
    let same = Dataset { points: Matrix::from_fn(40, 2, |_, j| j as f64).into(), ..few };
    for method in methods() {
        assert_eq!(learn(&on(method(), 3, Svc::default()), &same).machine.n_vectors(), 1);
    }
}

#[test]
fn what_cannot_work_is_rejected_with_an_error() {
    let data = banana(30, 1);
    let say = |learner: &OnBasis, data: &Dataset| learner.learn(data, &Watch::none()).unwrap_err().to_string();
    let svc = |kernel: Kernel| Svc { kernel, ..Svc::default() };
    for method in methods() {
        assert_eq!(say(&on(method(), 0, Svc::default()), &data), "vectors is 0, but must be at least 1");
        let sigmoid = Kernel::named("sigmoid", 1.0, 0, 0.5).unwrap();
        assert!(say(&on(method(), 5, svc(sigmoid)), &data).contains("not positive definite"));
        let precomputed = Kernel::Precomputed(crate::kernel::Precomputed {});
        assert!(say(&on(method(), 5, svc(precomputed)), &data).contains("precomputed kernel"));
        let alone = Dataset { target: Target::Classes(Classes::from_texts(&["a"; 30])), ..data.clone() };
        assert!(say(&on(method(), 5, Svc::default()), &alone).contains("all 30 rows have the label a"));
        assert!(say(&on(method(), 5, Ridge::default()), &data).contains("a number to predict"));
        assert!(say(&on(method(), 5, Svc::default()), &data.select(&[])).contains("no rows"));
        let zeros = Dataset { points: Matrix::<f64>::zeros(30, 2).into(), ..data.clone() };
        assert!(say(&on(method(), 5, svc(Kernel::named("linear", 1.0, 0, 0.0).unwrap())), &zeros).contains("span nothing"));
        let nan = Dataset { points: Matrix::from_fn(30, 2, |i, _| if i == 3 { f64::NAN } else { 1.0 }).into(), ..data.clone() };
        assert!(say(&on(method(), 5, Svc::default()), &nan).contains("row 4"));
        let far = Dataset { points: Matrix::from_fn(30, 2, |i, _| 1e120 * i as f64).into(), ..data.clone() };
        assert!(say(&on(method(), 5, svc(Kernel::named("polynomial", 1.0, 3, 0.0).unwrap())), &far).contains("too large"));
        let nothing = Dataset { weights: Some(vec![0.0; 30]), ..data.clone() };
        assert!(say(&on(method(), 5, Svc::default()), &nothing).contains("no row has a weight above 0"));
    }
    let budget = BasisBudget { max_error: f64::NAN, ..BasisBudget::vectors(5) };
    assert!(OnBasis { budget, ..on(Box::new(KMeans::default()), 1, Svc::default()) }.check().is_err());
}

#[test]
fn it_works_behind_a_scaling_with_probabilities_on_any_number_of_threads_and_from_sparse_rows() {
    let data = Generator::Twonorm.make(150, 1);
    let run = |data: &Dataset| {
        let learner = Box::new(on(Box::new(RpCholesky::default()), 12, Svc { kernel: Kernel::gaussian(0.05), ..Svc::default() }));
        let scaled = Scaled { how: HowToScale::Fitted(crate::data::Scaling::Standard), learner };
        Calibrated { shape: Shape::Sigmoid, folds: 3, seed: 0, learner: Box::new(scaled) }.learn(data, &Watch::none()).unwrap().machine
    };
    let machine = run(&data);
    assert!(machine.calibration.is_some() && machine.scale.is_some() && machine.n_vectors() == 12);
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap().install(|| run(&data));
    assert_eq!(machine, alone);
    let sparse = Dataset { points: crate::data::Csr::from_dense(&data.points.to_dense()).into(), ..data.clone() };
    for method in methods() {
        let learner = on(method(), 12, Svc { kernel: Kernel::gaussian(0.05), ..Svc::default() });
        let (a, b) = (learn(&learner, &data).machine, learn(&learner, &sparse).machine);
        let (a, b) = (a.outputs_for(&data.points).unwrap(), b.outputs_for(&data.points).unwrap());
        assert!(largest_difference(&a, &b) < 1e-3, "{}", largest_difference(&a, &b));
    }
}

#[test]
fn cancelling_leaves_a_machine_that_predicts() {
    let flag = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let data = banana(100, 1);
    for method in methods() {
        let watch = Watch::none().with_cancel(flag.clone());
        let fit = on(method(), 20, Svc::default()).learn(&data, &watch).unwrap();
        assert_eq!(fit.report.status, Status::Cancelled);
        assert!(fit.machine.outputs_for(&data.points).unwrap().values().iter().all(|v| v.is_finite()));
    }
}

#[test]
fn every_split_of_the_rows_has_a_machine_even_without_one_class() {
    let mut draw = Draw::seeded(3);
    let texts: Vec<&str> = (0..40)
        .map(|i| {
            if i == 0 {
                "rare"
            } else if i % 2 == 0 {
                "a"
            } else {
                "b"
            }
        })
        .collect();
    let data = Dataset::new(Matrix::from_fn(40, 2, |i, _| draw.normal() + (i % 2) as f64), Target::Classes(Classes::from_texts(&texts)));
    let without = data.select(&(1..40).collect::<Vec<_>>());
    for multiclass in [Multiclass::OneVsOne, Multiclass::OneVsRest] {
        let fit = learn(&on(Box::new(RandomBasis::default()), 5, Svc { multiclass, ..Svc::default() }), &without);
        // Measured: 7 of 39 rows.
        assert!(fit.machine.score(&without).unwrap().loss() < 0.22);
    }
}

#[test]
fn few_support_vectors_replace_the_basis_with_the_exact_kernel_or_as_a_basis() {
    let data = Generator::Twonorm.make(200, 2);
    let svc = Svc { kernel: Kernel::gaussian(0.01), c: 100.0, ..Svc::default() };
    let with = |shrink, vectors| learn(&OnBasis { shrink, ..on(Box::new(GreedyBasis::default()), vectors, svc.clone()) }, &data);
    let (plain, exact, retrained) = (with(Shrink::Never, 80), with(Shrink::SupportVectors, 80), with(Shrink::Retrain, 80));
    let metadata = |fit: &Fit| fit.machine.metadata.basis.clone().unwrap();
    assert!(plain.machine.n_vectors() == 80 && metadata(&plain).shrunk.is_none());
    assert_eq!((metadata(&exact).shrunk.as_deref(), metadata(&retrained).shrunk.as_deref()), (Some("sv"), Some("retrain")));
    assert!(exact.machine.n_vectors() < 80 && exact.machine.n_vectors() == retrained.machine.n_vectors());
    // The offset of the exact form is the best for its values: moving it costs.
    let loss = |machine: &Machine, step: f64| -> f64 {
        let (f, codes) = (machine.outputs_for(&data.points).unwrap(), &data.classes().unwrap().codes);
        (0..200).map(|i| (1.0 - (2.0 * f64::from(codes[i]) - 1.0) * (f.at(i, 0) + step)).max(0.0)).sum()
    };
    for step in [-0.1, -0.01, 0.01, 0.1] {
        assert!(loss(&exact.machine, step) >= loss(&exact.machine, 0.0) - 1e-9);
    }
    // Retraining is the margin machine on the support vectors.
    let task = Task { data: Some(&data), ..Task::of(&retrained.machine) };
    let again = refit(&retrained.machine, Refit::Margin, &task, None, &Watch::none()).unwrap();
    let (have, want) = (retrained.machine.outputs_for(&data.points).unwrap(), again.outputs_for(&data.points).unwrap());
    assert!(largest_difference(&have, &want) < 1e-3);
    // Where there are more support vectors than vectors of the basis, nothing changes.
    assert_eq!(with(Shrink::SupportVectors, 3).machine, with(Shrink::Never, 3).machine);
    // Where the basis spans all rows, projected and exact kernel are the same, and so are the machines.
    let (all, exact) = (with(Shrink::Never, 200), with(Shrink::SupportVectors, 200));
    let (a, b) = (all.machine.outputs_for(&data.points).unwrap(), exact.machine.outputs_for(&data.points).unwrap());
    assert!(exact.machine.n_vectors() < 100 && largest_difference(&a, &b) < 1e-2, "{}", largest_difference(&a, &b));
    let ridge = OnBasis { shrink: Shrink::Retrain, ..on(Box::new(GreedyBasis::default()), 5, Ridge::default()) };
    assert_eq!(
        ridge.check().unwrap_err().to_string(),
        "shrink is retrain, but must be never for ridge; only svc has the support vectors that it needs"
    );
    assert!(Shrink::all().all(|shrink| Shrink::named(shrink.name()) == Some(shrink)));
}

#[test]
fn the_size_path_doubles_and_has_machines_of_its_own() {
    let data = weighted(banana(90, 4));
    for method in methods() {
        let grows = method().grows();
        let at = |vectors: usize| on(method(), vectors, Ridge { kernel: Kernel::gaussian(0.5), lambda: 0.1 });
        let numbers = Dataset { target: Target::Values(Matrix::from_fn(90, 1, |i, _| (i as f64).sin())), ..data.clone() };
        let path = at(12).learn_path(&numbers, &Watch::none()).unwrap();
        let sizes: Vec<usize> = path.iter().map(|fit| fit.machine.n_vectors()).collect();
        assert_eq!(sizes, if grows { vec![1, 2, 4, 8, 12] } else { vec![12] });
        assert_eq!(path.last().unwrap().machine, learn(&at(12), &numbers).machine);
        if grows {
            let (have, want) = (&path[2].machine, learn(&at(4), &numbers).machine);
            let outputs = |machine: &Machine| machine.outputs_for(&numbers.points).unwrap();
            assert!(largest_difference(&outputs(have), &outputs(&want)) < 1e-8);
        }
    }
}
