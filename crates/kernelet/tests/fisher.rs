//! Fisher's discriminant against its definition: scatter matrices summed row by row, linear systems solved by elimination.
#![allow(clippy::unwrap_used, clippy::panic)]
use kernelet::{
    Error, Named,
    data::{Classes, Dataset, Generator, Label, Points, Target, waveform3},
    kernel::{Kernel, Precomputed, block},
    learn::{ClassWeights, Fisher, Learner, Penalty, Threshold},
    linalg::{Eigen, Matrix, dot},
    machine::{Calibration, Machine},
    model::native,
    watch::Watch,
};

fn learn(fisher: &Fisher, data: &Dataset) -> Machine {
    fisher.learn(data, &Watch::none()).unwrap().machine
}

fn coefficients(machine: &Machine) -> Matrix {
    machine.expansion.coefficients.to_dense()
}

/// Elimination with pivots.
fn solve(a: &Matrix, b: &[f64]) -> Vec<f64> {
    let n = b.len();
    let mut rows: Vec<Vec<f64>> = (0..n).map(|i| a.row(i).iter().copied().chain([b[i]]).collect()).collect();
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| rows[i][k].abs().total_cmp(&rows[j][k].abs())).unwrap();
        rows.swap(k, pivot);
        for i in k + 1..n {
            let factor = rows[i][k] / rows[k][k];
            for j in k..=n {
                rows[i][j] -= factor * rows[k][j];
            }
        }
    }
    let mut x = vec![0.0; n];
    for i in (0..n).rev() {
        x[i] = (rows[i][n] - (i + 1..n).map(|j| rows[i][j] * x[j]).sum::<f64>()) / rows[i][i];
    }
    x
}

/// The rows' means by class, and the sum over the classes of weight times covariance, by definition.
fn scatter(rows: &Matrix, codes: &[u32], weights: &[f64], class_weights: &[f64]) -> (Vec<Vec<f64>>, Matrix) {
    let (d, classes) = (rows.cols(), class_weights.len());
    let mut means = vec![vec![0.0; d]; classes];
    let mut within = Matrix::zeros(d, d);
    for c in 0..classes {
        let members: Vec<usize> = (0..codes.len()).filter(|&i| codes[i] as usize == c).collect();
        let whole: f64 = members.iter().map(|&i| weights[i]).sum();
        for j in 0..d {
            means[c][j] = members.iter().map(|&i| weights[i] * rows.at(i, j)).sum::<f64>() / whole;
        }
        for &i in &members {
            for a in 0..d {
                for b in 0..d {
                    let part = (rows.at(i, a) - means[c][a]) * (rows.at(i, b) - means[c][b]);
                    within.row_mut(a)[b] += class_weights[c] * weights[i] / whole * part;
                }
            }
        }
    }
    (means, within)
}

fn difference(means: &[Vec<f64>]) -> Vec<f64> {
    means[1].iter().zip(&means[0]).map(|(a, b)| a - b).collect()
}

fn assert_close(have: &[f64], want: &[f64], tolerance: f64) {
    let size = want.iter().fold(0.0, |most: f64, v| most.max(v.abs()));
    for (a, b) in have.iter().zip(want) {
        assert!((a - b).abs() <= tolerance * size, "{a} {b} of {size}");
    }
    assert_eq!(have.len(), want.len());
}

/// Unequal classes and unequal weights.
fn uneven() -> Dataset {
    let data = Generator::Banana.make(70, 3);
    let codes = &data.classes().unwrap().codes;
    let rows: Vec<usize> = (0..70).filter(|&i| codes[i] == 0 || i % 2 == 0).collect();
    let mut data = data.select(&rows);
    data.weights = Some((0..data.len()).map(|i| 0.5 + (i % 3) as f64).collect());
    data
}

