//! The textbook form of greedy kernel Fisher discriminants, with every matrix written out, and the tests against it.
use super::super::kernel_rows::KernelRows;
use super::{
    criterion::{FisherCriterion, Groups, Numerator},
    deflation::{Deflated, Deflation, EXHAUSTED},
    pursuit::{FisherPursuit, Stage},
};
use crate::{
    Error, Named,
    basis::{BasisBudget, BasisMethod},
    data::{Classes, Dataset, Points, Target, banana, waveform3},
    kernel::{
        Kernel,
        block::{block, symmetric},
    },
    learn::{Fisher, Learner, OnBasis, Penalty, Shrink, Threshold},
    linalg::{Cholesky, Eigen, Matrix, dot},
    watch::{Status, Watch},
};
use std::sync::{Arc, atomic::AtomicBool};

/// 2 / 3 of the rows are in one class, so that the numerators differ.
fn unbalanced(n: usize) -> Dataset {
    let data = banana(2 * n, 4);
    let codes = &data.classes().unwrap().codes;
    let (first, second): (Vec<usize>, Vec<usize>) = (0..2 * n).partition(|&i| codes[i] == 0);
    let rows: Vec<usize> = first.into_iter().take(2 * n / 3).chain(second.into_iter().take(n - 2 * n / 3)).collect();
    data.select(&rows)
}

/// K as the method sees it.
fn rounded(kernel: &Kernel, points: &Points) -> Matrix {
    let unit = KernelRows::passing(kernel, points).unit();
    let k = symmetric(kernel, points);
    Matrix::from_fn(k.rows(), k.rows(), |i, j| f64::from((k.at(i, j) / unit) as f32))
}

fn signs(data: &Dataset) -> Vec<f64> {
    data.classes().unwrap().codes.iter().map(|&code| if code == 1 { 1.0 } else { -1.0 }).collect()
}

/// B = D - C of [Diethe2015 (2)], as it is printed.
fn b_matrix(y: &[f64]) -> Matrix {
    let m = y.len() as f64;
    let plus = y.iter().filter(|&&y| y > 0.0).count() as f64;
    let minus = m - plus;
    Matrix::from_fn(y.len(), y.len(), |i, j| {
        let d = if y[i] > 0.0 { 2.0 * minus / m } else { 2.0 * plus / m };
        let c = if y[i] > 0.0 { 2.0 * minus / (m * plus) } else { 2.0 * plus / (m * minus) };
        (if i == j { d } else { 0.0 }) - (if y[i] == y[j] { c } else { 0.0 })
    })
}

fn times(a: &Matrix, x: &[f64]) -> Vec<f64> {
    a.iter().map(|row| dot(row, x)).collect()
}

/// (15) to (19) on a dense matrix; `units` are the q of the steps before.
fn deflate(k: &mut Matrix, t: &[f64], deflation: Deflation, units: &mut Vec<Vec<f64>>) {
    let mut q = t.to_vec();
    if deflation.is_orthogonal() {
        for _ in 0..2 {
            for unit in units.iter() {
                let part = dot(unit, &q);
                q.iter_mut().zip(unit).for_each(|(q, u)| *q -= part * u);
            }
        }
        let length = dot(&q, &q).sqrt();
        q.iter_mut().for_each(|q| *q /= length);
    }
    let (forward, back) = (times(k, &q), times(&k.transposed(), &q));
    let middle = dot(&q, &forward);
    let old = k.clone();
    *k = Matrix::from_fn(t.len(), t.len(), |i, j| {
        old.at(i, j)
            - match deflation {
                Deflation::None => 0.0,
                Deflation::Hotelling | Deflation::OrthoHotelling => q[i] * middle * q[j],
                Deflation::Projection | Deflation::OrthoProjection => q[i] * back[j],
                Deflation::Schur | Deflation::OrthoSchur => forward[i] * forward[j] / middle,
            }
    });
    units.push(q);
}

