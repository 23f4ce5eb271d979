//! Machines of every kind of decision, calibration, kernel and layout, for the tests that ask other programs what they make of them.
use kernelet::{
    data::{Csr, Label, Scale},
    kernel::Kernel,
    linalg::Matrix,
    machine::{Calibration, Coefficients, Curve, Decision, Expansion, Machine, Metadata, NormalClasses, Pairwise, Posterior},
};

/// Features of every case.
pub const DIM: usize = 5;

/// A machine and what it is called.
pub struct Case {
    pub name: String,
    pub machine: Machine,
}

/// Numbers that look random and are the same everywhere.
fn noise(i: usize, j: usize, salt: usize) -> f64 {
    let v = ((i * 37 + j * 101 + salt * 17 + 1) as f64 * 12.9898).sin() * 43758.5453;
    v - v.floor() - 0.5
}

/// Rows to ask about; the first of them are vectors of the machine, where distances are zero, unless there is a linear map before them.
pub fn rows(machine: &Machine, n: usize) -> Matrix {
    let vectors = machine.expansion.vectors.to_dense();
    Matrix::from_fn(n, DIM, |i, j| {
        let value = if i < vectors.rows().min(3) && machine.map().is_none() { vectors.at(i, j) } else { 3.0 * noise(i, j, 9) };
        let value = match &machine.scale {
            Some(scale) if scale.factor[j] != 0.0 => value / scale.factor[j] + scale.shift.as_ref().map_or(0.0, |shift| shift[j]),
            _ => value,
        };
        // Single precision holds them all, so that every target sees the same rows.
        f64::from(value as f32)
    })
}

/// The machine behind a linear map of its rows to `width` numbers.
fn mapped(mut machine: Machine, width: usize, shift: Option<Vec<f64>>) -> Machine {
    let single = |value: f64| f64::from(value as f32);
    machine.expansion.vectors = Matrix::from_fn(machine.n_vectors(), width, |i, j| single(2.0 * noise(i, j, 1))).into();
    let map = Matrix::from_fn(width, DIM, |k, j| single(noise(k, j, 8)));
    machine.scale = Some(Scale { shift, factor: vec![0.5, 2.0, 1.0, 0.1, 0.0], map: Some(map) });
    machine
}

fn labels(n: usize) -> Vec<Label> {
    ["ant", "bee", "cat", "dog", "elk"].iter().take(n).map(|&text| Label::new(text)).collect()
}

fn machine(kernel: Kernel, outputs: usize, decision: Decision) -> Machine {
    let m = 12;
    Machine {
        expansion: Expansion {
            kernel,
            vectors: Matrix::from_fn(m, DIM, |i, j| f64::from((2.0 * noise(i, j, 1)) as f32)).into(),
            coefficients: Coefficients::Dense(Matrix::from_fn(m, outputs, |i, k| 2.0 * noise(i, k, 2))),
        },
        offsets: (0..outputs).map(|k| 0.3 * noise(k, 0, 3)).collect(),
        decision,
        scale: None,
        names: None,
        calibration: None,
        metadata: Metadata::default(),
    }
}

fn gaussian(outputs: usize, decision: Decision) -> Machine {
    machine(Kernel::gaussian(0.3), outputs, decision)
}

fn sign() -> Decision {
    Decision::Sign { negative: Label::new("-1"), positive: Label::new("+1") }
}

fn pairwise(mut machine: Machine, classes: usize) -> Machine {
    let starts = (0..=classes).map(|c| 12 * c / classes).collect();
    let values = Matrix::from_fn(12, classes - 1, |i, k| 2.0 * noise(i, k, 4));
    machine.expansion.coefficients = Coefficients::Pairwise(Pairwise { starts, values });
    machine
}

fn sigmoids(n: usize) -> Calibration {
    Calibration::Sigmoid { a: (0..n).map(|k| -1.0 - 0.3 * k as f64).collect(), b: (0..n).map(|k| 0.1 * k as f64 - 0.2).collect() }
}

fn curves(n: usize) -> Calibration {
    let curve = |k: usize| Curve {
        outputs: vec![-1.0 - 0.1 * k as f64, -0.2, 0.05, 0.9],
        probabilities: vec![0.02, 0.3, 0.3, 0.9 + 0.01 * k as f64],
    };
    Calibration::Isotonic { curves: (0..n).map(curve).collect() }
}

fn normal_classes(classes: usize, outputs: usize, shared: bool) -> Calibration {
    let precision = |c: usize| (0..outputs * outputs).map(|i| if i % (outputs + 1) == 0 { 1.5 + c as f64 } else { 0.2 }).collect();
    Calibration::NormalClasses(NormalClasses {
        constants: (0..classes).map(|c| -0.3 * c as f64).collect(),
        means: (0..classes).map(|c| (0..outputs).map(|k| noise(c, k, 5)).collect()).collect(),
        precisions: (0..if shared { 1 } else { classes }).map(precision).collect(),
    })
}

fn posterior(vectors: Vec<usize>, offset: bool) -> Posterior {
    let m = vectors.len() + usize::from(offset);
    Posterior { noise: 0.04, vectors, offset, factor: (0..m * (m + 1) / 2).map(|i| 0.3 * noise(i, 0, 6)).collect() }
}