#[test]
fn franc_eq_5_with_the_difference_of_the_means_is_solved() {
    let data = uneven();
    let (kernel, lambda) = (Kernel::gaussian(0.7), 0.02);
    let machine = learn(&Fisher { kernel: kernel.clone(), lambda, penalty: Penalty::Coefficients, ..Fisher::default() }, &data);
    let gram = block::symmetric(&kernel, &data.points);
    let (means, mut within) = scatter(&gram, &data.classes().unwrap().codes, data.weights.as_ref().unwrap(), &[1.0, 1.0]);
    (0..within.rows()).for_each(|i| within.row_mut(i)[i] += lambda);
    let m = difference(&means);
    let a = solve(&within, &m);
    let factor = 2.0 / dot(&a, &m);
    let want: Vec<f64> = a.iter().map(|a| a * factor).collect();
    let have = coefficients(&machine).col(0);
    assert_close(&have, &want, 1e-9);
    assert!((dot(&have, &m) - 2.0).abs() < 1e-10);
    let objective: f64 = (0..have.len()).map(|i| have[i] * dot(within.row(i), &have)).sum();
    assert!((machine.metadata.objective.unwrap() - objective).abs() < 1e-9 * objective);
}

#[test]
fn wu_eq_49_is_maximised_and_no_other_direction_is_better() {
    let data = uneven();
    let (kernel, lambda) = (Kernel::gaussian(0.7), 0.05);
    let machine = learn(&Fisher { kernel: kernel.clone(), lambda, ..Fisher::default() }, &data);
    let gram = block::symmetric(&kernel, &data.points);
    let (means, within) = scatter(&gram, &data.classes().unwrap().codes, data.weights.as_ref().unwrap(), &[1.0, 1.0]);
    let m = difference(&means);
    let ratio = |a: &[f64]| {
        let below: f64 = (0..a.len()).map(|i| a[i] * (dot(within.row(i), a) + lambda * dot(gram.row(i), a))).sum();
        dot(a, &m).powi(2) / below
    };
    let a = coefficients(&machine).col(0);
    let best = ratio(&a);
    // The largest value of a quotient of rank one: m'(N + lambda K)^-1 m, the one eigenvalue of the generalised problem.
    let all = Matrix::from_fn(m.len(), m.len(), |i, j| within.at(i, j) + lambda * gram.at(i, j) + f64::from(i == j) * 1e-12);
    let eigenvalue = dot(&solve(&all, &m), &m);
    assert!((best - eigenvalue).abs() < 1e-6 * best, "{best} {eigenvalue}");
    assert!((machine.metadata.objective.unwrap() - 4.0 / best).abs() < 1e-9 / best);
    for k in 0..50 {
        let moved: Vec<f64> = a.iter().enumerate().map(|(i, a)| a + 0.01 * ((i * k + k) as f64).sin()).collect();
        assert!(ratio(&moved) <= best * (1.0 + 1e-12));
    }
}

#[test]
fn with_the_linear_kernel_it_is_linear_discriminant_analysis() {
    let data = Generator::Twonorm.make(120, 1);
    let (rows, codes) = (data.points.to_dense(), data.classes().unwrap().codes.clone());
    let kernel = Kernel::named("linear", 1.0, 0, 0.0).unwrap();
    for lambda in [Some(1e-8), None] {
        let penalty = if lambda.is_some() { Penalty::Weight } else { Penalty::None };
        let bias = Threshold::Midpoint;
        let machine = learn(&Fisher { kernel: kernel.clone(), lambda: lambda.unwrap_or(1.0), penalty, bias, ..Fisher::default() }, &data);
        let (means, within) = scatter(&rows, &codes, &[1.0; 120], &[1.0, 1.0]);
        let m = difference(&means);
        let w = solve(&within, &m);
        let factor = 2.0 / dot(&w, &m);
        let want: Vec<f64> = w.iter().map(|w| factor * w).collect();
        let a = coefficients(&machine).col(0);
        let have: Vec<f64> = (0..rows.cols()).map(|j| dot(&a, &rows.col(j))).collect();
        assert_close(&have, &want, 1e-6);
        let middle: Vec<f64> = means[0].iter().zip(&means[1]).map(|(a, b)| 0.5 * (a + b)).collect();
        assert!((machine.offsets[0] + dot(&want, &middle)).abs() < 1e-6);
        assert_eq!(machine.metadata.rank, (penalty == Penalty::None).then_some(rows.cols()));
    }
}