/// Algorithm 1 for two classes, every number computed anew from the deflated matrix.
fn literal(method: &FisherPursuit, kernel: &Kernel, data: &Dataset, most: usize) -> Vec<usize> {
    let (n, y) = (data.len(), signs(data));
    let (mut k, b) = (rounded(kernel, &data.points), b_matrix(&y));
    let original = k.clone();
    let plus = y.iter().filter(|&&y| y > 0.0).count() as f64;
    let v: Vec<f64> = match method.numerator {
        Numerator::Printed => y.clone(),
        Numerator::ClassMeans => y.iter().map(|&y| if y > 0.0 { 1.0 / plus } else { -1.0 / (n as f64 - plus) }).collect(),
    };
    let (mut chosen, mut units, mut gone) = (vec![], vec![], vec![false; n]);
    let Stage::Count(stages) = method.stage else { panic!("stages only") };
    while chosen.len() < most && gone.iter().any(|gone| !gone) {
        let score = |i: usize| {
            let column = k.col(i);
            let numerator = dot(&v, &column).powi(2);
            match method.criterion {
                FisherCriterion::Optimal => numerator / dot(&column, &times(&b, &column)),
                FisherCriterion::Reverse => -numerator / dot(&column, &times(&b, &column)),
                FisherCriterion::ReversePseudo => -numerator,
                _ => numerator,
            }
        };
        let mut ranking: Vec<(usize, f64)> = (0..n).filter(|&i| !gone[i]).map(|i| (i, score(i))).collect();
        ranking.sort_by(|a, b| b.1.total_cmp(&a.1));
        let mut taken = 0;
        for (i, _) in ranking {
            if taken == stages || chosen.len() == most {
                break;
            }
            gone[i] = true;
            let column = k.col(i);
            let length = dot(&column, &column).sqrt();
            if length > EXHAUSTED * dot(original.row(i), original.row(i)).sqrt() {
                let t: Vec<f64> = column.iter().map(|c| c / length).collect();
                deflate(&mut k, &t, method.deflation, &mut units);
                chosen.push(i);
                taken += 1;
            }
        }
    }
    chosen
}

fn chosen(method: &FisherPursuit, kernel: &Kernel, data: &Dataset, most: usize) -> Vec<usize> {
    method.vectors(kernel, data, most, &Watch::none()).unwrap().0
}

#[test]
fn algorithm_1_picks_what_the_dense_form_picks_for_every_variant_kept_computed_and_sampled() {
    let (data, kernel) = (unbalanced(70), Kernel::gaussian(2.0));
    for criterion in FisherCriterion::all().filter(|c| *c != FisherCriterion::Random) {
        for deflation in Deflation::all() {
            for (numerator, stages) in [(Numerator::ClassMeans, 1), (Numerator::Printed, 1), (Numerator::ClassMeans, 3)] {
                let method = FisherPursuit { criterion, deflation, numerator, stage: Stage::Count(stages), ..FisherPursuit::default() };
                let want = literal(&method, &kernel, &data, 10);
                assert_eq!(want.len(), 10);
                let computed = FisherPursuit { cache_bytes: 0, ..method.clone() };
                let sampled = FisherPursuit { sample: Some(70), ..method.clone() };
                for form in [&method, &computed, &sampled] {
                    assert_eq!(chosen(form, &kernel, &data, 10), want, "{form:?}");
                }
            }
        }
    }
}