/// All of them.
pub fn all() -> Vec<Case> {
    let mut cases = vec![];
    let mut add = |name: &str, machine: Machine| cases.push(Case { name: name.into(), machine });
    for kernel in Kernel::examples().into_iter().chain(Kernel::named("precomputed", 1.0, 1, 0.0)) {
        let name = match &kernel {
            Kernel::InverseMultiquadric(k) if k.exponent != -0.5 => format!("{}{}", kernel.name(), k.exponent),
            _ => kernel.name().to_string(),
        };
        add(&format!("values-{name}"), machine(kernel.clone(), 2, Decision::Values));
        let mut scaled = machine(kernel, 1, sign());
        scaled.scale = Some(Scale::new(Some(vec![1.0, -2.0, 0.5, 10.0, 0.0]), vec![0.5, 2.0, 1.0, 0.1, 0.0]));
        add(&format!("sign-mapped-{name}"), mapped(scaled.clone(), 3, scaled.scale.as_ref().and_then(|scale| scale.shift.clone())));
        add(&format!("sign-scaled-{name}"), scaled);
    }
    let with = |mut machine: Machine, calibration: Calibration| {
        machine.calibration = Some(calibration);
        machine
    };
    let votes = |n: usize| gaussian(n * (n - 1) / 2, Decision::Votes { labels: labels(n) });
    let largest = |n: usize| gaussian(n, Decision::Largest { labels: labels(n) });
    let words = vec![vec![1, 1, 1], vec![1, -1, -1], vec![-1, 1, -1], vec![-1, -1, 1]];
    let codes = gaussian(3, Decision::Codes { labels: labels(4), words });
    add("sign-sigmoid", with(gaussian(1, sign()), sigmoids(1)));
    add("sign-isotonic", with(gaussian(1, sign()), curves(1)));
    add("sign-normal-classes", with(gaussian(1, sign()), normal_classes(2, 1, false)));
    add("votes-2", with(votes(2), sigmoids(1)));
    add("votes-sigmoid", with(votes(5), sigmoids(10)));
    add("votes-pairwise", with(pairwise(votes(4), 4), sigmoids(6)));
    add("votes-pairwise-isotonic", with(pairwise(votes(3), 3), curves(3)));
    add("votes-polynomial-pairwise", pairwise(machine(Kernel::named("polynomial", 0.4, 2, 0.5).unwrap(), 3, votes(3).decision), 3));
    add("votes-linear-pairwise", pairwise(machine(Kernel::named("linear", 1.0, 1, 0.0).unwrap(), 3, votes(3).decision), 3));
    add("largest-sigmoid", with(largest(3), sigmoids(3)));
    add("largest-isotonic", with(largest(4), curves(4)));
    add("largest-shares", with(largest(3), Calibration::Shares));
    add("largest-normal-classes", with(largest(3), normal_classes(3, 3, true)));
    add("codes", codes.clone());
    add("codes-normal-classes", with(codes, normal_classes(4, 3, false)));
    add("novelty", gaussian(1, Decision::Novelty));
    let marks = Calibration::Marks { marks: (0..10).map(|i| 0.2 * f64::from(i) - 1.0).collect() };
    add("novelty-marks", with(gaussian(1, Decision::Novelty), marks));
    let mut ratio = gaussian(3, Decision::Ratio);
    ratio.offsets[2] = 9.0;
    add("ratio", ratio);
    add("features", gaussian(4, Decision::Features));
    add("values-laplace", with(gaussian(1, Decision::Values), Calibration::Sigmoid { a: vec![0.3], b: vec![] }));
    let posteriors = vec![posterior(vec![3, 0, 7], true), posterior(vec![1], false)];
    let normal = with(gaussian(2, Decision::Values), Calibration::Normal { posteriors: posteriors.clone() });
    add("values-normal-mapped", mapped(normal.clone(), 2, Some(vec![0.5; DIM])));
    add("values-normal", normal);
    add("votes-mapped", mapped(with(pairwise(votes(4), 4), sigmoids(6)), 7, None));
    add("features-mapped", mapped(machine(Kernel::named("linear", 1.0, 1, 0.0).unwrap(), 4, Decision::Features), 1, None));
    let linear = machine(Kernel::named("linear", 1.0, 1, 0.0).unwrap(), 2, Decision::Values);
    add("values-normal-linear", with(linear, Calibration::Normal { posteriors }));
    let mut sparse = gaussian(1, sign());
    sparse.expansion.vectors =
        Csr::from_dense(&Matrix::from_fn(12, DIM, |i, j| if (i + j) % 3 == 0 { noise(i, j, 7) } else { 0.0 })).into();
    sparse.scale = Some(Scale::new(None, vec![0.5; DIM]));
    add("sign-sparse", sparse);
    let mut empty = gaussian(1, sign());
    empty.expansion.vectors = Matrix::<f64>::zeros(0, DIM).into();
    empty.expansion.coefficients = Coefficients::Dense(Matrix::zeros(0, 1));
    add("sign-mapped-without-vectors", mapped(empty.clone(), 2, None));
    add("sign-without-vectors", empty);
    // Wide in single precision: the distances must not be made of large products.
    let mut sharp = machine(Kernel::gaussian(200.0), 1, sign());
    sharp.offsets = vec![0.1];
    add("sign-sharp", sharp);
    cases
}