#[test]
fn several_classes_are_linear_discriminant_analysis_too() {
    let data = waveform3(90, 1);
    let (rows, classes) = (data.points.to_dense(), data.classes().unwrap());
    let kernel = Kernel::named("linear", 1.0, 0, 0.0).unwrap();
    let counts = classes.counts();
    // The share of the rows as class weight: the pooled covariance.
    let shares: Vec<(Label, f64)> = classes.labels.iter().zip(&counts).map(|(label, &n)| (label.clone(), n as f64 / 90.0)).collect();
    let weights: Vec<f64> = shares.iter().map(|(_, share)| *share).collect();
    let fisher = Fisher {
        kernel,
        penalty: Penalty::None,
        bias: Threshold::Midpoint,
        class_weights: ClassWeights::Given(shares),
        ..Fisher::default()
    };
    let machine = learn(&fisher, &data);
    let (means, within) = scatter(&rows, &classes.codes, &[1.0; 90], &weights);
    // Differences of the outputs are those of LDA with equal priors, up to one factor.
    let score = |x: &[f64], c: usize| {
        let w = solve(&within, &means[c]);
        dot(&w, x) - 0.5 * dot(&w, &means[c])
    };
    let outputs = machine.outputs_for(&data.points).unwrap();
    let mut factors = vec![];
    for i in 0..20 {
        for (a, b) in [(0, 1), (0, 2), (1, 2)] {
            let want = score(rows.row(i), a) - score(rows.row(i), b);
            factors.push((outputs.at(i, a) - outputs.at(i, b)) / want);
        }
    }
    assert!(factors.iter().all(|f| (f / factors[0] - 1.0).abs() < 1e-6), "{factors:?}");
}

#[test]
fn two_classes_are_least_squares_with_targets_by_class_size() {
    // Ridge regression with a free offset on targets n/n+ and -n/n-, and lambda n: the same direction where the scatter is pooled.
    let data = Generator::Ripley.make(80, 2);
    let keep: Vec<usize> = (0..80).filter(|&i| data.classes().unwrap().codes[i] == 1 || i % 3 == 0).collect();
    let data = data.select(&keep);
    let n = data.len();
    let (codes, kernel, lambda) = (data.classes().unwrap().codes.clone(), Kernel::gaussian(2.0), 0.01);
    let positives = codes.iter().filter(|&&c| c == 1).count() as f64;
    let targets: Vec<f64> =
        codes.iter().map(|&c| if c == 1 { n as f64 / positives } else { -(n as f64) / (n as f64 - positives) }).collect();
    let gram = block::symmetric(&kernel, &data.points);
    // (K + n lambda I) a + b = y, sum a = 0.
    let size = n + 1;
    let system = Matrix::from_fn(size, size, |i, j| match (i < n, j < n) {
        (true, true) => gram.at(i, j) + f64::from(i == j) * lambda * n as f64,
        (false, false) => 0.0,
        _ => 1.0,
    });
    let squares = solve(&system, &targets.iter().copied().chain([0.0]).collect::<Vec<_>>());
    let labels = &data.classes().unwrap().labels;
    let shares = vec![(labels[0].clone(), 1.0 - positives / n as f64), (labels[1].clone(), positives / n as f64)];
    let machine = learn(&Fisher { kernel, lambda, class_weights: ClassWeights::Given(shares), ..Fisher::default() }, &data);
    let have = coefficients(&machine).col(0);
    let factor = have[0] / squares[0];
    assert!(factor > 0.0);
    assert_close(&have, &squares[..n].iter().map(|a| a * factor).collect::<Vec<_>>(), 1e-8);
}