#[test]
fn eq_2_the_denominator_is_the_sum_of_the_class_covariances() {
    let data = unbalanced(45);
    let (y, k) = (signs(&data), rounded(&Kernel::gaussian(1.0), &data.points));
    let b = b_matrix(&y);
    let groups = Groups::new(&data, &data.classes().unwrap().codes, FisherCriterion::Optimal, Numerator::ClassMeans, 1.0);
    for i in 0..45 {
        let column = k.row(i);
        let of = |sign: f64| column.iter().zip(&y).filter(move |(_, y)| **y == sign).map(|(c, _)| *c);
        let mean = |sign| of(sign).sum::<f64>() / of(sign).count() as f64;
        let variance = |sign| of(sign).map(|c| (c - mean(sign)).powi(2)).sum::<f64>() / of(sign).count() as f64;
        let factor = 2.0 * of(1.0).count() as f64 * of(-1.0).count() as f64 / 45.0;
        let want = factor * (variance(1.0) + variance(-1.0));
        assert!((dot(column, &times(&b, column)) / want - 1.0).abs() < 1e-12);
        let score = groups.score_of(column, groups.square(column));
        assert!((score * want / (mean(1.0) - mean(-1.0)).powi(2) - 1.0).abs() < 1e-10);
    }
}

#[test]
fn eq_11_the_printed_numerator_moves_with_a_constant_and_class_means_do_not() {
    let data = unbalanced(45);
    let codes = &data.classes().unwrap().codes;
    let column: Vec<f64> = (0..45).map(|i| (i as f64).sin()).collect();
    let moved: Vec<f64> = column.iter().map(|c| c + 3.0).collect();
    let score = |numerator, column: &[f64]| Groups::new(&data, codes, FisherCriterion::Pseudo, numerator, 1.0).score_of(column, 0.0);
    let printed = dot(&signs(&data), &column).powi(2);
    assert!((score(Numerator::Printed, &column) / printed - 1.0).abs() < 1e-12);
    assert!((score(Numerator::ClassMeans, &moved) / score(Numerator::ClassMeans, &column) - 1.0).abs() < 1e-9);
    assert!((score(Numerator::Printed, &moved) / printed - 1.0).abs() > 0.1);
}

/// The matrix that is left after a step along t.
fn left_after(rows: &KernelRows, deflation: Deflation, t: &[f64]) -> Matrix {
    let watch = Watch::none();
    let mut deflated = Deflated::new(rows, deflation);
    let step = deflated.step(t, false, &watch).unwrap();
    deflated.take(t, step);
    let all: Vec<usize> = (0..rows.len()).collect();
    let mut columns = deflated.originals(&all, &watch);
    deflated.deflate(&all, &mut columns);
    columns
}

#[test]
fn eq_15_16_17_agree_on_a_true_eigenvector() {
    let (points, kernel) = (banana(40, 2).points, Kernel::gaussian(1.0));
    let rows = KernelRows::kept(&kernel, &points, usize::MAX, &Watch::none());
    let eigen = Eigen::of(&rounded(&kernel, &points)).unwrap();
    let left = |deflation| left_after(&rows, deflation, eigen.vectors.row(3));
    let want = left(Deflation::Hotelling);
    for deflation in Deflation::all().filter(|d| *d != Deflation::None) {
        assert!(left(deflation).values().iter().zip(want.values()).all(|(a, b)| (a - b).abs() < 1e-12), "{deflation:?}");
    }
}

#[test]
fn eq_17_with_a_unit_vector_is_the_step_of_pivoted_cholesky() {
    let (points, kernel) = (banana(40, 2).points, Kernel::gaussian(1.0));
    let rows = KernelRows::kept(&kernel, &points, usize::MAX, &Watch::none());
    let k = rounded(&kernel, &points);
    let unit: Vec<f64> = (0..40).map(|i| f64::from(i == 7)).collect();
    let left = left_after(&rows, Deflation::Schur, &unit);
    for i in 0..40 {
        for j in 0..40 {
            assert!((left.at(i, j) - (k.at(i, j) - k.at(i, 7) * k.at(7, j) / k.at(7, 7))).abs() < 1e-12);
        }
    }
}

#[test]
fn eq_18_19_orthogonalising_changes_neither_schur_nor_projection_but_hotelling() {
    let (data, kernel) = (unbalanced(150), Kernel::gaussian(1.0));
    for criterion in [FisherCriterion::Optimal, FisherCriterion::Pseudo] {
        for stages in [1, 2, 5] {
            let run = |deflation| {
                let method = FisherPursuit { criterion, deflation, stage: Stage::Count(stages), ..FisherPursuit::default() };
                chosen(&method, &kernel, &data, 40)
            };
            assert_eq!(run(Deflation::Schur), run(Deflation::OrthoSchur));
            assert_eq!(run(Deflation::Projection), run(Deflation::OrthoProjection));
            assert_ne!(run(Deflation::Hotelling), run(Deflation::OrthoHotelling));
            assert_ne!(run(Deflation::Schur), run(Deflation::Projection));
        }
    }
}

fn learner(method: FisherPursuit, vectors: usize, fisher: Fisher) -> OnBasis {
    OnBasis { basis: Box::new(method), budget: BasisBudget::vectors(vectors), learner: Box::new(fisher), shrink: Shrink::Never }
}

#[test]
fn decisions_are_those_of_a_linear_discriminant_in_the_same_features() {
    let (data, kernel) = (unbalanced(120), Kernel::gaussian(0.7));
    let fisher = Fisher { kernel: kernel.clone(), penalty: Penalty::Weight, lambda: 1e-9, bias: Threshold::Midpoint, ..Fisher::default() };
    let fit = learner(FisherPursuit::default(), 8, fisher).learn(&data, &Watch::none()).unwrap();
    let z = &fit.machine.expansion.vectors;
    let mut features = block(&kernel, &data.points, z);
    Cholesky::new(&symmetric(&kernel, z)).unwrap().lower().solve_rows(features.values_mut());
    let y = signs(&data);
    let mean = |sign: f64| -> Vec<f64> {
        let rows: Vec<&[f64]> = features.iter().zip(&y).filter(|(_, y)| **y == sign).map(|(row, _)| row).collect();
        (0..8).map(|j| rows.iter().map(|row| row[j]).sum::<f64>() / rows.len() as f64).collect()
    };
    let (plus, minus) = (mean(1.0), mean(-1.0));
    let counts = [y.iter().filter(|&&y| y < 0.0).count() as f64, y.iter().filter(|&&y| y > 0.0).count() as f64];
    let within = Matrix::from_fn(8, 8, |a, b| {
        let part = |(row, y): (&[f64], &f64)| {
            let (mean, count) = if *y > 0.0 { (&plus, counts[1]) } else { (&minus, counts[0]) };
            (row[a] - mean[a]) * (row[b] - mean[b]) / count
        };
        features.iter().zip(&y).map(part).sum()
    });
    let mut w = Matrix::column(plus.iter().zip(&minus).map(|(p, m)| p - m).collect());
    Cholesky::new(&within).unwrap().solve(&mut w);
    let threshold = 0.5 * (dot(w.values(), &plus) + dot(w.values(), &minus));
    let outputs = fit.machine.outputs_for(&data.points).unwrap();
    for (i, row) in features.iter().enumerate() {
        let want = dot(w.values(), row) - threshold;
        assert_eq!(want > 0.0, outputs.at(i, 0) > 0.0, "{i}: {want} {}", outputs.at(i, 0));
    }
    assert!(fit.machine.calibration.is_some());
}

#[test]
fn samples_choose_well_and_seeds_and_threads_mean_what_they_should() {
    let (data, kernel) = (banana(400, 1), Kernel::gaussian(1.0));
    for criterion in FisherCriterion::all() {
        let method = FisherPursuit { criterion, sample: Some(59), deflation: Deflation::Schur, ..FisherPursuit::default() };
        let run = |seed| chosen(&FisherPursuit { seed, ..method.clone() }, &kernel, &data, 12);
        assert!(run(1) == run(1) && run(1) != run(2), "{criterion:?}");
        let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap().install(|| run(1));
        assert_eq!(alone, run(1));
    }
    let error = |sample| {
        let method = FisherPursuit { sample, ..FisherPursuit::default() };
        let fit = learner(method, 20, Fisher { kernel: kernel.clone(), ..Fisher::default() }).learn(&data, &Watch::none()).unwrap();
        fit.machine.score(&banana(2000, 2)).unwrap().loss()
    };
    assert!(error(None) < 0.15 && error(Some(59)) < 0.15, "{} {}", error(None), error(Some(59)));
}