#[test]
fn without_penalty_directions_without_scatter_are_left_out() {
    let data = uneven();
    let kernel = Kernel::named("polynomial", 0.5, 2, 1.0).unwrap();
    let machine = learn(&Fisher { kernel: kernel.clone(), penalty: Penalty::None, ..Fisher::default() }, &data);
    // Polynomials of degree 2 in two features: 6 monomials, of which the constant does not scatter.
    assert_eq!(machine.metadata.rank, Some(5));
    assert_eq!(machine.metadata.lambda, None);
    // In the coordinates of the eigenvectors of K the scatter is inverted where it is not zero.
    let gram = block::symmetric(&kernel, &data.points);
    let eigen = Eigen::of(&gram).unwrap().truncated(6);
    let n = gram.rows();
    let coordinates = Matrix::from_fn(n, 6, |i, k| eigen.vectors.at(k, i) * eigen.values[k].sqrt());
    let (means, within) = scatter(&coordinates, &data.classes().unwrap().codes, data.weights.as_ref().unwrap(), &[1.0, 1.0]);
    let inner = Eigen::of(&within).unwrap();
    let m = difference(&means);
    let mut w = vec![0.0; 6];
    for (value, vector) in inner.values.iter().zip(inner.vectors.iter()).take(5) {
        w.iter_mut().zip(vector).for_each(|(w, v)| *w += v * dot(vector, &m) / value);
    }
    let factor = 2.0 / dot(&w, &m);
    let want: Vec<f64> = coordinates.iter().map(|row| factor * dot(row, &w)).collect();
    let have: Vec<f64> = machine.outputs_for(&data.points).unwrap().values().iter().map(|f| f - machine.offsets[0]).collect();
    assert_close(&have, &want, 1e-7);
}

#[test]
fn a_given_kernel_matrix_a_saved_file_and_zero_weights_change_nothing() {
    let mut data = uneven();
    let kernel = Kernel::gaussian(0.7);
    let machine = learn(&Fisher { kernel: kernel.clone(), ..Fisher::default() }, &data);
    let outputs = machine.outputs_for(&data.points).unwrap();
    let gram = block::symmetric(&kernel, &data.points);
    let given = Dataset { points: gram.clone().into(), names: None, ..data.clone() };
    let from_gram = learn(&Fisher { kernel: Kernel::Precomputed(Precomputed {}), ..Fisher::default() }, &given);
    assert_close(from_gram.outputs_for(&gram.into()).unwrap().values(), outputs.values(), 1e-9);
    assert_eq!(native::from_bytes(&native::to_bytes(&machine).unwrap(), "m").unwrap(), machine);
    // A row that counts nothing may as well be away.
    let weights = data.weights.as_mut().unwrap();
    weights[3] = 0.0;
    let with = learn(&Fisher { kernel: kernel.clone(), ..Fisher::default() }, &data);
    let without = learn(&Fisher { kernel, ..Fisher::default() }, &data.select(&(0..data.len()).filter(|&i| i != 3).collect::<Vec<_>>()));
    assert_eq!(with.expansion, without.expansion);
    assert_eq!(with.offsets, without.offsets);
}

#[test]
fn a_row_of_weight_two_is_two_rows() {
    let data = Generator::Banana.make(40, 1);
    let doubled = Dataset { weights: Some((0..40).map(|i| 1.0 + f64::from(i % 4 == 0)).collect()), ..data.clone() };
    let repeated = data.select(&(0..40).chain((0..40).step_by(4)).collect::<Vec<_>>());
    for penalty in [Penalty::Weight, Penalty::None] {
        let fisher = Fisher {
            penalty,
            kernel: Kernel::named("polynomial", 0.5, 2, 1.0).unwrap(),
            bias: Threshold::EqualMahalanobis,
            ..Fisher::default()
        };
        let (one, other) = (learn(&fisher, &doubled), learn(&fisher, &repeated));
        assert_close(one.outputs_for(&data.points).unwrap().values(), other.outputs_for(&data.points).unwrap().values(), 1e-7);
    }
}