#[test]
fn the_order_at_random_does_not_depend_on_the_deflation() {
    let (data, kernel) = (banana(80, 1), Kernel::gaussian(2.0));
    let run = |deflation| {
        chosen(&FisherPursuit { criterion: FisherCriterion::Random, deflation, ..FisherPursuit::default() }, &kernel, &data, 10)
    };
    assert!(Deflation::all().all(|deflation| run(deflation) == run(Deflation::None)));
}

#[test]
fn thresholds_take_all_beyond_them_and_say_where_there_is_none() {
    let (data, kernel) = (unbalanced(90), Kernel::gaussian(1.0));
    let run = |criterion, bound| {
        let method = FisherPursuit { criterion, stage: Stage::Beyond(bound), ..FisherPursuit::default() };
        method.vectors(&kernel, &data, 90, &Watch::none()).map(|(chosen, _)| chosen)
    };
    let (k, y) = (rounded(&kernel, &data.points), signs(&data));
    let plus = y.iter().filter(|&&y| y > 0.0).count() as f64;
    let v: Vec<f64> = y.iter().map(|&y| if y > 0.0 { 1.0 / plus } else { -1.0 / (90.0 - plus) }).collect();
    let largest = k.iter().map(|row| dot(row, &v).powi(2)).fold(0.0, f64::max);
    let above = |part: f64| k.iter().filter(|row| dot(row, &v).powi(2) > part * largest).count();
    let (few, many) = (run(FisherCriterion::Pseudo, 0.9 * largest).unwrap(), run(FisherCriterion::Pseudo, 0.1 * largest).unwrap());
    // All that are above at first are taken at once, unless those before have exhausted them; what is below is not.
    assert!(few.len() <= above(0.9) && few.len() < many.len() && many.len() < 90, "{} {}", few.len(), many.len());
    assert!(run(FisherCriterion::Pseudo, 2.0 * largest).unwrap_err().to_string().contains("no row has a score beyond the threshold"));
    assert!(!run(FisherCriterion::ReversePseudo, 0.1 * largest).unwrap().is_empty());
    assert!(run(FisherCriterion::ReversePseudo, -1.0).is_err());
    let checked = |criterion, bound| FisherPursuit { criterion, stage: Stage::Beyond(bound), ..FisherPursuit::default() }.check();
    assert!(checked(FisherCriterion::Random, 1.0).unwrap_err().to_string().contains("random, which has no scores"));
    assert_eq!(checked(FisherCriterion::Pseudo, f64::NAN).unwrap_err().to_string(), "threshold is NaN, but must be a finite number");
}

#[test]
fn several_classes_and_weights_and_the_first_vectors_of_a_basis() {
    let (data, kernel) = (waveform3(150, 1), Kernel::gaussian(0.05));
    let fisher = Fisher { kernel: kernel.clone(), ..Fisher::default() };
    let fit = learner(FisherPursuit::default(), 12, fisher).learn(&data, &Watch::none()).unwrap();
    // Measured: 0.12.
    assert!(fit.machine.n_vectors() == 12 && fit.machine.score(&data).unwrap().loss() < 0.14);
    // A weight of two is a row that is there twice: the same rows are chosen but for which of the two.
    let twice: Vec<usize> = (0..150).chain((0..150).filter(|i| i % 3 == 0)).collect();
    let weighted = Dataset { weights: Some((0..150).map(|i| if i % 3 == 0 { 2.0 } else { 1.0 }).collect()), ..data.clone() };
    let method = FisherPursuit { criterion: FisherCriterion::Optimal, deflation: Deflation::None, ..FisherPursuit::default() };
    let (first, second) = (chosen(&method, &kernel, &weighted, 1), chosen(&method, &kernel, &data.select(&twice), 1));
    assert_eq!(first, second);
    let choose = |most| FisherPursuit::default().choose_for(&kernel, &data, &BasisBudget::vectors(most), &Watch::none()).unwrap();
    let (leading, want) = (choose(12).leading(5), choose(5));
    assert_eq!(leading.chosen, want.chosen);
    assert!(leading.coordinates.values().iter().zip(want.coordinates.values()).all(|(a, b)| (a - b).abs() < 1e-12));
    assert!(leading.errors.iter().zip(&want.errors).all(|(a, b)| (a - b).abs() < 1e-12));
}

#[test]
fn bad_input_is_rejected_or_handled() {
    let kernel = Kernel::gaussian(1.0);
    let learn = |data: &Dataset, method: FisherPursuit, vectors| {
        learner(method, vectors, Fisher { kernel: kernel.clone(), ..Fisher::default() }).learn(data, &Watch::none())
    };
    let data = unbalanced(40);
    let one_class = Dataset { target: Target::Classes(Classes::from_texts(&["a"; 40])), ..data.clone() };
    assert!(matches!(learn(&one_class, FisherPursuit::default(), 3).unwrap_err(), Error::OneClass { .. }));
    // A class with one row.
    let texts: Vec<&str> = (0..40).map(|i| if i == 7 { "b" } else { "a" }).collect();
    let alone = Dataset { target: Target::Classes(Classes::from_texts(&texts)), ..data.clone() };
    for criterion in FisherCriterion::all() {
        assert!(learn(&alone, FisherPursuit { criterion, ..FisherPursuit::default() }, 5).unwrap().machine.n_vectors() == 5);
        // More vectors than rows, and stages above the number of vectors.
        for deflation in Deflation::all() {
            let method = FisherPursuit { criterion, deflation, stage: Stage::Count(1000), ..FisherPursuit::default() };
            let fit = learn(&data, method, 500).unwrap();
            assert!(fit.machine.n_vectors() <= 40 && fit.report.status == Status::Capped);
        }
    }
    // A kernel of rank 3 is exhausted after 3 vectors, whoever chooses; without deflation nobody looks.
    let linear = Kernel::named("polynomial", 1.0, 1, 1.0).unwrap();
    for criterion in FisherCriterion::all() {
        for deflation in [Deflation::Projection, Deflation::Schur, Deflation::OrthoHotelling] {
            let method = FisherPursuit { criterion, deflation, ..FisherPursuit::default() };
            let found = chosen(&method, &linear, &data, 30);
            assert!(found.len() == 3 || deflation == Deflation::OrthoHotelling, "{method:?} {found:?}");
        }
    }
    // Rows that are all the same have no score, and one of them is a basis.
    let same = data.select(&[3; 12]);
    let same =
        Dataset { target: Target::Classes(Classes::from_texts(&["a", "b", "a", "a", "b", "a", "b", "a", "a", "b", "a", "b"])), ..same };
    assert_eq!(chosen(&FisherPursuit::default(), &kernel, &same, 5).len(), 1);
    for method in [
        FisherPursuit { stage: Stage::Count(0), ..FisherPursuit::default() },
        FisherPursuit { sample: Some(0), ..FisherPursuit::default() },
    ] {
        assert!(learn(&data, method, 3).unwrap_err().to_string().contains("must be at least 1"));
    }
    let points = FisherPursuit::default().choose(&kernel, &data.points, &BasisBudget::vectors(3), &Watch::none());
    assert!(points.unwrap_err().to_string().contains("by the classes of the rows"));
    // Cancelled at once: one vector is enough for a machine.
    let watch = Watch::none().with_cancel(Arc::new(AtomicBool::new(true)));
    let (found, status) = FisherPursuit::default().vectors(&kernel, &data, 9, &watch).unwrap();
    assert_eq!((found.len(), status), (1, Status::Cancelled));
}