#[test]
fn probabilities_fit_the_projections_and_sum_to_one() {
    for (data, gamma, classes) in [(Generator::Banana.make(300, 1), 1.0, 2), (waveform3(300, 1), 0.05, 3)] {
        let machine = learn(&Fisher { kernel: Kernel::gaussian(gamma), lambda: 0.05, ..Fisher::default() }, &data);
        let Some(Calibration::NormalClasses(normal)) = &machine.calibration else { panic!() };
        let outputs = machine.outputs_for(&data.points).unwrap();
        let codes = &data.classes().unwrap().codes;
        let mut log_loss = 0.0;
        for (row, &code) in outputs.iter().zip(codes) {
            let p = normal.probabilities(row);
            assert!(p.len() == classes && (p.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            log_loss -= p[code as usize].max(1e-300).ln() / 300.0;
        }
        // Guessing by the priors would give about ln(classes).
        assert!(log_loss < 0.6 * (classes as f64).ln(), "{log_loss}");
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let data = waveform3(400, 1);
    for penalty in [Penalty::Weight, Penalty::Coefficients, Penalty::None] {
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| learn(&Fisher { kernel: Kernel::gaussian(0.05), penalty, ..Fisher::default() }, &data))
        };
        assert_eq!(run(1), run(4), "{penalty:?}");
    }
}

fn labelled(rows: Matrix, codes: Vec<u32>) -> Dataset {
    let labels = ["a", "b", "c"].map(Label::new).to_vec();
    Dataset::new(Points::from(rows), Target::Classes(Classes { labels, codes }))
}

#[test]
fn what_cannot_be_learned_is_rejected_with_an_error() {
    let error = |fisher: &Fisher, data: &Dataset| fisher.learn(data, &Watch::none()).unwrap_err();
    let none = Fisher { penalty: Penalty::None, ..Fisher::default() };
    let pair = labelled(Matrix::from_fn(2, 1, |i, _| i as f64), vec![0, 1]);
    assert!(error(&none, &pair).to_string().contains("the rows of each class coincide"), "{}", error(&none, &pair));
    let coincide = labelled(Matrix::from_fn(4, 1, |i, _| (i / 2) as f64), vec![0, 1, 1, 0]);
    for penalty in [Penalty::Weight, Penalty::Coefficients] {
        let fisher = Fisher { penalty, ..Fisher::default() };
        let sentence = error(&fisher, &coincide).to_string();
        assert!(sentence.contains("the means of the classes coincide"), "{sentence}");
        // One row a class is enough where there is a penalty, and a class without rows is not missed.
        assert_eq!(learn(&fisher, &pair).decision.labels().len(), 2);
    }
    assert!(matches!(error(&none, &labelled(Matrix::zeros(3, 1), vec![1; 3])), Error::OneClass { .. }));
    for lambda in [0.0, -1.0, f64::NAN] {
        assert!(Fisher { lambda, ..Fisher::default() }.check().is_err());
        assert!(Fisher { lambda, penalty: Penalty::None, ..Fisher::default() }.check().is_ok());
    }
    let sigmoid = Kernel::named("sigmoid", 0.1, 1, 0.0).unwrap();
    assert!(Fisher { kernel: sigmoid.clone(), ..Fisher::default() }.check().is_err());
    assert!(Fisher { kernel: sigmoid, penalty: Penalty::Coefficients, ..Fisher::default() }.check().is_ok());
    assert!(error(&Fisher { cache_bytes: 8, ..Fisher::default() }, &pair).to_string().contains("raise it with cache"));
    for penalty in Penalty::all() {
        assert_eq!(Penalty::named(penalty.name()), Some(penalty));
    }
}

#[test]
fn duplicated_and_huge_rows_give_a_machine_or_a_sentence() {
    let banana = Generator::Banana.make(30, 1);
    let twice = banana.select(&(0..30).chain(0..30).collect::<Vec<_>>());
    let huge = Dataset { points: Matrix::from_fn(30, 2, |i, j| 1e150 * ((i + j) as f64).sin()).into(), ..banana };
    for penalty in [Penalty::Weight, Penalty::Coefficients, Penalty::None] {
        for kernel in Kernel::examples() {
            for data in [&twice, &huge] {
                match (Fisher { kernel: kernel.clone(), penalty, ..Fisher::default() }).learn(data, &Watch::none()) {
                    Ok(fit) => assert!(fit.machine.check().is_ok()),
                    Err(error) => assert!(!error.to_string().is_empty()),
                }
            }
        }
        assert!(Fisher { penalty, ..Fisher::default() }.learn(&twice, &Watch::none()).is_ok());
    }
}
